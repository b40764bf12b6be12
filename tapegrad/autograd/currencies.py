"""The two currencies of a backward call: values, and tensors that record. See ``engine/currency.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.execution.kernel import add_values
from tapegrad.tape.node import Node
from tapegrad.tensor.tensor import Tensor, describe, value_of, wrap


class Values:
    """Raw values, for a backward that is not recorded: one kernel call for each node."""

    add = staticmethod(add_values)

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return node.apply_values(grads, needed)

    @staticmethod
    def to_hook(grad: Any) -> Tensor:
        return wrap(grad, describe(grad))

    @staticmethod
    def from_hook(grad: Tensor) -> Any:
        return value_of(grad)


class Tensors:
    """Tensors, for ``create_graph=True``: the formulas record themselves."""

    @staticmethod
    def add(left: Any, right: Any) -> Any:
        return left + right

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return node.apply(grads, needed)

    @staticmethod
    def to_hook(grad: Tensor) -> Tensor:
        return grad

    from_hook = to_hook
