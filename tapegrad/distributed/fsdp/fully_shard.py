"""``fully_shard``: a layout, in which parameters, gradients and the optimizer's state are split over the mesh.

XLA gathers a parameter where a layer computes with it, and adds up each device's part of the gradient. So nothing is
done here but to place parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax

from tapegrad._src.execution.data.devices import accelerator_type
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.fsdp.policies import (
    CPUOffloadPolicy,
    MixedPrecisionPolicy,
    OffloadPolicy,
    cast,
    parameters_cast,
)
from tapegrad.distributed.parts import called_with_parts
from tapegrad.distributed.tensor.modules import distributed, place_parameters
from tapegrad.distributed.tensor.placement_types import Placement, Replicate, Shard
from tapegrad.errors import message
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


SAME_TYPES = MixedPrecisionPolicy()


class UnshardHandle:
    """The result of ``unshard(async_op=True)``."""

    def wait(self) -> None:
        """Nothing to wait for."""


class FSDPModule:
    """The methods that ``fully_shard`` adds to the class of a module.

    XLA gathers parameters where they are used, and lets them go; so what PyTorch's users say of when this is to be
    done is accepted, and makes no difference.
    """

    _sharding: tuple[DeviceMesh, MixedPrecisionPolicy]

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module, with this process's part of the batch or with what lies on the mesh."""
        mesh, policy = self._sharding
        if policy.cast_forward_inputs:
            inputs, kwargs = cast(inputs, policy.param_dtype), cast(kwargs, policy.param_dtype)
        with parameters_cast(_managed(self), policy.param_dtype):  # type: ignore[arg-type]
            found = called_with_parts(super().__call__, mesh, inputs, kwargs)  # type: ignore[misc]
        return cast(found, policy.output_dtype)

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Accepted: XLA gathers parameters."""
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Accepted: XLA lets go what it has gathered."""

    def _accepted(self, *args: Any, **kwargs: Any) -> None:
        """Accepted: XLA decides when elements travel; sums of gradients are linear."""

    set_is_last_backward = set_requires_gradient_sync = set_requires_all_reduce = _accepted
    set_reshard_after_backward = set_reshard_after_forward = _accepted
    set_modules_to_forward_prefetch = set_modules_to_backward_prefetch = _accepted
    set_unshard_in_backward = set_force_sum_reduction_for_comms = set_allocate_memory_from_process_group_for_comm = (
        _accepted
    )


def _managed(module: Module) -> list[Module]:
    """A module and those in it that don't see to their parameters themselves."""
    found = [module]
    for child in module.children():
        found += [] if isinstance(child, FSDPModule) else _managed(child)
    return found


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let a method be called as the module is, with this process's part of the batch."""
    if not isinstance(module, FSDPModule):
        return
    mesh, _ = module._sharding
    method = getattr(module, method_name)
    setattr(module, method_name, lambda *inputs, **kwargs: called_with_parts(method, mesh, inputs, kwargs))


@cache
def _class_of(own: type) -> type:
    return type(f"FSDP{own.__name__}", (FSDPModule, own), {"__module__": own.__module__})


def fully_shard(
    module: Module | list[Module],
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = SAME_TYPES,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Parameter] | None = None,
    **unused: Any,
) -> Any:
    """Split the parameters of a module over a mesh, in place. Its class gets the methods of ``FSDPModule``.

    It is given this process's part of a batch, whose first dimension is that of examples, and gives its part of the
    results; gradients are the mean over the processes. If an argument lies on the mesh, so do results.

    Args:
        module: the module, or several. What is on a mesh already stays as it is.
        mesh: of one dimension, or of two, where the second is the one to split over; by default of all devices.
        reshard_after_forward: accepted; XLA decides.
        shard_placement_fn: says for a parameter along which dimension it is split; the first one, if it says None.
        mp_policy: in which types it computes.
        offload_policy: where parameters are kept: on their devices.
        ignored_params: stay as they are.

    A parameter whose dimension can't be split evenly is on each device, and so are buffers.

    >>> fully_shard(torch.nn.Linear(2, 2)).weight.placements
    (Shard(dim=0),)
    """
    mesh = default_mesh() if mesh is None else mesh
    if mesh.ndim > 2:
        raise ValueError(message("fully_shard takes a mesh of one or two dimensions", got=mesh,
                                 hint="give it a part, such as mesh['data']"))  # fmt: skip
    if isinstance(offload_policy, CPUOffloadPolicy) and accelerator_type() is not None:
        raise NotImplementedError(message("parameters can't be kept by the host", hint="leave offload_policy out"))
    if isinstance(module, (list, tuple)):
        return [fully_shard(one, mesh=mesh, shard_placement_fn=shard_placement_fn, mp_policy=mp_policy,
                            ignored_params=ignored_params) for one in module]  # fmt: skip
    ignored = {id(p) for p in ignored_params or ()}

    def placed(tensor: Tensor) -> Tensor:
        if tensor.device.sharded or id(tensor) in ignored:
            return tensor
        return distributed(tensor, mesh, _placements(tensor, mesh, shard_placement_fn))

    for submodule in module.modules():
        place_parameters(submodule, placed)
    if not isinstance(module, FSDPModule):
        module.__class__ = _class_of(type(module))  # type: ignore[arg-type]
    module._sharding = mesh, mp_policy
    return module


def _placements(tensor: Tensor, mesh: DeviceMesh, chosen: Callable | None) -> tuple[Placement, ...]:
    """On how the last dimension of the mesh is split; along the others, all have the same."""
    shard = (chosen(tensor) if chosen is not None and isinstance(tensor, Parameter) else None) or Shard(0)
    splits = isinstance(tensor, Parameter) and tensor.ndim > 0 and tensor.shape[shard.dim] % mesh.shape[-1] == 0
    return (*(Replicate(),) * (mesh.ndim - 1), shard if splits else Replicate())


def default_mesh() -> DeviceMesh:
    """All devices of all processes in a row."""
    return init_device_mesh(accelerator_type() or "cpu", (jax.device_count(),))
