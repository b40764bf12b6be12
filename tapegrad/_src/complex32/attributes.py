"""Attributes of tensors of complex halves: their history, memory and text."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tapegrad._src.bindings.state.storages import TypedStorage
from tapegrad._src.complex32.tensor import (
    HalfValue,
    answers,
    become,
    is_half,
    of_parts,
    require_grad,
    state_of,
    widened,
)
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.data.dtypes import complex32
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.printing import tensor_str
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.differentiate import backward as backward_of
from tapegrad.autograd.differentiate import grad as grad_of


def _of_parts(name: str) -> None:
    """Declare an attribute that is that of the parts."""
    answers(f"{name}.__get__")(lambda self: getattr(state_of(self).parts, name))


for _name in ("requires_grad", "is_leaf", "output_nr", "_version", "retains_grad", "nbytes", "_backward_hooks"):
    _of_parts(_name)


def _method_of_parts(name: str) -> None:
    answers(name)(lambda self, *args, **kwargs: getattr(state_of(self).parts, name)(*args, **kwargs))


for _name in ("untyped_storage", "data_ptr", "is_pinned", "is_shared", "is_inference"):
    _method_of_parts(_name)


@answers("storage")
def _storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=state_of(self).parts.untyped_storage(), dtype=complex32)


@answers("storage_offset")
def _storage_offset(self: Tensor) -> int:
    return state_of(self).parts.storage_offset() // 2


@answers("grad_fn.__get__")
def _grad_fn(self: Tensor) -> Any:
    state = state_of(self)
    node, version = state.node or (None, -1)
    is_present = version == state.parts._version and state.parts.requires_grad
    return node if is_present else state.parts.grad_fn


@answers("_base.__get__")
def _base(self: Tensor) -> Tensor | None:
    base = state_of(self).parts._base
    return None if base is None or base.shape[-1:] != (2,) else HalfValue(base).as_tensor()


@answers("requires_grad.__set__")
def _set_requires_grad(self: Tensor, value: bool) -> None:
    _requires_grad_(self, value)


@answers("requires_grad_")
def _requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    return require_grad(self, requires_grad)


@answers("grad.__get__")
def _grad(self: Tensor) -> Tensor | None:
    grad = state_of(self).parts.grad
    return None if grad is None else HalfValue(grad).as_tensor()


@answers("grad.__set__")
def _set_grad(self: Tensor, value: Tensor | None) -> None:
    state_of(self).parts.grad = None if value is None else state_of(value).parts


@answers("grad.__delete__")
def _delete_grad(self: Tensor) -> None:
    state_of(self).parts.grad = None


@answers("retain_grad")
def _retain_grad(self: Tensor) -> None:
    state_of(self).parts.retain_grad()


@answers("register_hook")
def _register_hook(self: Tensor, hook: Callable) -> Any:
    def on_parts(grad: Tensor) -> Tensor | None:
        returned = hook(of_parts(grad, state_of(self)))
        return state_of(returned).parts if is_half(returned) else returned

    return state_of(self).parts.register_hook(on_parts)


@answers("register_post_accumulate_grad_hook")
def _register_post_hook(self: Tensor, hook: Callable) -> Any:
    return state_of(self).parts.register_post_accumulate_grad_hook(lambda _: hook(self))


def _differentiated(tensor: Any) -> Any:
    """The tensor that is in the graph: the parts of one of complex halves."""
    if not is_half(tensor):
        return tensor
    state = state_of(tensor)
    return state.parts if not state.conjugated else state.parts.detach() if tensor.is_leaf else state.parts


def _all_differentiated(tensors: Any) -> Any:
    if tensors is None or isinstance(tensors, Tensor):
        return _differentiated(tensors)
    return tuple(map(_differentiated, tensors))


@answers("grad")
def _autograd_grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    wanted = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    kwargs["grad_outputs"] = _all_differentiated(args[0] if args else kwargs.get("grad_outputs"))
    found = grad_of(_all_differentiated(outputs), _all_differentiated(wanted), *args[1:], **kwargs)
    return tuple(
        HalfValue(grad).as_tensor() if is_half(one) and grad is not None else grad
        for one, grad in zip(wanted, found, strict=True)
    )


@answers("backward")
def _backward(tensors: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    if kwargs.get("inputs") is not None:
        kwargs["inputs"] = _all_differentiated(kwargs["inputs"])
    seeds = kwargs.pop("grad_tensors", gradient)
    if seeds is None and is_half(tensors) and tensors.numel() == 1:
        raise RuntimeError("grad can be implicitly created only for real scalar outputs but got torch.complex32")
    backward_of(_all_differentiated(tensors), _all_differentiated(seeds), *args, **kwargs)


@answers("detach_")
def _detach_(self: Tensor) -> Tensor:
    return become(self, HalfValue(state_of(self).parts.detach(), state_of(self).conjugated))


@answers("data.__get__")
def _data(self: Tensor) -> Tensor:
    return of_parts(state_of(self).parts.data, state_of(self))


@answers("data.__set__")
def _set_data(self: Tensor, value: Tensor) -> None:
    state = state_of(self)
    state.parts.data = state_of(value).parts
    become(self, HalfValue(state.parts, state_of(value).conjugated))


# Text and elements ---------------------------------------------------------------------------------------------------


@answers("__repr__")
def _text(self: Tensor, *, tensor_contents: Any = None) -> str:
    node = self.grad_fn
    with switched(grad=False):
        numbers = to_host(value_of(widened(self.detach()).resolve_conj()))
    text = tensor_str(
        numbers, dtype=complex32, requires_grad=self.requires_grad,
        device_suffix=None if self.device.type == "cpu" else str(self.device),
        grad_fn_name=None if node is None else type(node).__name__,
    )  # fmt: skip
    return "Parameter containing:\n" + text if vars(self).get("_is_param") else text


@answers("__format__")
def _format(self: Tensor, format_spec: str) -> str:
    return format(self.item() if self.ndim == 0 else _text(self), format_spec)


@answers("numpy", "__array__")
def _numpy(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    if self.requires_grad and not kwargs.get("force"):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    raise TypeError("Got unsupported ScalarType ComplexHalf")


@answers("__iter__")
def _iter(self: Tensor) -> Any:
    return iter(self.unbind(0))


# Copies --------------------------------------------------------------------------------------------------------------


@answers("__copy__")
def _copy(self: Tensor) -> Tensor:
    return of_parts(state_of(self).parts, state_of(self))


@answers("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    if id(self) not in memo:
        made = of_parts(deepcopy(state_of(self).parts, memo), state_of(self))
        vars(made).update(deepcopy(vars(self), memo))
        memo[id(self)] = made
    return memo[id(self)]


def rebuild(parts: Tensor, conjugated: bool, requires_grad: bool) -> Tensor:
    """The tensor that was pickled as these parts."""
    made = HalfValue(parts, conjugated).as_tensor()
    return require_grad(made) if requires_grad else made


@answers("__reduce_ex__")
def _reduce(self: Tensor, proto: int) -> tuple:
    state = state_of(self)
    return rebuild, (state.parts.detach(), state.conjugated, self.requires_grad)
