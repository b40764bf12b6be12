"""Determinants, and their logarithms.

Note [Determinants of singular matrices]
The gradient of ``det(A)`` is ``conj(det(A)) A^-H``, the conjugate transpose of the adjugate, and finite for any
matrix. PyTorch solves for it with the LU decomposition, in which it puts a small number for every pivot that is 0.
What comes out for a singular matrix is 0, whatever its adjugate. Where the gradient is recorded it is the adjugate, by
a singular value decomposition, as it must be for the second derivative. So it is here: ``vanishes`` says when. It does
so of all determinants that are not known yet, in a call that is captured: the adjugate is right for any matrix.

With ``A = U S V^H`` the adjugate is ``det(U) det(V^H) V adj(S) U^H``, and for a diagonal S, with Q_ij the product of
all singular values but i and j, ``adj(S + E)`` has to first order the derivative

    sum over k != i of Q_ik E_kk    on the diagonal, at i
    -Q_ij E_ij                      off it
"""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad._src.execution.array_functions.host import innermost, is_readable, may_look
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.kernels.deferred_checks import check_later, first_bad
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.errors import LinAlgError
from tapegrad.ops import conventions
from tapegrad.ops.checks import numbers_of
from tapegrad.ops.einsum import identity_of
from tapegrad.ops.kinds import conj, general
from tapegrad.ops.matmul import adjoint, matmul
from tapegrad.ops.reductions import sum
from tapegrad.ops.scans import plus
from tapegrad.ops.shape import unsqueeze
from tapegrad.ops.slicing import diagonal
from tapegrad.ops.solving import factors, inv, solve_factored
from tapegrad.ops.unary import complex, imag, real


def as_matrices(x):
    """Numbers, one for each matrix of a batch, as matrices of one element."""
    return unsqueeze(unsqueeze(x, axis=x.ndim), axis=x.ndim + 1)


def scaled_identity(scale, like):
    """The identity, times a number for each matrix."""
    return as_matrices(scale) * identity_of(like, size=like.shape[-1], dtype=dtypes.as_dtype(like.dtype))


def trace(x):
    """The sum of the diagonal of each matrix."""
    return sum(diagonal(x, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1), axis=(x.ndim - 2,))


def by_factors(x, lu, permutation, y, back):
    """``A^-1 y``, or ``A^-H y`` if ``back``."""
    return solve_factored(x, lu, permutation, y, left=True, back=back, vector=False)


def sign_of(lu, pivots):
    """The determinant of the permutation: -1 for every swap."""
    stays = pivots == jnp.arange(pivots.shape[-1], dtype=pivots.dtype)
    return jnp.prod(jnp.where(stays, 1, -1).astype(lu.dtype), -1)


def pivots_of(lu):
    """The diagonals of packed factors."""
    return jnp.diagonal(lu, axis1=-2, axis2=-1)


# -- the determinant ---------------------------------------------------------------------------------------------------


def vanishes(det):
    """Tell whether a recorded determinant is, or may be, as good as 0. See Note [Determinants of singular matrices]."""
    if isinstance(det, Tensor) and not is_readable(value_of(det)):
        return True
    return bool((abs(numbers_of(det)) < 100 * dtypes.finfo(dtypes.as_dtype(det.dtype)).eps).any())


def det_gradient(g, x, out, lu, permutation):
    """The gradient of the determinant: the conjugate transpose of the adjugate."""
    if vanishes(out):
        return as_matrices(g) * adjoint(adjugate(x))
    return by_factors(x, lu, permutation, scaled_identity(g * conj(out), x), True)


@general(
    x=lambda g_out, x, out, lu, permutation: det_gradient(g_out, x, out, lu, permutation),
    jvp=lambda t_x, x, out, lu, permutation: (trace(by_factors(x, lu, permutation, t_x, False)) * out, None, None),
    outputs=("out", "lu", "permutation"), aten="_linalg_det", saved={"A": "x", "LU": "lu"}, flowing=1, looks=True,
)  # fmt: skip
def det(x):
    """The determinants of square matrices, and their factors, without zeros among the pivots."""
    lu, pivots, permutation, _ = factors(x)
    found = jnp.prod(pivots_of(lu), -1) * sign_of(lu, pivots)
    tiny = jnp.asarray(jnp.finfo(lu.dtype).eps, lu.dtype)
    return found, jnp.where(jnp.eye(lu.shape[-1], dtype=bool) & (lu == 0), tiny, lu), permutation


def _singular(x):
    """The singular vectors and values of square matrices, and the determinant of the vectors."""
    u, s, vh = jnp.linalg.svd(x, full_matrices=False)
    return u, s, vh, (jnp.linalg.det(u) * jnp.linalg.det(vh))[..., None, None]


