"""``Parameter``: a tensor that a module owns and an optimizer updates."""

from __future__ import annotations

from typing import Any, Self

from tapegrad.functions.construction import tensor
from tapegrad.functions.protocols import own_attributes, rebuild_tensor, tensor_parts
from tapegrad.functions.registry import NAMESPACES
from tapegrad.functions.subclass import _disabled_torch_function_impl, make_subclass
from tapegrad.interop.pytrees import register
from tapegrad.tensor.tensor import Tensor


class _ParameterMeta(type):
    """A tensor of another subclass counts as a parameter when it says so (``_is_param``)."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter when it is assigned to one. Operators on it give plain tensors.

    Args:
        data: the tensor whose data it shares; an empty one if None.
        requires_grad: whether gradients are accumulated in it.

    >>> import tapegrad as torch
    >>> Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    _repr_name = "tensor"
    _torch_function_disabled = True
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = tensor([])
        if type(data) is Tensor or type(data) is Parameter:
            return make_subclass(cls, data, requires_grad)  # type: ignore[return-value]
        result = data.detach().requires_grad_(requires_grad)
        if type(result) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(result).__name__} was found instead. To use the "
                "type as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        result._is_param = True
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        text = super().__repr__()
        if type(self) is not Parameter:
            text = f"Parameter({type(self).__name__}{text.removeprefix('tensor')})"
        return "Parameter containing:\n" + text

    def __reduce_ex__(self, proto: Any) -> tuple:
        reduced = _rebuild_parameter, (type(self), *tensor_parts(self))
        attributes = own_attributes(self)
        return (*reduced, attributes) if attributes else reduced


def _rebuild_parameter(cls: type, *parts: Any) -> Any:
    return cls(rebuild_tensor(Tensor, *parts), parts[3])


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        )


class Buffer(Tensor, metaclass=_BufferMeta):
    """``Buffer(data)`` marks a tensor that a module registers as a buffer when it is assigned to it.

    Args:
        data: the tensor whose data it shares; an empty one if None.
        persistent: whether the buffer is part of the module's state dict.
    """

    _torch_function_disabled = True
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = tensor([])
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


register(Parameter)
NAMESPACES.setdefault("nn", {}).update(Parameter=Parameter, Buffer=Buffer)
