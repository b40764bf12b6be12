"""Tensors and parameters as trees of jax, so that ``jax.jit`` and the others take and return them.

Note [Tensors as trees]
To jax a tensor is a node with one child, its value, and with what jax takes for a part of the structure: its class, and
whether it requires grad. So in a jitted function

- a leaf that requires grad comes in as a leaf that requires grad, and goes out as one; ``backward`` inside accumulates
  into ``.grad`` of the tensor inside. ``.grad`` itself does not travel: return it;
- a tensor with a history is refused, on the way in and on the way out, for the history can't come along:
  ``detach()`` it, or do all of it inside;
- each tensor has memory of its own: what shared memory outside does not inside, and a write inside is not seen outside.

Optimizers and other functions on trees of arrays look into tensors unless they are told not to (``is_leaf``). They do
best with the arrays alone: ``to_arrays``, ``to_tensors``.

``jax.grad`` of a tensor that requires grad is refused: it would be differentiated twice over, by jax and by the tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tapegrad._src.bindings.declaration.handing import overrides
from tapegrad._src.bindings.state.attributes import as_instance
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import float32
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tensor.dual import tangent_of
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, edge_of, new_tensor, value_of
from tapegrad.errors import message
from tapegrad.interop.arrays import WAY_OUT, from_jax_array

DIFFERENTIATING = frozenset(("JVPTracer", "LinearizeTracer"))
"""The names that jax gives to the tracers of its own differentiation."""

STAND_IN = Spec.of((), float32, device("cpu"))
"""The spec of a tensor around something that is no array: jax's functions put all sorts of things into trees."""


def register(cls: type) -> type:
    """Let jax take tensors of exactly this class for trees, with one leaf.

    Args:
        cls: a subclass of Tensor, all of whose state is its value and whether it requires grad.

    >>> import jax, tapegrad as torch
    >>> @register
    ... class Marked(torch.Tensor):
    ...     pass
    >>> jax.jit(lambda x: x * 2)(Marked([1.0]))
    Marked([2.])
    """
    unflatten = lambda requires_grad, children: made(cls, children[0], requires_grad)
    jax.tree_util.register_pytree_node(cls, flattened, unflatten)
    return cls


def register_node(cls: type, flatten: Callable[[Any], tuple], unflatten: Callable[[Any, Any], Any]) -> None:
    """Let jax take objects of exactly this class for nodes of trees.

    Args:
        cls: their class.
        flatten: gives the names of an object's children, the children, and what else it is, which can be compared.
        unflatten: makes an object of that, and of other children.
    """

    def with_keys(node: Any) -> tuple[list, Any]:
        names, children, rest = flatten(node)
        return [(jax.tree_util.GetAttrKey(name), child) for name, child in zip(names, children, strict=True)], rest

    jax.tree_util.register_pytree_with_keys(cls, with_keys, unflatten, lambda node: flatten(node)[1:])


def flattened(tensor: Tensor) -> tuple[tuple, bool]:
    """The value, and whether it requires grad.
    Raises TypeError: the tensor has a history, a tangent, or is inside a function transform.
    """
    spec = tensor._spec
    if spec.requires_grad and edge_of(tensor) is not None:
        raise TypeError(message("a tensor with a history can't go into a transformation of jax, nor come out of one",
                                hint=f"detach() it there; {WAY_OUT}"))  # fmt: skip
    value = value_of(tensor)
    if tangent_of(tensor) is not None or isinstance(value, Opaque):
        what = "a tangent" if tangent_of(tensor) is not None else "a place inside a function transform"
        raise TypeError(message(f"a tensor with {what} can't go into a transformation of jax", hint=WAY_OUT))
    return (array_of(value),), spec.requires_grad


def made(cls: type, value: Any, requires_grad: bool) -> Tensor:
    """The tensor of a class around a value, a leaf.
    Raises TypeError: jax differentiates a function of it, and it requires grad.
    """
    if not isinstance(value, jax.Array):
        return stand_in(cls, value, requires_grad)
    if requires_grad and type(value).__name__ in DIFFERENTIATING:
        raise TypeError(message("jax differentiates a function of a tensor that requires grad",
                                hint="give it tensor.detach(), or use tapegrad.func.grad"))  # fmt: skip
    tensor = from_jax_array(value)
    if requires_grad:
        tensor._spec = tensor._spec.replace(requires_grad=True)
    return tensor if cls is Tensor else as_instance(cls, tensor)


def stand_in(cls: type, value: Any, requires_grad: bool) -> Tensor:
    """A node of a tree around something that is no array: it can only be looked into again."""
    tensor: Any = new_tensor(cls)
    tensor._value, tensor._edge = value, None
    tensor._spec = STAND_IN.replace(requires_grad=requires_grad, overrides=overrides(cls))
    return tensor


register(Tensor)
