"""``explain``: what would keep the calls of a function from being replayed, found by making one of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tapegrad._src.tape.positions import Position, here
from tapegrad.compiler.capture.arguments import taken_apart
from tapegrad.compiler.capture.capture import Capture
from tapegrad.compiler.capture.captured_call import CapturedCall
from tapegrad.compiler.step import Compiled


@dataclass
class BreakReason:
    """Why Python must run in each call.

    Attributes:
        reason: what the call does, and what could be done about it.
        user_stack: the line, where it is known.
    """

    reason: str
    user_stack: list[traceback.FrameSummary]
    graph_break: bool = True


@dataclass
class ExplainOutput:
    """The findings of ``explain``.

    Attributes:
        graphs: the programs that the call made, each as the lines of its operators.
        break_reasons: why the call is not one program that can be run without Python; empty if it is.
        out_guards: what is compared before a call is replayed, in words.
    """

    graphs: list[list[str]]
    break_reasons: list[BreakReason]
    out_guards: list[str]

    @property
    def graph_count(self) -> int:
        """The number of programs."""
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        """The number of places at which they are parted."""
        return len(self.graphs) - 1

    @property
    def ops_per_graph(self) -> list[list[str]]:
        """The operators of each program."""
        return self.graphs

    @property
    def op_count(self) -> int:
        """The number of all operators."""
        return sum(map(len, self.graphs))

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}"]
        lines += [f"Op Count: {self.op_count}", "Break Reasons:"]
        for number, one in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {one.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in one.user_stack]
        lines.append("Ops per Graph:")
        for number, graph in enumerate(self.graphs, 1):
            lines += [f"  Ops {number}:", *(f"    {line}" for line in graph)]
        return "\n".join([*lines, "Out Guards:", *(f"  {guard}" for guard in self.out_guards)])


class NotingCapture(Capture):
    """A capture that notes operators, and where elements are read.

    Attributes:
        graphs: the names of the operators before each of these places, and after the last.
        locations: these places.
    """

    __slots__ = ("graphs", "locations")

    def __init__(self, splits: bool) -> None:
        super().__init__(splits)
        self.graphs: list[list[str]] = [[]]
        self.locations: list[Position | None] = []

    def watch(self, plan: Any, args: tuple, results: tuple) -> None:
        """Note an operator."""
        self.graphs[-1].append(plan.op.name)
        super().watch(plan, args, results)

    def demand(self) -> None:
        """Note that elements are read."""
        self.locations.append(here())
        self.graphs.append([])
        super().demand()


class ExplainedCall(CapturedCall):
    """A call of which is noted what it does."""

    captures = NotingCapture
    capture: NotingCapture


def explain(f: Callable, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Explain what keeps the calls of a function from being replayed, as a function of its arguments; the call is made,
    once.

    Returns:
        a function of the arguments of ``f``, which gives an ``ExplainOutput``; that itself, if arguments are given.

    >>> def step(x):
    ...     y = x * 2
    ...     if y.sum() > 1:
    ...         y = y + 1
    ...     return y, y.sum().item()
    >>> found = torch._dynamo.explain(step)(torch.ones(3))
    >>> found.graph_count, found.graph_break_count, found.ops_per_graph
    (2, 1, [['mul', 'sum_all', 'gt'], ['add', 'sum_all']])
    >>> found.break_reasons[0].reason.partition(":")[0]
    'it reads elements of a tensor'
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        compiled = Compiled(f.function if isinstance(f, Compiled) else f, False)
        leaves, tree = taken_apart((args, kwargs))
        shared, entry = compiled._shared, compiled._entry(leaves, tree)
        shared.widths.seen = True  # so that numbers are read late, as in the calls after the first
        call = ExplainedCall(shared, entry, args, kwargs, leaves, tree)
        call.run()
        guards = sorted({str(one[3]) for one in call.reached.all_locations()})
        return ExplainOutput(call.capture.graphs, list(_reasons(call)), guards)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _reasons(call: ExplainedCall) -> Iterator[BreakReason]:
    for location in call.capture.locations:
        yield BreakReason(READS, [] if location is None else [_frame(location)])
    if call.ran.refused is not None:
        yield BreakReason(f"{call.ran.refused}; do it outside of the function", [])
    elif call.entry.reason and not call.capture.locations and not _passes(call.entry.reason):
        yield BreakReason(call.entry.reason, [])


READS = (
    "it reads elements of a tensor: Python chooses its way by them, or shows them; choose with torch.where, or return "
    "the tensor and read it outside (a number that is only returned or kept is no break)"
)


def _passes(reason: str) -> bool:
    """Tell whether a reason is one of the first call only."""
    return reason.startswith("it is the first") or "the call itself changes what it reads" in reason


def _frame(location: Position) -> traceback.FrameSummary:
    return traceback.FrameSummary(location.file, location.line, location.function)
