"""Parts of nested tensors, and nested tensors that are joined or chosen from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.creation import arange, zeros
from tapegrad._src.functions.joining import cat, stack
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.attributes import counts_of, is_contiguous, shape_of, total_of
from tapegrad.nested.elementwise import raggedness_matches
from tapegrad.nested.overloads import unsupported
from tapegrad.nested.padding import longest, padded, unpadded
from tapegrad.nested.shape import broadcast_tensors, need_contiguous, wrapped_dim
from tapegrad.nested.tensor import Jagged, answers, is_jagged, lengths_of, state_of, with_values


@answers("unbind")
def entries(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The entries of the batch, as views."""
    if dim != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    state = state_of(input)
    counts = counts_of(state)
    if state.lengths is None:
        return tuple(state.values.split(counts, state.ragged - 1))
    starts = state.offsets.tolist()
    total = total_of(state)
    if any(start + count > total for start, count in zip(starts, counts, strict=False)):
        raise RuntimeError("unbind(): nested tensor offsets and lengths do not match ragged_idx dimension")
    return tuple(state.values.narrow(state.ragged - 1, start, count)
                 for start, count in zip(starts, counts, strict=False))  # fmt: skip


@answers("__iter__")
def _iterated(self: Tensor) -> Any:
    return iter(entries(self))


@answers("select")
def picked(input: Tensor, dim: int, index: int) -> Tensor:
    """The part with one index along a dimension: of the batch an entry, else a nested tensor."""
    state = state_of(input)
    found = wrapped_dim(dim, state, "select", batch=True)
    if found == 0:
        return entries(input)[index]
    if state.lengths is not None:
        raise ValueError("select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes")
    values = state.values.select(found - 1, index)
    return state.with_values(values, state.ragged - (found < state.ragged)).as_tensor()


def _sliced(input: Tensor, dim: int, part: slice) -> Tensor:
    need_contiguous(input, "slice_tensor(self: jt, dim: any?, start: any?, end: any?, step: any?)")
    found = wrapped_dim(dim, state_of(input), "slice")
    return with_values(input, state_of(input).values[(slice(None),) * (found - 1) + (part,)])


@answers("__getitem__")
def indexed(self: Tensor, place: Any) -> Tensor:
    """The part with these indices: integers, slices, ``...`` and None."""
    items = list(place) if isinstance(place, tuple) else [place]
    if any(isinstance(item, (Tensor, list)) for item in items):
        raise unsupported("index.Tensor")
    dim, found = 0, self
    for number, item in enumerate(items):
        if not is_jagged(found):
            return found[tuple(items[number:])]
        if item is Ellipsis:
            dim = len(shape_of(found)) - sum(one is not None for one in items[number + 1 :])
        elif item is None:
            found, dim = found.unsqueeze(dim), dim + 1
        elif isinstance(item, slice):
            found, dim = _sliced(found, dim, item), dim + 1
        else:
            found = picked(found, dim, item)
    return found


@answers("__setitem__")
def _put(self: Tensor, place: Any, value: Any) -> None:
    items = list(place) if isinstance(place, tuple) else [place]
    if all(isinstance(item, Tensor) for item in items):
        self.index_put_(items, value)
        return
    part = indexed(self, place)
    if is_jagged(part):
        part = state_of(part).values
        value = state_of(value).values if is_jagged(value) else value
    part[...] = value
    self._spec = state_of(self).spec


@answers("narrow")
def _narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    need_contiguous(input, "narrow(self: jt, dim: any, start: any, length: any)")
    found = wrapped_dim(dim, state_of(input), "narrow")
    return with_values(input, state_of(input).values.narrow(found - 1, start, length))


@answers("split", "unsafe_split")
def _split(tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, **named: Any) -> tuple[Tensor, ...]:
    size = named.get("split_size", split_size_or_sections)
    if isinstance(size, (tuple, list)):
        return _split_with_sizes(tensor, size, dim)
    need_contiguous(tensor, "split_tensor(self: jt, split_size: any, dim: any?)")
    found = wrapped_dim(dim, state_of(tensor), "split")
    return tuple(with_values(tensor, one) for one in state_of(tensor).values.split(size, found - 1))


@answers("split_with_sizes")
def _split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    need_contiguous(input, "split_with_sizes_default(self: jt, split_sizes: any, dim: any?)")
    found = wrapped_dim(dim, state_of(input), "split_with_sizes")
    return tuple(with_values(input, one) for one in state_of(input).values.split(list(split_sizes), found - 1))


@answers("tensor_split")
def _tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    need_contiguous(input, "slice_tensor(self: jt, dim: any?, start: any?, end: any?, step: any?)")
    found = wrapped_dim(dim, state_of(input), "slice")
    parts = state_of(input).values.tensor_split(indices_or_sections, found - 1)
    return tuple(with_values(input, one) for one in parts)


