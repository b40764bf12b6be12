"""Samples of the operators in ``ops/retyping.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from tapegrad._src.execution.data.dtypes import float32, float64, int64

A = array(2, 3)
Z = array(2, 3, dtype="complex128")

SAMPLES = [
    *[Sample("view_as_real", (x,)) for x in (Z, array(dtype="complex128"), array(0, 3, dtype="complex128"))],
    *[Sample("view_as_complex", (x,)) for x in (array(3, 2), array(2, 3, 2), array(2))],
    Sample("neg_view", (A,)),
    Sample("neg_view", (Z,)),
    *[Sample("bitcast", (array(2, 4),), {"dtype": dtype}) for dtype in (int64, float32)],
    Sample("bitcast", (np.arange(8, dtype="int32").reshape(2, 4),), {"dtype": float64}),
]  # fmt: skip
