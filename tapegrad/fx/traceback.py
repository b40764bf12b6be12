"""``torch.fx.traceback``: notes that nodes get while they are made, from who runs another graph."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta",
    "reset_grad_fn_seq_nr", "set_current_meta", "set_grad_fn_seq_nr", "set_stack_trace",
]  # fmt: skip


class _Current:
    """The notes of now.

    Attributes:
        meta: the notes.
        preserved: whether nodes that are made get them.
    """

    meta: dict[str, Any] = {}
    preserved: bool = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A context in which nodes that are made get the notes of the node that is run: a ``Transformer`` keeps them so.

    >>> with preserve_node_meta():
    ...     has_preserved_node_meta()
    True
    """
    before = _Current.preserved, _Current.meta
    try:
        _Current.preserved, _Current.meta = enable, copy.copy(_Current.meta)
        yield
    finally:
        _Current.preserved, _Current.meta = before


def has_preserved_node_meta() -> bool:
    """Tell whether nodes that are made get notes."""
    return _Current.preserved


def get_current_meta() -> dict[str, Any]:
    """The notes that nodes get now."""
    return _Current.meta


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """A context in which nodes that are made get the notes of ``node``, if they get some."""
    before = _Current.meta
    try:
        if _Current.preserved:
            _Current.meta = {**before, **copy.copy(node.meta)}
        yield
    finally:
        _Current.meta = before


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A context in which nodes that are made get these notes as ``meta["custom"]``.

    >>> with preserve_node_meta(), annotate({"part": 1}):
    ...     graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    >>> graph.find_nodes(op="output")[0].meta
    {'custom': {'part': 1}}
    """
    before = _Current.meta
    try:
        _Current.meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
        yield
    finally:
        _Current.meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable], Callable]:
    """A decorator: what a function makes gets these notes."""
    return annotate(annotation_dict)


def set_stack_trace(stack: list[str]) -> None:
    """Let the nodes that are made have these lines as their place, if they get notes."""
    if _Current.preserved and stack:
        _Current.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines of the place that nodes get now; those of the caller, if there is none."""
    if _Current.preserved:
        return [_Current.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Let the nodes that are made tell the number of the node of the tape that is run backward, if they get notes."""
    if _Current.preserved:
        _Current.meta["grad_fn_seq_nr"] = [*_Current.meta.get("grad_fn_seq_nr", []), seq_nr]
        _Current.meta["in_grad_fn"] = _Current.meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Take the last of these numbers away."""
    if _Current.preserved and _Current.meta.get("in_grad_fn", 0) > 0:
        _Current.meta["in_grad_fn"] -= 1
        _Current.meta["grad_fn_seq_nr"] = _Current.meta["grad_fn_seq_nr"][:-1]
