"""Samples of the operators in ``ops/matmul.py``."""

from __future__ import annotations

from samples import Sample, array

VECTOR = array(3)
MATRIX = array(2, 3)
OTHER = array(3, 2, seed=1)
BATCH = array(2, 2, 3, seed=2)
BATCHES = array(2, 3, 2, seed=3)
COMPLEX = {"dtype": "complex128"}
NOTHING = array(0, 3)
FACTORS = {"beta": 0.5, "alpha": 2.0}
ONES = {"beta": 1, "alpha": 1}

SAMPLES = [
    Sample("mm", (MATRIX, OTHER)),
    Sample("mm", (array(2, 3, **COMPLEX), array(3, 2, seed=1, **COMPLEX)), note="complex"),
    Sample("mm", (NOTHING, OTHER)),
    Sample("mm", (array(2, 0), array(0, 2)), note="summing nothing"),
    Sample("bmm", (BATCH, BATCHES)),
    Sample("bmm", (array(2, 2, 3, **COMPLEX), array(2, 3, 2, **COMPLEX)), note="complex"),
    Sample("rows_product", (array(2, 3, 4), array(2, 3, 2))),
    Sample("rows_product", (array(2, 2, 3, **COMPLEX), array(2, 2, 1, **COMPLEX)), note="complex"),
    Sample("mv", (MATRIX, VECTOR)),
    Sample("mv", (array(2, 3, **COMPLEX), array(3, **COMPLEX)), note="complex"),
    Sample("dot", (VECTOR, array(3, seed=1))),
    Sample("dot", (array(3, **COMPLEX), array(3, seed=1, **COMPLEX)), note="complex"),
    Sample("vdot", (array(3, **COMPLEX), array(3, seed=1, **COMPLEX)), note="complex"),
    Sample("vecmat", (VECTOR, OTHER)),
    Sample("vecmat", (array(3, **COMPLEX), array(3, 2, **COMPLEX)), note="complex"),
    Sample("matmul", (BATCH, BATCHES)),
    Sample("matmul", (BATCH, OTHER)),
    Sample("matmul", (BATCH, VECTOR)),
    Sample("matmul", (VECTOR, BATCHES)),
    Sample("matmul", (MATRIX, BATCHES)),
    Sample("matmul", (array(2, 1, 2, 3), array(3, 3, 2)), note="both broadcast"),
    Sample("matmul", (array(2, 2, 3, **COMPLEX), array(3, 2, **COMPLEX)), note="complex"),
    Sample("matmul", (array(0, 2, 3), BATCHES[:1])),
    Sample("linear_2d", (MATRIX, array(4, 3), array(4))),
    Sample("linear_2d", (array(2, 3, **COMPLEX), array(4, 3, **COMPLEX), array(4, **COMPLEX)), note="complex"),
    Sample("linear_2d", (NOTHING, array(4, 3), array(4))),
    Sample("linear_2d", (MATRIX, array(4, 3), array(1)), note="broadcast bias"),
    Sample("linear_nd", (BATCH, array(4, 3), array(4))),
    Sample("linear_nd", (VECTOR, array(4, 3), array(4))),
    Sample("linear_2d_without_bias", (MATRIX, array(4, 3), None)),
    Sample("linear_nd_without_bias", (BATCH, array(4, 3), None)),
    Sample("linear_1d_without_bias", (VECTOR, array(4, 3), None)),
    Sample("addmm", (array(2, 2), MATRIX, OTHER), ONES),
    Sample("addmm", (array(2), MATRIX, OTHER), FACTORS),
    Sample("addmm", (array(), MATRIX, OTHER), {"beta": 0, "alpha": 1}, note="unread addend"),
    Sample(
        "addmm",
        (array(2, 2, **COMPLEX), array(2, 3, **COMPLEX), array(3, 2, **COMPLEX)),
        {"beta": 0.5j, "alpha": 1 + 2j},
        note="complex",
    ),
    Sample("addmv", (array(2), MATRIX, VECTOR), FACTORS),
    Sample("addmv", (array(), MATRIX, VECTOR), ONES),
    Sample("baddbmm", (array(2, 2, 2), BATCH, BATCHES), FACTORS),
    Sample("baddbmm", (array(2), BATCH, BATCHES), ONES),
    Sample("addbmm", (array(2, 2), BATCH, BATCHES), FACTORS),
    Sample("addbmm", (array(2), BATCH, BATCHES), ONES),
    Sample("addr", (array(2, 3), array(2), VECTOR), FACTORS),
    Sample("addr", (array(3), array(2), VECTOR), ONES),
    Sample("addr", (array(2, 3, **COMPLEX), array(2, **COMPLEX), array(3, **COMPLEX)), ONES, note="complex"),
]  # fmt: skip
