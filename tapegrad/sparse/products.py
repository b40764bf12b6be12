"""Products of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.matmul import addmm as dense_addmm
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops import sparse as ops
from tapegrad.sparse.attributes import with_values
from tapegrad.sparse.coordinates import coalesced, made, reaching, sparse_of
from tapegrad.sparse.fills import fill_of, filled
from tapegrad.sparse.tensor import ANSWERS, SparseValue, answers, is_coo, is_sparse, not_there, state_of


def triplets(tensor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows, the columns and the values of a sparse matrix."""
    state: SparseValue = state_of(tensor)
    if state.layout in (layouts.sparse_csr, layouts.sparse_csc) and state.indices[0].ndim == 1:
        return (*ANSWERS["entries"](state), state.values)
    state = state_of(tensor if is_coo(tensor) else tensor.to_sparse_coo())
    return state.indices[0][0], state.indices[0][1], state.values


def product(left: Tensor, right: Tensor, name: str = "mm") -> Tensor:
    """The product of two matrices of which at least one is sparse; sparse if both are.

    Raises:
        RuntimeError: they are no matrices, or don't fit.
    """
    if left.ndim != 2 or right.ndim != 2:
        which, ndim = ("tensor", left.ndim) if left.ndim != 2 else ("tensor", right.ndim)
        raise RuntimeError(f"{name}: matrices expected, got {ndim}D {which}")
    if left.shape[1] != right.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {left.shape[1]}, got {right.shape[0]}"
                           if is_sparse(left) and not is_sparse(right) else
                           f"mat1 and mat2 shapes cannot be multiplied ({left.shape[0]}x{left.shape[1]} and "
                           f"{right.shape[0]}x{right.shape[1]})")  # fmt: skip
    if left.dtype is not right.dtype:
        names = left.dtype.scalar_name, right.dtype.scalar_name
        both = is_sparse(left) and is_sparse(right)
        said = "mat1 dtype {} does not match mat2 dtype {}" if both else "expected scalar type {} but found {}"
        raise RuntimeError(said.format(*(names if is_sparse(left) else names[::-1])))
    if is_sparse(left) and is_sparse(right):
        found = filled(_of_sparse(left, right), (left, lambda fill: fill @ right), (right, lambda fill: left @ fill))
        found = reaching(found).to_sparse(layout=state_of(left).layout)
        renamed(state_of(found).values, "MmBackward0")
        return found
    if is_sparse(left):
        rows, columns, values = triplets(left)
        return ops.sparse_matmul(values, rows, columns, right, fill_of(left), count=left.shape[0])
    (rows, columns, values), fill = triplets(right), fill_of(right)
    fill = None if fill is None else fill.t()
    return renamed(ops.sparse_matmul(values, columns, rows, left.t(), fill, count=right.shape[1]).t(), "MmBackward0")


def _of_sparse(left: Tensor, right: Tensor) -> Tensor:
    """The product of two sparse matrices, with coordinates: a sum over all pairs of entries that meet."""
    rows, inner, values = triplets(coalesced(left) if is_coo(left) else left)
    heads, columns, others = triplets(coalesced(right) if is_coo(right) else right)
    at, wanted = (to_host(value_of(part)) for part in (heads, inner))
    starts, ends = np.searchsorted(at, wanted), np.searchsorted(at, wanted, side="right")
    counts = ends - starts
    first = np.repeat(np.arange(len(counts)), counts)
    second = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
    places = to_host(value_of(rows))[first] * right.shape[1] + to_host(value_of(columns))[second]
    kept, spots = np.unique(places, return_inverse=True)
    on = left.device
    pairs = (ops.sparse_rows(values, as_tensor(first, device=on))
             * ops.sparse_rows(others, as_tensor(second, device=on)))  # fmt: skip
    summed = ops.sparse_coalesce(pairs, as_tensor(spots.reshape(-1), device=on), count=len(kept))
    indices = as_tensor(np.stack(np.divmod(kept, max(right.shape[1], 1))), device=on)
    return made(indices, summed, (left.shape[0], right.shape[1]), coalesced=True)


