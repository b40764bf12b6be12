"""``diff``: why a program was compiled again, in words of the program that was written, and with its lines.

Note [Steps beside each other]
What a step computes is a list of operators and of nodes, each with its settings and the types of what it takes. Two
steps share what was compiled if their lists are equal. So each is run once while this is noted, operator by operator,
and the lists are laid beside each other, as those of a text and its next version are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.engine import GraphRoot
from tapegrad._src.tape.modes import Modes, watching
from tapegrad._src.tape.node import Node
from tapegrad._src.tape.positions import here
from tapegrad._src.tensor.tensor import Tensor, describe
from tapegrad.autograd.source_lines import set_record_source_lines
from tapegrad.compiler.replay.cache_keys import DYNAMIC
from tapegrad.compiler.step import Compiled
from tapegrad.errors import message
from tapegrad.nn.modules.optimized import OptimizedModule
from tapegrad.viz.describing import is_leaf, plain_name, short
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.explanations.subjects import line_of, short_place


class Noted(NamedTuple):
    """An operator, or a node of a backward pass, that a step has run.

    Attributes:
        name: what it is called.
        takes: the types of what it takes, and where that comes from: which result before it (``%3``), or outside.
        settings: what else it was told.
        line: the user's line.
    """

    name: str
    takes: tuple[str, ...]
    settings: tuple[str, ...]
    line: str

    @property
    def does(self) -> tuple:
        """The part that it must have in common with another one."""
        return self.name, self.takes, self.settings

    def __str__(self) -> str:
        return f"{self.name}({', '.join([*self.takes, *self.settings])})"


class StepDifference(NamedTuple):
    """The things that two steps do not have in common at one place.

    Attributes:
        place: after how many operators of the first.
        before, after: what the first and the second do there, if anything.
    """

    place: int
    before: Noted | None
    after: Noted | None


class DiffReport(Report):
    """The places where two steps differ."""

    columns = {
        "": lambda row: str(row.place),
        "first": lambda row: "" if row.before is None else str(row.before),
        "second": lambda row: "" if row.after is None else str(row.after),
        "line of the first": lambda row: "" if row.before is None else row.before.line,
        "line of the second": lambda row: "" if row.after is None or same_line(row) else row.after.line,
    }


def same_line(row: StepDifference) -> bool:
    """Tell whether both come from one line."""
    return row.before is not None and row.after is not None and row.before.line == row.after.line


class KindOfCalls(NamedTuple):
    """A kind of calls of a compiled step.

    Attributes:
        number: as ``report()`` counts them.
        unlike: in what it differs from the kind that is most like it, of those before.
        state: whether its calls are replayed, and why not.
    """

    number: int
    unlike: str
    state: str


class KindsReport(Report):
    """The kinds of calls of a compiled step."""

    columns = {
        "kind": lambda row: str(row.number),
        "unlike one before": lambda row: row.unlike,
        "now": lambda row: row.state,
    }


def diff(step_a: Any, step_b: Any = None) -> DiffReport | KindsReport:
    """Why a program was compiled again.

    Given two functions without arguments, run each of them once, for real, and tell in what they differ: the operators,
    their settings, the types of what they take, and the user's lines. Given one compiled step, tell of each kind of its
    calls what is unlike the kinds before, which is why it was compiled again.

    Raises:
        TypeError: neither.

    >>> def step(n, power):
    ...     return (torch.ones(n) * 2) ** power
    >>> print(torch.viz.diff(lambda: step(3, 2), lambda: step(3, 3)))
    the steps part at operator 1: it was power(%0: f32[3], exponent=2), and is power(%0: f32[3], exponent=3)
         first  second  line of the first
      1  power(%0: f32[3], exponent=2)  power(%0: f32[3], exponent=3)  ...
    """
    step_a = step_a.forward if isinstance(step_a, OptimizedModule) else step_a
    if step_b is None and isinstance(step_a, Compiled):
        return kinds_of(step_a)
    for step in (step_a, step_b):
        if not callable(step) or isinstance(step, Tensor):
            expected = "two functions without arguments, or one compiled step"
            got = f"{type(step_a).__name__} alone" if step_b is None else type(step).__name__
            raise TypeError(message("diff()", expected=expected, got=got))
        if not takes_nothing(step):
            hint = "diff(lambda: step(x), lambda: step(y))"
            raise TypeError(message("diff(): a function that is run wants arguments", hint=hint))
    return beside(noted(step_a), noted(step_b))


def takes_nothing(function: Callable) -> bool:
    """Tell whether a function can be called without arguments, as far as that is known."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # it has no signature
        return True
    return True


