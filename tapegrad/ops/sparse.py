"""Operators of sparse tensors: on their values, which are rows of an array, and places, which are plain integers.

A *place* is the number of a row where all sparse dimensions count as one: ``i * columns + j`` of a matrix.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad._src.execution.numpy_backend.indexing import at_rows, is_within
from tapegrad._src.execution.numpy_backend.parts import compiled
from tapegrad.ops.formulas import underivable
from tapegrad.ops.indexing import wide
from tapegrad.ops.kinds import broadcast_to, conj, general, linear, multilinear, same_values
from tapegrad.ops.matmul import FULL, adjoint, matmul
from tapegrad.ops.reductions import sum
from tapegrad.ops.scans import plus
from tapegrad.ops.shape import view


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


@general(x=underivable("aten::hspmm"), aten=None, node="torch::autograd::NotImplemented", profile="hspmm")
def sparse_hspmm(x):
    """The rows of the product that ``torch.hspmm`` gives."""
    return x


@general(x=underivable("aten::sspaddmm"), aten=None, node="torch::autograd::NotImplemented", profile="sspaddmm")
def sparse_sspaddmm(x):
    """The values of the sum that ``torch.sspaddmm`` gives."""
    return x


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


# -- what is not stored, which is zeros with a gradient: see Note [Fill values] ----------------------------------------


def _heeding(out: Any, fill: Any, through: Any, *others: Any) -> Any:
    """``out``, with the derivative of ``out + through(fill, *others)``; ``through`` of zeros is zeros."""

    @jax.custom_jvp
    def heeding(out: Any, fill: Any, *others: Any) -> Any:
        return out

    @heeding.defjvp
    def tangent(primals: tuple, tangents: tuple) -> tuple:
        return primals[0], tangents[0] + jax.jvp(through, primals[1:], tangents[1:])[1]

    return heeding(out, fill, *others)


def _elsewhere(x: Any, places: Any, ndim: int) -> Any:
    there = jnp.zeros(math.prod(x.shape[:ndim]), bool).at[places].set(True, mode="drop")
    return jnp.where(there.reshape(*x.shape[:ndim], *[1] * (x.ndim - ndim)), 0, x)


@linear(x=lambda g, places, ndim: sparse_elsewhere(g, places, ndim=ndim), aten=None, node="ToSparseBackward0")
def sparse_elsewhere(x, places, *, ndim):
    """``x`` with zeros at these places, where its first ``ndim`` dimensions count as one."""
    return _elsewhere(x, places, ndim)


@general(
    x=lambda g, places, ndim: sparse_elsewhere(g, places, ndim=ndim),
    jvp=lambda t_x, places, ndim: sparse_elsewhere(t_x, places, ndim=ndim), aten=None, node="ToSparseBackward0",
)  # fmt: skip
def sparse_fill(x, places, *, ndim):
    """Zeros, with the derivative of what ``sparse_gather`` leaves of ``x``."""
    nothing = jnp.broadcast_to(jnp.zeros((), x.dtype), x.shape)
    return _heeding(nothing, x, lambda fill, places: _elsewhere(fill, places, ndim), places)


@general(
    x=lambda g: g, fill=lambda g: g, jvp=lambda t_x, t_fill: plus(t_x, t_fill), aten=None, node="ToDenseBackward0"
)
def sparse_filled(x, fill):
    """``x``, with the derivative of ``x + fill``."""
    return _heeding(x, fill, lambda fill: fill)


def _total_tangent(t_x, t_fill, ndim):
    parts = [t if t is None else sum(t, axis=tuple(range(t.ndim - ndim))) for t in (t_x, t_fill)]
    return plus(*parts)


@general(
    x=lambda g, x_shape: broadcast_to(g, shape=tuple(x_shape)),
    fill=lambda g, fill_shape: broadcast_to(g, shape=tuple(fill_shape)),
    jvp=_total_tangent, aten=None, node="SumBackward0",
)  # fmt: skip
def sparse_total(x, fill, *, ndim):
    """The sum of the values of a sparse tensor over all but their last ``ndim`` dimensions, and of the rest."""

    def total(x: Any) -> Any:
        return jnp.sum(x, axis=tuple(range(x.ndim - ndim)))

    return _heeding(total(x), fill, total)


# -- products ----------------------------------------------------------------------------------------------------------


def product_on_host(x: np.ndarray, rows: np.ndarray, columns: np.ndarray, y: np.ndarray, *, count: int) -> np.ndarray:
    """``sparse_matmul`` by SciPy's product of coordinates; by NumPy if it has none, or an index is out of range.

    >>> product_on_host(np.ones(2), np.array([1, 0]), np.array([0, 0]), np.array([[2.0]]), count=2).ravel()
    array([2., 2.])
    """
    dtype, kind = y.dtype, np.result_type(x, np.float32 if y.dtype.itemsize < 4 else y)
    found, product = np.zeros((count, y.shape[1]), kind), getattr(compiled("scipy.sparse"), "coo_matmat_dense", None)
    x, y = x.astype(kind, copy=False), y.astype(kind, copy=False)
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    if product and kind.char in "fdFD" and is_within(rows, count) and is_within(columns, len(y)):
        indices = rows, columns.astype(rows.dtype, copy=False)
        product(x.size, y.shape[1], *indices, np.ascontiguousarray(x), np.ascontiguousarray(y).ravel(), found.ravel())
    else:
        at_rows(np.add, found, rows, x[:, None] * np.take(y, columns, axis=0, mode="clip"))
    return found.astype(dtype, copy=False)


@on_host(product_on_host, nanoseconds=3.0)
def _product(x: Any, rows: Any, columns: Any, y: Any, *, count: int) -> Any:
    parts = wide(x)[:, None] * wide(jnp.take(y, columns, axis=0, mode="clip"))
    return jnp.zeros((count, y.shape[1]), parts.dtype).at[rows].add(parts, mode="drop").astype(y.dtype)


def _as_matrices(g, y, shape):
    """The rows of a product, and of its right factor, as those of a left factor of this shape, perhaps of a batch."""
    *batch, rows, columns = shape
    return view(g, shape=(*batch, rows, g.shape[-1])), view(y, shape=(*batch, columns, y.shape[-1]))


def _fill_gradient(g, y, fill_shape):
    g, y = _as_matrices(g, y, fill_shape)
    return matmul(g, adjoint(y))


def _right_gradient(g, x, rows, columns, fill, y_shape):
    return sparse_matmul(conj(x), columns, rows, g, None if fill is None else adjoint(fill), count=y_shape[0])


def _product_tangent(x, rows, columns, y, fill, t_x, t_y, t_fill, count):
    moved = None if t_x is None else sparse_matmul(t_x, rows, columns, y, None, count=count)
    moved = plus(moved, None if t_y is None else sparse_matmul(x, rows, columns, t_y, fill, count=count))
    if t_fill is None:
        return moved
    batch = view(y, shape=(*t_fill.shape[:-2], t_fill.shape[-1], y.shape[1]))
    return plus(moved, view(matmul(t_fill, batch), shape=(count, y.shape[1])))


@general(
    x=lambda g, rows, columns, y: sparse_inner(g, rows, columns, conj(y)),
    y=_right_gradient, fill=_fill_gradient, jvp=_product_tangent, aten=None, node="MmBackward0",
)  # fmt: skip
def sparse_matmul(x, rows, columns, y, fill, *, count):
    """The product of a matrix of ``count`` rows, which has ``x`` at (rows, columns), with a dense matrix ``y``.

    What is elsewhere is ``fill``, zeros with a derivative, or None; if it has a batch, so have ``y`` and the result.
    """
    found = _product(x, rows, columns, y, count=count)
    if fill is None:
        return found

    def through(fill: Any, y: Any) -> Any:
        batch = y.reshape(*fill.shape[:-2], fill.shape[-1], y.shape[1])
        return jnp.matmul(fill, batch, precision=FULL).reshape(found.shape).astype(found.dtype)

    return _heeding(found, fill, through, y)


@multilinear(
    x=lambda g, rows, columns, y: sparse_inner(g, rows, columns, conj(y)),
    y=lambda g, x, rows, columns, y_shape: sparse_matmul(conj(x), columns, rows, g, None, count=y_shape[0]),
    aten=None, node="SparseAddmmBackward0",
)  # fmt: skip
def sparse_addmm(x, rows, columns, y, *, count):
    """``sparse_matmul``, as ``torch.sparse.mm`` calls it."""
    return _product(x, rows, columns, y, count=count)


@multilinear(
    x=lambda g, rows, columns, y, x_shape: sparse_matmul(g, rows, columns, conj(y), None, count=x_shape[0]),
    y=lambda g, x, rows, columns, y_shape: sparse_matmul(g, columns, rows, conj(x), None, count=y_shape[0]),
    aten=None, node="SparseSampledAddmmBackward0",
)  # fmt: skip
def sparse_inner(x, rows, columns, y):
    """For each pair of a row of ``x`` and a row of ``y`` the sum of their products: adjoint to ``sparse_matmul``."""
    pairs = wide(jnp.take(x, rows, axis=0, mode="clip")) * wide(jnp.take(y, columns, axis=0, mode="clip"))
    return jnp.sum(pairs, axis=1).astype(x.dtype)
