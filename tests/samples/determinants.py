"""Samples of the operators in ``ops/determinants.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from samples import Sample, array
from samples.solving import matrix, remembering
from tapegrad.ops.operator import TABLE

COMPLEX = {"dtype": "complex128"}
SQUARE = matrix(3, 3)
BATCH = matrix(2, 3, 3, seed=2)
COMPLEX_SQUARE = matrix(3, 3, **COMPLEX)
NOTHING = array(0, 0)


def phase_and_logarithm(x):
    """``slogdet`` of complex matrices; JAX has no derivative of a phase by ``sign``."""
    _, logabsdet, *rest = TABLE["slogdet"].function(x)
    det = jnp.linalg.det(x)
    return det / jnp.abs(det), logabsdet, *map(lax.stop_gradient, rest)


def cofactors(x):
    """The adjugates of 3 by 3 matrices: by cross products of their rows."""
    rows = [x[..., i, :] for i in range(3)]
    return jnp.stack([jnp.cross(rows[1], rows[2]), jnp.cross(rows[2], rows[0]), jnp.cross(rows[0], rows[1])], -1)


def cofactors_derivative(x, t):
    """The derivative of that."""
    return jax.jvp(cofactors, (x,), (t,))[1]


SAMPLES = [
    remembering("det", SQUARE),
    remembering("det", matrix(2, 2, 2, **COMPLEX)),
    remembering("det", NOTHING),
    remembering("slogdet", BATCH),
    Sample("slogdet", (COMPLEX_SQUARE,), smooth=False, oracle=phase_and_logarithm),
    Sample("adjugate", (BATCH,), oracle=cofactors),
    Sample("adjugate", (COMPLEX_SQUARE,), oracle=cofactors),
    Sample("adjugate_derivative", (COMPLEX_SQUARE, array(3, 3, seed=3, **COMPLEX)), oracle=cofactors_derivative),
]  # fmt: skip
