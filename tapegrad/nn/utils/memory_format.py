"""The weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from tapegrad.nn import modules

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Bring the weights of all ``Conv2d`` and ``ConvTranspose2d`` of a module into a memory format.

    Args:
        module: the module, which is returned.
        memory_format: ``torch.channels_last`` or ``torch.contiguous_format``.
    """
    return converted(module, memory_format, (modules.Conv2d, modules.ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Bring the weights of all ``Conv3d`` and ``ConvTranspose3d`` of a module into a memory format.

    Args:
        module: the module, which is returned.
        memory_format: ``torch.channels_last_3d`` or ``torch.contiguous_format``.
    """
    return converted(module, memory_format, (modules.Conv3d, modules.ConvTranspose3d))


def converted(module: Any, memory_format: Any, kinds: tuple) -> Any:
    """A module with the weights of modules of some kinds in a memory format."""
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module