# What a step runs ---------------------------------------------------------------------------------------------------


class Notes:
    """The things that a step has run, in order."""

    def __init__(self) -> None:
        self.rows: list[Noted] = []
        self._made: dict[int, int] = {}
        self._held: list[Any] = []

    def operator(self, op: OperatorLike, args: tuple, settings: dict) -> Any:
        """An interceptor: see Note [Watchers] in ``tape/modes.py``."""
        line, place = short_place(here()), len(self.rows)
        told = {**op.defaults, **settings}
        takes = tuple(self._type(arg) for arg in args if arg is not None)
        self.rows.append(Noted(op.name, takes, tuple(f"{name}={told[name]!r}" for name in sorted(told)), line))
        results = op(*args, **settings)
        for one in results if isinstance(results, tuple) else (results,):
            if isinstance(one, Tensor):
                self._made[id(one)] = place
                self._held.append(one)
        return results

    def node(self, node: Node, grads: Sequence) -> None:
        """A node of a backward pass that is to run."""
        if not isinstance(node, GraphRoot) and not is_leaf(node):
            takes = tuple("nothing" if grad is None else gradient_type(grad) for grad in grads)
            self.rows.append(Noted(plain_name(node), takes, (), line_of(node)))

    def _type(self, arg: Any) -> str:
        if not isinstance(arg, Tensor):
            return type(arg).__name__
        place = self._made.get(id(arg))
        grad = ", requires grad" if arg.requires_grad and place is None else ""
        return f"{short(arg)}{grad}" if place is None else f"%{place}: {short(arg)}"


def gradient_type(grad: Any) -> str:
    """The type of a gradient."""
    return short(grad if isinstance(grad, Tensor) else describe(grad))


class NotedGradientOps:
    """A gradient type whose nodes are noted."""

    def __init__(self, notes: Notes, gradient_ops: Any) -> None:
        self._notes, self._gradient_ops = notes, gradient_ops

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gradient_ops, name)

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Note a node, and run it."""
        self._notes.node(node, grads)
        return self._gradient_ops.run(node, grads, needed)


def noted(step: Callable[[], Any]) -> list[Noted]:
    """The notes of what a step runs."""
    notes = Notes()
    with (
        set_record_source_lines(True),
        watching(
            interceptor=notes.operator, backward_watcher=lambda gradient_ops: NotedGradientOps(notes, gradient_ops)
        ),
    ):
        step()
    return notes.rows


def beside(before: Sequence[Noted], after: Sequence[Noted]) -> DiffReport:
    """The report of two lists: see Note [Steps beside each other]."""
    rows = list(differences(before, after))
    if not rows:
        title = f"the steps do the same: {len(after)} operators; the second runs what was compiled for the first"
        told = "lines differ, which are no part of a program"
        return DiffReport(title, (), [told if list(before) != list(after) else None])
    place, old, new = rows[0]
    if old is None or new is None:
        change = f"{old} is only in the first" if new is None else f"{new} is only in the second"
    else:
        change = f"it was {old}, and is {new}"
    return DiffReport(f"the steps part at operator {place}: {change}", rows)


def differences(before: Sequence[Noted], after: Sequence[Noted]) -> Iterator[StepDifference]:
    """The places at which two lists differ."""
    names = [[one.name for one in rows] for rows in (before, after)]
    for kind, start, end, begin, stop in SequenceMatcher(None, names[0], names[1], autojunk=False).get_opcodes():
        olds, news = before[start:end], after[begin:stop]
        for offset in range(max(len(olds), len(news))):
            old = olds[offset] if offset < len(olds) else None
            new = news[offset] if offset < len(news) else None
            if kind != "equal" or old is None or new is None or old.does != new.does:
                yield StepDifference(start + offset, old, new)


# The kinds of calls of a compiled step ------------------------------------------------------------------------------


def kinds_of(step: Compiled) -> KindsReport:
    """The kinds of calls of a compiled step, each with what is unlike one before."""
    entries = step.known_entries()
    names = argument_names(step.function)
    rows: list[KindOfCalls] = []
    for number, entry in enumerate(entries, 1):
        unlike = [list(unlike_in(one.key, entry.key, names)) for one in entries[: number - 1]]
        best = min(unlike, key=len, default=None)
        told = "" if best is None else "; ".join(best) or "its arguments are tied otherwise"
        rows.append(KindOfCalls(number, told, entry.state))
    name = getattr(step.function, "__qualname__", type(step.function).__name__)
    kinds = "1 kind" if len(rows) == 1 else f"{len(rows)} kinds"
    return KindsReport(f"{name}: {step.calls} calls of {kinds}, {step.replayed} replayed", rows)


def argument_names(function: Callable) -> list[str]:
    """The names of the arguments that a function takes by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def unlike_in(before: tuple, now: tuple, names: Sequence[str]) -> Iterator[str]:
    """In what two keys of calls differ, in words."""
    leaves, _, shape, (modes, dtype, device), training = now
    old_leaves, _, old_shape, (old_modes, old_dtype, old_device), old_training = before
    if shape != old_shape or len(leaves) != len(old_leaves):
        yield f"it has other arguments: {len(leaves)} in all; there were {len(old_leaves)}"
        return
    keywords = shape[1:] if isinstance(shape, tuple) else ()
    called = [*names[: len(leaves) - len(keywords)], *keywords]
    for place, (leaf, old) in enumerate(zip(leaves, old_leaves, strict=True)):
        name = called[place] if isinstance(shape, tuple) and place < len(called) else f"argument {place}"
        yield from (f"{name} {what}" for what in unlike_leaves(old, leaf))
    yield from unlike_modes(old_modes, modes)
    for what, new, old in (("dtype", dtype, old_dtype), ("device", device, old_device)):
        if new != old:
            yield f"the default {what} is {new}; it was {old}"
    if training != old_training:
        yield "it is training; it was evaluating" if training else "it is evaluating; it was training"


