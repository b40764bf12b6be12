"""Samples of the operators in ``ops/assignment.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

A, V, ROW, POINT, EMPTY = array(2, 3), array(3), array(1, 3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")

SAMPLES = [
    *(Sample("fill", (x, POINT)) for x in (A, POINT, EMPTY, Z)),
    *(Sample("fill_number", (x, 1.5)) for x in (A, POINT, EMPTY)),
    *(Sample("zero", (x,)) for x in (A, POINT, EMPTY, Z)),
    *(Sample("compared", (A, y, A > 0), smooth=False) for y in (V, None, POINT)),
    *(Sample("copy", (A, x)) for x in (array(2, 3, seed=1), ROW, POINT)),
    *(Sample("copy", (Z, x)) for x in (A, array(2, 3, dtype="complex128", seed=1))),
    Sample("copy", (A, Z)),
    Sample("copy", (A, np.array([1, 2, 3]))),
]  # fmt: skip
