"""Profiles: which operators and nodes of the backward graph run, how often and for how long.

Note [What a profile measures]
An event lasts from the call of an operator until it returns. Computations are dispatched asynchronously where the
device allows it, and then this is the time to hand the work over; with ``sync=True`` each event waits for its results.
The first call with new shapes includes compilation. While no profile is on, nothing is measured and nothing costs
time: a profile registers as a watcher, and programs run by other plans.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator, ExitStack
from typing import Any

from tapegrad._src.execution.array_functions.host import has_accelerator
from tapegrad._src.execution.data.tracing import annotation
from tapegrad._src.tape.modes import watching
from tapegrad._src.tape.showing import shown_in_html
from tapegrad._src.warn import warn
from tapegrad.autograd.profiling.events import SCOPE_USER, EventList, FunctionEventAvg
from tapegrad.autograd.profiling.recorder import Entry, Recorder, recorders


def _profiler_enabled() -> bool:
    """Tell whether a profile watches this thread."""
    return bool(recorders())


def kineto_available() -> bool:
    """Tell whether PyTorch's library for traces of devices is there: no; ``jax.profiler`` takes such traces."""
    return False


class profile:
    """Record what runs inside a ``with`` block on this thread, and in backward calls made from it.

    Args:
        enabled: False for a block that is not recorded.
        use_cuda, use_device: times on devices are not measured; asking for them warns.
        record_shapes: note the shapes of inputs.
        with_flops: estimate floating point operations of products of matrices; implies ``record_shapes``.
        profile_memory: note the bytes of results.
        with_stack: note where in the program operators were called.
        with_modules: record calls of modules as events, too, by their paths: ``nn.Module: Net.encoder.0 (Linear)``.
        use_kineto, experimental_config, custom_trace_id_callback: accepted and ignored.
        use_cpu: must be True.
        acc_events: of several cycles, keep the events of all.
        sync: wait for the results of each event, to measure the computation and not only its dispatch.

    An event lasts until the call returns: where computations are asynchronous that is the time to hand the work over,
    unless ``sync``. The first call with new shapes includes compilation. Names are PyTorch's as far as there is such an
    operator there; what PyTorch composes of several, or does inside one, may be recorded as fewer or other events here.

    Raises:
        AssertionError: ``use_cpu=False``.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     (x * 2).sum().backward()
    >>> [event.name for event in prof.function_events if "evaluate" not in event.name]
    ['aten::mul', 'aten::sum', 'SumBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
        record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False,
        with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None,
        acc_events: bool = False, custom_trace_id_callback: Callable[[], str] | None = None, sync: bool = False,
    ) -> None:  # fmt: skip
        if use_cuda:
            message = "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead."
            warn(message, FutureWarning)
        if not use_cpu:
            raise AssertionError(
                "No activities specified for the profiler"
                if use_kineto
                else "Device-only events supported only with Kineto (use_kineto=True)"
            )
        self.enabled, self.entered = enabled, False
        self.use_device = _usable_device("cuda" if use_cuda else use_device)
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.use_cpu, self.acc_events, self.sync = use_cpu, acc_events, sync
        self.trace_id = custom_trace_id_callback() if custom_trace_id_callback else uuid.uuid4().hex.upper()
        self.results: Recorder | None = None
        self._recorder: Recorder | None = None
        self._watching: ExitStack | None = None
        self._function_events: EventList | None = None

    def __enter__(self) -> profile | None:
        """
        Raises:
            RuntimeError: it has been entered before.
        """
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._start()
        return self

    def _start(self) -> None:
        self.entered = True
        self._recorder = Recorder(
            shapes=self.record_shapes, stacks=self.with_stack, memory=self.profile_memory, flops=self.with_flops,
            sync=self.sync,
        )  # fmt: skip
        seen = self._recorder
        self._watching = ExitStack()
        self._watching.enter_context(
            watching(interceptor=seen.on_operator, function_watcher=seen.on_function, backward_watcher=seen.on_backward)
        )
        if self.with_modules:
            self._watching.enter_context(seen.watching_modules())

    def __exit__(self, *exception: Any) -> bool | None:
        if not self.enabled:
            return None
        earlier = self._function_events if self.acc_events else None
        if self._watching is not None:
            self._watching.close()
        self.results, self._recorder, self._watching = self._recorder, None, None
        self._function_events = None
        if self.acc_events:
            self.function_events.extend(earlier or ())
        return False

    @property
    def function_events(self) -> EventList:
        """The events, in the order of beginning; none before the block has ended."""
        if self._function_events is None:
            events = EventList(
                [] if self.results is None else self.results.events(),
                use_device=self.use_device, profile_memory=self.profile_memory, with_flops=self.with_flops,
            )  # fmt: skip
            events._build_tree()
            self._function_events = events
        return self._function_events

    def __repr__(self) -> str:
        return repr(self.function_events) if self._finished() else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._finished() else "<unfinished torch.autograd.profile>"

    _repr_html_ = shown_in_html

    def _finished(self) -> bool:
        return self.results is not None or self._function_events is not None

    def table(self, sort_by: str | None = None, row_limit: int = 100, **layout: Any) -> str:
        """The events as a table; see ``EventList.table``.

        Args:
            sort_by, row_limit, layout: an attribute of events to sort by; how many rows at most; further settings.
        """
        return self.function_events.table(sort_by, row_limit, **layout)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The averages of the events of each name; see ``EventList.key_averages``.

        Args:
            group_by_input_shape: keep different shapes apart.
            group_by_stack_n: keep apart what differs in the innermost so many places of the program.
            group_by_overload_name: keep different overloads apart.

        >>> with torch.autograd.profiler.profile() as prof:
        ...     _ = torch.ones(2) + 1, torch.ones(2) + 2
        >>> [event.count for event in prof.key_averages() if event.key == "aten::add"]
        [2]
        """
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds, each without those inside."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str, metadata: dict[str, Any] | None = None) -> None:
        """Write a JSON file that ``chrome://tracing`` and Perfetto show.

        Args:
            path: the file's name.
            metadata: entries that are added to the file.

        Raises:
            AttributeError: the block has not ended.
        """
        self.results.save(path, metadata)  # type: ignore[union-attr]

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write where the time went, a line for each event, as tools that draw flame graphs read it.

        Args:
            path: the file's name.
            metric: ``"self_cpu_time_total"`` or ``"self_cuda_time_total"``: what weighs.

        Raises:
            AssertionError: made without ``with_stack``.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


