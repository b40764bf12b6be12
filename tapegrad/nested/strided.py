"""Nested tensors of the strided layout: entries of any shapes, whose elements lie in one buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from textwrap import indent
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.dunders import AUGMENTED
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import empty
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.nested.attributes import shown
from tapegrad.nested.overloads import overload, words
from tapegrad.nested.tensor import (
    FALLBACKS,
    STRIDED,
    Nested,
    answered,
    answers,
    is_nested,
    state_of,
    tensors_in,
    with_values,
)
from tapegrad.ops.nested import nested_tensor_from_tensor_list

PROTOTYPE = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend "
    "specifying layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has "
    "better operator coverage, and works with torch.compile."
)


class Buffered(Nested):
    """The value of a nested tensor of the strided layout.

    Attributes:
        sizes: the shape of each entry.
        dense: whether entries are laid out as their shapes say: not those of a transposed tensor.
    """

    __slots__ = ("sizes", "dense")

    def __init__(self, values: Tensor, sizes: Sequence[Sequence[int]], dense: bool = True) -> None:
        self.values, self.sizes, self.dense = values, tuple(tuple(size) for size in sizes), dense
        self.shape = (len(self.sizes), *[0] * (len(self.sizes[0]) if self.sizes else 0))
        self.dtype = values._spec.dtype.numpy

    @property
    def cls(self) -> type:  # type: ignore[override]
        """The class of tensors with such a value."""
        return StridedNestedTensor

    def with_values(self, values: Tensor) -> Buffered:
        return Buffered(values, self.sizes, self.dense)


class StridedNestedTensor(Tensor):
    """A nested tensor of the strided layout: ``torch.nested.nested_tensor`` makes one by default."""

    __slots__ = ()
    __hash__ = Tensor.__hash__

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Answer for a function, if anything does."""
        return answered(func, args, kwargs or {})


StridedNestedTensor.__name__ = StridedNestedTensor.__qualname__ = "Tensor"  # what users see of the class
StridedNestedTensor.__module__ = Tensor.__module__


def on_strided(*names: str) -> Callable[[Callable], Callable]:
    """Declare what is done for functions of these names if an argument is nested and strided."""
    return answers(*names, of=(STRIDED,))


# Entries -------------------------------------------------------------------------------------------------------------


def entries_of(tensor: Tensor) -> list[Tensor]:
    """The entries of a strided nested tensor, as views of its buffer."""
    state = state_of(tensor)
    parts = state.values.split([prod(size) for size in state.sizes]) if state.sizes else ()
    return [part.view(size) for part, size in zip(parts, state.sizes, strict=True)]


def of_entries(parts: Sequence[Tensor], like: Tensor | None = None, dense: bool = True) -> Tensor:
    """A strided nested tensor with copies of these entries."""
    if not parts:
        buffer = empty(0) if like is None else state_of(like).values[:0]
        return Buffered(buffer, ()).as_tensor()
    buffer = cat([part.reshape(-1) for part in parts])
    return Buffered(buffer, [part.shape for part in parts], dense).as_tensor()


def each(function: Callable[..., Tensor], *tensors: Tensor, dense: bool = True) -> Tensor:
    """The nested tensor of a function of the entries."""
    return of_entries([function(*parts) for parts in zip(*map(entries_of, tensors), strict=True)], tensors[0], dense)


def strided_of(given: Any, dtype: Any, device: Any) -> Tensor:
    """A strided nested tensor of these entries, with their history.

    Raises:
        TypeError: it is no list.
        RuntimeError: entries have several numbers of dimensions.
    """
    warn_once(PROTOTYPE)
    if not isinstance(given, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    parts = [one if isinstance(one, Tensor) else as_tensor(one) for one in given]
    for place, part in enumerate(parts):
        if part.ndim != parts[0].ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{part.ndim} for Tensor at index {place} and dimension {parts[0].ndim} for Tensor at index 0."
            )
    wanted = dtype if dtype is not None or not parts else parts[0].dtype
    made = of_entries([part.to(device=device, dtype=wanted) for part in parts])
    return with_values(made, nested_tensor_from_tensor_list(state_of(made).values))


def buffer_of(dense: Tensor, dtype: Any, device: Any) -> Tensor:
    """A strided nested tensor that shows a dense one, whose first dimension is the batch."""
    warn_once(PROTOTYPE)
    buffer = dense.reshape(-1).to(device=device, dtype=dtype)
    return Buffered(shown(buffer), [dense.shape[1:]] * dense.shape[0]).as_tensor()


