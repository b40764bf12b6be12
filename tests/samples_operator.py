"""Samples for the operators that the kinds themselves speak."""

import numpy as np
from samples import Sample, array

from tapegrad.execution import dtypes

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
    *(Sample("fill", (x, POINT)) for x in (A, POINT, EMPTY, Z)),
    *(Sample("fill_number", (x, 1.5)) for x in (A, POINT, EMPTY)),
    *(Sample("zero", (x,)) for x in (A, POINT, EMPTY, Z)),
    *(Sample("compared", (A, y, A > 0), smooth=False) for y in (V, None, POINT)),
    *(Sample("copy", (A, x)) for x in (array(2, 3, seed=1), ROW, POINT)),
    *(Sample("copy", (Z, x)) for x in (A, array(2, 3, dtype="complex128", seed=1))),
    Sample("copy", (A, Z)),
    Sample("copy", (A, np.array([1, 2, 3]))),
    Sample("zeros_of", (A,), {"shape": (3,), "dtype": dtypes.float64}),
]
