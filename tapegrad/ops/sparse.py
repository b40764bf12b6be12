"""Operators of sparse tensors: on their values, which are rows of an array, and places, which are plain integers.

A *place* is the number of a row where all sparse dimensions count as one: ``i * columns + j`` of a matrix.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad.ops.indexing import wide
from tapegrad.ops.kinds import broadcast_to, conj, linear, multilinear, same_values


@same_values(node="SparseCooTensorWithDimsAndTensorsBackward0")
def sparse_constructor(x):
    """The values that a sparse tensor is made of."""
    return x


@same_values(node="SparseCompressedTensorBackward0")
def sparse_compressed_constructor(x):
    """The values that a sparse tensor of a compressed layout is made of."""
    return x


@same_values(node="ValuesBackward0")
def sparse_values(x):
    """The values of a sparse tensor, as a dense one."""
    return x


@same_values(node="TBackward0")
def sparse_t(x):
    """The values of a sparse matrix, as those of its transpose."""
    return x


@same_values(node="TransposeBackward0")
def sparse_transpose(x):
    """The values of a sparse tensor, two dimensions of which change places."""
    return x


@linear(x=lambda g, x_shape: broadcast_to(g, shape=tuple(x_shape)), fill=lambda g: g, aten=None, node="SumBackward0")
def sparse_total(x, fill):
    """The sum of the values of a sparse tensor, over their first dimensions, and of its fill value, which is 0."""
    return jnp.sum(x, axis=tuple(range(x.ndim - fill.ndim))) + fill


@linear(x=lambda g, places: sparse_rows(g, places), aten=None, node="CoalesceBackward0")
def sparse_coalesce(x, places, *, count):
    """``count`` rows, each the sum of the rows of ``x`` with its number in ``places``."""
    return _added_up(x, places, count)


def _added_up(x: Any, places: Any, count: int) -> Any:
    """Rows that are added up at their places, or of which one must be true there."""
    total = jnp.zeros((count, *x.shape[1:]), wide(x).dtype).at[places]
    return (total.max if x.dtype == bool else total.add)(wide(x), mode="drop").astype(x.dtype)


@linear(x=lambda g, places, x_shape: sparse_coalesce(g, places, count=x_shape[0]), aten=None, node="IndexBackward0")
def sparse_rows(x, places):
    """The rows of ``x`` with these numbers: the adjoint of ``sparse_coalesce``."""
    return jnp.take(x, places, axis=0, mode="clip")


@linear(x=lambda g, places, shape, x_shape: sparse_gather(g, places, ndim=len(shape) - len(x_shape) + 1), aten=None,
        node="ToDenseBackward0")  # fmt: skip
def sparse_scatter(x, places, *, shape):
    """An array of ``shape`` with the rows of ``x`` added up at their places, and zeros elsewhere."""
    dense = x.shape[1:]
    lengths = shape[: len(shape) - len(dense)]
    return _added_up(x, places, math.prod(lengths)).reshape(shape)


@linear(x=lambda g, places, x_shape: sparse_scatter(g, places, shape=tuple(x_shape)), aten=None,
        node="ToSparseBackward0")  # fmt: skip
def sparse_gather(x, places, *, ndim):
    """The rows of ``x`` at these places, where its first ``ndim`` dimensions count as one."""
    return jnp.take(x.reshape(math.prod(x.shape[:ndim]), *x.shape[ndim:]), places, axis=0, mode="clip")


_orders: dict[int, tuple[Any, np.ndarray]] = {}
"""The orders that sort rows, by the identity of an array, with a reference to it: those of a graph come again."""


def _order_of(rows: np.ndarray) -> np.ndarray | None:
    """The order in which these numbers ascend; None if they do."""
    if ascends(rows):
        return None
    known = _orders.get(id(rows))
    if known is not None and known[0]() is rows and ascends(rows[known[1]]):  # they may have been written to since
        return known[1]
    order = np.argsort(rows, kind="stable")
    while len(_orders) >= ORDERS:
        _orders.pop(next(iter(_orders)))
    _orders[id(rows)] = weakref.ref(rows), order
    return order


def ascends(rows: np.ndarray) -> bool:
    """Tell whether numbers are sorted."""
    return bool((rows[1:] >= rows[:-1]).all())


ORDERS = 16
"""As many of them are kept."""


def product_on_host(x: np.ndarray, rows: np.ndarray, columns: np.ndarray, y: np.ndarray, *, count: int) -> np.ndarray:
    """``sparse_matmul`` by NumPy: rows that lie one after the other are added up where they lie.

    >>> product_on_host(np.ones(2), np.array([1, 0]), np.array([0, 0]), np.array([[2.0]]), count=2).ravel()
    array([2., 2.])
    """
    order = _order_of(rows)
    if order is not None:
        x, rows, columns = x[order], rows[order], columns[order]
    kind = np.result_type(x, np.float32 if y.dtype.itemsize < 4 else y)
    found = np.zeros((count, y.shape[1]), kind)
    if rows.size:
        parts = np.take(np.ascontiguousarray(y.T, kind), columns, axis=1, mode="clip")  # sums run along memory
        parts *= x.astype(kind, copy=False)
        starts = np.concatenate([[0], np.flatnonzero(rows[1:] != rows[:-1]) + 1])
        found[rows[starts]] = np.add.reduceat(parts, starts, axis=1).T
    return found.astype(y.dtype, copy=False)


@on_host(product_on_host)
def _product(x: Any, rows: Any, columns: Any, y: Any, *, count: int) -> Any:
    parts = wide(x)[:, None] * wide(jnp.take(y, columns, axis=0, mode="clip"))
    return jnp.zeros((count, y.shape[1]), parts.dtype).at[rows].add(parts, mode="drop").astype(y.dtype)


@multilinear(
    x=lambda g, rows, columns, y: sparse_inner(g, rows, columns, conj(y)),
    y=lambda g, x, rows, columns, y_shape: sparse_matmul(conj(x), columns, rows, g, count=y_shape[0]),
    aten=None, node="MmBackward0",
)  # fmt: skip
def sparse_matmul(x, rows, columns, y, *, count):
    """The product of a matrix of ``count`` rows, which has ``x`` at (rows, columns), with a dense matrix ``y``."""
    return _product(x, rows, columns, y, count=count)


@multilinear(
    x=lambda g, rows, columns, y: sparse_inner(g, rows, columns, conj(y)),
    y=lambda g, x, rows, columns, y_shape: sparse_matmul(conj(x), columns, rows, g, count=y_shape[0]),
    aten=None, node="SparseAddmmBackward0",
)  # fmt: skip
def sparse_addmm(x, rows, columns, y, *, count):
    """``sparse_matmul``, as ``torch.sparse.mm`` calls it."""
    return sparse_matmul.function(x, rows, columns, y, count=count)


@multilinear(
    x=lambda g, rows, columns, y, x_shape: sparse_matmul(g, rows, columns, conj(y), count=x_shape[0]),
    y=lambda g, x, rows, columns, y_shape: sparse_matmul(g, columns, rows, conj(x), count=y_shape[0]),
    aten=None, node="SparseSampledAddmmBackward0",
)  # fmt: skip
def sparse_inner(x, rows, columns, y):
    """For each pair of a row of ``x`` and a row of ``y`` the sum of their products: adjoint to ``sparse_matmul``."""
    pairs = wide(jnp.take(x, rows, axis=0, mode="clip")) * wide(jnp.take(y, columns, axis=0, mode="clip"))
    return jnp.sum(pairs, axis=1).astype(x.dtype)
