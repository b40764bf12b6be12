"""Samples of the operators in ``ops/packing.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

X = array(3, 2, 2, seed=1)
PLACES, ROWS = np.array([0, 1, 2, 4]), np.array([[0, 1], [2, 4], [3, 4]])

SAMPLES = [
    Sample("pack_padded_sequence", (X, PLACES, ROWS)),
    Sample("pad_packed_sequence", (array(4, 2), PLACES, ROWS)),
]  # fmt: skip
