"""``DistributedDataParallel``: a layout, in which each process has a part of the batch, and all of the module.

Inputs are put together to one batch over all devices, and what the module returns is taken apart again; so a module
that looks at the whole batch, as batch normalization does, sees that of all processes. The gradient of a parameter is
the mean over the processes, as PyTorch's is: what goes back through an output is divided by their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.autograd.function import Function
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.groups import get_world_size
from tapegrad.distributed.fsdp.fully_shard import default_mesh
from tapegrad.distributed.tensor.dtensor import DTensor, to_local
from tapegrad.distributed.tensor.modules import distribute_module
from tapegrad.distributed.tensor.placement_types import Shard
from tapegrad.nn import parallel
from tapegrad.nn.modules.module import Module
from tapegrad.tensor.tensor import Tensor

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module of which each process has a copy, and whose gradients are the mean of theirs.

    Args:
        module: the module, whose parameters and buffers become those of the first process.
        device_mesh: of one dimension; by default of all devices.

    Inputs are tensors of this process, whose first dimension is that of examples; or lie on the mesh, and so do
    outputs then, as in a compiled step.
    """

    def __init__(self, module: Module, *unused: Any, device_mesh: DeviceMesh | None = None, **options: Any) -> None:
        super().__init__()
        get_world_size()
        self.device_mesh = device_mesh or default_mesh()
        self.module = distribute_module(module, self.device_mesh)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module with the batch of all processes."""
        given = [*inputs, *kwargs.values()]
        if any(isinstance(one, DTensor) for one in given):
            return self.module(*inputs, **kwargs)
        count = get_world_size()
        join = lambda x: DTensor.from_local(_Scaled.apply(x, count), self.device_mesh, [Shard(0)])
        found = self.module(*_each(join, inputs), **_each(join, kwargs))
        return _each(lambda y: _Scaled.apply(to_local(y), 1 / count), found)


class _Scaled(Function):
    """A tensor as it is, whose gradient is multiplied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        return grad * ctx.factor, None


def _each(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """A tree of containers with a function applied to the tensors in it."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: _each(function, value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(_each(function, value) for value in tree)
    return tree


parallel.DistributedDataParallel = DistributedDataParallel  # type: ignore[attr-defined]  # where PyTorch has it
