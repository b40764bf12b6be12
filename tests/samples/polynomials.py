"""Samples of the operators in ``ops/polynomials.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from tapegrad.ops import polynomials

A = array(2, 3)
DEGREES = np.array([0.0, 3.0, 9.0])
POLYNOMIALS = [*polynomials.CHEBYSHEV, *polynomials.OTHERS]

SAMPLES = [
    *(Sample(op, (A, DEGREES), constants=("x", "n")) for op in POLYNOMIALS),
]  # fmt: skip
