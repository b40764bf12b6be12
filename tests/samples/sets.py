"""Samples of the operators in ``ops/sets.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from tapegrad._src.execution.data import dtypes

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
INTS = np.array([[3, 1, 3], [4, 4, 0]])

SAMPLES = [
    Sample("isin", (INTS, INTS[0])),
    Sample("isin", (A, np.concatenate([V] * 6)), {"invert": True}, note=" many"),
    Sample("isin", (A, V[:0])),
    *(Sample("nonzero_static", (INTS, ), {"size": size, "fill_value": -1}) for size in (2, 7)),
    *(Sample("nonzero_static", (x,), {"size": 2, "fill_value": 3}) for x in (POINT, EMPTY)),
    Sample("unravel_index", (INTS,), {"shape": (2, 3)}),
    Sample("unravel_index", (INTS,), {"shape": ()}),
    *(Sample("hash_tensor", (x,), {"axis": (0,), "keepdims": True, "dtype": dtypes.uint64}) for x in (A, INTS)),
]  # fmt: skip
