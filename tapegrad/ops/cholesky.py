"""Cholesky factors of positive definite matrices, and what is computed from factors.

From ``A = L L^H``: ``L^-1 dA L^-H = X + X^H`` with ``X = L^-1 dL``, which is lower triangular with a real diagonal. So
X is the lower half of the left side, and ``dL = L X``. The adjoint of taking the lower half is taking the lower half.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.tiers.host_trace import fori_loop
from tapegrad.ops import conventions
from tapegrad.ops.eigen import diagonal_of, on_diagonal
from tapegrad.ops.kinds import general, sum_to
from tapegrad.ops.matmul import FULL, adjoint, matmul
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.scans import plus
from tapegrad.ops.slicing import tril
from tapegrad.ops.solving import batch_of, expanded, solve_triangular


def lower_half(x):
    """The lower triangles of matrices, with half of the diagonal: ``x + x^H`` of it is a Hermitian ``x`` again."""
    return tril(x, diagonal=0) - on_diagonal(diagonal_of(x)) / 2


def lower(factor, upper):
    """The lower triangular form of a factor."""
    return adjoint(factor) if upper else factor


def cholesky_gradient(g, factor, upper):
    """The gradient, ``L^-H half(L^H g) L^-1``, Hermitian: half of it for each triangle of A.

    Of a complex ``g`` the imaginary diagonal is not dropped, as in PyTorch; where L has a real one, there is none.
    """
    factor, g = lower(factor, upper), lower(g, upper)
    turned = matmul(adjoint(factor), g)
    middle = (tril(turned, diagonal=0) + adjoint(tril(turned, diagonal=-1))) / 2
    left = solve_triangular(adjoint(factor), middle, upper=True)
    return solve_triangular(factor, left, upper=False, left=False)


def cholesky_tangent(t, factor, upper):
    """The tangent: ``L half(L^-1 dA L^-H)``."""
    factor = lower(factor, upper)
    turned = solve_triangular(factor, t, upper=False)
    turned = solve_triangular(adjoint(factor), turned, upper=True, left=False)
    return lower(matmul(factor, lower_half(turned)), upper)


def factored(x, upper):
    """The factors, and the orders of the first leading minors that are not positive (0 where all are), int32.

    A factor that there is not is nan.
    """
    if x.shape[-1] == 0:
        return x, jnp.zeros(x.shape[:-2], jnp.int32)
    matrix = jnp.conj(jnp.swapaxes(x, -1, -2)) if upper else x
    factor = lax.linalg.cholesky(matrix, symmetrize_input=False)
    failed = jnp.isnan(jnp.real(factor[..., 0, 0]))  # all of it is nan then
    info = lax.cond(jnp.any(failed), _first_minors, lambda a: jnp.zeros(a.shape[:-2], jnp.int32), matrix)
    return jnp.conj(jnp.swapaxes(factor, -1, -2)) if upper else factor, info


def _first_minors(x):
    """The orders of the first leading minors that are not positive: column by column, without the factor."""
    places = jnp.arange(x.shape[-1], dtype=jnp.int32)

    def step(k, state):
        rest, info = state
        pivot = jnp.real(rest[..., k, k])
        info = jnp.where((info == 0) & ~(pivot > 0), k + 1, info).astype(jnp.int32)
        below = jnp.where(places > k, rest[..., :, k], 0)
        return rest - below[..., :, None] * jnp.conj(below)[..., None, :] / pivot[..., None, None], info

    return fori_loop(0, x.shape[-1], step, (x, jnp.zeros(x.shape[:-2], jnp.int32)))[1]


@general(
    x=lambda g_factor, factor, upper: cholesky_gradient(g_factor, factor, upper),
    jvp=lambda t_x, factor, upper: (cholesky_tangent(t_x, factor, upper), None),
    outputs=("factor", "info"), aten="linalg_cholesky_ex", saved={"L": "factor"}, convention=conventions.TRIANGLE,
    lies=by_columns,
)  # fmt: skip
def cholesky_ex(x, *, upper):
    """The factors L with ``x = L L^H`` (or ``L^H``, if ``upper``) of matrices of which one triangle is read, and
    ``info``."""
    return factored(x, upper)


@general(
    x=lambda g_factor, factor, upper: cholesky_gradient(g_factor, factor, upper), outputs=("factor", "info"),
    saved={"result": "factor"}, convention=conventions.TRIANGLE,
    lies=by_columns,
)  # fmt: skip
def cholesky(x, *, upper):
    """The same, under the name of PyTorch's older function, which has no forward mode."""
    return factored(x, upper)


# -- what is computed from factors -------------------------------------------------------------------------------------


def factor_gradient(change, factor, upper):
    """The gradient of a factor from that of ``L L^H``."""
    both = change + adjoint(change)
    return matmul(factor, both) if upper else matmul(both, factor)


def squared_tangent(t, factor, upper):
    """The tangent of ``L L^H`` (``L^H L``, if ``upper``)."""
    moved = matmul(adjoint(t), factor) if upper else matmul(t, adjoint(factor))
    return moved + adjoint(moved)


@general(
    x=lambda g, x, out, upper: factor_gradient(-matmul(adjoint(out), matmul(g, adjoint(out))), x, upper),
    jvp=lambda t_x, x, out, upper: -matmul(out, matmul(squared_tangent(t_x, x, upper), out)),
    convention=conventions.TRIANGLE,
    lies=by_columns,
)  # fmt: skip
def cholesky_inverse(x, *, upper):
    """The inverses of matrices whose factors are given."""
    identity = jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape)
    half = lax.linalg.triangular_solve(x, identity, left_side=True, lower=not upper)
    back = jnp.conj(jnp.swapaxes(half, -1, -2))
    return jnp.matmul(half, back, precision=FULL) if upper else jnp.matmul(back, half, precision=FULL)


def solved(x, factor, upper):
    """The solution of ``L L^H @ out = x``."""
    return cholesky_solve(x, factor, upper=upper)


@general(
    x=lambda g, x, factor, out, upper: sum_to(solved(g, factor, upper), shape=tuple(x.shape)),
    factor=lambda g, x, factor, out, factor_shape, upper: sum_to(
        factor_gradient(-matmul(solved(g, factor, upper), adjoint(out)), factor, upper), shape=tuple(factor_shape)
    ),
    jvp=lambda t_x, t_factor, factor, out, upper: solved(
        plus(t_x, None if t_factor is None else -matmul(squared_tangent(t_factor, factor, upper), out)), factor, upper
    ),
    saved={"input2": "factor"}, convention=conventions.TRIANGLE,
    lies=by_columns,
)  # fmt: skip
def cholesky_solve(x, factor, *, upper):
    """The solution of equations with matrices whose factors are given; batches broadcast."""
    batch = batch_of(x, factor)
    x, factor = expanded(x, batch), expanded(factor, batch)
    half = lax.linalg.triangular_solve(factor, x, left_side=True, lower=not upper, transpose_a=upper, conjugate_a=upper)
    return lax.linalg.triangular_solve(
        factor, half, left_side=True, lower=not upper, transpose_a=not upper, conjugate_a=not upper
    )
