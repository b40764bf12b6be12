"""Modules to which each process gives its part of a batch, and from which it gets its part of the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function import Function
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.tensor.dtensor import DTensor, to_local
from tapegrad.distributed.tensor.placement_types import Shard


def called_with_parts(call: Callable, mesh: DeviceMesh, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call something with the batch of all processes, and give this one its part of what it returns.

    The gradient of a parameter is the mean over the processes: what goes back through an output is divided by their
    number. If an argument lies on a mesh, all is given and returned as it is.
    """
    given = [*leaves(inputs), *leaves(kwargs)]
    if not given or any(isinstance(one, DTensor) for one in given):
        return call(*inputs, **kwargs)
    count = jax.process_count()
    everywhere = [Shard(0)] * mesh.ndim

    def join(x: Tensor) -> Tensor:
        return DTensor.from_local(_Scaled.apply(x, count), mesh, everywhere) if x.ndim else x

    found = call(*each(join, inputs), **each(join, kwargs))
    return each(lambda y: _Scaled.apply(to_local(y), 1 / count) if isinstance(y, DTensor) else y, found)


class _Scaled(Function):
    """A tensor as it is, whose gradient is multiplied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        return grad * ctx.factor, None


def leaves(tree: Any) -> list[Tensor]:
    """The tensors in a tree of containers."""
    found: list[Tensor] = []
    each(lambda x: found.append(x) or x, tree)  # type: ignore[func-returns-value]
    return found


def each(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """A tree of containers with a function applied to the tensors in it."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: each(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(each(function, value) for value in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(each(function, value) for value in tree)
    return tree
