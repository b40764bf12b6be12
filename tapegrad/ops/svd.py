"""The singular value decomposition. See Notes [Phases] and [Degenerate values] in ``eigen.py``.

With ``P = U^H dA V``, the turns ``U^H dU`` and ``V^H dV`` are skew-Hermitian, and ``P = (U^H dU) S + dS - S (V^H dV)``.
So dS is the real diagonal of P, and ``P S + (P S)^H``, ``S P + (S P)^H`` have beside the diagonal the turns of U and
of V, times ``s_j^2 - s_i^2``. What of dA lies outside the spaces of U and V moves them by ``(1 - U U^H) dA V / S`` and
its like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops.arrangement import constant_pad
from tapegrad.ops.eigen import ENOUGH, Phased, by_gaps, column, diagonal_of, on_diagonal, row
from tapegrad.ops.kinds import declaration, general
from tapegrad.ops.matmul import adjoint, matmul
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.scans import plus
from tapegrad.ops.slicing import slice_
from tapegrad.ops.unary import imag, real


class Svd(Phased):
    """Singular vectors come in pairs, that share a phase."""

    vectors = (0, 2)
    complaint = "svd_backward: The singular vectors"
    consequence = "phase term, making it ill-defined."

    @staticmethod
    def independent(grads: Sequence, outputs: Sequence) -> Any:
        """Tell whether what a common phase does through U and through V cancels, for each pair."""
        (g_u, _, g_vh), (u, s, vh) = grads, outputs
        rank, left, right = s.shape[-1], jnp.zeros(()), jnp.zeros(())
        if g_u is not None:
            left = jnp.sum(jnp.conj(u) * g_u, axis=-2).imag[..., :rank]
        if g_vh is not None:
            right = jnp.sum(vh * jnp.conj(g_vh), axis=-1).imag[..., :rank]
        return jnp.abs(left + right) <= ENOUGH * (1 + jnp.abs(right))


def first(x, count, axis):
    """The first ``count`` rows (``axis`` -2) or columns (-1) of matrices; None of None."""
    if x is None or x.shape[axis] == count:
        return x
    return slice_(x, 0, axis=x.ndim + axis, length=count, step=1)


def skew(x):
    """Twice the skew-Hermitian part."""
    return x - adjoint(x)


def outside(x, basis):
    """The part of the columns of ``x`` that is not in the space of the orthonormal columns of ``basis``."""
    return x - matmul(basis, matmul(adjoint(basis), x))


def svd_gradient(g_u, g_s, g_vh, u, s, vh):
    """The adjoint of ``svd_tangent``; vectors beyond the singular values (``full_matrices``) have no say."""
    rank = s.shape[-1]
    u, vh, g_u, g_vh = first(u, rank, -1), first(vh, rank, -2), first(g_u, rank, -1), first(g_vh, rank, -2)
    if g_u is None and g_vh is None:
        return matmul(u * row(g_s), vh)
    middle, squares = None if g_s is None else on_diagonal(g_s), s * s
    if g_u is not None:
        turn = skew(matmul(adjoint(u), g_u))
        middle = plus(middle, by_gaps(turn, squares) * row(s))
        if as_dtype(u.dtype).is_complex:
            middle = middle + on_diagonal(diagonal_of(turn) / (2 * s))
    if g_vh is not None:
        middle = plus(middle, by_gaps(skew(matmul(vh, adjoint(g_vh))), squares) * column(s))
    left = matmul(u, middle)
    if g_u is not None and u.shape[-2] > rank:
        left = left + outside(g_u / row(s), u)
    grad = matmul(left, vh)
    if g_vh is not None and vh.shape[-1] > rank:
        grad = grad + matmul(u, adjoint(outside(adjoint(g_vh / column(s)), adjoint(vh))))
    return grad


def padded(x, count, axis):
    """``x`` with zeros for the rows or columns that are missing to ``count``."""
    missing = count - x.shape[axis]
    widths = [(0, 0)] * (x.ndim + axis) + [(0, missing)] + [(0, 0)] * (-1 - axis)
    return constant_pad(x, 0, widths=tuple(widths)) if missing else x


def svd_tangent(t, u, s, vh):
    """The tangents of U, S and V^H, of which the further rows (``full_matrices``) get none; a change of phase is shared
    by both vectors of a pair."""
    sizes, rank = (u.shape[-1], vh.shape[-2]), s.shape[-1]
    u, vh = first(u, rank, -1), first(vh, rank, -2)
    there, back = matmul(t, adjoint(vh)), matmul(adjoint(t), u)
    middle, squares = matmul(adjoint(u), there), s * s
    left, right = middle * row(s), column(s) * middle
    u_turn, v_turn = by_gaps(left + adjoint(left), squares), by_gaps(right + adjoint(right), squares)
    if as_dtype(u.dtype).is_complex:
        phase = on_diagonal(1j * imag(diagonal_of(middle)) / (2 * s))
        u_turn, v_turn = u_turn + phase, v_turn - phase
    t_u, t_v = matmul(u, u_turn), matmul(adjoint(vh), v_turn)
    if u.shape[-2] > rank:
        t_u = t_u + outside(there, u) / row(s)
    if vh.shape[-1] > rank:
        t_v = t_v + outside(back, adjoint(vh)) / row(s)
    return padded(t_u, sizes[0], -1), real(diagonal_of(middle)), padded(adjoint(t_v), sizes[1], -2)


@declaration(Svd)(
    x=svd_gradient,
    jvp=lambda t_x, u, s, vh: svd_tangent(t_x, u, s, vh),
    outputs=("u", "s", "vh"), aten="_linalg_svd",
    saved={"U": "u", "S": "s", "Vh": "vh", "full_matrices": "full_matrices"},
    lies=by_columns,
)  # fmt: skip
def svd(x, *, full_matrices):
    """U, the singular values (real, descending) and V^H of matrices; U and V square if ``full_matrices``."""
    u, s, vh = lax.linalg.svd(x, full_matrices=full_matrices)
    return u, s, vh


@general(aten="linalg_svdvals")
def svdvals(x):
    """The singular values alone, where nobody differentiates."""
    return lax.linalg.svd(x, full_matrices=False, compute_uv=False)
