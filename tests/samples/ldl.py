"""Samples of the operators in ``ops/ldl.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from samples.solving import matrix

SQUARE = matrix(3, 3)
RIGHT = array(3, 2, seed=1)
SYMMETRIC = SQUARE + SQUARE.T

SAMPLES = [
    Sample("ldl_factor", (SYMMETRIC,), {"hermitian": False}, derivable=False),
    Sample("ldl_solve", (np.eye(3), np.array([1, 2, 3], "int32"), RIGHT), {"hermitian": True}, derivable=False),
]  # fmt: skip
