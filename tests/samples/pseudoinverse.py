"""Samples of the operators in ``ops/pseudoinverse.py``."""

from __future__ import annotations

import jax.numpy as jnp

from samples import Sample, array
from samples.eigen import adjoint, definite, symmetric

COMPLEX = {"dtype": "complex128"}
A, TALL, WIDE = array(3, 3), array(3, 2), array(2, 3)
TALL_Z, WIDE_Z = array(3, 2, **COMPLEX), array(2, 3, **COMPLEX)
BATCH = array(2, 3, 2)
H = definite(3, 3)


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

SAMPLES = [
    Sample("rank_of", (array(3, low=1.0, high=2.0), 1.4, 0.1)),
    *(Sample("pinv", (x, 0.0, 1e-9), PLAIN) for x in (A, TALL, WIDE, BATCH, WIDE_Z)),
    Sample("pinv", (array(3, 0), 0.0, 1e-9), PLAIN),
    Sample("pinv", (H, 0.0, 1e-9), {"hermitian": True}, oracle=inverse_of_whole, directions=symmetric),
    Sample("lstsq", (TALL, array(3, 1), 1e-9), BARE, oracle=least_squares),
    Sample("lstsq", (TALL_Z, TALL_Z[:, :1], 1e-9), MEASURED, oracle=least_squares),
    Sample("lstsq", (BATCH, array(2, 3), 1e-9), {**MEASURED, "vector": True}, oracle=least_squares),
    Sample("lstsq", (TALL, array(2, 3, 1), 1e-9), MEASURED, oracle=least_squares, note=" broadcast"),
]  # fmt: skip
