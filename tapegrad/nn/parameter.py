"""``Parameter``, which a module owns and an optimizer updates; ``Buffer``; both before their shape is known.

Note [Uninitialized tensors]
A lazy module learns the shapes of its parameters from its first input. Until then it has an ``UninitializedParameter``,
whose class overrides all functions in order to refuse them. Who overrides functions is looked for only where there is
anybody (``registry.overriding``), so that each of these tensors announces itself, and takes its leave when it becomes a
plain parameter: programs without lazy modules, and those whose lazy modules have been called, pay nothing.
"""

from __future__ import annotations

from typing import Any, Self

from tapegrad._src.bindings.declaration.handing import overriding
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.protocols import own_attributes, rebuild_tensor, tensor_parts
from tapegrad._src.bindings.subclass import _disabled_torch_function_impl, make_subclass
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import empty
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.interop.pytrees import register

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip


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


# -- before the shape is known -----------------------------------------------------------------------------------------

ALLOWED = frozenset(
    NAMESPACES["Tensor"].get(name, getattr(Tensor, name, None))
    for name in (
        "__hash__", "size", "is_complex", "is_floating_point", "half", "float", "double", "char", "short",
        "int", "long", "cuda", "cpu", "to", "get_device", "_repr_html_",
    )
) - {None}  # fmt: skip
"""The functions that work on a tensor whose shape isn't known: all that a module does when it moves or casts its state,
and what a notebook does."""


class UninitializedTensorMixin:
    """A tensor without a shape. Functions refuse it, but for those by which modules are moved and cast.

    Raises:
        ValueError: any other function is called with it.
        RuntimeError: its shape is asked for, or its memory is to be shared.
    """

    _torch_function_disabled = True  # until the classes are made, so that to make them announces nobody
    cls_to_become: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a tensor of this shape, with elements that mean nothing.

        Args:
            shape: the lengths of the dimensions.
            device, dtype: those that it has already, if None.
        """
        tensor: Any = self
        if device is None:
            device = tensor.data.device
        if dtype is None:
            dtype = tensor.data.dtype
        tensor.data = empty(shape, device=device, dtype=dtype)
        tensor._spec = tensor._spec.replace(overrides=False)
        tensor.__class__ = self.cls_to_become
        if tensor.__dict__.pop("_announced", False):
            overriding.admit(contexts=-1)

    @property
    def shape(self) -> Any:
        """Not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """There is nothing to share yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto: Any) -> tuple:
        tensor: Any = self
        return type(self), (tensor.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func.__name__ == "copy_" and all(map(is_lazy, args)):
            return args[0]
        if func in ALLOWED or type(func).__name__ == "method-wrapper":  # the second are getters of attributes
            above: Any = super()
            return above.__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


def _announced(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    """An empty tensor of such a class, which is known to override functions. See Note [Uninitialized tensors]."""
    made = make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
    made._announced = True
    overriding.admit(contexts=1)
    return made


def is_lazy(param: Any) -> bool:
    """Tell whether something is an uninitialized parameter or buffer.

    >>> is_lazy(UninitializedParameter()), is_lazy(Parameter())
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet; lazy modules have them until they are called.

    Args:
        requires_grad: whether gradients are accumulated in the parameter that it will be.
        device, dtype: those of that parameter; the defaults if None.

    >>> weight = UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> type(weight), weight.shape
    (<class 'tapegrad.nn.parameter.Parameter'>, torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _announced(cls, requires_grad, device, dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is not known yet; lazy modules have them until they are called.

    Args:
        requires_grad: whether gradients are accumulated in it.
        device, dtype: those of the tensor that it will be; the defaults if None.
        persistent: whether it is part of the module's state dict.

    >>> buffer = torch.nn.UninitializedBuffer()
    >>> buffer.materialize((2,))
    >>> buffer.shape
    torch.Size([2])
    """

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        made = _announced(cls, requires_grad, device, dtype)
        made.persistent, made._is_buffer = persistent, True
        return made


UninitializedTensorMixin._torch_function_disabled = False
