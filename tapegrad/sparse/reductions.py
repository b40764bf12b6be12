"""Sums and softmax of sparse tensors, in which what is not there takes no part."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.data.dtypes import FLOATING, int64
from tapegrad._src.functions.creation import full
from tapegrad._src.functions.sorting import unique
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import sparse as ops
from tapegrad.sparse.attributes import with_values
from tapegrad.sparse.coordinates import (
    coalesced,
    coo_of,
    made,
    places_of,
    sparse_dim_of,
)
from tapegrad.sparse.fills import filled, total
from tapegrad.sparse.tensor import ANSWERS, answers, is_coo, state_of


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over dimensions of a sparse tensor, or over all: dense if no sparse dimension is left.

    Args:
        input: a tensor with coordinates.
        dim: one or several.
        dtype: that of the sum.

    >>> torch.sparse.sum(torch.eye(2).to_sparse(), 0).values()
    tensor([1., 1.])
    """
    state = coo_of(input, "coalesce")
    values = state.values if dtype is None else state.values.to(dtype)
    count, ndim = sparse_dim_of(state), input.ndim
    if dim is None:
        return values.sum()
    wanted = [wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    for d in wanted:
        if wanted.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    given = sorted(wanted)
    dense = [d - count + 1 for d in given if d >= count]
    values = values.sum(dense) if dense else values
    left = [d for d in range(count) if d not in given]
    shape = [state.shape[d] for d in range(ndim) if d not in given]
    if not left:
        return renamed(values.sum(0), "SparseSumBackward0")
    if len(left) == count:
        found = coalesced(made(state.indices[0], values, shape, state.coalesced))
    else:
        found = coalesced(made(state.indices[0][left], values, shape))
    if state_of(found).values is not state.values:
        renamed(state_of(found).values, "SparseSumBackward0")
    return found


def _sum_of_compressed(input: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """The sum of a compressed matrix: over dimensions as PyTorch has it, of CSR alone, which stay."""
    if dim is None:
        return renamed(total(input, dtype), "SumBackward0")
    if state_of(input).layout is not layouts.sparse_csr:
        name = repr(state_of(input).layout)[-3:].title()
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            f"Sparse{name}"
        )
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    dims = sorted({wrap_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim)})
    found = ANSWERS["reduced lines"]("sum", input, dims, dtype or state_of(input).values.dtype)
    return filled(found, (input, lambda fill: fill.sum(dims, keepdim=True, dtype=dtype)))


@answers("sum")
def _sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if not is_coo(input):
        return _sum_of_compressed(input, dim, keepdim, dtype)
    dtype = int64 if dtype is None and input.dtype.category < FLOATING else dtype
    ndim, count = input.ndim, sparse_dim_of(state_of(input))
    given = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = sorted({wrap_dim(d, ndim) for d in given})
    if set(range(count)) <= set(dims):
        rows = total(input, dtype)
        dense = [d - count for d in dims if d >= count]
        result = renamed(rows.sum(dense) if dense else rows, f"SumBackward{0 if dim is None else 1}")
    else:
        of_fill = methodcaller("sum", dims, dtype=dtype) if dims else None
        result = filled(sum(input, dim, dtype=dtype), (input, of_fill))
    for d in dims if keepdim and dim is not None else ():
        result = result.unsqueeze(d)
    return result


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Exponentials over their sum along a dimension, of what is there.

    >>> torch.sparse.softmax(torch.eye(2).to_sparse() * 3, 1).values()
    tensor([1., 1.])
    """
    return _soft(input, dim, dtype, "softmax")


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithms of ``softmax``.

    >>> torch.sparse.log_softmax(torch.eye(2).to_sparse() * 3, 1).values()
    tensor([0., 0.])
    """
    return _soft(input, dim, dtype, "log_softmax")


def _soft(input: Tensor, dim: int, dtype: Any, how: str) -> Tensor:
    coo_of(input, how)
    if (dtype or input.dtype).category < FLOATING:
        raise NotImplementedError(f"\"{how}\" not implemented for '{(dtype or input.dtype).scalar_name}'")
    tensor = coalesced(input if dtype is None else input.to(dtype))
    state = state_of(tensor)
    dim, count = wrap_dim(dim, input.ndim), sparse_dim_of(state)
    node = "SparseSoftmaxBackward0" if how == "softmax" else "SparseLogSoftmaxBackward0"
    if dim >= count:
        return with_values(tensor, renamed(getattr(state.values, how)(dim - count + 1), node))
    others = [d for d in range(count) if d != dim]
    places = places_of(state.indices[0][others], [state.shape[d] for d in others])
    kept, group = unique(places, return_inverse=True)
    number = kept.shape[0]
    tops = full((number, *state.values.shape[1:]), -float("inf"), dtype=state.values.dtype, device=input.device)
    spread = group.view(-1, *[1] * (state.values.ndim - 1)).expand(state.values.shape)
    tops = tops.scatter_reduce(0, spread, state.values.detach(), "amax")
    shifted = state.values - ops.sparse_rows(tops, group)
    powers = shifted.exp()
    totals = ops.sparse_coalesce(powers, group, count=number)
    if how == "softmax":
        return with_values(tensor, renamed(powers / ops.sparse_rows(totals, group), node))
    return with_values(tensor, renamed(shifted - ops.sparse_rows(totals.log(), group), node))


answers("softmax")(lambda input, dim, dtype=None, **_: softmax(input, dim, dtype=dtype))
answers("log_softmax")(lambda input, dim, dtype=None, **_: log_softmax(input, dim, dtype=dtype))
