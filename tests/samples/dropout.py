"""Samples of the operators in ``ops/dropout.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

MATRIX = array(2, 3)
FEATURES = array(2, 4, 3)
KEY = np.array([7, 11], "uint32")

SAMPLES = [
    Sample("dropout", (MATRIX, KEY), {"p": 0.4, "shape": (2, 3)}),
    Sample("dropout", (FEATURES, KEY), {"p": 0.4, "shape": (2, 4, 1)}),
    Sample("dropout", (MATRIX, KEY), {"p": 1, "shape": (2, 3)}),
    Sample("alpha_dropout", (MATRIX, KEY), {"p": 0.4, "shape": (2, 3)}),
]  # fmt: skip
