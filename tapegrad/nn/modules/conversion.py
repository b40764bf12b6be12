"""Modules to other dtypes and devices: a function is applied to each of their tensors, which stay who they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.__future__ import get_overwrite_module_params_on_conversion, get_swap_module_params_on_conversion
from tapegrad._src.execution.data.dtypes import complex32
from tapegrad._src.functions.conversion import _parse_to
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn.parameter import Parameter
from tapegrad.utils.swapping import swap_tensors


def apply_to_tensors(module: Any, function: Callable[[Tensor], Tensor]) -> None:
    """Put what a function makes of them in the place of a module's own parameters, their gradients and its buffers.

    A parameter stays the tensor that optimizers know, and has other data; a buffer becomes another tensor.
    """
    for name, parameter in module._parameters.items():
        if parameter is not None and get_swap_module_params_on_conversion():
            swap(parameter, function, f"{module._get_name()}.{name}")
        elif parameter is not None:
            module._parameters[name] = converted(parameter, function)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)


def converted(parameter: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """A parameter with what a function makes of its data and of its gradient; a new one where it can't have that."""
    with no_grad():
        data = function(parameter)
        grad: Any = None if parameter.grad is None else function(parameter.grad)
    before, result = parameter.grad, parameter
    if takes_data(parameter, data):
        parameter.grad = None
        parameter.data = data
    else:
        result = Parameter(data, parameter.requires_grad)
    if before is None:
        return result
    if takes_data(before, grad):
        before.data = grad
        result.grad = before
    else:
        result.grad = grad.requires_grad_(before.requires_grad)
    return result


def takes_data(tensor: Any, data: Any) -> bool:
    """Tell whether a tensor is to be given other data, instead of making a new one."""
    of_one_kind = tensor.is_meta == data.is_meta and (tensor.dtype is complex32) == (data.dtype is complex32)
    return of_one_kind and not get_overwrite_module_params_on_conversion()


def swap(parameter: Any, function: Callable[[Tensor], Tensor], name: str) -> None:
    """Exchange a parameter and its gradient with what a function makes of them."""
    grad = parameter.grad
    with no_grad():
        made = Parameter(function(parameter), requires_grad=parameter.requires_grad)
        made_grad: Any = None if grad is None else function(grad)
    exchange(parameter, made, name, lambda: setattr(parameter, "grad", grad))
    if grad is not None:
        exchange(grad, made_grad.requires_grad_(grad.requires_grad), f"{name}.grad", lambda: None)
        parameter.grad = grad


def exchange(tensor: Any, other: Any, name: str, undo: Callable[[], None]) -> None:
    """Swap two tensors, of which the first has no gradient meanwhile.
    Raises RuntimeError: they can't be swapped; what was done before is undone.
    """
    try:
        if tensor.grad is not None:
            tensor.grad = None
        swap_tensors(tensor, other)
    except Exception as error:
        undo()
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error


def converter(args: tuple, kwargs: dict[str, Any]) -> Callable[[Tensor], Tensor]:
    """A function that does to each tensor what ``Module.to`` does, by its arguments."""
    device, wanted, non_blocking, memory_format = _parse_to(*args, **kwargs)
    if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
        raise TypeError(
            f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted}"
        )
    if wanted is not None and wanted.is_complex:
        warn(COMPLEX)

    def convert(tensor: Any) -> Any:
        changed = wanted if tensor.is_floating_point() or tensor.is_complex() else None
        formatted = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
        try:
            return tensor.to(device, changed, non_blocking, **formatted)
        except NotImplementedError as error:
            if str(error) != "Cannot copy out of meta tensor; no data!":
                raise
            raise NotImplementedError(
                f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                "from meta to a different device."
            ) from None

    return convert


COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not "
    "work as expected when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
    "expected."
)
