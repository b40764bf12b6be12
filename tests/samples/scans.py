"""Samples of the operators in ``ops/scans.py``."""

from __future__ import annotations

import jax
import numpy as np
from kinks import Kink, f

from samples import Sample, array
from samples.reductions import kept
from tapegrad._src.execution.data import dtypes

A, POINT, EMPTY = array(2, 3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")
CUBE = array(2, 1, 3)
ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 0.5]])
INTS = np.array([[1, 2, 3], [4, 0, 6]])
BOOLS = INTS > 2

SAMPLES = [
    *(Sample("cumsum", (x,), {"axis": 1, "reverse": reverse}) for x in (A, Z) for reverse in (False, True)),
    *(Sample("cumsum", (x,), {"axis": 0, "reverse": False}) for x in (A, POINT, EMPTY, INTS, BOOLS)),
    Sample("cumsum", (A,), {"axis": 0, "reverse": False, "dtype": dtypes.float32}, smooth=False),
    *(Sample("shift", (x,), {"axis": 1, "by": by}) for x in (A, Z) for by in (1, -1)),
    *(Sample("recurrence", (x, A + 3), {"axis": 1, "reverse": back}) for x in (A, ZEROS) for back in (False, True)),
    Sample("recurrence", (Z, Z[::-1]), {"axis": 0, "reverse": False}),
    *(
        Sample("products_before", (x,), {"axis": 1, "reverse": reverse})
        for x in (A, ZEROS, Z)
        for reverse in (False, True)
    ),
    *(Sample("products_beside", (x,), {"axis": 1}) for x in (A, ZEROS, Z)),
    *(Sample("cumprod", (x,), {"axis": 1}) for x in (A, ZEROS, Z, EMPTY, INTS)),
    *(Sample("cumprod", (x,), {"axis": 0}) for x in (POINT, BOOLS)),
    *(Sample("prod", (x,), {"axis": 1}) for x in (A, ZEROS, Z, INTS)),
    Sample("prod", (CUBE,), kept(axis=2)),
    *(Sample("prod", (x,), {"axis": 0}) for x in (POINT, EMPTY)),
    *(Sample("prod_all", (x,)) for x in (A, ZEROS, Z, POINT, EMPTY, BOOLS)),
    Sample("prod_all", (A.astype("float32"),), {"dtype": dtypes.float64}, smooth=False),
    Sample("prod", (A.astype("float32"),), {"axis": 0, "dtype": dtypes.float64}, smooth=False),
    Sample("cumprod", (A.astype("float32"),), {"axis": 0, "dtype": dtypes.float64}, smooth=False),
    *(Sample("logcumsumexp", (A,), {"axis": 1, "reverse": reverse}) for reverse in (False, True)),
    *(Sample("logcumsumexp", (x,), {"axis": 0, "reverse": False}) for x in (Z, POINT, EMPTY)),
    *(Sample(name, (x,), {"axis": axis}) for name in ("cummax", "cummin") for x in (A, INTS) for axis in (0, 1)),
    Sample("cummax", (POINT,), {"axis": 0}),
]  # fmt: skip

KINKS = {
    "cummax": Kink(
        lambda t, x: x.cummax(0)[0], (f(1, 1, 1),), [1, 1, 1], [1.75, 0.75, 0.5], jnp=lambda x: jax.lax.cummax(x)
    ),
    "cummin": Kink(
        lambda t, x: x.cummin(0)[0], (f(1, 1, 1),), [1, 1, 1], [1.75, 0.75, 0.5], jnp=lambda x: jax.lax.cummin(x)
    ),
}  # fmt: skip