# Errors --------------------------------------------------------------------------------------------------------------

INTERNAL = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."


def not_there(name: str) -> NotImplementedError:
    """The error of a function that strided nested tensors have not."""
    called = name.removesuffix(".__get__").strip("_")
    called = f"{called}.Scalar" if called in ("lt", "le", "ne", "rsub") else called
    return NotImplementedError(
        f"Could not run 'aten::{called}' with arguments from the 'NestedTensorCPU' backend. This could be because the "
        "operator doesn't exist for this backend: make the tensor with layout=torch.jagged, or compute with x.unbind()"
    )


def wrapped_dim(tensor: Tensor, dim: int, more: int = 0) -> int:
    """A dimension as a number that is not negative."""
    return wrap_dim(dim, len(state_of(tensor).shape) + more)


# Functions of elements -----------------------------------------------------------------------------------------------

UNARY: set[str] = set()
"""The functions of one tensor's elements that PyTorch has for the strided layout."""

for _name in words(
    "abs absolute sgn logical_not isinf isposinf isneginf isnan relu gelu silu tanh sin sqrt cos neg negative"
):
    UNARY.add(_name)
BINARY = ("add", "sub", "mul", "div", "masked_fill")
BINARY_IN_PLACE = ("add_", "mul_")
COMPARED = ("eq", "ge", "gt")
LIKE = frozenset(("zeros_like", "ones_like", "empty_like", "randn_like"))


