"""Modules whose parameters lie on a mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.tensor.dtensor import DTensor, distribute_tensor
from tapegrad.distributed.tensor.placement_types import Placement
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter

__all__ = ["distribute_module"]


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Put the parameters and buffers of a module on a mesh, in place.

    Args:
        module: the module.
        device_mesh: the mesh.
        partition_fn: called with the name of each submodule, the submodule and the mesh; it may distribute what it
            will. What it leaves is put on each device.
        input_fn, output_fn: called with the module, what it is given (or gives), and the mesh, at each call.

    >>> layer = distribute_module(torch.nn.Linear(2, 2), DeviceMesh("cpu", [0]))
    >>> layer.weight.placements
    (Replicate(),)
    """
    for name, submodule in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, submodule, device_mesh)
        place_parameters(submodule, lambda p: distributed(p, device_mesh))
    if input_fn is not None:
        module.register_forward_pre_hook(lambda own, inputs: input_fn(own, inputs, device_mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda own, inputs, outputs: output_fn(own, outputs, device_mesh))
    return module


def distributed(tensor: Tensor, mesh: DeviceMesh, placements: Sequence[Placement] | None = None) -> Tensor:
    """A parameter or a buffer on a mesh; itself if it is on one."""
    if isinstance(tensor, DTensor) and placements is None:
        return tensor
    placed = distribute_tensor(tensor.detach(), mesh, placements)
    return Parameter(placed, requires_grad=tensor.requires_grad) if isinstance(tensor, Parameter) else placed


def place_parameters(module: Module, placed: Callable[[Tensor], Tensor]) -> None:
    """Put something in place of each parameter and buffer that a module itself has."""
    for kept in (module._parameters, module._buffers):
        for name, tensor in kept.items():
            if tensor is not None:
                kept[name] = placed(tensor)
