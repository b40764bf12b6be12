"""``DistributedDataParallel``: a layout, in which each process has a part of the batch, and all of the module.

Inputs are put together to one batch over all devices, and what the module returns is taken apart again; so a module
that looks at the whole batch, as batch normalization does, sees that of all processes. The gradient of a parameter is
the mean over the processes, as PyTorch's is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tapegrad.autograd.grad_mode import is_grad_enabled
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.fsdp.fully_shard import default_mesh
from tapegrad.distributed.groups import get_world_size
from tapegrad.distributed.parts import called_with_parts, leaves
from tapegrad.distributed.tensor.dtensor import DTensor, to_local
from tapegrad.distributed.tensor.modules import distribute_module
from tapegrad.errors import message
from tapegrad.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module of which each process has a copy, and whose gradients are the mean of theirs.

    Args:
        module: the module, whose parameters and buffers become those of the first process.
        device_ids, output_device: accepted; a process computes on its own devices.
        device_mesh: of one dimension; by default of all devices.
        options: PyTorch's others are accepted: XLA finds out by itself which parameters are used, and joins sums.

    Where no gradients are wanted, as in an evaluation, a process computes by itself: ``module`` may be called by one
    alone, and so may this one in ``eval()``, with as many examples as there are.

    On a mesh of one device there is nobody to share with, and the module stays as it is.

    Inputs are tensors of this process, whose first dimension is that of examples, as many as others have; or lie on the
    mesh, and so do outputs then, as in a compiled step.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        *unused: Any, device_mesh: DeviceMesh | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        get_world_size()
        if dim != 0:
            raise ValueError(message("a batch is split along its first dimension", expected=0, got=dim))
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that "
                               "require a gradient.")  # fmt: skip
        self.device_ids, self.output_device, self.require_backward_grad_sync = device_ids, output_device, True
        self.device_mesh = device_mesh or default_mesh()
        self.module = module if self.device_mesh.size() == 1 else distribute_module(module, self.device_mesh)
        self.module.register_forward_pre_hook(_begin_alone, with_kwargs=True)
        self.module.register_forward_hook(_end_alone, always_call=True)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module with the batch of all processes."""
        if self.device_mesh.size() == 1 or (not is_grad_enabled() and not self.module.training):
            return self.module(*inputs, **kwargs)
        return called_with_parts(self.module, self.device_mesh, inputs, kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients that are only added up here: sums are linear, so that it makes no difference but in time."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: all processes run the same programs, as often."""
        raise NotImplementedError(message(
            "processes that have no more batches can't leave the others alone", hint="let all have as many: a "
            "DistributedSampler sees to it, drop_last=True does for batches"))  # fmt: skip

    def register_comm_hook(self, state: object, hook: object) -> NoReturn:
        """Refused: XLA carries gradients, in the layout that they have."""
        raise NotImplementedError(message("XLA adds gradients up; nobody else can", hint="register a hook of the "
                                          "parameter, Tensor.register_hook, which is given the mean"))  # fmt: skip


_kept: list[list[tuple[dict[str, Any], str, Any]]] = []
"""The hooks that were put aside of modules that are being called by this process alone."""


def _begin_alone(module: Module, inputs: tuple, kwargs: dict[str, Any]) -> None:
    """Let a module that is given what lies on no mesh compute with what this process has of its parameters."""
    put_aside: list[tuple[dict[str, Any], str, Any]] = []
    _kept.append(put_aside)
    if is_grad_enabled() or any(isinstance(one, DTensor) for one in (*leaves(inputs), *leaves(kwargs))):
        return
    for part in module.modules():
        for kept in (part._parameters, part._buffers):
            for name, tensor in kept.items():
                if isinstance(tensor, DTensor):
                    put_aside.append((kept, name, tensor))
                    kept[name] = to_local(tensor, alone=True)  # type: ignore[arg-type]


def _end_alone(module: Module, inputs: Any, outputs: Any) -> None:
    for kept, name, tensor in _kept.pop():
        kept[name] = tensor
