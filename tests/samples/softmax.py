"""Samples of the operators in ``ops/softmax.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from samples.reductions import reductions

A, POINT, EMPTY = array(2, 3), array(), array(0, 3)
INTS = np.array([[1, 2, 3], [4, 0, 6]])
ROWS = {"axis": (0,)}

SAMPLES = [
    *(Sample(name, (A,), {"axis": axis}) for name in ("softmax", "log_softmax") for axis in (0, 1)),
    *(Sample(name, (x,), {"axis": 0}) for name in ("softmax", "log_softmax") for x in (POINT, EMPTY)),
    *reductions("logsumexp"),
    Sample("logsumexp", (INTS,), ROWS),
]  # fmt: skip
