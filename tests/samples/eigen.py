"""Samples of the operators in ``ops/eigen.py``.

Of a Hermitian matrix the kernels read one triangle, and PyTorch's derivatives are those of the whole matrix: oracles
say so, and tangents are Hermitian. Of complex vectors the cotangents must not ask for the phase: see ``directions``.
"""

from __future__ import annotations

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


A = array(3, 3)
Z = array(3, 3, **COMPLEX)
NOTHING = array(0, 3, 3)
H, HZ, HERMITIANS = definite(3, 3), definite(3, 3, **COMPLEX), definite(2, 2, 2)
LOWER, UPPER = {"lower": True}, {"lower": False}


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


SAMPLES = [
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
]  # fmt: skip
