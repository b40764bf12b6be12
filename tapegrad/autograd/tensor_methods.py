"""The methods of Tensor that belong to autograd: ``backward``, ``retain_grad``, ``register_hook``."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from tapegrad.autograd import differentiate
from tapegrad.functions.registry import public
from tapegrad.tape.node import NodeHooks
from tapegrad.tensor.tensor import Tensor

_next_hook_id = count().__next__


class RemovableHandle:
    """What registering a hook gives: ``remove()`` takes the hook off; also usable as a context manager."""

    def __init__(self, hooks: dict) -> None:
        self.id = _next_hook_id()
        self._hooks = hooks

    def remove(self) -> None:
        """Take the hook off; a second time does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


@public("Tensor", out=False)
def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of this tensor into the leaves of its graph; see ``autograd.backward``."""
    differentiate.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def hooks_of(tensor: Tensor) -> NodeHooks:
    """The hook slots for the gradient of a tensor: its node's, or the leaf's own."""
    if tensor._edge is not None:
        return tensor._edge[0].own_hooks()
    if tensor._leaf_hooks is None:
        tensor._leaf_hooks = NodeHooks()
        node = None if tensor._accumulator is None else tensor._accumulator()
        if node is not None:
            node.hooks = tensor._leaf_hooks
    return tensor._leaf_hooks


@public("Tensor", out=False)
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook`` with the gradient of this tensor whenever it is computed; what it returns replaces the gradient.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not self._spec.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    hooks = hooks_of(self).tensor_pre
    handle = RemovableHandle(hooks)
    hooks[handle.id] = (self.output_nr, hook)
    return handle


@public("Tensor", out=False)
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf in ``.grad`` when it is computed; does nothing on a leaf.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not self._spec.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._edge is None or self._retains:
        return
    reference = weakref.ref(self)

    def keep(grad: Tensor) -> None:
        tensor = reference()
        if tensor is not None:
            tensor._grad = grad if tensor._grad is None else tensor._grad + grad  # type: ignore[operator]

    node, output_nr = self._edge
    node.own_hooks().retain[output_nr] = keep
    self._retains = True