@answers("chunk")
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    need_contiguous(input, "chunk_default(self: jt, chunks: any, dim: any?)")
    state = state_of(input)
    found = wrapped_dim(dim, state, "chunk", batch=True)
    if found:
        return tuple(with_values(input, one) for one in state.values.chunk(chunks, found - 1))
    lengths = lengths_of(state).chunk(chunks)
    parts = state.values.split([int(one.sum()) for one in lengths])
    return tuple(
        Jagged(part, cat([zeros(1, dtype=one.dtype, device=one.device), one.cumsum(0)]), None, state.ragged).as_tensor()
        for part, one in zip(parts, lengths, strict=True)
    )


# Joined --------------------------------------------------------------------------------------------------------------


@answers("cat", "concat", "concatenate")
def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    first = next(one for one in tensors if is_jagged(one))
    nested = [one if is_jagged(one) else one.expand_as(first) for one in tensors]
    found = wrapped_dim(dim, state_of(first), "cat")
    return with_values(nested[0], cat([state_of(one).values for one in nested], found - 1))


@answers("stack")
def _stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    for one in tensors:
        if not is_jagged(one):
            raise RuntimeError("stack(): expected all nested tensors inputs")
        if one.dim() != tensors[0].dim():
            raise RuntimeError("stack(): expected all nested tensors to have the same dim")
        if not raggedness_matches(state_of(one), tensors[0].shape):
            raise RuntimeError("stack(): expected all nested tensors to have the same nested structure")
    first = state_of(tensors[0])
    found = wrapped_dim(dim, first, "stack", ndim=len(first.shape) + 1)
    return with_values(tensors[0], stack([state_of(one).values for one in tensors], found - 1))


# Chosen --------------------------------------------------------------------------------------------------------------


@answers("where")
def _where(condition: Tensor, input: Any = None, other: Any = None, **named: Any) -> Tensor:
    input = named.get("self", input)
    if not is_jagged(condition):
        raise ValueError("NestedTensor where_self(condition: jt_all, self: any, other: any): expected condition to be "
                         "a jagged layout NestedTensor")  # fmt: skip
    tensors = iter(broadcast_tensors([one for one in (condition, input, other) if isinstance(one, Tensor)]))
    parts = [state_of(next(tensors)).values if isinstance(one, Tensor) else one for one in (condition, input, other)]
    return with_values(condition, where(*parts))


@answers("masked_select")
def _masked_select(input: Tensor, mask: Tensor) -> Tensor:
    need_contiguous(input, "masked_select_default(self: jt, mask: any)")
    state = state_of(input)
    if input.ndim > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if shape_of(input) != mask.shape:
        raise RuntimeError(f"Mask with shape {mask.shape} is not compatible with input's shape {shape_of(input)}")
    chosen = state_of(mask).values
    before = cat([zeros(1, dtype=state.offsets.dtype, device=chosen.device), chosen.cumsum(0)])
    values = state.values.masked_select(chosen)
    return Jagged(values, before[state.offsets], None, state.ragged, state.cache).as_tensor()


def _put_values(input: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool) -> Tensor:
    """The values of a tensor after others were put at these places."""
    state = state_of(input)
    if len(indices) > len(state.shape):
        raise AssertionError(f"Too many indices: got {len(indices)} but tensor has {len(state.shape)} dimensions")
    if len(indices) < state.ragged + 1:
        if not is_contiguous(input):
            raise RuntimeError("index_put(): If ragged dimension is not part of indices, this only works on contiguous "
                               "NJTs")  # fmt: skip
        return unpadded(padded(state, 0, longest(state)).index_put(indices, values, accumulate), state)
    steps = indices[state.ragged]
    if bool((steps >= lengths_of(state)[indices[0]]).any()):
        raise RuntimeError("Some indices in the ragged dimension are out of bounds!")
    rows = state.offsets[indices[0]] + steps
    places = (*indices[1 : state.ragged], rows, *indices[state.ragged + 1 :])
    return state.values.index_put(places, values, accumulate)


@answers("index_put")
def _index_put(input: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    return with_values(input, _put_values(input, indices, values, accumulate))


@answers("index_put_")
def _index_put_(input: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    state_of(input).values.copy_(_put_values(input, indices, values, accumulate))
    input._spec = state_of(input).spec
    return input


@answers("one_hot")
def _one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    values = state_of(tensor).values
    count = int(values.max()) + 1 if num_classes == -1 else num_classes
    shown = (values.unsqueeze(-1) == arange(count, device=values.device)).to(values.dtype)
    return with_values(tensor, shown)