def _usable_device(name: str | None) -> str | None:
    """None: times on devices are not measured. Warns if they are asked for."""
    if name is None:
        return None
    if name not in ("cuda", "xpu", "mtia", "hpu"):
        warn(f"The {name} is not a valid device option.")
    elif name == "cuda" and has_accelerator():
        warn("times on devices are not measured; use sync=True, or jax.profiler for a trace")
    else:
        warn(f"{name.upper()} is not available, disabling {name.upper()} profiling")
    return None


class record_function(ContextDecorator):
    """Give what runs inside a ``with`` block, or a decorated function, a name in the profiles that are on.

    It has that name in traces of ``jax.profiler`` too.

    Args:
        name: the name.
        args: more about it, for whoever reads the trace.

    >>> from tapegrad.autograd import profiler
    >>> with profiler.profile() as prof:
    ...     with record_function("my step"):
    ...         pass
    >>> [event.name for event in prof.function_events]
    ['my step']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self.record: list[Entry] | None = None
        self._open: list[tuple[AbstractContextManager, list[Entry]]] = []

    def __enter__(self) -> record_function:
        span = annotation(self.name)
        span.__enter__()
        self.record = [recorder.begin(self.name, SCOPE_USER) for recorder in recorders()]
        self._open.append((span, self.record))
        return self

    def __exit__(self, *exception: Any) -> None:
        """
        Raises:
            AssertionError: it has not been entered.
        """
        if self.record is None:
            raise AssertionError("Expected record to be set")
        if self._open:
            span, entries = self._open.pop()
            for entry in entries:
                entry.close()
            span.__exit__(None, None, None)
