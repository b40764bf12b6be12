"""Samples of the operators in ``ops/cholesky.py``."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from samples import Sample, array
from samples.eigen import adjoint, definite, hermitian, symmetric

COMPLEX = {"dtype": "complex128"}


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


def triangular(x, upper=False):
    """Factors with a positive diagonal."""
    return np.triu(x, 1) + 2 * np.eye(x.shape[-1]) if upper else np.tril(x, -1) + 2 * np.eye(x.shape[-1])


A, TALL = array(3, 3), array(3, 2)
Z, TALL_Z = array(3, 3, **COMPLEX), array(3, 2, **COMPLEX)
BATCH, NOTHING = array(2, 3, 2), array(0, 3, 3)
H, HZ, HERMITIANS = definite(3, 3), definite(3, 3, **COMPLEX), definite(2, 2, 2)


def lower_part(outputs, tangents, cotangents):
    """Lower triangular tangents of the last input, with a real diagonal."""
    part = np.tril(tangents[-1], -1) + np.eye(tangents[-1].shape[-1])
    return [*tangents[:-1], np.asarray(part, tangents[-1].dtype)], cotangents


def upper_part(outputs, tangents, cotangents):
    """Upper triangular ones."""
    part = np.triu(tangents[-1], 1) + np.eye(tangents[-1].shape[-1])
    return [*tangents[:-1], np.asarray(part, tangents[-1].dtype)], cotangents


def whole_inverse(x, *, upper):
    return jnp.linalg.inv(adjoint(x) @ x if upper else x @ adjoint(x))


def whole_solution(x, factor, *, upper):
    return whole_inverse(factor, upper=upper) @ x


LOW, UP = {"upper": False}, {"upper": True}
L, U, LZ, UZ = triangular(A), triangular(A, True), triangular(Z), triangular(Z, True)

SAMPLES = [
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
