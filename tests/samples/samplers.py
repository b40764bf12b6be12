"""Samples of the operators in ``ops/samplers.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

KEY = np.array([3, 14], np.uint32)
POSITIVE = array(2, 3, low=0.2)

SAMPLES = [
    Sample("standard_gamma_grad", (POSITIVE, POSITIVE.T.reshape(2, 3)), derivable=False),
    Sample("standard_gamma", (POSITIVE, KEY), twice=False, smooth=False),
    Sample("sample_dirichlet", (POSITIVE, KEY), derivable=False),
    Sample("dirichlet_grad", (array(2, 3, low=0.1, high=0.9), POSITIVE, POSITIVE + 1), derivable=False),
    Sample("bernoulli_number", (array(2, 3), array(2, 3, seed=1)), constants=("sample",), derivable=False),
    Sample("binomial", (np.array([3.0, 10.0]), np.array([0.2, 0.7]), KEY), derivable=False),
]  # fmt: skip
