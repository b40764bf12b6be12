"""Parts of sparse tensors, and sparse tensors of parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.data.dtypes import INTEGRAL
from tapegrad._src.execution.data.dtypes import bool as bool_dtype
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.joining import cat as cat_dense
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops import sparse as ops
from tapegrad.sparse.coordinates import coo_of, made, sparse_dim_of
from tapegrad.sparse.fills import filled, with_fill
from tapegrad.sparse.tensor import answers, is_coo, not_there, state_of


@answers("cat", "concat", "concatenate")
def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    for place, tensor in enumerate(tensors):
        if not is_coo(tensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
    states = [state_of(tensor) for tensor in tensors]
    first, count = states[0], sparse_dim_of(states[0])
    dim = wrap_dim(dim, len(first.shape))
    for place, state in enumerate(states):
        if sparse_dim_of(state) != count or len(state.shape) != len(first.shape):
            raise RuntimeError(
                "All tensors must have the same number of sparse and dense dimensions, but the first has "
                f"{count}, {len(first.shape) - count} and the one at position {place} has others"
            )
        for d, length in enumerate(state.shape):
            if d != dim and length != first.shape[d]:
                raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the "
                                   "concatenating dimension), but found shape: "
                                   f"{list(state.shape)} at position {place}")  # fmt: skip
    shape = list(first.shape)
    shape[dim] = sum(state.shape[dim] for state in states)
    starts = np.cumsum([0, *[state.shape[dim] for state in states]])[:-1].tolist()
    if dim < count:
        found = made(_shifted(states, dim), cat_dense([state.values for state in states]), shape)
    else:
        padded = [_padded(state.values, dim - count + 1, start, shape[dim])
                  for state, start in zip(states, starts, strict=True)]  # fmt: skip
        found = made(cat_dense([state.indices[0] for state in states], 1), cat_dense(padded), shape)
    return filled(found, *[(tensor, partial(_padded, dim=dim, start=start, length=shape[dim]))
                           for tensor, start in zip(tensors, starts, strict=True)])  # fmt: skip


def _shifted(states: Sequence[Any], dim: int) -> Tensor:
    """The indices of tensors that lie behind one another along a dimension."""
    found, start = [], 0
    for state in states:
        step = np.zeros((sparse_dim_of(state), 1), np.int64)
        step[dim] = start
        found.append(state.indices[0] + as_tensor(step, device=state.values.device) if start else state.indices[0])
        start += state.shape[dim]
    return cat_dense(found, 1)


def _padded(values: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Values, or a fill, with zeros around them along a dense dimension."""
    shape = list(values.shape)
    shape[dim] = length
    return values.new_zeros(shape).slice_scatter(values, dim, start, start + values.shape[dim])


@answers("stack")
def _stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    found = _cat([tensor.unsqueeze(dim) for tensor in tensors], dim)
    renamed(state_of(found).values, "StackBackward0")
    return found


@answers("index_select")
def _index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    state = coo_of(input, "index_select")
    dim, count = wrap_dim(dim, input.ndim), sparse_dim_of(state)
    length = state.shape[dim]
    wanted = to_host(value_of(index))
    for number in wanted[(wanted < -length) | (wanted >= length)]:
        raise IndexError(f"index_select(): index contains {number} that is out of range for tensor of size "
                         f"{list(input.shape)} at dimension {dim}")  # fmt: skip
    shape = [*state.shape[:dim], len(wanted), *state.shape[dim + 1 :]]
    chosen = methodcaller("index_select", dim, index)
    if dim >= count:
        values = state.values.index_select(dim - count + 1, index)
        return filled(made(state.indices[0], values, shape, state.coalesced), (input, chosen))
    here = to_host(value_of(state.indices[0]))
    order = np.argsort(here[dim], kind="stable")
    starts, ends = (np.searchsorted(here[dim][order], wanted % length, side=side) for side in ("left", "right"))
    counts = ends - starts
    rows = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - starts, counts)]
    indices = here[:, rows]
    indices[dim] = np.repeat(np.arange(len(wanted)), counts)
    values = state.values.index_select(0, as_tensor(rows.astype(np.int64), device=input.device))
    return filled(made(as_tensor(indices, device=input.device), values, shape), (input, chosen))


