"""Samples of the operators in ``ops/indexing.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

A, V, S = array(2, 3), array(3), array()
CUBE = array(2, 3, 4)
Z = array(2, 3, dtype="complex128")


def places(*values, dtype="int64"):
    return np.array(values, dtype=dtype)


TWICE = places(1, 0, 1)
NONE = places()

SAMPLES = [
    *[Sample("index", args) for args in (
        (A, TWICE), (A, places(-1)), (A, None, TWICE), (A, TWICE, places(0, 2, 0)), (A, NONE), (Z, TWICE),
        (CUBE, places(0, 1), None, places(3, 0)), (CUBE, None, places([0], [2]), places(1, 1)),
        (A, places(1, dtype="int32")),
    )],
    *[Sample("index_put", (A, value, *indices), {"accumulate": accumulate}) for accumulate in (True, False)
      for value, indices in ((V, (places(1),)), (S, (places(1, 0),)), (array(2), (places(0, 1), places(2, 0))),
                             (array(2, 1), (None, places(1))), (array(0, 3), (NONE,)), (2.0, (places(0),)))],
    Sample("index_put", (A, A[:1], places(0, 0)), {"accumulate": True}, note=" twice"),
]  # fmt: skip