@answers("mm", "spmm")
def _mm(input: Tensor, mat2: Tensor) -> Tensor:
    return product(input, mat2)


@answers("bmm")
def _bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if not is_coo(input) or is_sparse(mat2):
        raise not_there("bmm", (input, mat2))
    batch, rows, columns = input.shape
    number, row, column = state_of(input).indices[0]
    flat, lines = mat2.reshape(-1, mat2.shape[2]), batch * rows
    values, places = state_of(input).values, (number * rows + row, number * columns + column)
    found = ops.sparse_matmul(values, *places, flat, fill_of(input), count=lines)
    return renamed(found.reshape(batch, rows, mat2.shape[2]), "BmmBackward0")


@answers("mv")
def _mv(input: Tensor, vec: Tensor) -> Tensor:
    return renamed(product(input, vec.unsqueeze(1)).squeeze(1), "MvBackward0")


@answers("addmv")
def _addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return renamed(input * beta + _mv(mat, vec) * alpha, "AddmvBackward0")


@answers("matmul", "__matmul__")
def _matmul(input: Tensor, other: Tensor) -> Tensor:
    if input.ndim == 2 and other.ndim == 1:
        return _mv(input, other)
    if input.ndim == other.ndim == 3:
        return _bmm(input, other)
    if input.ndim == 1 and other.ndim == 2:
        return renamed(product(input.unsqueeze(0), other).squeeze(0), "SqueezeBackward4")
    if input.ndim > 2 and other.ndim == 2 and not is_sparse(input):
        return product(input.flatten(0, -2), other).unflatten(0, input.shape[:-1])
    if other.ndim > 2 and is_sparse(input):
        raise RuntimeError("expand is unsupported for Sparse tensors")
    return product(input, other)


@answers("__rmatmul__")
def _rmatmul(self: Tensor, other: Tensor) -> Tensor:
    return _matmul(other, self)


@answers("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result = product(input, weight.t())
    return result if bias is None else result + bias


@answers("addmm")
def _addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, product: Callable = product,
    node: str = "AddmmBackward0",
) -> Tensor:  # fmt: skip
    if input.dtype is not mat1.dtype:
        raise RuntimeError(f"expected scalar type {mat1.dtype.scalar_name} but found {input.dtype.scalar_name}")
    found = product(mat1, mat2)
    added = found if alpha == 1 else found * alpha
    total = added if beta == 0 else (input if beta == 1 else input * beta) + added
    return total if is_sparse(total) else renamed(total, node)


def _recorded(left: Tensor, right: Tensor) -> Tensor:
    """``product``, under the name that PyTorch's node has for ``torch.sparse``'s own functions."""
    fits = left.dtype is right.dtype and left.ndim == right.ndim == 2 and left.shape[1] == right.shape[0]
    if fits and is_sparse(left) and not is_sparse(right):
        rows, columns, values = triplets(left)
        return ops.sparse_addmm(values, rows, columns, right, count=left.shape[0])
    if fits and is_coo(left) and is_coo(right):
        found = _of_sparse(left, right)
        renamed(state_of(found).values, "SparseSparseMatmulBackward0")
        return found
    return product(left, right) if is_sparse(left) or is_sparse(right) else left.mm(right)


REDUCTIONS = ("sum", "mean", "amax", "amin")


