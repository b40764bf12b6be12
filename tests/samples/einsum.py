"""Samples of the operators in ``ops/einsum.py``."""

from __future__ import annotations

from samples import Sample, array
from tapegrad._src.execution.data.dtypes import float64

VECTOR = array(3)
MATRIX = array(2, 3)
OTHER = array(3, 2, seed=1)
BATCH = array(2, 2, 3, seed=2)
BATCHES = array(2, 3, 2, seed=3)
COMPLEX = {"dtype": "complex128"}
NOTHING = array(0, 3)

SAMPLES = [
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
]  # fmt: skip
