"""``torch.nn.utils._named_member_accessor``: tensors of modules, by their names."""

from __future__ import annotations

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.modules.module import Module

__all__ = ["set_tensor", "swap_tensor"]


def _check(module: Module, name: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def swap_tensor(module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False) -> Tensor | None:
    """Put a tensor in the place of one of a module's, and give that back. It need be no parameter.

    Args:
        module: the module.
        name: what it calls the tensor.
        tensor: the other one.
        allow_missing: whether there may be none.

    Raises:
        AttributeError: there is none.
        TypeError: something is no module, or no tensor.
        KeyError: the name has a dot in it, or is empty.

    >>> layer = torch.nn.Linear(1, 1)
    >>> before = swap_tensor(layer, "weight", torch.ones(1, 1))
    >>> layer.weight, before.shape
    (tensor([[1.]]), torch.Size([1, 1]))
    """
    _check(module, name)
    if not allow_missing and not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if not (tensor is None or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    before = getattr(module, name, None)
    if not (before is None or isinstance(before, Tensor)):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    kept = next((table for table in (module._parameters, module._buffers) if name in table), None)
    if kept is None:
        setattr(module, name, tensor)
    else:
        kept[name] = tensor
    return before


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """``swap_tensor``, of a tensor that needn't be there."""
    swap_tensor(module, name, tensor, allow_missing=True)
