"""``torch._dynamo.decorators``: how programs mark functions and tensors for PyTorch's tracer. Marks change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.absent import EXPORTS, refused
from tapegrad._src.tape.modes import thread
from tapegrad.compiler import allow_in_graph, compile, disable
from tapegrad.fx._call_recorder import CallRecorder

__all__ = [
    "disallow_in_graph", "export", "forbid_in_graph", "graph_break", "is_dynamo_supported", "mark_dynamic",
    "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "optimize", "optimize_assert", "run",
]  # fmt: skip

export = refused("torch._dynamo.export", EXPORTS)


def optimize(
    backend: str | Callable = "inductor", *, nopython: bool = False, disable: bool = False, dynamic: bool | None = None,
    **guards: Any,
) -> Callable[[Callable], Any]:  # fmt: skip
    """A decorator, which is ``torch.compile``.

    Args:
        backend: see there.
        nopython: what is called ``fullgraph`` there.
        disable, dynamic: see there.
        guards: functions that PyTorch's tracer would call; ignored.

    >>> optimize("inductor")(lambda x: x + 1)(torch.ones(1))
    tensor([2.])
    """
    return lambda function: compile(function, fullgraph=nopython, backend=backend, dynamic=dynamic, disable=disable)


def optimize_assert(backend: str | Callable, **options: Any) -> Callable[[Callable], Any]:
    """``optimize``, of functions that must be captured as a whole."""
    return optimize(backend, nopython=True, **options)


def is_dynamo_supported() -> bool:
    """True: functions are compiled, though by another way."""
    return True


def graph_break(msg: str = "") -> None:
    """End the graph that is being recorded for a backend, if there is one; a step of XLA's is one program.

    Args:
        msg: why.
    """
    for mode in thread.function_modes:
        if isinstance(mode, CallRecorder):
            mode.cut(msg or "a call of graph_break")


def mark_dynamic(t: Any, index: int | list[int] | tuple[int, ...], **bounds: Any) -> None:
    """Does nothing: calls with other shapes are compiled anew, and those of known ones are found.

    Args:
        t: a tensor.
        index: its dimensions.
        bounds: how large they may be.
    """


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def mark_static(t: Any, index: int | list[int] | tuple[int, ...] | None = None) -> None:
    """Does nothing: shapes are static."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Does nothing: XLA chooses where arrays lie."""


def disallow_in_graph(fn: Any) -> Any:
    """The function itself, or each of several, as ``allow_in_graph``: Python is what is captured."""
    return allow_in_graph(fn)


def forbid_in_graph(fn: Any) -> Any:
    """The function itself, or each of several, as ``allow_in_graph``."""
    return allow_in_graph(fn)


def run(fn: Callable | None = None) -> Any:
    """The function itself, or a decorator that gives it back: what was compiled is run, and the rest, too."""
    return run if fn is None else disable(fn)