def _fallback(func: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """The result of a function of elements. Raises NotImplementedError: it is another function."""
    called = overload(name).partition(".")[0]
    if name in LIKE:
        return with_values(args[0], func(state_of(args[0]).values.detach(), *args[1:], **kwargs))
    if called in COMPARED and any(map(is_nested, tensors_in(args[1:]))):
        raise RuntimeError(f"{called} does not support nested tensor as other value.")
    writes = (name.endswith("_") and not name.startswith("__")) or name in AUGMENTED or kwargs.get("inplace", False)
    there = (*UNARY, *BINARY_IN_PLACE) if writes else (*UNARY, *BINARY, *COMPARED)
    if not ({called, called.removesuffix("_")} & UNARY or called in there) or name.startswith("__rsub"):
        raise not_there(name)
    first = next(one for one in args if is_nested(one))
    result = func(*[_operand(called, first, one) for one in args], **kwargs)
    if not writes:
        return with_values(first, result)
    first._spec = state_of(first).spec  # it may require gradients now
    return first


@on_strided("zero_")
def _zero_(self: Tensor) -> Tensor:
    state_of(self).values.zero_()
    return self


@on_strided("fill_")
def _fill_(self: Tensor, value: Any) -> Tensor:
    state_of(self).values.fill_(value)
    return self


FALLBACKS[False] = _fallback


def _operand(called: str, first: Tensor, one: Any) -> Any:
    """The buffer of a nested operand; a number beside it as it is."""
    if not isinstance(one, Tensor) or (not is_nested(one) and one.ndim == 0):
        return one
    if not is_nested(one):
        raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")
    if state_of(one).sizes != state_of(first).sizes:
        raise RuntimeError(f"{called} does not support broadcasting when given a NestedTensor")
    return state_of(one).values


# Attributes ----------------------------------------------------------------------------------------------------------


@on_strided("shape.__get__", "__len__", "__iter__", "expand_as", "flatten", "numpy", "rms_norm")
def _no_sizes(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(INTERNAL.format("sizes"))


@on_strided("stride", "tolist")
def _no_strides(self: Tensor, *args: Any) -> Any:
    raise RuntimeError(INTERNAL.format("strides"))


@on_strided("size")
def size_of(self: Tensor, dim: int | None = None) -> int:
    """The length of a dimension that is the same of all entries."""
    if dim is None:
        raise RuntimeError(INTERNAL.format("sizes"))
    found, sizes = wrapped_dim(self, dim), state_of(self).sizes
    if found == 0:
        return len(sizes)
    if len({size[found - 1] for size in sizes}) > 1:
        raise RuntimeError(f"Given dimension {found} is irregular and does not have a size.")
    return sizes[0][found - 1]


@on_strided("numel", "nelement")
def _numel(input: Tensor) -> int:
    return state_of(input).values.numel()


@on_strided("is_contiguous")
def _is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    return state_of(self).dense


@on_strided("contiguous")
def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    state = state_of(self)
    return self if state.dense else Buffered(state.values.clone(), state.sizes).as_tensor()


@on_strided("clone")
def _clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    return with_values(input, state_of(input).values.clone())


@on_strided("to", "cpu", "cuda")
def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    values = state_of(self).values
    found = values.to(*[state_of(arg).values if is_nested(arg) else arg for arg in args], **kwargs)
    return self if found is values else with_values(self, found)


@on_strided("pin_memory")
def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    return self


@on_strided("is_same_size")
def _is_same_size(self: Tensor, other: Tensor) -> bool:
    return state_of(self).sizes == state_of(other).sizes


@on_strided("storage_offset")
def _storage_offset(self: Tensor) -> int:
    return 0


@on_strided("copy_")
def _copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not (is_nested(self) and is_nested(src)):
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    if state_of(self).sizes != state_of(src).sizes:
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    state_of(self).values.copy_(state_of(src).values)
    return self


@on_strided("__repr__")
def _text(self: Tensor, *, tensor_contents: Any = None) -> str:
    state = state_of(self)
    needs = state.values.requires_grad
    parts = [repr(part.requires_grad_(needs)) for part in entries_of(with_values(self, state.values.detach()))]
    body = ",\n".join(indent(part, "  ", lambda line: True) for part in parts)
    node = state.values.grad_fn
    said = f", grad_fn=<{type(node).__name__}>" if node is not None else ", requires_grad=True" * needs
    return f"nested_tensor([\n{body}\n]{said})"


def rebuild(buffer: Tensor, sizes: Sequence[Sequence[int]], requires_grad: bool) -> Tensor:
    """The nested tensor that was pickled as these parts."""
    return Buffered(buffer, sizes).as_tensor().requires_grad_(requires_grad)


@on_strided("__reduce_ex__")
def _reduce(self: Tensor, proto: int) -> tuple:
    state = state_of(self)
    return rebuild, (state.values.detach(), state.sizes, state.values.requires_grad)


@on_strided("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    if id(self) not in memo:
        state = state_of(self)
        memo[id(self)] = with_values(self, state.values.detach().clone()).requires_grad_(state.values.requires_grad)
    return memo[id(self)]


def strides_of(size: Sequence[int]) -> list[int]:
    """The distances of neighbours of an entry in the buffer."""
    return [prod(size[dim + 1 :]) for dim in range(len(size))]


def offsets_in(sizes: Sequence[Sequence[int]]) -> list[int]:
    """The places in the buffer where entries begin."""
    return list(accumulate(map(prod, sizes[:-1]), initial=0)) if sizes else []


@on_strided("_nested_tensor_size")
def _sizes(self: Tensor) -> Tensor:
    return as_tensor([list(size) for size in state_of(self).sizes])


@on_strided("_nested_tensor_strides")
def _strides(self: Tensor) -> Tensor:
    return as_tensor([strides_of(size) for size in state_of(self).sizes])


@on_strided("_nested_tensor_storage_offsets")
def _offsets(self: Tensor) -> Tensor:
    return as_tensor(offsets_in(state_of(self).sizes))


def _nested_compute_contiguous_strides_offsets(nested_size: Tensor) -> tuple[Tensor, Tensor]:
    """The strides of entries that lie one after the other in a buffer, and the places where they begin.

    Args:
        nested_size: the shapes of the entries, a row for each.

    >>> torch._nested_compute_contiguous_strides_offsets(torch.tensor([[2, 3], [1, 3]]))
    (tensor([[3, 1],
            [3, 1]]), tensor([0, 6]))
    """
    sizes = nested_size.tolist()
    return as_tensor([strides_of(size) for size in sizes]), as_tensor(offsets_in(sizes))


def _nested_view_from_buffer(input: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor) -> Tensor:
    """A nested tensor of the strided layout, whose entries lie one after the other in a buffer.

    Args:
        input: the buffer, with one dimension.
        nested_size: the shapes of the entries, a row for each.
        nested_strides, offsets: how they lie.

    Raises:
        NotImplementedError: they lie in another way than one after the other.
    """
    strides, places = _nested_compute_contiguous_strides_offsets(nested_size)
    if nested_strides.tolist() != strides.tolist() or offsets.tolist() != places.tolist():
        raise NotImplementedError(
            "torch._nested_view_from_buffer is not in tapegrad (yet) for entries that don't lie one after the other"
        )
    return Buffered(input, nested_size.tolist()).as_tensor()
