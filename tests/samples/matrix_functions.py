"""Samples of the operators in ``ops/matrix_functions.py``."""

from __future__ import annotations

from samples import Sample, array

COMPLEX = {"dtype": "complex128"}
NOTHING = array(0, 0)

SAMPLES = [
    Sample("matrix_exp", (array(3, 3),)),
    Sample("matrix_exp", (array(2, 2, 2, **COMPLEX),)),
    Sample("matrix_exp", (NOTHING,)),
    Sample("cross", (array(2, 3), array(2, 3, seed=1)), {"axis": 1}),
    Sample("cross", (array(3, 1, **COMPLEX), array(3, 2, seed=1, **COMPLEX)), {"axis": 0}),
]  # fmt: skip
