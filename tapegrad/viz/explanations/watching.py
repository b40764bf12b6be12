"""``watch``: statistics of a model's activations and gradients while it is trained.

Note [Watching a model]
On most steps there is one hook, on the model, which counts. Every so often a step is *sampled*: its submodules get
hooks for this one call, which note what they return, and these tensors and the parameters get hooks for the gradients
that arrive. When the model has returned, and when the backward pass is over, the statistics of all that was noted are
computed: by NumPy where that is possible, which is over before XLA would have compiled anything; elsewhere by one
kernel, and nobody waits for it: they are read when somebody looks at them. In deferred mode all of it is computed when
the backward pass is over, from outside: within the program it would be compiled for minutes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from html import escape
from math import log10
from typing import Any, NamedTuple

from tapegrad._src.execution.array_functions.host import is_traced
from tapegrad._src.execution.array_functions.statistics import Statistics, ask_statistics, read_statistics
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.running import engine
from tapegrad.errors import message
from tapegrad.nn.modules.module import Module
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.plots import ElementsPicture

ACTIVATION, GRADIENT, OF_PARAMETER = "activation", "gradient", "gradient of parameter"
KINDS = (ACTIVATION, GRADIENT, OF_PARAMETER)
MOST_SAMPLES = 1000
"""So many steps are remembered, the last ones."""

WIDTH, HEIGHT, RIM = 520, 220, 44
COLOURS = ("#3b6fb6", "#cb6e17", "#3f9142", "#a2352b", "#7d4fa3", "#7a6a55", "#c2589b", "#5f6b76", "#8f9a1f", "#1f98a8")


class Watched(NamedTuple):
    """Statistics of one tensor in one step.

    Attributes:
        step: the number of the call of the model, from 0.
        name: the path of the module, or of the parameter.
        kind: ``"activation"``, ``"gradient"`` (of an activation), or ``"gradient of parameter"``.
        statistics: of its elements.
    """

    step: int
    name: str
    kind: str
    statistics: Statistics


class WatchReport(Report):
    """Statistics of the last step that was sampled."""

    columns = {
        "name": lambda row: row.name,
        "of": lambda row: row.kind,
        "mean": lambda row: f"{row.statistics.mean:.3g}",
        "std": lambda row: f"{row.statistics.std:.3g}",
        "least": lambda row: f"{row.statistics.least:.3g}",
        "greatest": lambda row: f"{row.statistics.greatest:.3g}",
        "norm": lambda row: f"{row.statistics.norm:.3g}",
        "zeros": lambda row: f"{row.statistics.zeros:.1%}",
        "not finite": lambda row: str(row.statistics.nonfinite) if row.statistics.nonfinite else "",
    }


class SampledStep:
    """The notes of one step, and then its statistics. See Note [Watching a model]."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.names: list[tuple[str, str]] = []
        self.values: list[Any] = []
        self.handles: list[Any] = []
        self.asked: list[tuple[list[tuple[str, str]], Any]] = []
        self.waits = self.queued = False

    def note(self, name: str, kind: str, tensor: Any) -> None:
        """Note a tensor, if it has elements that can be looked at."""
        if isinstance(tensor, Tensor) and tensor.numel() and tensor.dtype.category >= FLOATING:
            value = value_of(tensor)
            if not (isinstance(value, Opaque) or is_traced(value)):
                self.names.append((name, kind))
                self.values.append(value)

    def ask(self) -> None:
        """Begin to compute the statistics of all that was noted."""
        if self.values:
            with switched(grad=False, deferred=False):
                self.asked.append((self.names, ask_statistics([materialized(value) for value in self.values])))
            self.names, self.values = [], []

    def close(self) -> None:
        """Take off the hooks."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def rows(self) -> Iterator[Watched]:
        """The statistics; waits for them."""
        self.ask()
        read = [(names, read_statistics(found)) for names, found in self.asked]
        self.asked = list(read)
        for names, found in read:
            yield from (Watched(self.step, *name, one) for name, one in zip(names, found, strict=True))


class Watch:
    """The result of ``watch``: it prints as a table of the last step that was sampled, and ``plot`` draws all of them.

    Attributes:
        model: the model; every: how often a step is sampled.
        calls: how many times the model was called since.
    """

    def __init__(self, model: Module, every: int) -> None:
        self.model, self.every, self.calls = model, every, 0
        self._samples: deque[SampledStep] = deque(maxlen=MOST_SAMPLES)
        self._sample: SampledStep | None = None
        self._handles = [
            model.register_forward_pre_hook(self._begin), model.register_forward_hook(self._end, always_call=True)
        ]  # fmt: skip

    def close(self) -> None:
        """Stop watching; what was seen is kept."""
        self._settle()
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _begin(self, module: Module, args: tuple) -> None:
        """The model is called: sample this step, if it is time to."""
        if capturing.by is not None or thread.modes.level or (self._sample is not None and self._sample.waits):
            return  # part of a compiled step, or of a transform; or the model is called by itself
        step, self.calls = self.calls, self.calls + 1
        if step % self.every:
            return
        self._settle()
        sample = self._sample = SampledStep(step)
        sample.waits = True
        self._samples.append(sample)
        for path, one in module.named_modules():
            if one is not module and not any(True for _ in one.children()):
                sample.handles.append(one.register_forward_hook(partial(self._returned, sample, path)))
        for path, parameter in module.named_parameters():
            if parameter.requires_grad:
                sample.handles.append(parameter.register_hook(partial(self._arrived, sample, path, OF_PARAMETER)))

    def _end(self, module: Module, args: tuple, output: Any) -> None:
        """The model has returned."""
        sample = self._sample
        if sample is not None and sample.waits and capturing.by is None and not thread.modes.level:
            sample.waits = False
            if sample.step == self.calls - 1:
                self._returned(sample, "(model)", module, args, output)
            if not thread.modes.deferred_enabled:
                sample.ask()

    def _returned(self, sample: SampledStep, path: str, module: Module, args: tuple, output: Any) -> None:
        """A module has returned something."""
        for tensor in output if isinstance(output, (tuple, list)) else (output,):
            sample.note(path, ACTIVATION, tensor)
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                sample.handles.append(tensor.register_hook(partial(self._arrived, sample, path, GRADIENT)))

    def _arrived(self, sample: SampledStep, name: str, kind: str, grad: Tensor) -> None:
        """A gradient has arrived."""
        if not sample.queued:
            sample.queued = True
            engine.queue_callback(partial(self._finish, sample))
        sample.note(name, kind, grad)

    def _finish(self, sample: SampledStep) -> None:
        """The backward pass is over."""
        sample.queued = False
        sample.ask()
        sample.close()

    def _settle(self) -> None:
        """End the sample that is open, if its backward pass never came."""
        if self._sample is not None:
            self._sample.close()
            self._sample = None

    @property
    def history(self) -> list[Watched]:
        """The statistics of all steps that were sampled; waits for them."""
        return [row for sample in self._samples for row in sample.rows()]

    def report(self) -> WatchReport:
        """A table of the last step that was sampled."""
        rows = list(self._samples[-1].rows()) if self._samples else []
        name, last = type(self.model).__name__, f", sampled last in call {rows[0].step}" if rows else ""
        title = f"{name}: {self.calls} calls, one in {self.every} sampled{last}"
        return WatchReport(title, rows, spoilt(rows))

    def plot(self, kind: str = GRADIENT, statistic: str = "norm") -> ElementsPicture:
        """Draw how a statistic went, a line for each module or parameter, on a logarithmic scale.

        Args:
            kind: ``"activation"``, ``"gradient"`` or ``"gradient of parameter"``.
            statistic: the name of one of ``Statistics``; its size is drawn.

        Raises:
            ValueError: no such kind, or no such statistic.
        """
        if kind not in KINDS or statistic not in Statistics._fields:
            expected = f"one of {KINDS} and one of {Statistics._fields}"
            raise ValueError(message("plot()", expected=expected, got=(kind, statistic)))
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in self.history:
            if row.kind == kind:
                lines.setdefault(row.name, []).append((row.step, abs(getattr(row.statistics, statistic))))
        caption = f"{type(self.model).__name__}: {statistic} of {kind}, {len(lines)} lines"
        return ElementsPicture(caption, drawn(lines))

    def __str__(self) -> str:
        return str(self.report())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.report()._repr_html_() + "".join(self.plot(kind)._repr_html_() for kind in (ACTIVATION, GRADIENT))


def spoilt(rows: Iterable[Watched]) -> list[str]:
    """The things that look wrong."""
    found = []
    for row in rows:
        if row.statistics.nonfinite:
            found.append(f"{row.kind} of {row.name} is not finite: explain_nan(loss) tells which operator made it so")
        elif row.statistics.zeros == 1:
            found.append(f"{row.kind} of {row.name} is 0 everywhere")
    return found[:6]


def watch(model: Any, every: int = 100) -> Watch:
    """Watch a model while it is trained: statistics of what its modules return, and of the gradients that arrive.

    One step in ``every`` is sampled, which takes about twice as long, and keeps the
    gradients of activations until its backward pass is over; the others cost next to nothing. Calls inside a compiled
    step, or inside a function transform, are not seen.

    Args:
        model: the model that the training loop calls.
        every: one call of it in so many is sampled.

    Raises:
        TypeError: no module.
        ValueError: ``every`` is no number of steps.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> with torch.viz.watch(net, every=2) as watched:
    ...     for _ in range(4):
    ...         net(torch.ones(5, 2)).sum().backward()
    >>> print(watched)
    Sequential: 4 calls, one in 2 sampled, sampled last in call 2
      name      of                     mean  ...
    >>> watched.plot("activation")
    <picture: Sequential: norm of activation, 3 lines>
    """
    if not isinstance(model, Module):
        raise TypeError(message("watch()", expected="a module", got=type(model).__name__))
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(message("watch(): every", expected="1 or more", got=repr(every)))
    return Watch(model, every)


def drawn(lines: dict[str, list[tuple[int, float]]]) -> str:
    """Lines over steps, as SVG, on a logarithmic scale; what is 0 stands at the bottom."""
    points = [point for line in lines.values() for point in line]
    sizes = [log10(size) for _, size in points if 0 < size < float("inf")] or [0.0]
    low, high = min(sizes), max(sizes)
    last = max((step for step, _ in points), default=0)

    def at(step: int, size: float) -> str:
        level = min(max(log10(size), low), high) if size > 0 else low
        x, y = RIM + WIDTH * step / max(last, 1), RIM + HEIGHT * (1 - (level - low) / ((high - low) or 1))
        return f"{x:.1f},{y:.1f}"

    style = 'font-family="monospace" font-size="11" fill="#52606d"'
    parts = [
        f'<text x="2" y="{RIM + 4}" {style}>{10**high:.2g}</text>',
        f'<text x="2" y="{RIM + HEIGHT}" {style}>{10**low:.2g}</text>',
        f'<text x="{RIM + WIDTH}" y="{RIM + HEIGHT + 16}" text-anchor="end" {style}>call {last}</text>',
    ]
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        way = " ".join(at(*point) for point in line)
        parts.append(
            f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.4"><title>{escape(name)}</title>'
            "</polyline>"
        )
        if number < len(COLOURS):
            parts.append(f'<text x="{RIM + WIDTH + 8}" y="{RIM + 14 * number}" {style.replace("#52606d", colour)}>'
                         f"{escape(name)}</text>")  # fmt: skip
    size = f'width="{WIDTH + 2 * RIM + 150}" height="{HEIGHT + 2 * RIM}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'
