"""Samples of the operators in ``ops/random.py``."""

from __future__ import annotations

import jax
import numpy as np

from samples import Sample, array
from tapegrad._src.execution.array_functions import random
from tapegrad._src.execution.data import dtypes
from tapegrad.ops import random as ops

KEY = np.array([3, 14], np.uint32)
P = array(2, 3, low=0.1, high=0.9)
MEAN, STD = array(2, 3), array(3, low=0.5, high=2.0)


def constant(kernel):
    """A kernel whose result JAX takes for a constant too."""
    return lambda *args, **settings: jax.lax.stop_gradient(kernel(*args, **settings))


def normal(op, mean, std):
    settings = {"shape": (2, 3), "dtype": dtypes.float64}
    oracle = constant(lambda m, s, key, shape, dtype: random.normal(random.jax_key(key), shape, dtype.numpy, m, s))
    return Sample(op, (mean, std, KEY), settings, smooth=False, oracle=oracle)


SAMPLES = [
    Sample("bernoulli", (P, KEY), smooth=False),
    Sample("bernoulli", (array(0, 3), KEY), smooth=False, note=" empty"),
    Sample("poisson", (array(3, low=1.0, high=9.0), KEY), smooth=False, oracle=constant(ops.poisson.function)),
    Sample("multinomial", (P, KEY), {"num_samples": 2, "replacement": False}, constants=("p",)),
    Sample("multinomial", (P, KEY), {"num_samples": 4, "replacement": True}, constants=("p",)),
    normal("normal", MEAN, STD),
    normal("normal_of_mean", MEAN, 2.0),
    normal("normal_of_std", 0.5, np.broadcast_to(STD, (2, 3)).copy()),
    Sample("overwrite_bernoulli_tensor", (MEAN, P, array(2, 3, seed=1)), constants=("sample",)),
    *(Sample(op.name, (MEAN, array(2, 3, seed=1)), constants=("sample",)) for op in ops.OVERWRITE.values()),
]  # fmt: skip
