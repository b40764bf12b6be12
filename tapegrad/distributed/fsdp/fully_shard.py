"""``fully_shard``: a layout, in which parameters, gradients and the optimizer's state are split over the mesh.

XLA gathers a parameter where a layer computes with it, and adds up each device's part of the gradient. So nothing is
done here but to place parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.tensor.modules import distributed, place_parameters
from tapegrad.distributed.tensor.placement_types import Placement, Replicate, Shard
from tapegrad.errors import message
from tapegrad.execution.devices import accelerator_type
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter
from tapegrad.tensor.tensor import Tensor

__all__ = ["fully_shard"]


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    shard_placement_fn: Callable[[Parameter], Shard | None] | None = None,
    ignored_params: set[Parameter] | None = None,
    **unused: Any,
) -> Module:
    """Split the parameters of a module over a mesh, in place. It is given inputs that lie on the mesh, too.

    Args:
        module: the module. What is on a mesh already stays as it is.
        mesh: of one dimension, or of two, where the second is the one to split over; by default of all devices.
        shard_placement_fn: says for a parameter along which dimension it is split; the first one, if it says None.
        ignored_params: stay as they are.

    A parameter whose dimension can't be split evenly is on each device, and so are buffers.

    >>> import tapegrad as torch
    >>> fully_shard(torch.nn.Linear(2, 2)).weight.placements
    (Shard(dim=0),)
    """
    mesh = default_mesh() if mesh is None else mesh
    if mesh.ndim > 2:
        raise ValueError(message("fully_shard takes a mesh of one or two dimensions", got=mesh,
                                 hint="give it a part, such as mesh['data']"))  # fmt: skip
    ignored = {id(p) for p in ignored_params or ()}

    def placed(tensor: Tensor) -> Tensor:
        if tensor.device.spread or id(tensor) in ignored:
            return tensor
        return distributed(tensor, mesh, _placements(tensor, mesh, shard_placement_fn))

    for submodule in module.modules():
        place_parameters(submodule, placed)
    return module


def _placements(tensor: Tensor, mesh: DeviceMesh, chosen: Callable | None) -> tuple[Placement, ...]:
    """On how the last dimension of the mesh is split; along the others, all have the same."""
    shard = (chosen(tensor) if chosen is not None and isinstance(tensor, Parameter) else None) or Shard(0)
    splits = isinstance(tensor, Parameter) and tensor.ndim > 0 and tensor.shape[shard.dim] % mesh.shape[-1] == 0
    return (*(Replicate(),) * (mesh.ndim - 1), shard if splits else Replicate())


def default_mesh() -> DeviceMesh:
    """All devices of all processes in a row."""
    return init_device_mesh(accelerator_type() or "cpu", (jax.device_count(),))
