"""Functions of nested tensors of the strided layout: of each entry by itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tapegrad._src.functions.arrangement import pad
from tapegrad._src.functions.attention import scaled_dot_product_attention
from tapegrad._src.functions.creation import full
from tapegrad._src.functions.dropout import dropout
from tapegrad._src.functions.embedding import embedding
from tapegrad._src.functions.joining import cat, stack
from tapegrad._src.functions.matmul import linear, matmul
from tapegrad._src.functions.normalization import layer_norm
from tapegrad._src.functions.softmax import softmax
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.strided import Buffered, each, entries_of, not_there, of_entries, on_strided, wrapped_dim
from tapegrad.nested.tensor import is_nested, state_of, with_values


@on_strided("unbind")
def _unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    if wrapped_dim(input, dim):
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple(entries_of(input))


@on_strided("select")
def picked(input: Tensor, dim: int, index: int) -> Tensor:
    """The part with one index along a dimension: of the batch an entry, else a nested tensor."""
    found, parts = wrapped_dim(input, dim), entries_of(input)
    if found:
        return each(lambda part: part.select(found - 1, index), input)
    if not -len(parts) <= index < len(parts):
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {len(parts)}")
    return parts[index]


@on_strided("__getitem__")
def _getitem(self: Tensor, place: Any) -> Tensor:
    items = place if isinstance(place, tuple) else (place,)
    if items[0] is None:
        return _unsqueeze(self, 0)
    if items[0] is Ellipsis and len(items) == 2:
        return picked(self, -1, items[1])
    if not isinstance(items[0], int):
        raise not_there("slice.Tensor" if isinstance(items[0], slice) else "index.Tensor")
    found = picked(self, 0, items[0])
    return found[items[1:]] if len(items) > 1 else found


@on_strided("to_padded_tensor")
def _padded(input: Tensor, padding: Any, output_size: Sequence[int] | None = None, out: Any = None) -> Tensor:
    state, parts = state_of(input), entries_of(input)
    shape = [max(lengths) for lengths in zip(*state.sizes, strict=True)]
    if output_size is not None:
        if len(output_size) != len(shape) + 1:
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        if any(given < least for given, least in zip(output_size, [len(parts), *shape], strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        shape = list(output_size[1:])
    padded = [_filled(part, shape, padding) for part in parts]
    missing = 0 if output_size is None else output_size[0] - len(parts)
    return stack([*padded, *[full(shape, padding, dtype=input.dtype, device=input.device)] * missing])


def _filled(part: Tensor, shape: Sequence[int], padding: Any) -> Tensor:
    """An entry with padding behind it, along all dimensions."""
    ends = [(0, wanted - length) for length, wanted in zip(part.shape, shape, strict=True)]
    return pad(part, [number for end in reversed(ends) for number in end], value=padding)


@on_strided("sum")
def _sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if dim is None:
        raise not_there("sum")
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    found, last = wrapped_dim(input, dims[0]), len(state_of(input).shape) - 1
    if found != last:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {found} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if dtype is not None:
        raise RuntimeError("NestedTensor does not support dtype argument for now.")
    return each(lambda part: part.sum(-1, keepdim=True), input)


# Layers --------------------------------------------------------------------------------------------------------------


@on_strided("softmax")
def _softmax(input: Tensor, dim: int, *_: Any, dtype: Any = None, **__: Any) -> Tensor:
    found = wrapped_dim(input, dim)
    if not found:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return each(lambda part: softmax(part, found - 1), input)


@on_strided("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    last = input.size(-1)
    if last != weight.shape[1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
            f"'weight.size(1), but got: last_dim = {last}, and weight.size(1) = {weight.shape[1]}"
        )
    found = linear(state_of(input).values.view(-1, last), weight, bias)
    sizes = [(*size[:-1], weight.shape[0]) for size in state_of(input).sizes]
    return Buffered(found.reshape(-1), sizes).as_tensor()


@on_strided("layer_norm")
def _layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Tensor:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    sizes = state_of(input).sizes
    if len({size[len(size) - len(normalized_shape) :] for size in sizes}) > 1:
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    flat = state_of(input).values.view(-1, *normalized_shape)
    return with_values(input, layer_norm(flat, list(normalized_shape), weight, bias, eps).reshape(-1))


@on_strided("dropout")
def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, **_: Any) -> Tensor:
    if inplace:
        dropout(state_of(input).values, p, training, True)
        return input
    return with_values(input, dropout(state_of(input).values, p, training))


@on_strided("embedding")
def _embedding(input: Tensor, weight: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    if not is_nested(input):
        input, weight = weight, input
    sizes = [(*size, weight.shape[1]) for size in state_of(input).sizes]
    found = embedding(state_of(input).values, weight, *args, **kwargs)
    return Buffered(found.reshape(-1), sizes).as_tensor()


@on_strided("scaled_dot_product_attention")
def _attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    return each(lambda q, k, v: scaled_dot_product_attention(q, k, v, None, *args, **kwargs), query, key, value)


# Shapes --------------------------------------------------------------------------------------------------------------


@on_strided("transpose", "swapaxes", "swapdims")
def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    first, second = (wrapped_dim(input, dim) for dim in (dim0, dim1))
    if 0 in (first, second):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return each(lambda part: part.transpose(first - 1, second - 1), input, dense=first == second)


@on_strided("mT.__get__")
def _matrix_transposed(self: Tensor) -> Tensor:
    return _transpose(self, -2, -1)


def _no_dim_0(called: str, doing: str) -> RuntimeError:
    return RuntimeError(
        f"{called}(): For nested tensors, {doing} dimension 0 is not supported at the moment if you need this feature, "
        "please open an issue on github describing your use case."
    )


@on_strided("unsqueeze")
def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    found = wrapped_dim(input, dim, 1)
    if not found:
        raise _no_dim_0("unsqueeze", "unsqueezing")
    return each(lambda part: part.unsqueeze(found - 1), input)


@on_strided("squeeze")
def _squeeze(input: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however "
            "you can use squeeze(Tensor self, int dim) instead if you need this feature, please open an issue on "
            "github describing your use case."
        )
    found = wrapped_dim(input, dim)
    if not found:
        raise _no_dim_0("squeeze", "squeezing")
    return each(lambda part: part.squeeze(found - 1), input)


def _reshaped(called: str, input: Tensor, size: tuple) -> Tensor:
    given = size[0] if size and isinstance(size[0], (tuple, list)) else size
    state = state_of(input)
    if given[0] != len(state.sizes):
        raise RuntimeError(f"{called}: For now nested {called} cannot change or infer the implicit batch dimension")
    sizes = [_fitted(own, list(given)) for own in state.sizes]
    return Buffered(state.values, sizes).as_tensor()


def _fitted(own: Sequence[int], given: list[int]) -> list[int]:
    """The shape of an entry; -1 stands for what it has there. Raises RuntimeError: it has other elements."""
    lengths = given[1:]
    kept = [own[place] if length == -1 and place < len(own) else length for place, length in enumerate(lengths)]
    if prod(kept) != prod(own):
        raise RuntimeError(f"shape '{given}' is invalid for input of size {prod(own)}")
    return kept


@on_strided("view")
def _view(self: Tensor, *size: Any) -> Tensor:
    return _reshaped("view", self, size)


@on_strided("reshape")
def _reshape(self: Tensor, *shape: Any) -> Tensor:
    return _reshaped("reshape", self, shape)


@on_strided("chunk")
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    if wrapped_dim(input, dim) != len(state_of(input).shape) - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    last = input.size(-1)
    if last % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by "
            f"chunks, got: {last} % {chunks} != 0"
        )
    parts = [part.chunk(chunks, -1) for part in entries_of(input)]
    return tuple(of_entries(list(one), input) for one in zip(*parts, strict=True))


@on_strided("narrow")
def narrowed(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The entries from ``start`` on, ``length`` of them."""
    if dim != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    return of_entries(entries_of(input)[start : start + length], input)