@answers("select")
def picked(input: Tensor, dim: int, index: int) -> Tensor:
    """The part of a tensor with one index along a dimension."""
    state = coo_of(input, "select")
    dim, count = wrap_dim(dim, input.ndim), sparse_dim_of(state)
    if not -state.shape[dim] <= index < state.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension "
                         f"{dim}")  # fmt: skip
    shape, part = [*state.shape[:dim], *state.shape[dim + 1 :]], methodcaller("select", dim, index)
    if dim >= count:
        return filled(made(state.indices[0], state.values.select(dim - count + 1, index), shape), (input, part))
    here = to_host(value_of(state.indices[0]))
    chosen = as_tensor(np.nonzero(here[dim] == index % state.shape[dim])[0], device=input.device)
    values = renamed(ops.sparse_rows(state.values, chosen), "SelectBackward0")
    if count == 1:
        found = values.any(0) if values.dtype is bool_dtype else values.sum(0)
        return renamed(with_fill(found, input, part), "SelectBackward0")
    rest = [d for d in range(count) if d != dim]
    indices = as_tensor(here[rest], device=input.device).index_select(1, chosen)
    return filled(made(indices, values, shape), (input, part))


@answers("__getitem__")
def indexed(self: Tensor, place: Any) -> Tensor:
    """The part of a tensor that numbers, ``None``, ``...`` and ``:`` name."""
    given = place if isinstance(place, tuple) else (place,)
    count = sum(one is not None and one is not Ellipsis for one in given)
    if count > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    result, dim = self, 0
    for one in given:
        if one is Ellipsis:
            dim += self.ndim - count
        elif one is None or (isinstance(one, slice) and one == slice(None)):
            result, dim = result.unsqueeze(dim) if one is None else result, dim + 1
        else:
            result = _at(result, dim, one)
    return result


def _at(tensor: Tensor, dim: int, index: Any) -> Tensor:
    """The part with one number along a dimension; slices and arrays of numbers are not there."""
    if isinstance(index, Tensor) and not index.ndim and index.dtype.category == INTEGRAL:
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool):
        raise not_there("as_strided" if isinstance(index, slice) else "index.Tensor", (tensor,))
    if not -tensor.shape[dim] <= index < tensor.shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {tensor.shape[dim]}")
    return picked(tensor, dim, index) if is_coo(tensor) else tensor[index]


@answers("unbind", "__iter__")
def taken_apart(input: Tensor, dim: int = 0) -> Any:
    """The parts of a tensor along a dimension."""
    return tuple(picked(input, dim, number) for number in range(input.shape[dim]))


@answers("narrow_copy")
def _narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    found = _index_select(input, dim, as_tensor(np.arange(start, start + length)))
    state_of(found).coalesced |= state_of(input).coalesced  # what stays is in the same order
    renamed(state_of(found).values, "NarrowCopyBackward0")
    return found


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A sparse matrix with these diagonals: element ``j`` of each lies in column ``j``.

    Args:
        diagonals: a matrix, or one row.
        offsets: for each row which diagonal it is.
        shape: that of the result.
        layout: ``torch.sparse_coo``, or a compressed one.

    >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 1.],
            [0., 0.]])
    """
    rows = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    found: list[np.ndarray] = []
    for place, offset in enumerate(np.atleast_1d(to_host(value_of(offsets))).tolist()):
        columns = np.arange(max(offset, 0), min(rows.shape[1], shape[1], shape[0] + offset))
        found.append(np.stack([columns - offset, columns, columns + place * rows.shape[1]]))
    all_of_them = as_tensor(np.concatenate(found, 1) if found else np.zeros((3, 0), np.int64), device=diagonals.device)
    result = made(all_of_them[:2], rows.reshape(-1).index_select(0, all_of_them[2]), shape)
    return result if layout is None else result.to_sparse(layout=layout)