def _transposed(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _without(s, *places):
    """The products of all but some elements along the last axis: those that ``places``, masks, leave out."""
    left_out = jnp.logical_or(*places) if len(places) > 1 else places[0]
    return jnp.prod(jnp.where(left_out, 1, s[(..., *[None] * len(places), slice(None))]), -1)


@general(
    x=lambda g, x: adjugate_derivative(adjoint(x), g),
    jvp=lambda t_x, x: adjugate_derivative(x, t_x),
    aten=None,
)  # fmt: skip
def adjugate(x):
    """The adjugates of square matrices: ``det(x)`` times the inverse, and finite where there is none."""
    u, s, vh, phase = _singular(x)
    others = _without(s, jnp.eye(x.shape[-1], dtype=bool))
    return phase * jnp.matmul(_transposed(vh) * others[..., None, :], _transposed(u))


def third_derivative(g, x, t):
    """The gradient of ``adjugate_derivative`` with respect to ``x``, where that is invertible.

    With ``Y = x^-1``, D its determinant and ``a = tr(Y t)``, the derivative is ``D (a Y - Y t Y)``. Differentiated once
    more and put in order, with respect to ``x`` in the direction u, it is ``tr(M u)`` for the M below, if h is ``g^H``.
    """
    y, d, h = inv(x)[0], as_matrices(det(x)[0]), adjoint(g)
    yty, yhy = matmul(matmul(y, t), y), matmul(matmul(y, h), y)
    along, across, a = (as_matrices(trace(product)) for product in (matmul(h, y), matmul(h, yty), matmul(y, t)))
    m = (a * along - across) * y - along * yty - a * yhy
    m = m + matmul(matmul(yty, h), y) + matmul(matmul(yhy, t), y)
    return adjoint(d * m)


def adjugate_tangent(t_x, t_t, x, t):
    """The tangent of ``adjugate_derivative``: third derivatives of a determinant are the same in any order."""
    part = None if t_x is None else third_derivative(t_x, adjoint(x), adjoint(t))
    return plus(part, None if t_t is None else adjugate_derivative(x, t_t))


@general(
    x=lambda g, x, t: third_derivative(g, x, t),
    t=lambda g, x: adjugate_derivative(adjoint(x), g),
    jvp=lambda t_x, t_t, x, t: adjugate_tangent(t_x, t_t, x, t),
    aten=None,
)  # fmt: skip
def adjugate_derivative(x, t):
    """The derivative of the adjugate at ``x`` in the direction ``t``. See Note [Determinants of singular matrices]."""
    u, s, vh, phase = _singular(x)
    e = jnp.matmul(jnp.matmul(_transposed(u), t), _transposed(vh))
    eye = jnp.eye(x.shape[-1], dtype=bool)
    q = jnp.where(eye, 0, _without(s, eye[:, None, :], eye[None, :, :])).astype(s.dtype)
    on_diagonal = jnp.sum(q * jnp.diagonal(e, axis1=-2, axis2=-1)[..., None, :], -1)
    middle = jnp.where(eye, on_diagonal[..., None], -q * e)
    return phase * jnp.matmul(jnp.matmul(_transposed(vh), middle), _transposed(u))


# -- the logarithm -----------------------------------------------------------------------------------------------------


def refuse_zero(sign):
    """Refuse a singular matrix where the gradient is recorded: PyTorch solves an equation for it, which it refuses
    then."""
    if not isinstance(sign, Tensor):
        return
    if not may_look():
        check_later(innermost(value_of(sign)), is_zero, (), singular)
        return
    found = first_bad(numbers_of(sign), is_zero, ())
    if found is not None:
        raise singular(found)


def is_zero(x):
    """Which numbers are 0."""
    return x == 0


def singular(found):
    """PyTorch's error for a singular matrix of a batch."""
    where = f"(Batch element {found.element}): " if found.ndim else ""
    return LinAlgError(f"torch.linalg.solve: {where}The solver failed because the input matrix is singular.")


def slogdet_gradient(g_sign, g_logabsdet, x, sign, lu, permutation):
    """The gradient ``(g_l + i Im(g_s conj(sign))) A^-H``: a real sign has no derivative."""
    refuse_zero(sign)
    scale = g_logabsdet
    if dtypes.as_dtype(x.dtype).is_complex:
        scale = complex(g_logabsdet, imag(g_sign * conj(sign)))
    return by_factors(x, lu, permutation, scaled_identity(scale, x), True)


def slogdet_tangent(t_x, x, sign, lu, permutation):
    """The tangents: with ``t = tr(A^-1 dA)``, ``sign i Im(t)`` and ``Re(t)``."""
    moved = trace(by_factors(x, lu, permutation, t_x, False))
    if not dtypes.as_dtype(x.dtype).is_complex:
        return None, moved, None, None
    return sign * complex(imag(moved) * 0, imag(moved)), real(moved), None, None


@general(
    x=lambda g_sign, g_logabsdet, x, sign, lu, permutation: slogdet_gradient(
        g_sign, g_logabsdet, x, sign, lu, permutation
    ),
    jvp=lambda t_x, x, sign, lu, permutation: slogdet_tangent(t_x, x, sign, lu, permutation),
    outputs=("sign", "logabsdet", "lu", "permutation"), aten="_linalg_slogdet", saved={"A": "x", "LU": "lu"},
    convention=conventions.SIGN, flowing=2, looks=True,
)  # fmt: skip
def slogdet(x):
    """The sign (or phase) of the determinant, the logarithm of its absolute value, and the factors of the matrix."""
    lu, pivots, permutation, _ = factors(x)
    found = pivots_of(lu)
    return jnp.prod(jnp.sign(found), -1) * sign_of(lu, pivots), jnp.sum(jnp.log(jnp.abs(found)), -1), lu, permutation
