"""Samples of the operators in ``ops/segments.py``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from samples import Sample, array


def product(x, bounds, *, axis, how, initial):
    """The products of segments, of which JAX knows the derivative too; the scatter of the kernel has none there."""
    place = jnp.arange(x.shape[axis])
    inside = (place >= bounds[:, :-1, None]) & (place < bounds[:, 1:, None])
    return jnp.prod(jnp.where(inside, x[:, None], 1), -1)


def segments(how, *shape, initial=None, bounds=((0, 2, 2, 5),), axis=0, **more):
    settings = {"axis": axis, "how": how, "initial": initial}
    args = (array(*shape), np.array(bounds[0] if axis == 0 else bounds))
    return Sample("segment_reduce", args, settings, forward=False, twice=False, **more)


SAMPLES = [
    segments("sum", 5, 2),
    segments("mean", 5, initial=0.5),
    segments("max", 2, 5, initial=-3.0, bounds=((0, 2, 4), (1, 2, 5)), axis=1),
    segments("min", 5, initial=3.0),
    segments("prod", 2, 5, bounds=((0, 2, 5), (0, 1, 5)), axis=1, oracle=product),
    Sample(
        "segment_gradient",
        (array(2), array(5), np.array([0, 2, 5]), array(2, seed=1)),
        {"axis": 0, "how": "sum", "initial": None},
        derivable=False,
        twice=False,
    ),
]  # fmt: skip