def unlike_leaves(before: Any, now: Any) -> Iterator[str]:
    """In what two arguments differ."""
    if before == now:
        return
    if not (isinstance(before, tuple) and isinstance(now, tuple) and len(before) == len(now) == 6):
        yield f"is {argument_text(now)}; it was {argument_text(before)}"
        return
    old, new = before[1], now[1]
    for field in ("shape", "dtype", "device", "strides", "requires_grad"):
        if getattr(old, field) != getattr(new, field):
            yield f"has {field} {field_text(getattr(new, field))}; it had {field_text(getattr(old, field))}"
    if before[2] != now[2]:
        yield "has no history now; it had one" if now[2] else "has a history; it had none"
    if (before[3] is None) != (now[3] is None):
        yield "has no .grad; it had one" if now[3] is None else "has a .grad; it had none"
    elif before[3] is not now[3]:
        yield f"has another kind of .grad: {short(now[3])}; it was {short(before[3])}"
    if before[0] is not now[0]:
        yield f"is a {now[0].__name__}; it was a {before[0].__name__}"
    if before[4:] != now[4:]:
        yield "has other attributes, or other hooks"
    if old is not new and all(getattr(old, name) == getattr(new, name) for name in ("shape", "dtype", "requires_grad")):
        yield "lies otherwise in memory: a view, or written to" if old.strides == new.strides else "lies otherwise"


def field_text(value: Any) -> str:
    """A field of a spec."""
    return str(list(value)) if isinstance(value, tuple) else str(value)


def argument_text(key: Any) -> str:
    """An argument by its key."""
    if isinstance(key, tuple) and len(key) == 6:
        return f"a tensor {short(key[1])}"
    if key in DYNAMIC.values():
        return f"any {key[0].__name__}"
    return key[1] if isinstance(key, tuple) else "another object"


def unlike_modes(before: Modes, now: Modes) -> Iterator[str]:
    """In what two sets of modes differ."""
    if before is not now:
        for name in ("grad", "inference", "autocast", "multithreading", "subgradient", "surviving", "torch_function"):
            new, old = getattr(now, name), getattr(before, name)
            if new != old:
                yield f"the mode {name} is {new!r}; it was {old!r}"
