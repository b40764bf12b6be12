"""Attributes of nested tensors: their history is that of their values."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.viewing import declare_view, view_of
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.spec import Size, legacy_type_name
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import backward as backward_of
from tapegrad.autograd.differentiate import grad as grad_of
from tapegrad.nested.lengths import same_length
from tapegrad.nested.tensor import (
    BOTH,
    Jagged,
    NestedTensor,
    answers,
    become,
    is_jagged,
    is_nested,
    layout_of,
    lengths_of,
    row_numel,
    state_of,
    with_values,
)
from tapegrad.ops.nested import nested_get_values, nested_values, nested_view_from_jagged


def _of_values(name: str) -> None:
    """Declare an attribute that is that of the values."""
    answers(f"{name}.__get__", of=BOTH)(lambda self: getattr(state_of(self).values, name))


for _name in ("requires_grad", "grad_fn", "is_leaf", "output_nr", "_version", "retains_grad", "nbytes", "_base",
              "_backward_hooks"):  # fmt: skip
    _of_values(_name)
answers("is_nested.__get__", of=BOTH)(lambda self: True)
answers("layout.__get__", of=BOTH)(layout_of)


for _op in (nested_get_values, nested_values, nested_view_from_jagged):
    declare_view(_op, lambda place: place)


def shown(values: Tensor) -> Tensor:
    """The values of a nested tensor that shows others: what is done to it is done to them."""
    return view_of(values, nested_view_from_jagged)


@answers("values", of=BOTH)
def values_of(self: Tensor) -> Tensor:
    """The values of a nested tensor, as a view."""
    return view_of(state_of(self).values, nested_get_values if is_jagged(self) else nested_values)


NestedTensor.values = values_of  # type: ignore[method-assign]

# Shape ---------------------------------------------------------------------------------------------------------------


@answers("shape.__get__")
def shape_of(self: Tensor) -> Size:
    """The shape, with a symbol for the ragged length."""
    return state_of(self).outer


@answers("size")
def _size(self: Tensor, dim: int | None = None) -> Any:
    outer = shape_of(self)
    return outer if dim is None else outer[wrap_dim(dim, len(outer))]


@answers("stride")
def _stride(self: Any, dim: int | None = None) -> Any:
    strides = self._strides
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


@answers("__len__")
def _len(self: Tensor) -> int:
    return state_of(self).shape[0]


@answers("numel", "nelement")
def _numel(input: Tensor) -> int:
    state = state_of(input)
    return state.values.numel() if state.lengths is None else int(state.lengths.sum()) * row_numel(state)


@answers("is_same_size")
def _is_same_size(self: Tensor, other: Tensor) -> bool:
    return shape_of(self) == other.shape


@answers("is_contiguous")
def is_contiguous(self: Tensor, memory_format: Any = layouts.contiguous_format) -> bool:
    """Tell whether nothing lies between entries, and their values are contiguous."""
    state = state_of(self)
    if state.lengths is not None:
        return False
    return memory_format is layouts.preserve_format or state.values.is_contiguous(memory_format=memory_format)


@answers("storage_offset")
def _storage_offset(self: Tensor) -> int:
    return state_of(self).values.storage_offset()


@answers("untyped_storage")
def _untyped_storage(self: Tensor) -> Any:
    return state_of(self).values.untyped_storage()


@answers("dim_order")
def _dim_order(self: Tensor, **_: Any) -> tuple[int, ...]:
    return tuple(range(len(shape_of(self))))


# Gradients -----------------------------------------------------------------------------------------------------------


@answers("requires_grad.__set__", of=BOTH)
def _set_requires_grad(self: Tensor, value: bool) -> None:
    _requires_grad_(self, value)


@answers("requires_grad_", of=BOTH)
def _requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    state = state_of(self)
    if state.values.is_leaf and not state.values.requires_grad:
        state.values = state.values.detach()  # what it was made of is another tensor
    state.values.requires_grad_(requires_grad)
    self._spec = state.spec
    return self


@answers("grad.__get__", of=BOTH)
def _grad(self: Tensor) -> Tensor | None:
    grad = state_of(self).values.grad
    return None if grad is None else with_values(self, grad)


@answers("grad.__set__", of=BOTH)
def _set_grad(self: Tensor, value: Tensor | None) -> None:
    state_of(self).values.grad = None if value is None else state_of(value).values


@answers("grad.__delete__", of=BOTH)
def _delete_grad(self: Tensor) -> None:
    state_of(self).values.grad = None


@answers("retain_grad", of=BOTH)
def _retain_grad(self: Tensor) -> None:
    state_of(self).values.retain_grad()


@answers("register_hook", of=BOTH)
def _register_hook(self: Tensor, hook: Callable) -> Any:
    def on_values(grad: Tensor) -> Tensor | None:
        returned = hook(with_values(self, _row_major(grad)))
        return state_of(returned).values if is_nested(returned) else returned

    return state_of(self).values.register_hook(on_values)


@answers("register_post_accumulate_grad_hook", of=BOTH)
def _register_post_hook(self: Tensor, hook: Callable) -> Any:
    return state_of(self).values.register_post_accumulate_grad_hook(lambda _: hook(self))


def _differentiated(tensor: Any) -> Any:
    """The tensor that is in the graph: the values of a nested one."""
    return state_of(tensor).values if is_nested(tensor) else tensor


def _all_differentiated(tensors: Any) -> Any:
    if tensors is None or isinstance(tensors, Tensor):
        return _differentiated(tensors)
    return tuple(map(_differentiated, tensors))


def _seeds(outputs: Any, seeds: Any) -> Any:
    """The seeds of a backward pass, as those of values. Raises RuntimeError: one has not the shape of its output."""
    pairs = [(one,) if isinstance(one, Tensor) else one or () for one in (outputs, seeds)]
    for number, (output, seed) in enumerate(zip(*pairs, strict=False)):
        fits = not isinstance(seed, Tensor) or (is_nested(seed) == is_nested(output) and (
            not is_jagged(output) or tuple(seed.shape) == tuple(output.shape)
        ))  # fmt: skip
        if not fits:
            raise RuntimeError(f"Mismatch in shape: grad_output[{number}] has a shape of {seed.shape} and "
                               f"output[{number}] has a shape of {output.shape}.")  # fmt: skip
    return _all_differentiated(seeds)


def _row_major(grad: Tensor) -> Tensor:
    """A gradient of values in memory of its own: that of a sum is one number, shown everywhere."""
    return grad.contiguous() if 0 in grad.stride() else grad


@answers("grad", of=BOTH)
def _autograd_grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    wanted = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    kwargs["grad_outputs"] = _seeds(outputs, args[0] if args else kwargs.get("grad_outputs"))
    found = grad_of(_all_differentiated(outputs), _all_differentiated(wanted), *args[1:], **kwargs)
    return tuple(
        with_values(one, _row_major(grad)) if is_nested(one) and grad is not None else grad
        for one, grad in zip(wanted, found, strict=True)
    )


@answers("backward", of=BOTH)
def _backward(tensors: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
    if kwargs.get("inputs") is not None:
        kwargs["inputs"] = _all_differentiated(kwargs["inputs"])
    seeds = _seeds(tensors, kwargs.pop("grad_tensors", gradient))
    backward_of(_all_differentiated(tensors), seeds, *args, **kwargs)


@answers("detach_", of=BOTH)
def _detach_(self: Tensor) -> Tensor:
    return become(self, state_of(self).with_values(state_of(self).values.detach()))


@answers("data.__get__", of=BOTH)
def _data(self: Tensor) -> Tensor:
    return with_values(self, state_of(self).values.detach())


@answers("data.__set__", of=BOTH)
def _set_data(self: Tensor, value: Tensor) -> None:
    become(self, state_of(value))


# Text ----------------------------------------------------------------------------------------------------------------


@answers("__repr__")
def _text(self: Any, *, tensor_contents: Any = None) -> str:
    state = state_of(self)
    node = state.values.grad_fn
    said = f", grad_fn={node}" if node is not None else ", requires_grad=True" * state.values.requires_grad
    return f"NestedTensor(size={tuple(state.outer)}, offsets={state.offsets}{said}, contiguous={is_contiguous(self)})"


@answers("__format__", of=BOTH)
def _format(self: Tensor, format_spec: str) -> str:
    return format(repr(self), format_spec)


# Copies --------------------------------------------------------------------------------------------------------------


def _as(name: str) -> None:
    """Declare a function of the values that leaves entries alone."""

    def function(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        found = getattr(state_of(self).values, name)(*args, **kwargs)
        return self if found is state_of(self).values else with_values(self, found)

    answers(name, of=BOTH)(function)


for _name in ("detach", "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool",
              "cfloat", "cdouble", "chalf", "resolve_conj", "resolve_neg"):  # fmt: skip
    _as(_name)


@answers("type", of=BOTH)
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        return legacy_type_name(state_of(self).values._spec)
    return with_values(self, state_of(self).values.type(dtype))


@answers("type_as", of=BOTH)
def _type_as(self: Tensor, other: Tensor) -> Tensor:
    return self.to(other.dtype)


@answers("to", "cpu", "cuda")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    state = state_of(self)
    kwargs.pop("layout", None)
    if args and is_nested(args[0]):
        args = (state_of(args[0]).values, *args[1:])
    values = state.values.to(*args, **kwargs)
    if values is state.values:
        return self
    parts = [None if part is None else part.to(values.device) for part in (state.offsets, state.lengths)]
    offsets, lengths = parts
    assert offsets is not None
    same_length(offsets if lengths is None else lengths, state.length)
    return Jagged(values, offsets, lengths, state.ragged, state.cache, state.length).as_tensor()


@answers("pin_memory")
def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    return with_values(self, state_of(self).values.pin_memory())


@answers("is_pinned", of=BOTH)
def _is_pinned(self: Tensor, device: Any = None) -> bool:
    return state_of(self).values.is_pinned()


@answers("share_memory_", of=BOTH)
def _share_memory_(self: Tensor) -> Tensor:
    state_of(self).values.share_memory_()
    return self


@answers("is_shared", of=BOTH)
def _is_shared(self: Tensor) -> bool:
    return state_of(self).values.is_shared()


@answers("record_stream")
def _record_stream(self: Tensor, stream: Any) -> None:
    state_of(self).values.record_stream(stream)


@answers("apply_", of=BOTH)
def _apply_(self: Tensor, function: Callable) -> Tensor:
    state_of(self).values.apply_(function)
    return self


@answers("__copy__", of=BOTH)
def _copy(self: Tensor) -> Tensor:
    return state_of(self).as_tensor()


@answers("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    if id(self) not in memo:
        state = state_of(self)
        offsets, lengths = deepcopy(state.offsets, memo), deepcopy(state.lengths, memo)
        same_length(offsets if lengths is None else lengths, state.length)
        values = deepcopy(state.values, memo)
        memo[id(self)] = Jagged(values, offsets, lengths, state.ragged, state.cache, state.length).as_tensor()
    return memo[id(self)]


def arguments_of(self: Any) -> dict[str, Any]:
    """The arguments that a nested tensor is pickled as."""
    state = state_of(self)
    return {
        "values": state.values.detach(), "offsets": state.offsets, "lengths": state.lengths,
        "_ragged_idx": state.ragged, "_metadata_cache": dict(state.cache), "requires_grad": self.requires_grad,
    }  # fmt: skip


def rebuild(arguments: dict) -> NestedTensor:
    """The nested tensor that was pickled as these arguments."""
    return NestedTensor(**arguments)


@answers("__reduce_ex__")
def _reduce(self: Tensor, proto: int) -> tuple:
    return rebuild, (arguments_of(self),)


# Elements that are not handed out ------------------------------------------------------------------------------------


@answers("tolist")
def _tolist(self: Tensor) -> Any:
    raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")


@answers("numpy", "__array__")
def _numpy(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(".numpy() is not supported for tensor subclasses.")


@answers("data_ptr")
def _data_ptr(self: Tensor) -> int:
    return 0


@answers("to_dense")
def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    raise RuntimeError("to_dense does not support layout Jagged")


@answers("item", "__float__", "__int__", "__complex__", "__index__", of=BOTH)
def _item(self: Tensor) -> Any:
    values = state_of(self).values
    if values.numel() != 1:
        raise RuntimeError(f"a Tensor with {values.numel()} elements cannot be converted to Scalar")
    return values.item()


@answers("__bool__", "is_nonzero", of=BOTH)
def _bool(self: Tensor) -> bool:
    values = state_of(self).values
    if values.numel() != 1:
        kind = "more than one value" if values.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
    return bool(values)


def total_of(state: Jagged) -> int:
    """The length of the values along the ragged dimension."""
    return state.values.shape[state.ragged - 1]


def counts_of(state: Jagged) -> list[int]:
    """The lengths of the entries, as numbers."""
    return lengths_of(state).tolist()
