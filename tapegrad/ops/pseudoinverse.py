"""Pseudoinverses, least squares, and ranks: what is computed from singular values that are large enough.

The derivative of ``P = A^+`` (Golub and Pereyra, 1973), where the rank does not change:
``dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P``.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data import dtypes
from tapegrad.ops.conventions import rule
from tapegrad.ops.kinds import conj, general, sum_to
from tapegrad.ops.matmul import FULL, adjoint, matmul
from tapegrad.ops.reductions import sum
from tapegrad.ops.scans import plus
from tapegrad.ops.shape import squeeze_axis, unsqueeze
from tapegrad.ops.solving import batch_of, expanded
from tapegrad.ops.unary import real

# -- how large is large enough -----------------------------------------------------------------------------------------


def relevant(sizes, atol, rtol):
    """Which of singular values, descending, or absolute eigenvalues count: those above ``max(atol, rtol * the
    largest)``."""
    largest = jnp.max(sizes, axis=-1, keepdims=True, initial=0)
    return sizes > jnp.maximum(jnp.asarray(atol)[..., None], jnp.asarray(rtol)[..., None] * largest)


@general(aten=None)
def rank_of(sizes, atol, rtol):
    """The number of singular values or absolute eigenvalues that count (int64)."""
    return jnp.sum(relevant(jnp.abs(sizes), atol, rtol), axis=-1, dtype=jnp.int64)


def _inverted(values, keep):
    return jnp.where(keep, 1 / jnp.where(keep, values, 1), 0)


def _conjugate_transpose(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _product(x, y):
    return jnp.matmul(x, y, precision=FULL)


# -- pseudoinverses ----------------------------------------------------------------------------------------------------


def pinv_gradient(g, inverse, x):
    """The adjoint of ``pinv_tangent``."""
    turned, back = adjoint(g), adjoint(inverse)
    left = matmul(matmul(turned, inverse), back)
    right = matmul(back, matmul(inverse, turned))
    outer = matmul(matmul(back, g), back)
    return left - matmul(x, matmul(inverse, left)) + right - matmul(matmul(right, inverse), x) - outer


def pinv_tangent(t, inverse, x):
    """``dP``, as above."""
    turned, back = adjoint(t), adjoint(inverse)
    left = matmul(matmul(inverse, back), turned)
    right = matmul(matmul(turned, back), inverse)
    inner = matmul(matmul(inverse, t), inverse)
    return left - matmul(matmul(left, x), inverse) + right - matmul(inverse, matmul(x, right)) - inner


@general(
    x=lambda g, x, out: pinv_gradient(g, out, x), jvp=lambda t_x, x, out: pinv_tangent(t_x, out, x),
    aten="linalg_pinv.atol_rtol_tensor",
    convention=rule("for hermitian=True", "that of a symmetric matrix", "that of the triangle which is read"),
)  # fmt: skip
def pinv(x, atol, rtol, *, hermitian):
    """The pseudoinverses of matrices; of Hermitian ones, if so said, of which the lower triangle is read."""
    if 0 in x.shape:
        return jnp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        vectors, values = lax.linalg.eigh(x, symmetrize_input=False)
        inverted = _inverted(values, relevant(jnp.abs(values), atol, rtol))
        return _product(vectors * inverted[..., None, :], _conjugate_transpose(vectors))
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    inverted = _inverted(s, relevant(s, atol, rtol))
    return _product(_conjugate_transpose(vh) * inverted[..., None, :], _conjugate_transpose(u))


# -- least squares -----------------------------------------------------------------------------------------------------


def inverse_of(x):
    """The pseudoinverse to which the formulas of ``lstsq`` refer: with PyTorch's default tolerance."""
    return pinv(x, 0.0, max(x.shape[-2:]) * dtypes.finfo(dtypes.as_dtype(x.dtype)).eps, hermitian=False)


def columns(y, vector):
    """A right side as matrices."""
    return unsqueeze(y, axis=y.ndim) if vector and y is not None else y


