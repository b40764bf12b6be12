"""Samples of decompositions of matrices, and of what is computed from them.

Of a Hermitian matrix the kernels read one triangle, and PyTorch's derivatives are those of the whole matrix: oracles
say so, and tangents are Hermitian. Of complex vectors the cotangents must not ask for the phase: see ``directions``.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from samples import Sample, array

COMPLEX = {"dtype": "complex128"}


def adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def definite(*shape, **kwargs):
    """Positive definite matrices."""
    x = array(*shape, **kwargs)
    return np.asarray(x @ np.swapaxes(x.conj(), -1, -2) + 2 * np.eye(shape[-1]))


def triangular(x, upper=False):
    """Factors with a positive diagonal."""
    return np.triu(x, 1) + 2 * np.eye(x.shape[-1]) if upper else np.tril(x, -1) + 2 * np.eye(x.shape[-1])


A, TALL, WIDE = array(3, 3), array(3, 2), array(2, 3)
Z, TALL_Z, WIDE_Z = array(3, 3, **COMPLEX), array(3, 2, **COMPLEX), array(2, 3, **COMPLEX)
BATCH, NOTHING = array(2, 3, 2), array(0, 3, 3)
H, HZ, HERMITIANS = definite(3, 3), definite(3, 3, **COMPLEX), definite(2, 2, 2)
LOWER, UPPER = {"lower": True}, {"lower": False}


# -- directions --------------------------------------------------------------------------------------------------------


def symmetric(outputs, tangents, cotangents):
    """Hermitian tangents."""
    return [np.asarray(hermitian(t)) for t in tangents], cotangents


def without_phase(vectors, cotangent):
    """A cotangent of vectors (columns), less its part along their phases."""
    along = np.sum(vectors.conj() * cotangent, axis=-2, keepdims=True)
    return cotangent - 1j * vectors * along.imag


def phaseless(outputs, tangents, cotangents):
    """Cotangents of (values, vectors) that don't ask for the phases of the vectors."""
    return tangents, [cotangents[0], without_phase(outputs[1], cotangents[1])]


def phaseless_pairs(outputs, tangents, cotangents):
    """The same of singular vectors, (u, s, vh); and tangents along which their phases don't move, as JAX has other
    ones."""
    u, _, vh = outputs
    turned = [np.einsum("...ji,...jk,...ik->...i", u.conj(), t, vh.conj()).imag for t in tangents]
    tangents = [t - 1j * (u * along[..., None, :]) @ vh for t, along in zip(tangents, turned, strict=True)]
    g_vh = without_phase(np.swapaxes(vh, -1, -2).conj(), np.swapaxes(cotangents[2], -1, -2).conj())
    return tangents, [without_phase(u, cotangents[0]), cotangents[1], np.swapaxes(g_vh, -1, -2).conj()]


def lower_part(outputs, tangents, cotangents):
    """Lower triangular tangents of the last input, with a real diagonal."""
    part = np.tril(tangents[-1], -1) + np.eye(tangents[-1].shape[-1])
    return [*tangents[:-1], np.asarray(part, tangents[-1].dtype)], cotangents


def upper_part(outputs, tangents, cotangents):
    """Upper triangular ones."""
    part = np.triu(tangents[-1], 1) + np.eye(tangents[-1].shape[-1])
    return [*tangents[:-1], np.asarray(part, tangents[-1].dtype)], cotangents


# -- eigenvalues and singular values -----------------------------------------------------------------------------------


def whole_eigh(x, *, lower):
    vectors, values = lax.linalg.eigh(hermitian(x), symmetrize_input=False)
    return values, vectors


def differentiable_eig(x):
    values, vectors = lax.linalg.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return values, vectors


@jax.custom_jvp
def complex_eig(x):
    """In PyTorch's way of choosing phases: vectors don't move along themselves by a real factor. JAX has another."""
    return differentiable_eig(x)


@complex_eig.defjvp
def _(primals, tangents):
    values, vectors = complex_eig(*primals)
    moved = jnp.linalg.inv(vectors) @ tangents[0] @ vectors
    gaps = values[None, :] - values[:, None]
    turned = vectors @ jnp.where(gaps == 0, 0, moved / jnp.where(gaps == 0, 1, gaps))
    along = jnp.real(jnp.sum(jnp.conj(vectors) * turned, axis=0))
    return (values, vectors), (jnp.diagonal(moved), turned - vectors * along)


