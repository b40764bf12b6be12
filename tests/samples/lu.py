"""Samples of the operators in ``ops/lu.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from samples.solving import matrix
from tapegrad._src.execution.data.dtypes import float64

COMPLEX = {"dtype": "complex128"}
SQUARE = matrix(3, 3)
RIGHT = array(3, 2, seed=1)
BATCH = matrix(2, 3, 3, seed=2)
COMPLEX_SQUARE = matrix(3, 3, **COMPLEX)
COMPLEX_RIGHT = array(3, 2, seed=1, **COMPLEX)
NOTHING = array(0, 0)
TRIANGULAR = np.tril(array(3, 3, seed=7), -1) / 3 + np.triu(SQUARE)[::-1, ::-1] + 2 * np.eye(3)
PIVOTS = np.array([3, 2, 3], "int32")
TALL, WIDE = matrix(3, 2), matrix(2, 3)

SAMPLES = [
    Sample("swap_rows", (RIGHT, PIVOTS), {"back": False}),
    Sample("swap_rows", (array(2, 3, 2), np.array([[3, 2, 3], [1, 3, 3]], "int32")), {"back": True}),
    Sample("permutation_matrix", (PIVOTS,), {"rows": 3, "dtype": float64}),
    Sample("lu_factor", (BATCH,)),
    Sample("lu_factor", (TALL,)),
    Sample("lu_factor", (WIDE,)),
    Sample("lu_factor", (COMPLEX_SQUARE,)),
    Sample("lu_factor", (NOTHING,)),
    Sample("lu", (BATCH,)),
    Sample("lu", (matrix(2, 3, **COMPLEX),)),
    Sample("lu_unpack", (TALL,)),
    Sample("lu_unpack", (TALL,), {"data": False}),
    Sample("lu_unpack", (matrix(2, 3, **COMPLEX),)),
    Sample("lu_solve", (TRIANGULAR, PIVOTS, RIGHT), {"left": True, "adjoint": False}),
    Sample("lu_solve", (TRIANGULAR, PIVOTS, array(2, 3, 2, seed=1)), {"left": True, "adjoint": True}),
    Sample("lu_solve", (COMPLEX_SQUARE[::-1], PIVOTS, COMPLEX_RIGHT.T), {"left": False, "adjoint": True}),
]  # fmt: skip
