"""Errors that name the line: recording where operators, writes and losses of a gradient happened in the user's program.

See Note [Positions] in ``tape/positions.py``. Recording is a switch, for it makes the forward pass of small operators
a third slower; anomaly detection turns it on. What a backward call notes of itself is always there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tape.positions import RECORD_LINES, at, explain, here
from tapegrad._src.tensor.paths import fact_of
from tapegrad._src.tensor.tensor import Tensor


def watch(slot: str, watcher: Callable, on: bool, state: Any = thread) -> None:
    """Register a watcher with a thread, once, or take it off. See Note [Watchers] in ``tape/modes.py``."""
    watchers = getattr(state, slot)
    if on != (watcher in watchers):
        setattr(state, slot, (*watchers, watcher) if on else tuple(one for one in watchers if one is not watcher))


def refresh(modes: Modes, state: Any = thread) -> None:
    """Give a thread these modes, and have lines recorded exactly if they ask for it."""
    watch("node_watchers", note_line, modes.source_lines and not modes.detecting, state)
    state.modes = modes.replace(watched=bool(state.node_watchers), results_watched=bool(state.result_watchers))


def note_line(node: Node) -> None:
    """Remember where a node was made."""
    node._origin = here()


class set_record_source_lines:
    """Record source lines from here on, or stop; as a context manager, restore what was before at its end.

    With it, errors of backward name the lines of the program that matter: "modified by an inplace operation" says which
    operator saved the tensor and what wrote to it, "does not require grad" where the gradient was lost. It costs time
    per operator, so it is off at first; ``detect_anomaly`` turns it on.

    Args:
        mode: whether to record.

    Raises:
        TypeError: ``mode`` is no bool.

    >>> with torch.autograd.set_record_source_lines(True):
    ...     y = torch.ones(2, requires_grad=True) * 2
    >>> y.grad_fn._origin.function
    '<module>'
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_record_source_lines(): argument 'mode' must be bool, not {type(mode).__name__}")
        self.previous = thread.modes.source_lines
        refresh(thread.modes.replace(source_lines=mode))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        refresh(thread.modes.replace(source_lines=self.previous))


# What errors say ----------------------------------------------------------------------------------------------------


def described(tensor: Tensor) -> str:
    """A tensor in a few words: class, shape, dtype."""
    name = "Tensor" if type(tensor) is Tensor else type(tensor).__name__
    return f"a {name} of shape {list(tensor.shape)} and type {tensor.dtype}"


def without_graph(index: int, root: Any) -> str:
    """The message for a backward from a tensor that has no graph."""
    sentence = f"element {index} of tensors does not require grad and does not have a grad_fn"
    return explain(sentence, facts_without_grad(root))


def without_grad(target: Tensor) -> str:
    """The message for a gradient that was asked for with respect to a tensor that requires none."""
    return explain("One of the differentiated Tensors does not require grad", facts_without_grad(target))


def facts_without_grad(tensor: Tensor) -> list[str | None]:
    """The facts about a tensor that requires no grad, and where its gradient was lost."""
    losses = tensor._lost_grad or ()
    unknown = None if losses or thread.modes.recording else RECORD_LINES
    return [f"it is {described(tensor)}", fact_of(tensor), *(at(what, place) for what, place in losses), unknown]


def unused(index: int, target: Any, roots: Iterable[Any]) -> str:
    """The message for a gradient that was asked for and did not arrive."""
    sentence = (
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )
    if not isinstance(target, Tensor):
        return sentence
    node = target.grad_fn
    origins = [root.grad_fn._origin for root in roots if isinstance(root, Tensor) and root.grad_fn is not None]
    made = None if node is None else at(f"it was made by {name_of(node)}, by the operation", node._origin)
    ends = [at("the graph ends in the operation", place) for place in origins]
    facts = [f"it is {described(target)}", fact_of(target), made, *ends]
    recorded = any(place is not None for place in origins) or made
    return explain(sentence, [*facts, None if recorded else RECORD_LINES])