SPECTRA = [
    Sample("eigh", (H,), LOWER, oracle=whole_eigh, directions=symmetric),
    Sample("eigh", (H,), UPPER, oracle=whole_eigh, directions=symmetric),
    Sample("eigh", (HERMITIANS,), LOWER, oracle=whole_eigh, directions=symmetric),
    Sample("eigh", (NOTHING,), LOWER, oracle=whole_eigh, directions=symmetric),
    Sample("eigh", (HZ,), LOWER, oracle=whole_eigh, second=False, note=" complex",
           directions=lambda *given: phaseless(given[0], *symmetric(*given))),
    Sample("eigvalsh", (H,), LOWER),
    Sample("eigvalsh", (H,), UPPER),
    Sample("eig", (A,), oracle=differentiable_eig, directions=phaseless, second=False),
    Sample("eig", (Z,), oracle=complex_eig, directions=phaseless, second=False, note=" complex"),
    Sample("eig", (NOTHING,), oracle=differentiable_eig),
    Sample("eigvals", (A,)),
    *(Sample("svd", (x,), {"full_matrices": False}) for x in (A, TALL, WIDE, BATCH, NOTHING)),
    *(Sample("svd", (x,), {"full_matrices": False}, directions=phaseless_pairs, second=False, note=" complex")
      for x in (Z, TALL_Z, WIDE_Z)),
    Sample("svdvals", (TALL,)),
    Sample("rank_of", (array(3, low=1.0, high=2.0), 1.4, 0.1)),
]  # fmt: skip


# -- Cholesky ----------------------------------------------------------------------------------------------------------


def whole_cholesky(x, *, upper):
    factor = lax.linalg.cholesky(hermitian(x), symmetrize_input=False)
    return adjoint(factor) if upper else factor, jnp.zeros(x.shape[:-2], jnp.int32)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def complex_cholesky(x, upper):
    """Where PyTorch's gradient is not Hermitian: it keeps the imaginary diagonal of ``L^H g``."""
    return whole_cholesky(x, upper=upper)


@complex_cholesky.defjvp
def _(upper, primals, tangents):
    factor, info = complex_cholesky(*primals, upper)
    low = adjoint(factor) if upper else factor
    inverse = jnp.linalg.inv(low)
    turned = inverse @ tangents[0] @ adjoint(inverse)
    moved = low @ (jnp.tril(turned) + jnp.tril(adjoint(turned), -1)) / 2
    return (factor, info), (adjoint(moved) if upper else moved, np.zeros(info.shape, jax.dtypes.float0))


def whole_inverse(x, *, upper):
    return jnp.linalg.inv(adjoint(x) @ x if upper else x @ adjoint(x))


def whole_solution(x, factor, *, upper):
    return whole_inverse(factor, upper=upper) @ x


LOW, UP = {"upper": False}, {"upper": True}
L, U, LZ, UZ = triangular(A), triangular(A, True), triangular(Z), triangular(Z, True)

CHOLESKY = [
    *(Sample("cholesky_ex", (x,), upper, oracle=whole_cholesky, directions=symmetric)
      for x, upper in ((H, LOW), (H, UP), (HERMITIANS, LOW), (NOTHING, LOW))),
    *(Sample("cholesky_ex", (HZ,), upper, oracle=lambda x, *, upper: complex_cholesky(x, upper), directions=symmetric,
             note=" complex") for upper in (LOW, UP)),
    *(Sample("cholesky", (H,), upper, oracle=whole_cholesky, directions=symmetric, forward=False)
      for upper in (LOW, UP)),
    *(Sample("cholesky_inverse", (x,), LOW, oracle=whole_inverse, directions=lower_part) for x in (L, LZ)),
    *(Sample("cholesky_inverse", (x,), UP, oracle=whole_inverse, directions=upper_part) for x in (U, UZ)),
    *(Sample("cholesky_solve", (TALL_Z if x is LZ else TALL, x), LOW, oracle=whole_solution, directions=lower_part)
      for x in (L, LZ)),
    Sample("cholesky_solve", (BATCH, U), UP, oracle=whole_solution, directions=upper_part),
    Sample("cholesky_solve", (TALL_Z, UZ), UP, oracle=whole_solution, directions=upper_part),
]  # fmt: skip


# -- QR and reflectors -------------------------------------------------------------------------------------------------


