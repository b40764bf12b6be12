"""Samples of the operators in ``ops/sorting.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from tapegrad._src.execution.data import dtypes

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
TIES = np.array([[1.0, 3.0, 3.0], [3.0, 1.0, 1.0]])
INTS = np.array([[3, 1, 3], [4, 4, 0]])
PICKED = ("max", "min", "median", "nanmedian", "mode")
PLACES = np.array([0, 2])


def picked(name, **settings):
    """A selection over either axis, of a 0-dim, of a tied and of an integer array."""
    yield from (Sample(name, (A,), {"axis": axis} | settings) for axis in (0, 1))
    yield Sample(name, (A,), {"axis": 1, "keepdims": True} | settings)
    yield Sample(name, (POINT,), {"axis": 0} | settings)
    yield Sample(name, (TIES,), {"axis": 1} | settings, smooth=False, note=" ties")
    yield Sample(name, (INTS,), {"axis": 1} | settings)


SAMPLES = [
    *(sample for name in PICKED for sample in picked(name)),
    *picked("kthvalue", k=1),
    Sample("kthvalue", (A,), {"axis": 1, "k": 3}),
    *(
        Sample(name, (x,), {"axis": axis, "descending": descending})
        for name in ("sort", "sort_stable", "argsort")
        for x, axis, descending in ((A, 0, False), (A, 1, True), (V, 0, False), (INTS, 1, True), (EMPTY, 0, False))
    ),
    *(Sample(name, (POINT,), {"axis": 0}) for name in ("sort", "argsort")),
    *(Sample("sort", (TIES,), {"axis": 1, "descending": d}, smooth=False, note=" ties") for d in (False, True)),
    *(
        Sample("topk", (x,), {"k": k, "axis": axis, "largest": largest})
        for x, k, axis, largest in ((A, 2, 1, True), (A, 2, 1, False), (A, 1, 0, True), (A, 0, 1, True))
    ),
    *(Sample("topk", (x,), {"k": 1, "axis": 0, "largest": True}) for x in (POINT, INTS)),
    *(
        Sample("searchsorted", (np.sort(V), x), {"right": right, "dtype": dtype})
        for x in (A, POINT)
        for right, dtype in ((False, dtypes.int64), (True, dtypes.int32))
    ),
    Sample("searchsorted", (np.sort(A, 1), A), {"right": False, "dtype": dtypes.int64}),
    Sample("searchsorted", (V[:0], V), {"right": False, "dtype": dtypes.int64}),
    *(Sample("bincount", (INTS[0], weights), {"size": 5}) for weights in (None, INTS[1])),
    Sample("histc", (A, -1.0, 1.0), {"bins": 4}),
    Sample("unique", (INTS, PLACES)),
    *(Sample(name, (INTS, PLACES), {"axis": 1}) for name in ("unique_dim", "unique_consecutive")),
    Sample("unique_consecutive", (INTS, PLACES), {"axis": None}),
]  # fmt: skip
