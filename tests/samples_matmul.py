"""Samples of matrix products, ``linear``, the ``addmm`` family and ``einsum``."""

from samples import Sample, array

from tapegrad.execution.dtypes import float64

VECTOR = array(3)
MATRIX = array(2, 3)
OTHER = array(3, 2, seed=1)
BATCH = array(2, 2, 3, seed=2)
BATCHES = array(2, 3, 2, seed=3)
COMPLEX = {"dtype": "complex128"}
NOTHING = array(0, 3)
FACTORS = {"beta": 0.5, "alpha": 2.0}
ONES = {"beta": 1, "alpha": 1}

PRODUCTS = [
    Sample("mm", (MATRIX, OTHER)),
    Sample("mm", (array(2, 3, **COMPLEX), array(3, 2, seed=1, **COMPLEX)), note="complex"),
    Sample("mm", (NOTHING, OTHER)),
    Sample("mm", (array(2, 0), array(0, 2)), note="summing nothing"),
    Sample("bmm", (BATCH, BATCHES)),
    Sample("bmm", (array(2, 2, 3, **COMPLEX), array(2, 3, 2, **COMPLEX)), note="complex"),
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
]

LINEAR = [
    Sample("linear_2d", (MATRIX, array(4, 3), array(4))),
    Sample("linear_2d", (array(2, 3, **COMPLEX), array(4, 3, **COMPLEX), array(4, **COMPLEX)), note="complex"),
    Sample("linear_2d", (NOTHING, array(4, 3), array(4))),
    Sample("linear_2d", (MATRIX, array(4, 3), array(1)), note="broadcast bias"),
    Sample("linear_nd", (BATCH, array(4, 3), array(4))),
    Sample("linear_nd", (VECTOR, array(4, 3), array(4))),
    Sample("linear_2d_without_bias", (MATRIX, array(4, 3), None)),
    Sample("linear_nd_without_bias", (BATCH, array(4, 3), None)),
    Sample("linear_1d_without_bias", (VECTOR, array(4, 3), None)),
]

ADDENDS = [
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
]

EINSUMS = [
    Sample("einsum", (MATRIX, OTHER), {"equation": "ij,jk->ik"}),
    Sample("einsum", (array(2, 3, **COMPLEX), array(3, 2, **COMPLEX)), {"equation": "ij,jk->ki"}, note="complex"),
    Sample("einsum", (MATRIX, array(2)), {"equation": "ij,i->i"}, note="a letter that only one has is summed"),
    Sample("einsum", (array(2, 1), array(3, 2)), {"equation": "ij,jk->ik"}, note="a length of 1 broadcasts"),
    Sample("einsum", (array(1, 3), array(2, 1)), {"equation": "ij,ij->ij"}, note="both broadcast"),
    Sample("einsum", (array(3, 3), VECTOR), {"equation": "ii,i->i"}, note="a diagonal"),
    Sample("einsum", (array(3, 3), array(3, 3, seed=1)), {"equation": "ij,ii->j"}, note="the other's diagonal"),
    Sample("einsum", (MATRIX, OTHER, array(2)), {"equation": "ij,jk,k->i"}),
    Sample("einsum", (array(), MATRIX), {"equation": ",ij->ji"}),
    Sample("einsum", (BATCH, BATCHES), {"equation": "bij,bjk->bik"}),
    Sample("einsum", (NOTHING, VECTOR), {"equation": "ij,j->i"}),
    Sample("identity_of", (VECTOR,), {"size": 2, "dtype": float64}),
]

SAMPLES = [*PRODUCTS, *LINEAR, *ADDENDS, *EINSUMS]