def qr_by_columns(x, *, mode):
    """Of a wide matrix: Q is that of the square part, R is ``Q^H A``."""
    q, _ = jnp.linalg.qr(x[..., : x.shape[-2]])
    return q, adjoint(q) @ x


def product(x, tau, size):
    """The product of the reflectors, one after the other."""
    result = jnp.eye(size, dtype=x.dtype)
    for i in range(tau.shape[-1]):
        vector = jnp.where(jnp.arange(size) > i, x[..., :, i], 0) + jnp.eye(size, dtype=x.dtype)[i]
        result = result - tau[..., i, None, None] * (result @ vector[..., :, None]) * jnp.conj(vector)[..., None, :]
    return result


def first_columns(x, tau):
    return product(x, tau, x.shape[-2])[..., : x.shape[-1]]


def applied(x, tau, other, *, left, transpose):
    q = product(x, tau, x.shape[-2])
    q = adjoint(q) if transpose else q
    return q @ other if left else other @ q


REDUCED, COMPLETE = {"mode": "reduced"}, {"mode": "complete"}
TAU, TAU_Z = array(2, low=0.5, high=1.5), array(2, low=0.5, high=1.5, **COMPLEX)
SIDES = [{"left": left, "transpose": transpose} for left in (True, False) for transpose in (True, False)]

QR = [
    *(Sample("qr", (x,), REDUCED) for x in (A, TALL, BATCH, TALL_Z, NOTHING)),
    *(Sample("qr", (x,), COMPLETE, oracle=qr_by_columns) for x in (A, WIDE, WIDE_Z)),
    Sample("geqrf", (TALL,), derivable=False),
    Sample("householder_product", (TALL, TAU), oracle=first_columns),
    Sample("householder_product", (TALL_Z, TAU_Z), oracle=first_columns, note=" complex"),
    Sample("householder_product", (TALL, TAU[:1]), oracle=first_columns, note=" fewer reflectors"),
    *(Sample("ormqr", (TALL, TAU, TALL if sides["left"] else WIDE), sides, oracle=applied, forward=False)
      for sides in SIDES),
    *(Sample("ormqr", (TALL_Z, TAU_Z, WIDE_Z), sides, oracle=applied, forward=False, note=" complex")
      for sides in SIDES[2:]),
]  # fmt: skip


# -- pseudoinverses ----------------------------------------------------------------------------------------------------


def inverse_of_whole(x, atol, rtol, *, hermitian):
    return jnp.linalg.inv(x)


def least_squares(x, y, rcond, *, vector, measured, ranked, valued):
    """The solution by the normal equations."""
    y2 = y[..., None] if vector else y
    found = jnp.linalg.inv(adjoint(x) @ x) @ adjoint(x) @ y2
    rest = jnp.abs(y2 - x @ found) ** 2
    return (
        found[..., 0] if vector else found,
        jnp.sum(rest, axis=-2) if measured else jnp.zeros((0,)),
        jnp.full(found.shape[:-2], x.shape[-1]) if ranked else jnp.zeros((0,), jnp.int64),
        jnp.zeros((0,)),
    )


PLAIN = {"hermitian": False}
BARE = {"vector": False, "measured": False, "ranked": True, "valued": False}
MEASURED = {**BARE, "measured": True}

PSEUDOINVERSES = [
    *(Sample("pinv", (x, 0.0, 1e-9), PLAIN) for x in (A, TALL, WIDE, BATCH, WIDE_Z)),
    Sample("pinv", (array(3, 0), 0.0, 1e-9), PLAIN),
    Sample("pinv", (H, 0.0, 1e-9), {"hermitian": True}, oracle=inverse_of_whole, directions=symmetric),
    Sample("lstsq", (TALL, array(3, 1), 1e-9), BARE, oracle=least_squares),
    Sample("lstsq", (TALL_Z, TALL_Z[:, :1], 1e-9), MEASURED, oracle=least_squares),
    Sample("lstsq", (BATCH, array(2, 3), 1e-9), {**MEASURED, "vector": True}, oracle=least_squares),
    Sample("lstsq", (TALL, array(2, 3, 1), 1e-9), MEASURED, oracle=least_squares, note=" broadcast"),
]  # fmt: skip

SAMPLES = [*SPECTRA, *CHOLESKY, *QR, *PSEUDOINVERSES]
