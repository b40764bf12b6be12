"""Samples of the operators in ``ops/norms.py``."""

from __future__ import annotations

from math import nan

import jax.numpy as jnp
import numpy as np
from kinks import Kink, f

from samples import Sample, array
from samples.reductions import kept
from tapegrad._src.execution.data import dtypes

INF = float("inf")
A, V, POINT = array(2, 3), array(3), array()
Z = array(2, 3, dtype="complex128")
CUBE = array(2, 1, 3)
INTS = np.array([[1, 2, 3], [4, 0, 6]])


def norm_oracle(x, *, ord, axis, keepdims=False, dtype=None):
    """A norm that jax can differentiate: without the absolute value's kink at 0."""
    size = jnp.sqrt(jnp.real(x) ** 2 + jnp.imag(x) ** 2)
    if ord == 2:
        return jnp.sqrt(jnp.sum(size**2, axis=axis, keepdims=keepdims))
    if np.isinf(ord):
        return (jnp.max if ord > 0 else jnp.min)(size, axis=axis, keepdims=keepdims)
    return jnp.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def dist_oracle(x, y, *, ord):
    return norm_oracle(x - y, ord=ord, axis=tuple(range((x - y).ndim)))


SAMPLES = [
    *(Sample("distance_norm", (array(2, 3),), {"ord": p, "axis": (1,)}) for p in (2, 3)),
    *(
        Sample("vector_norm", (x,), {"ord": ord, "axis": (0,)}, oracle=norm_oracle)
        for x in (A, Z)
        for ord in (1, 2, 3, 0.5, 1.5, -1)
    ),
    *(Sample("vector_norm", (A,), {"ord": ord, "axis": (0, 1)}, oracle=norm_oracle) for ord in (2, INF, -INF)),
    Sample("vector_norm", (Z,), {"ord": INF, "axis": (1,)}, oracle=norm_oracle),
    Sample("vector_norm", (CUBE,), kept(ord=2, axis=(0,)), oracle=norm_oracle),
    Sample("vector_norm", (POINT,), {"ord": 2, "axis": ()}, oracle=norm_oracle),
    *(Sample("renorm", (A,), {"ord": ord, "axis": axis, "limit": 1.5})
      for ord in (1, 2, 3.0, INF) for axis in ((1,), (0,))),
    Sample("renorm", (Z,), {"ord": 2, "axis": (1,), "limit": 1.5}),
    Sample("renorm", (CUBE,), {"ord": 2, "axis": (0, 2), "limit": 1.5}),
    Sample("vector_norm", (INTS,), {"ord": 0, "axis": (0,), "dtype": dtypes.float64}),
    *(Sample("dist", (A, y), {"ord": ord}, oracle=dist_oracle) for y in (V + 0.3, array(seed=1)) for ord in (1, 2, 3)),
    Sample("dist", (Z, A), {"ord": 2}, oracle=dist_oracle),
]  # fmt: skip

KINKS = {
    "dist": Kink(
        lambda t, x, y: t.dist(x, y), (f(1, 1, 1), f(1, 1, 1)), [0, 0, 0], [nan, nan, nan],
        jnp=lambda x, y: jnp.linalg.norm(x - y)
    ),
    "distance_norm": Kink(
        lambda t, x, y: t.pairwise_distance(x, y, eps=0.0), (f((1, 2), (1, 3)), f((1, 2), (1, 3))),
        [[0, 0], [0, 0]], [[nan, nan], [nan, nan]]
    ),
    "renorm": Kink(lambda t, x: x.renorm(1, 0, 1.0), (f((0, 2), (1, 3)),), [[0.5, 0], [0, 0]], [[0, 0], [0, 0]]),
    "vector_norm": Kink(
        lambda t, x: t.linalg.vector_norm(x), (f(0, 0, 0),), [0, 0, 0], [nan, nan, nan], jnp=jnp.linalg.norm
    ),
}  # fmt: skip
