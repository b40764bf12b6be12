"""``torch.masked`` of sparse tensors: reductions of the elements that a mask selects, of those that are there.

What the mask selects and is not there counts as zero. The results are sparse, as PyTorch's are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.execution.data.dtypes import BOOL, INTEGRAL, dtype, iinfo, int64
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.selection import where
from tapegrad._src.functions.sorting import searchsorted, unique
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import sparse as ops
from tapegrad.sparse.coordinates import coalesced, indices_at, made, places_in, places_of, sparse_dim_of, sparse_of
from tapegrad.sparse.tensor import SparseValue, answers, is_coo, is_sparse, state_of


def identity_of(name: str, kind: dtype) -> Any:
    """The number that changes nothing in a reduction."""
    if name in ("sum", "mean"):
        return 0
    if name == "prod":
        return 1
    if kind.is_floating_point:
        return -float("inf") if name == "amax" else float("inf")
    return iinfo(kind).min if name == "amax" else iinfo(kind).max


def selected(input: Tensor, mask: Tensor, fill: Any) -> Tensor:
    """The elements of a tensor with coordinates that a mask selects; zeros where none are."""
    whole = mask.to_dense() if is_sparse(mask) else mask
    if whole.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    given, count = state_of(coalesced(input)), sparse_dim_of(state_of(input))
    chosen = state_of(sparse_of(whole.bool().expand(tuple(input.shape)), count))
    here, wanted = places_in(given), places_in(chosen)
    lengths = given.shape[:count]
    spots = searchsorted(here, wanted)
    spread = (-1, *[1] * (given.values.ndim - 1))
    if here.shape[0]:
        spots = spots.clamp(max=here.shape[0] - 1)
        found = here[spots] == wanted
        rows = ops.sparse_rows(given.values, spots)
        if given.values.ndim > 1:
            rows = where(chosen.values, rows, fill)
        values = where(found.view(spread), rows, 0)
    else:
        values = given.values.new_zeros((wanted.shape[0], *given.values.shape[1:]))
    return made(indices_at(wanted, lengths), values.to(given.values.dtype), given.shape, coalesced=True)


def reduced(name: str, tensor: Tensor, dims: Sequence[int], keepdim: bool, kind: dtype) -> Any:
    """A reduction of the elements of a tensor with coordinates, over sparse dimensions and dense ones."""
    state = state_of(tensor)
    count, values = sparse_dim_of(state), state.values.to(kind)
    dims = [d for d in dims if d < tensor.ndim]  # a tensor without dimensions counts as one with one
    sparse, dense = [d for d in dims if d < count], [d - count + 1 for d in dims if d >= count]
    shape = [1 if d in dims else n for d, n in enumerate(state.shape) if keepdim or d not in dims]
    if dense:
        if name != "sum":
            return NotImplemented
        values = values.sum(dense, keepdim=keepdim)
    if len(sparse) == count:
        none = name in ("amax", "amin") and not values.shape[0]
        result = as_tensor(identity_of(name, kind), dtype=kind) if none else getattr(values, name)(dim=0)
        for _ in range(count if keepdim else 0):
            result = result.unsqueeze(0)
        return sparse_of(result)
    kept = [d for d in range(count) if keepdim or d not in sparse]
    lengths = [1 if d in sparse else state.shape[d] for d in kept]
    indices = state.indices[0][[d for d in kept if d not in sparse]]
    own = [state.shape[d] for d in kept if d not in sparse]
    if not state.indices[0].numel():
        return made(indices_at(places_of(indices, own), lengths), values, shape)
    places, group = unique(places_of(indices, own), return_inverse=True)
    spread = group.view(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    empty = values.new_zeros((places.shape[0], *values.shape[1:]))
    summed = empty.scatter_reduce(0, spread, values, name, include_self=False)
    return made(indices_at(places, lengths), summed, shape)


@answers("reduced lines")
def reduced_lines(name: str, tensor: Tensor, dims: Sequence[int], kind: dtype) -> Tensor:
    """A reduction of the elements of a matrix in rows; the dimensions stay, with length 1."""
    state = state_of(tensor)
    (heads, columns), values = state.indices, state.values.to(kind)
    if not dims:
        return tensor
    if len(dims) == 2:
        count = min(1, values.numel())
        found = getattr(values, name)(dim=0, keepdim=True) if count else values
        parts = heads.new_tensor([0, count]), columns.new_zeros(count)
        return SparseValue(parts, found, (1, count), layout=state.layout).as_tensor()
    if dims[0] == 0:
        kept, group = unique(columns, return_inverse=True)
        found = values.new_zeros((kept.shape[0],)).scatter_reduce(0, group, values, name, include_self=False)
        parts = heads.new_tensor([0, kept.shape[0]]), kept
        return SparseValue(parts, found, (1, state.shape[1]), layout=state.layout).as_tensor()
    steps = heads[1:] - heads[:-1]
    filled = steps != 0
    group = (filled.cumsum(0) - 1).repeat_interleave(steps)
    number = int(filled.sum())
    found = values.new_zeros((number,)).scatter_reduce(0, group, values, name, include_self=False)
    parts = cat([heads.new_zeros(1), filled.cumsum(0).to(heads.dtype)]), columns.new_zeros(number)
    return SparseValue(parts, found, (state.shape[0], 1), layout=state.layout).as_tensor()


def _declare(name: str) -> None:
    """Declare one of the reductions of ``torch.masked`` for sparse tensors."""

    def reduction(
        input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
    ) -> Tensor:
        given = state_of(input).layout
        if given not in (layouts.sparse_coo, layouts.sparse_csr) or (name == "mean" and is_coo(input)):
            which = "strided or sparse_csr" if name == "mean" else "strided, sparse_coo or sparse_csr"
            raise ValueError(f"masked {name} expects {which} tensor (got {given} tensor)")
        if mask is None and name != "sum":
            raise ValueError(f"masked {name} expects explicit mask for {repr(given)[6:]} tensor input")
        integral = input.dtype.category in (BOOL, INTEGRAL) and name in ("sum", "prod")
        kind = dtype or (int64 if integral else input.dtype)
        ndim = input.ndim
        dims = sorted({wrap_dim(d, ndim) for d in (
            range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim)})  # fmt: skip
        chosen = input
        if mask is not None:
            chosen = selected(input if is_coo(input) else input.to_sparse_coo(), mask, identity_of(name, input.dtype))
            chosen = chosen if is_coo(input) else chosen.to_sparse_csr()
        if is_coo(chosen):
            return reduced(name, chosen, dims, keepdim, kind)
        if not keepdim:
            raise AssertionError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return reduced_lines(name, chosen, dims, kind)

    answers(f"masked.{name}")(reduction)


for _name in ("sum", "prod", "amax", "amin", "mean"):
    _declare(_name)