def reduced_product(left: Tensor, right: Tensor, reduce: str) -> Tensor:
    """The product of a matrix in rows with a dense one, whose sums may be means or extremes of what is there."""
    if is_coo(left) or not (is_sparse(left) or is_sparse(right)):
        where = "SparseCPU" if is_coo(left) else "CPU"
        raise NotImplementedError(f"Could not run 'aten::_sparse_mm_reduce_impl' with arguments from the '{where}' "
                                  "backend. This could be because it has no such matrix: x.to_sparse_csr() is one")
    layout = state_of(left).layout if is_sparse(left) else layouts.strided
    if layout is not layouts.sparse_csr:
        name = "Strided" if layout is layouts.strided else f"Sparse{repr(layout)[-3:].title()}"
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {name}")
    if is_sparse(right):
        raise RuntimeError("Expected tensor to have Strided Layout, but got tensor with SparseCsr Layout (while "
                           "checking arguments for sparse_mm_reduce)")  # fmt: skip
    if right.ndim != 2 or right.shape[0] != left.shape[1]:
        raise RuntimeError(f"Expected a tensor of dimension 2 and tensor.size[0] == {left.shape[1]} but got: dimension "
                           f"{right.ndim} and tensor.size[0] = {right.shape[0]}")  # fmt: skip
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"sparse_mm_reduce: reduce type of {reduce} has not been enabled." if reduce == "prod" else
                           f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")  # fmt: skip
    rows, columns, values = triplets(left)
    parts = values.unsqueeze(1) * ops.sparse_rows(right, columns)
    none = parts.new_zeros((left.shape[0], right.shape[1]))
    spread = rows.unsqueeze(1).expand(parts.shape)
    found = none.scatter_reduce(0, spread, parts, reduce, include_self=False)
    return renamed(found, "SparseMmReduceImplBackward0")


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix with another matrix, dense or sparse; sparse if both are.

    Gradients reach the values of a sparse factor, where those of ``mat1 @ mat2`` reach all of it.

    Args:
        mat1, mat2: matrices.
        reduce: of a matrix in rows (CSR) and a dense one, what is made of the products of a row with a column, of those
            that are there: ``"sum"``, ``"mean"``, ``"amax"`` or ``"amin"``.

    Raises:
        RuntimeError: neither is sparse, shapes do not fit, or another layout or reduction.

    >>> x = torch.eye(2).to_sparse()
    >>> torch.sparse.mm(x, torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _recorded(mat1, mat2) if reduce is None else reduced_product(mat1, mat2, reduce)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * mat + alpha * mat1 @ mat2``, where ``mat1`` is sparse.

    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.eye(2), alpha=2)
    tensor([[3., 1.],
            [1., 3.]])
    """
    if not (is_sparse(mat1) or is_sparse(mat2)):
        return dense_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return _addmm(mat, mat1, mat2, beta=beta, alpha=alpha, product=_recorded, node="SparseAddmmBackward0")


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of ``input``, which is sparse.

    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    rows, columns, values = triplets(input)
    inner = ops.sparse_inner(mat1, rows, columns, mat2.t())
    return with_values(input, renamed(values * beta + inner * alpha, "SparseSampledAddmmBackward0"))


def dsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """``mm``, under the name it has for a sparse matrix and a dense one.

    Args:
        mat1, mat2: a sparse matrix and a dense one.

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).shape
    torch.Size([2, 1])
    """
    return product(mat1, mat2)


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix with a dense one, with a sparse dimension of rows and a dense one of columns.

    Args:
        mat1, mat2: a sparse matrix and a dense one.

    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).sparse_dim()
    1
    """
    rows = state_of(coalesced(mat1)).indices[0][0].unique()
    values = ops.sparse_hspmm(_recorded(mat1, mat2)[rows])
    return made(rows.unsqueeze(0), values, (mat1.shape[0], mat2.shape[1]))


@answers("smm")
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse matrix with a dense one, as a sparse matrix.

    Args:
        input, mat: a sparse matrix and a dense one.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).layout
    torch.sparse_coo
    """
    found = sparse_of(_recorded(input, mat))
    return with_values(found, ops.sparse_sspaddmm(state_of(found).values))


@answers("sspaddmm")
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2`` as a sparse matrix, where all but ``mat2`` is sparse.

    Raises:
        NotImplementedError: ``mat1`` is dense.

    >>> torch.sspaddmm(torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), torch.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    if not is_sparse(mat1):
        raise not_there("sspaddmm", (input,))
    found = input * beta + smm(mat1, mat2) * alpha
    return with_values(found, ops.sparse_sspaddmm(state_of(found).values))