@on_strided("cat", "concat", "concatenate")
def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if not all(map(is_nested, tensors)):
        raise RuntimeError("Expected each tensor in given list to be nested.")
    found = wrapped_dim(tensors[0], dim)
    if not found:
        return of_entries([part for one in tensors for part in entries_of(one)], tensors[0])
    return each(lambda *parts: cat(parts, found - 1), *tensors)


@on_strided("matmul", "__matmul__")
def _matmul(input: Tensor, other: Tensor) -> Tensor:
    if not (is_nested(input) and is_nested(other)):
        named = "a nested self and non-nested other" if is_nested(input) else "a non-nested self and nested other"
        raise RuntimeError(f"Expected both to be nested, but got {named}")
    return each(matmul, input, other)


@on_strided("bmm")
def _bmm(input: Tensor, mat2: Tensor) -> Tensor:
    pairs = [entries_of(one) if is_nested(one) else list(one.unbind()) for one in (input, mat2)]
    if len(pairs[0]) != len(pairs[1]):
        raise RuntimeError(f"Expected size for the 1st dimension of batch2 tensor to be: {len(pairs[0])} but got: "
                           f"{len(pairs[1])}.")  # fmt: skip
    return of_entries([matmul(*pair) for pair in zip(*pairs, strict=True)])
