"""LU decompositions: packed, unpacked, and equations solved by given factors.

Note [The derivative of LU]
Let ``A = P L U``, with a unit lower triangular L. For a square A, ``dA = P (dL U + L dU)``, so that in

    F = L^-1 P^T dA U^-1 = L^-1 dL + dU U^-1

the strictly lower part is ``L^-1 dL`` and the rest is ``dU U^-1``. The adjoint reads, for G the packed gradient,

    gA = P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H,    gL = tril(G, -1), gU = triu(G).

The columns of a wide matrix behind the square part are ``U2 = L^-1 P^T A2``; the rows of a tall one below it are
``L2 = (P^T A)2 U^-1``; their gradients come to those of the square part's factors.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data import dtypes
from tapegrad.ops.arrangement import constant_pad
from tapegrad.ops.einsum import identity_of
from tapegrad.ops.joining import cat
from tapegrad.ops.kinds import general, linear, sum_to, zeros_of
from tapegrad.ops.matmul import adjoint, matmul
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.slicing import slice_, tril, triu
from tapegrad.ops.solving import expanded, factors, permuted, solution, solve_triangular

# -- parts of matrices -------------------------------------------------------------------------------------------------


def rows_of(x, start, stop):
    """Some rows of matrices."""
    return slice_(x, start, axis=x.ndim - 2, length=stop - start, step=1)


def columns_of(x, start, stop):
    """Some columns of matrices."""
    return slice_(x, start, axis=x.ndim - 1, length=stop - start, step=1)


def square_part(x):
    """The largest square in the upper left corner."""
    size = min(x.shape[-2:])
    return columns_of(rows_of(x, 0, size), 0, size)


def unit_lower(corner):
    """The factor L that is packed into a square."""
    return tril(corner, diagonal=-1) + identity_of(corner, size=corner.shape[-1], dtype=dtypes.as_dtype(corner.dtype))


def padded(x, rows, columns):
    """Matrices with zeros below and to the right, of this many rows and columns in all."""
    before = ((0, 0),) * (x.ndim - 2)
    return constant_pad(x, 0, widths=(*before, (0, rows - x.shape[-2]), (0, columns - x.shape[-1])))


def packed(lower, upper):
    """Two triangular matrices in one; the diagonal of the first is left out."""
    rows, columns = lower.shape[-2], upper.shape[-1]
    return padded(tril(lower, diagonal=-1), rows, columns) + padded(triu(upper, diagonal=0), rows, columns)


# -- permutations ------------------------------------------------------------------------------------------------------


def order_of(pivots, rows):
    """The permutation that the swaps with pivots (counted from 1) make of the rows."""
    return lax.linalg.lu_pivots_to_permutation(pivots.astype(jnp.int32) - 1, rows)


@linear(x=lambda g, pivots, back: swap_rows(g, pivots, back=not back), aten=None)
def swap_rows(x, pivots, *, back):
    """The rows of ``x`` swapped as ``pivots`` (int32, from 1) say: ``P^T x``; with ``back``, ``P x``."""
    order = expanded(order_of(pivots, x.shape[-2]), x.shape[:-2], 1)
    return permuted(x, jnp.argsort(order, axis=-1) if back else order, -2)


@general(aten=None)
def permutation_matrix(pivots, *, rows, dtype):
    """The matrix P of the decomposition: ``P @ x`` is ``swap_rows(x, pivots, back=True)``."""
    order = order_of(pivots, rows)
    return (order[..., None, :] == jnp.arange(rows, dtype=order.dtype)[:, None]).astype(dtype.numpy)


# -- decompositions ----------------------------------------------------------------------------------------------------


def upper_solved(corner, x):
    """``x U^-H``, for the U that is packed into a square."""
    return solve_triangular(adjoint(corner), x, upper=False, left=False)


def decomposition_gradient(g, lu, pivots):
    """The gradient of the matrix, by that of its packed factors. See Note [The derivative of LU]."""
    rows, columns = lu.shape[-2:]
    size = min(rows, columns)
    corner, g_corner = square_part(lu), square_part(g)
    below = matmul(adjoint(unit_lower(corner)), tril(g_corner, diagonal=-1))
    above = matmul(triu(g_corner, diagonal=0), adjoint(triu(corner, diagonal=0)))
    if columns > rows:
        rest = columns_of(g, size, columns)
        below = below - matmul(rest, adjoint(columns_of(lu, size, columns)))
    if rows > columns:
        rest = rows_of(g, size, rows)
        above = above - matmul(adjoint(rows_of(lu, size, rows)), rest)
    middle = tril(below, diagonal=-1) + triu(above, diagonal=0)
    if columns > rows:
        middle = cat(upper_solved(corner, middle), rest, axis=middle.ndim - 1)
    middle = solve_triangular(adjoint(corner), middle, upper=True, unitriangular=True)
    if rows > columns:
        middle = cat(middle, rest, axis=middle.ndim - 2)
    return swap_rows(middle if columns > rows else upper_solved(corner, middle), pivots, back=True)


def decomposition_tangent(t, lu, pivots):
    """The tangent of the packed factors. See Note [The derivative of LU]."""
    rows, columns = lu.shape[-2:]
    size = min(rows, columns)
    corner, t = square_part(lu), swap_rows(t, pivots, back=False)
    left = solve_triangular(corner, rows_of(t, 0, size), upper=False, unitriangular=True)
    f = solve_triangular(corner, columns_of(left, 0, size), upper=True, left=False)
    strict, rest = tril(f, diagonal=-1), triu(f, diagonal=0)
    moved = matmul(unit_lower(corner), strict) + matmul(rest, triu(corner, diagonal=0))
    if columns > rows:
        behind = columns_of(left, size, columns) - matmul(strict, columns_of(lu, size, columns))
        return cat(moved, behind, axis=moved.ndim - 1)
    if rows > columns:
        below = solve_triangular(corner, rows_of(t, size, rows), upper=True, left=False)
        return cat(moved, below - matmul(rows_of(lu, size, rows), rest), axis=moved.ndim - 2)
    return moved


@general(
    x=lambda g_lu, lu, pivots: decomposition_gradient(g_lu, lu, pivots),
    jvp=lambda t_x, lu, pivots: (decomposition_tangent(t_x, lu, pivots), None, None),
    outputs=("lu", "pivots", "info"), aten="linalg_lu_factor_ex", saved={"LU": "lu", "pivot": True},
    lies=by_columns,
)  # fmt: skip
def lu_factor(x):
    """The factors of ``x`` packed into one, pivots (int32, from 1), and 0 or the number of the first zero pivot."""
    lu, pivots, _, info = factors(x)
    return lu, pivots + 1, info


def _unpacked(lu):
    size = min(lu.shape[-2:])
    lower = jnp.tril(lu[..., :, :size], -1) + jnp.eye(lu.shape[-2], size, dtype=lu.dtype)
    return lower, jnp.triu(lu[..., :size, :])


def parts(t, size):
    """The tangents of both factors, by that of the packed ones."""
    return tril(columns_of(t, 0, size), diagonal=-1), triu(rows_of(t, 0, size), diagonal=0)


@general(
    x=lambda g_lower, g_upper, x_shape, x_dtype, data: (
        packed(g_lower, g_upper) if data else zeros_of(g_lower, shape=tuple(x_shape), dtype=x_dtype)
    ),
    jvp=lambda t_x, data: parts(t_x, min(t_x.shape[-2:])) if data else (None, None),
    outputs=("lower", "upper"),
)
def lu_unpack(x, *, data=True):
    """The factors L (m, k) and U (k, n), with k the smaller of m and n, out of packed ones (m, n).

    Without ``data`` both are empty.
    """
    return _unpacked(x) if data else (jnp.zeros((0,), x.dtype), jnp.zeros((0,), x.dtype))


@general(
    x=lambda g_lower, g_upper, pivots, lower, upper: decomposition_gradient(
        packed(g_lower, g_upper), packed(lower, upper), pivots
    ),
    jvp=lambda t_x, pivots, lower, upper: (
        *parts(decomposition_tangent(t_x, packed(lower, upper), pivots), lower.shape[-1]),
        None,
    ),
    outputs=("lower", "upper", "pivots"), aten="linalg_lu", profile="linalg_lu",
    saved={"L": "lower", "U": "upper", "pivot": True},
)  # fmt: skip
def lu(x):
    """The factors L (m, k) and U (k, n) of matrices, and pivots (int32, from 1)."""
    lu, pivots, _, _ = factors(x)
    return *_unpacked(lu), pivots + 1


# -- equations ---------------------------------------------------------------------------------------------------------


def factors_gradient(back, lu, pivots, out, lu_shape, left, adjoint_):
    """The gradient of packed factors, by that of the right-hand side (``back``).

    That of the matrix ``A = P L U`` is ``-W V^H``, where W and V are ``back`` and the solution or the other way round;
    those of the factors are ``-P^T W (U V)^H`` and ``-(L^H P^T W) V^H``.
    """
    w, v = (out, back) if adjoint_ else (back, out)
    w, v = (w, v) if left else (adjoint(v), adjoint(w))
    turned = swap_rows(w, pivots, back=False)
    lower = matmul(turned, adjoint(matmul(triu(lu, diagonal=0), v)))
    upper = matmul(matmul(adjoint(unit_lower(lu)), turned), adjoint(v))
    return sum_to(-(tril(lower, diagonal=-1) + triu(upper, diagonal=0)), shape=tuple(lu_shape))


def factored_tangent(t_lu, t_y, lu, pivots, out, left, adjoint_):
    """The tangent of the solution: ``A^-1 (dB - dA X)``, with ``dA = P (dL U + L dU)``."""
    if t_lu is not None:
        moved = matmul(tril(t_lu, diagonal=-1), triu(lu, diagonal=0))
        moved = swap_rows(moved + matmul(unit_lower(lu), triu(t_lu, diagonal=0)), pivots, back=True)
        moved = adjoint(moved) if adjoint_ else moved
        part = matmul(moved, out) if left else matmul(out, moved)
        t_y = -part if t_y is None else t_y - part
    return lu_solve(lu, pivots, t_y, left=left, adjoint=adjoint_)


@general(
    lu=lambda g, lu, pivots, out, lu_shape, left, adjoint: factors_gradient(
        lu_solve(lu, pivots, g, left=left, adjoint=not adjoint), lu, pivots, out, lu_shape, left, adjoint
    ),
    y=lambda g, lu, pivots, y_shape, out, left, adjoint: sum_to(
        lu_solve(lu, pivots, g, left=left, adjoint=not adjoint), shape=tuple(y_shape)
    ),
    jvp=lambda t_lu, t_y, lu, pivots, out, left, adjoint: factored_tangent(t_lu, t_y, lu, pivots, out, left, adjoint),
    aten="linalg_lu_solve", saved={"LU": "lu"},
    lies=by_columns,
)  # fmt: skip
def lu_solve(lu, pivots, y, *, left, adjoint):
    """The solution of ``A @ out = y`` (``out @ A = y`` unless ``left``), or with the ``adjoint`` of A."""
    return solution(lu, order_of(pivots, lu.shape[-2]), y, left, adjoint)