def no_columns(y, vector):
    """Matrices of one column as vectors, where the right side was that."""
    return squeeze_axis(y, axis=y.ndim - 1) if vector else y


def residual_of(x, y, solution):
    """``y - x @ solution``."""
    return y - matmul(x, solution)


def lstsq_gradients(g_solution, g_residuals, x, y, solution, vector, measured):
    """The gradients of ``x`` and ``y``: of ``A^+ y``, and of the residuals, which a change of the solution doesn't
    change."""
    g, y, solution = (columns(part, vector) for part in (g_solution, y, solution))
    inverse = inverse_of(x)
    g_x = pinv_gradient(matmul(g, adjoint(y)), inverse, x)
    g_y = matmul(adjoint(inverse), g)
    if measured:
        rate = 2 * residual_of(x, y, solution) * unsqueeze(g_residuals, axis=g_residuals.ndim - 1)
        g_x, g_y = g_x - matmul(rate, adjoint(solution)), g_y + rate
    return g_x, g_y


def to_shape(g_y, shape, vector):
    """The gradient of the right side, in its shape."""
    return no_columns(sum_to(g_y, shape=(*shape, 1) if vector else tuple(shape)), vector)


def lstsq_tangents(t_x, t_y, x, y, solution, vector, measured):
    """The tangents of the solution and of the residuals."""
    y, solution, t_y = columns(y, vector), columns(solution, vector), columns(t_y, vector)
    inverse = inverse_of(x)
    t = None if t_y is None else matmul(inverse, t_y)
    if t_x is not None:
        t = plus(t, matmul(pinv_tangent(t_x, inverse, x), y))
        t_y = plus(t_y, -matmul(t_x, solution))
    t_residuals = None
    if measured:
        t_residuals = 2 * real(sum(conj(residual_of(x, y, solution)) * t_y, axis=(y.ndim - 2,)))
    return no_columns(t, vector), t_residuals, None, None


@general(
    x=lambda g_solution, g_residuals, x, y, solution, x_shape, vector, measured: sum_to(
        lstsq_gradients(g_solution, g_residuals, x, y, solution, vector, measured)[0], shape=tuple(x_shape)
    ),
    y=lambda g_solution, g_residuals, x, y, solution, y_shape, vector, measured: to_shape(
        lstsq_gradients(g_solution, g_residuals, x, y, solution, vector, measured)[1], y_shape, vector
    ),
    jvp=lambda t_x, t_y, x, y, solution, vector, measured: lstsq_tangents(t_x, t_y, x, y, solution, vector, measured),
    outputs=("solution", "residuals", "rank", "singular_values"), aten="linalg_lstsq", saved={"b": "y"}, flowing=2,
)  # fmt: skip
def lstsq(x, y, rcond, *, vector, measured, ranked, valued):
    """The smallest solutions of ``x @ solution = y`` in the sense of least squares; singular values up to ``rcond``
    times the largest count as 0.

    With ``vector``, ``y`` is a batch of vectors. The squared lengths of ``y - x @ solution``, the ranks (int64) and
    the singular values are given if ``measured``, ``ranked``, ``valued`` say so, or else are of shape (0,).
    """
    y2 = y[..., None] if vector else y
    batch = batch_of(x, y2)
    x, y2 = expanded(x, batch), expanded(y2, batch)
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    keep = relevant(s, 0.0, rcond)
    found = _product(_conjugate_transpose(vh), _inverted(s, keep)[..., None] * _product(_conjugate_transpose(u), y2))
    rest = jnp.abs(y2 - _product(x, found)) ** 2
    return (
        found[..., 0] if vector else found,
        jnp.sum(rest, axis=-2) if measured else jnp.zeros((0,), s.dtype),
        jnp.sum(keep, axis=-1, dtype=jnp.int64) if ranked else jnp.zeros((0,), jnp.int64),
        s if valued else jnp.zeros((0,), s.dtype),
    )
