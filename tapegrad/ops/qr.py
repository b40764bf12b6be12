"""QR decompositions, and the Householder reflectors that they are made of.

Note [Products of reflectors]
The product of reflectors ``1 - tau_i v_i v_i^H`` is ``1 - V T V^H``, where the columns of V are the v_i and
``T^-1 = diag(1 / tau) + the part of V^H V above its diagonal`` (Schreiber and Van Loan's compact WY form). As tau may
be 0, T is found from ``(1 + diag(tau) U) T = diag(tau)``, where U is that part. Of V the part below the diagonal is
given; its diagonal is 1. The product and its derivatives are products of matrices, however many reflectors there are.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data import dtypes
from tapegrad.ops.eigen import column, diagonal_of, on_diagonal
from tapegrad.ops.einsum import identity_of
from tapegrad.ops.joining import cat
from tapegrad.ops.kinds import conj, general
from tapegrad.ops.matmul import adjoint, matmul
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.reductions import sum
from tapegrad.ops.scans import plus
from tapegrad.ops.slicing import slice_, tril, triu
from tapegrad.ops.solving import solve_triangular
from tapegrad.ops.svd import first, padded

# -- QR ----------------------------------------------------------------------------------------------------------------


def upper_half(x):
    """The upper triangles of matrices, with half of the diagonal."""
    return triu(x, diagonal=0) - on_diagonal(diagonal_of(x)) / 2


def check_derivable(q, r, mode):
    """Refuse to differentiate what has no derivative, or one that needs a Q that is not there.
    Raises RuntimeError: PyTorch's messages.
    """
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and q.shape[-2] > r.shape[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")


def part(x, start, stop):
    """The columns of matrices from ``start`` up to ``stop``."""
    return slice_(x, start, axis=x.ndim - 1, length=stop - start, step=1)


def qr_gradient(g_q, g_r, q, r, mode):
    """The adjoint of ``qr_tangent``. Of a wide matrix the further columns of R are ``Q^H A``."""
    check_derivable(q, r, mode)
    rows, columns = q.shape[-1], r.shape[-1]
    if columns <= rows:
        return tall_gradient(g_q, g_r, q, r)
    further = part(g_r, rows, columns)
    g_q = g_q + matmul(matmul(q, part(r, rows, columns)), adjoint(further))
    return cat(
        tall_gradient(g_q, first(g_r, rows, -1), q, first(r, rows, -1)), matmul(q, further), axis=len(q.shape) - 1
    )


def tall_gradient(g_q, g_r, q, r):
    """``(g_q + Q (Y + Y^H)) R^-H``, where Y is the upper half of ``g_r R^H - Q^H g_q``."""
    half = upper_half(matmul(g_r, adjoint(r)) - matmul(adjoint(q), g_q))
    total = g_q + matmul(q, half + adjoint(half))
    return adjoint(solve_triangular(r, adjoint(total), upper=True))


def qr_tangent(t, q, r, mode):
    """With ``C = dA R^-1``: ``Q^H C`` is the sum of a skew-Hermitian ``Q^H dQ`` and of an upper triangular ``dR R^-1``
    with a real diagonal, which is the upper half of ``Q^H C + (Q^H C)^H``. Further columns of R are ``Q^H A``.
    """
    check_derivable(q, r, mode)
    rows, columns = q.shape[-1], r.shape[-1]
    square = first(r, rows, -1)
    moved = solve_triangular(square, first(t, rows, -1), upper=True, left=False)
    turned = matmul(adjoint(q), moved)
    rate = upper_half(turned + adjoint(turned))
    t_q, t_r = moved - matmul(q, rate), matmul(rate, square)
    if columns <= rows:
        return t_q, t_r
    further = matmul(adjoint(t_q), matmul(q, part(r, rows, columns))) + matmul(adjoint(q), part(t, rows, columns))
    return t_q, cat(t_r, further, axis=len(q.shape) - 1)


@general(
    x=qr_gradient,
    jvp=lambda t_x, q, r, mode: qr_tangent(t_x, q, r, mode),
    outputs=("q", "r"), aten="linalg_qr", saved={"Q": "q", "R": "r"},
    lies=by_columns,
)  # fmt: skip
def qr(x, *, mode):
    """Q (orthonormal columns; square if ``mode`` is "complete", nothing if it is "r") and the upper triangular R."""
    q, r = lax.linalg.qr(x, full_matrices=mode == "complete")
    return jnp.zeros((0,), x.dtype) if mode == "r" else q, r


def _no_geqrf(g_a, g_tau):
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


@general(x=_no_geqrf, lies=by_columns, outputs=("a", "tau"), xla="geqrf")
def geqrf(x):
    """The QR decomposition as LAPACK leaves it: R on and above the diagonal, the reflectors below it, their factors."""
    raw, tau = jnp.linalg.qr(x, mode="raw")
    return jnp.swapaxes(raw, -1, -2), tau


# -- reflectors --------------------------------------------------------------------------------------------------------


def reflectors(x, tau):
    """V and T: see Note [Products of reflectors]."""
    count = tau.shape[-1]
    vectors = tril(first(x, count, -1), diagonal=-1) + unit(x, count)
    return vectors, solve_triangular(mixing(vectors, tau), on_diagonal(tau), upper=True, unitriangular=True)


def unit(x, count):
    """The first ``count`` columns of an identity with as many rows as ``x``."""
    dtype = dtypes.as_dtype(x.dtype)
    return first(identity_of(x, size=x.shape[-2], dtype=dtype), count, -1)


def above(vectors):
    """U: the part of ``V^H V`` above its diagonal."""
    return triu(matmul(adjoint(vectors), vectors), diagonal=1)


def mixing(vectors, tau):
    """``1 + diag(tau) U``, whose diagonal is 1."""
    return column(tau) * above(vectors)


def reflector_gradients(left, right, vectors, middle, x_shape, tau):
    """The gradients of ``x`` and ``tau`` from ``g V = left`` and ``g^H V = right``, where g is that of ``1 - V T
    V^H``."""
    g_vectors = -matmul(left, adjoint(middle)) - matmul(right, middle)
    g_scaled = solve_triangular(
        adjoint(mixing(vectors, tau)), -matmul(adjoint(vectors), left), upper=False, unitriangular=True
    )
    g_mixing = -matmul(g_scaled, adjoint(middle))
    g_tau = diagonal_of(g_scaled) + sum(g_mixing * conj(above(vectors)), axis=(g_mixing.ndim - 1,))
    g_above = triu(conj(column(tau)) * g_mixing, diagonal=1)
    g_vectors = g_vectors + matmul(vectors, g_above + adjoint(g_above))
    return padded(tril(g_vectors, diagonal=-1), x_shape[-1], -1), g_tau


def product_gradients(g, x, tau):
    """The gradients of ``householder_product``, the first columns of ``1 - V T V^H``; none where there is no
    reflector."""
    if 0 in (*x.shape, *tau.shape):
        return None, None
    vectors, middle = reflectors(x, tau)
    left = matmul(g, rows_of(vectors, x.shape[-1]))
    right = padded(matmul(adjoint(g), vectors), x.shape[-2], -2)
    return reflector_gradients(left, right, vectors, middle, x.shape, tau)


def rows_of(x, count):
    """The first rows of matrices."""
    return first(x, count, -2)


def reflector_tangents(t_x, t_tau, vectors, middle, tau):
    """The tangents of V and T, of whatever moves."""
    inner = above(vectors)
    t_vectors = None if t_x is None else tril(first(t_x, tau.shape[-1], -1), diagonal=-1)
    t_scaled = t_mixing = None
    if t_vectors is not None:
        both = matmul(adjoint(t_vectors), vectors)
        t_mixing = column(tau) * triu(both + adjoint(both), diagonal=1)
    if t_tau is not None:
        t_scaled, t_mixing = on_diagonal(t_tau), plus(t_mixing, column(t_tau) * inner)
    t_scaled = plus(t_scaled, -matmul(t_mixing, middle))
    return t_vectors, solve_triangular(mixing(vectors, tau), t_scaled, upper=True, unitriangular=True)


def product_tangent(t_x, t_tau, x, tau):
    """The tangent of ``householder_product``."""
    if 0 in (*x.shape, *tau.shape):
        return None
    vectors, middle = reflectors(x, tau)
    t_vectors, t_middle = reflector_tangents(t_x, t_tau, vectors, middle, tau)
    count = x.shape[-1]
    back = adjoint(rows_of(vectors, count))
    moved = matmul(matmul(vectors, t_middle), back)
    if t_vectors is not None:
        moved = moved + matmul(matmul(t_vectors, middle), back)
        moved = moved + matmul(matmul(vectors, middle), adjoint(rows_of(t_vectors, count)))
    return -moved


@general(
    x=lambda g, x, tau, out: product_gradients(g, x, tau)[0],
    tau=lambda g, x, tau, out: product_gradients(g, x, tau)[1],
    jvp=lambda t_x, t_tau, x, tau: product_tangent(t_x, t_tau, x, tau),
    aten="linalg_householder_product", saved={"input": "x"}, xla="householder_product",
    lies=by_columns,
)  # fmt: skip
def householder_product(x, tau):
    """The first columns of the product of the reflectors that lie below the diagonal of ``x``: see ``geqrf``."""
    if 0 in (*x.shape, *tau.shape):
        return jnp.broadcast_to(jnp.eye(x.shape[-2], x.shape[-1], dtype=x.dtype), x.shape)
    return lax.linalg.householder_product(x, tau)


def applied_gradients(g, x, tau, other, left, transpose):
    """The gradients of ``x`` and ``tau`` of ``ormqr``: those of the product of reflectors, whose gradient is a
    product."""
    if 0 in (*x.shape, *tau.shape):
        return None, None
    vectors, middle = reflectors(x, tau)
    pair = (g, adjoint(other)) if left else (adjoint(other), g)
    first_, second = tuple(map(adjoint, reversed(pair))) if transpose else pair
    there = matmul(first_, matmul(second, vectors))
    back = matmul(adjoint(second), matmul(adjoint(first_), vectors))
    return reflector_gradients(there, back, vectors, middle, x.shape, tau)


@general(
    x=lambda g, x, tau, other, out, left, transpose: applied_gradients(g, x, tau, other, left, transpose)[0],
    tau=lambda g, x, tau, other, out, left, transpose: applied_gradients(g, x, tau, other, left, transpose)[1],
    other=lambda g, x, tau, other, out, left, transpose: ormqr(x, tau, g, left=left, transpose=not transpose),
    saved={"self": "x", "input2": "tau", "input3": "other"}, xla="ormqr",
    lies=by_columns,
)  # fmt: skip
def ormqr(x, tau, other, *, left, transpose):
    """``Q @ other`` (``other @ Q`` unless ``left``; with the adjoint of Q, if ``transpose``), where Q is the square
    product of the reflectors below the diagonal of ``x``."""
    if 0 in (*x.shape, *tau.shape, *other.shape):
        return other
    return lax.linalg.ormqr(x, tau, other, left=left, transpose=transpose)
