"""Samples of the operators in ``ops/qr.py``."""

from __future__ import annotations

import jax.numpy as jnp

from samples import Sample, array
from samples.eigen import adjoint

COMPLEX = {"dtype": "complex128"}
A, TALL, WIDE = array(3, 3), array(3, 2), array(2, 3)
TALL_Z, WIDE_Z = array(3, 2, **COMPLEX), array(2, 3, **COMPLEX)
BATCH, NOTHING = array(2, 3, 2), array(0, 3, 3)


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

SAMPLES = [
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
