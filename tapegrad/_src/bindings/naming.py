"""Names of nodes: PyTorch has two for one derivative where a function and its in-place variant are declared apart."""

from __future__ import annotations

from functools import cache
from typing import Any

from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, name_of
from tapegrad._src.tensor.tensor import Tensor

NO_DERIVATIVE = "torch::autograd::NotImplemented"
"""The name of the nodes of functions that PyTorch records but can't differentiate."""


def renamed(result: Tensor, name: str) -> Tensor:
    """A result that was just computed, with another name for its node.

    >>> renamed(torch.ones(2, requires_grad=True).exp(), "ExpBackward1").grad_fn.name()
    'ExpBackward1'
    """
    if result._edge is not None:
        node: Any = result._edge[0]
        node.__class__ = _class_named(node.__class__, name)
    return result


def underivable(result: Tensor, function: str) -> Tensor:
    """A result that was just computed by a function of this name which has no derivative; backward will say so.

    One that was computed by an operator with a derivative is left as it is.
    """
    if result._edge is not None and name_of(result._edge[0]) == NO_DERIVATIVE:
        node: Any = result._edge[0]
        node.next_edges = tuple(edge for edge in node.next_edges if edge is not None)
        node.sequence_nr = HIGHEST_SEQUENCE_NR
        node.__class__ = _class_refusing(node.__class__, function)
    return result


@cache
def _class_named(cls: type, name: str) -> type:
    own = {"__slots__": (), "__module__": "builtins", "name": lambda node: name}
    return type(name.rpartition("::")[2], (cls,), own)


@cache
def _class_refusing(cls: type, function: str) -> type:
    def refuse(node: Any, grads: list, needed: Any) -> Any:
        raise RuntimeError(f"derivative for {function} is not implemented")

    own = {"__slots__": (), "__module__": "builtins", "apply": refuse, "apply_values": refuse}
    return type(cls.__name__, (cls,), own)
