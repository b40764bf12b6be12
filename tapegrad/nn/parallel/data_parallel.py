"""``DataParallel``, which here has one device to share the work among: it calls the module.

PyTorch's does that, too, where it finds no GPU, and moves the module to the GPU where it finds one. What is to run on
several devices is compiled and given to jax.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.device_names.cuda import is_available
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel", "parallel_apply", "replicate"]


class DataParallel(Module):
    """Calls a module on the first of some devices, with the arguments that it is called with.

    Args:
        module: the module, which is moved to that device.
        device_ids: GPUs, by number; all that there are, if None. Without GPUs the module stays where it is.
        output_device: the GPU of the result; the first one, if None.
        dim: makes no difference on one device.

    Attributes:
        module: the module.
        device_ids: the GPU that is used, in a list; empty if there is none.

    >>> DataParallel(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = list(device_ids or [0])[:1] if is_available() else []
        if self.device_ids:
            self.dim = dim
            self.output_device = self.device_ids[0] if output_device is None else output_device
            module.cuda(self.device_ids[0])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            inputs, kwargs = moved((inputs, kwargs), self.device_ids[0])
        return self.module(*inputs, **kwargs)


def moved(value: Any, device: Any) -> Any:
    """The arguments that a module is called with, with their tensors on a GPU."""
    if isinstance(value, Tensor):
        return value.cuda(device)
    if type(value) in (tuple, list):
        return type(value)(moved(item, device) for item in value)
    return {key: moved(item, device) for key, item in value.items()} if type(value) is dict else value


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module: see ``DataParallel``.

    Args:
        module: the module.
        inputs: a tuple of its arguments, or the only one.
        device_ids, output_device, dim: make no difference on one device.
        module_kwargs: its arguments by keyword.
    """
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*args, **(module_kwargs or {}))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Copy a module for each of some devices: the copies share their parameters, for there is one device.

    Args:
        network: the module.
        devices: the devices; only their number counts.
        detach: whether the parameters of copies are cut off from the module's.
    """
    replicas = []
    for _ in devices:
        shared = {id(one): one.detach() if detach else one for one in [*network.parameters(), *network.buffers()]}
        replicas.append(copy.deepcopy(network, shared))
    return replicas


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call modules one after the other, each with arguments of its own.

    Args:
        modules: the modules.
        inputs: for each a tuple of its arguments, or the only one.
        kwargs_tup: for each its arguments by keyword.
        devices: one for each; makes no difference on one device.

    Raises:
        AssertionError: there are not as many of each.

    >>> parallel_apply([torch.nn.ReLU(), torch.nn.Identity()], [torch.tensor([-1.0]), torch.tensor([-2.0])])
    [tensor([0.]), tensor([-2.])]
    """
    for what, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(given) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {what} {len(given)}"
            )
    keywords = kwargs_tup or [{} for _ in modules]
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **words)
        for module, given, words in zip(modules, inputs, keywords, strict=True)
    ]
