"""Modules to other dtypes and devices: a function is applied to each of their tensors, which stay who they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tapegrad.autograd.grad_mode import no_grad
from tapegrad.execution.dtypes import dtype
from tapegrad.tensor.tensor import Tensor


def apply_to_tensors(module: Any, function: Callable[[Tensor], Tensor]) -> None:
    """Put what a function makes of them in the place of a module's own parameters, their gradients and its buffers.

    A parameter stays the tensor that optimizers know, and has other data; a buffer becomes another tensor.
    """
    for name, parameter in module._parameters.items():
        if parameter is not None:
            module._parameters[name] = with_data_of(parameter, function)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)


def with_data_of(parameter: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """A parameter with what a function makes of its data and of its gradient."""
    with no_grad():
        data = function(parameter)
        grad = None if parameter.grad is None else function(parameter.grad)
    if grad is None:
        parameter.data = data
        return parameter
    kept, parameter.grad = parameter.grad, None
    parameter.data = data
    kept.data = grad
    parameter.grad = kept
    return parameter


def converter(args: tuple, kwargs: dict[str, Any]) -> Callable[[Tensor], Tensor]:
    """What ``Module.to`` does to each tensor, by its arguments."""
    device, wanted, non_blocking, memory_format = parsed(*args, **kwargs)
    if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
        raise TypeError(
            f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted}"
        )
    if wanted is not None and wanted.is_complex:
        warnings.warn(COMPLEX, stacklevel=3)

    def convert(tensor: Any) -> Any:
        changed = wanted if tensor.is_floating_point() or tensor.is_complex() else None
        formatted = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
        return tensor.to(device, changed, non_blocking, **formatted)

    return convert


COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not "
    "work as expected when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
    "expected."
)


def parsed(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``Module.to`` as device, dtype, ``non_blocking`` and memory format."""
    first = args[0] if args else kwargs.get("tensor")
    if isinstance(first, Tensor):
        names: tuple[str, ...] = ("tensor", "non_blocking")
    elif isinstance(first, dtype):
        names = ("dtype", "non_blocking")
    else:
        names = ("device", "dtype", "non_blocking")
    given = dict(zip(names, args, strict=False)) | kwargs
    if isinstance(given.get("tensor"), Tensor):
        given |= {"device": given["tensor"].device, "dtype": given["tensor"].dtype}
    return given.get("device"), given.get("dtype"), bool(given.get("non_blocking")), given.get("memory_format")
