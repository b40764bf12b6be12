"""Samples of the operators in ``ops/kinds.py``."""

from __future__ import annotations

from samples import Sample, array
from tapegrad._src.execution.data import dtypes

A, V, ROW, POINT, EMPTY = array(2, 3), array(3), array(1, 3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")

SAMPLES = [
    *(Sample("conj", (x,)) for x in (Z, array(3, dtype="complex128"), array(0, 3, dtype="complex128"))),
    *(Sample("cast", (x,), {"dtype": dtypes.float64}) for x in (A, POINT)),
    Sample("cast", (A,), {"dtype": dtypes.float32}, smooth=False),
    Sample("cast", (A,), {"dtype": dtypes.complex128}),
    Sample("cast", (Z,), {"dtype": dtypes.float64}),
    Sample("cast", (A,), {"dtype": dtypes.int64}),
    Sample("cast", (A > 0,), {"dtype": dtypes.float64}),
    *(Sample("broadcast_to", (x,), {"shape": (2, 3)}) for x in (A, V, ROW, POINT, array(1, 3, dtype="complex128"))),
    Sample("broadcast_to", (ROW,), {"shape": (0, 3)}),
    *(Sample("sum_to", (A,), {"shape": shape}) for shape in ((2, 3), (3,), (1, 3), (1, 1), ())),
    Sample("sum_to", (EMPTY,), {"shape": (1, 3)}),
    Sample("sum_to", (Z,), {"shape": (3,)}),
    Sample("zeros_of", (A,), {"shape": (3,), "dtype": dtypes.float64}),
]  # fmt: skip
