"""Samples of the operators in ``ops/reductions.py``."""

from __future__ import annotations

from math import nan

import jax.numpy as jnp
import numpy as np
from kinks import Kink, f

from samples import Sample, array
from tapegrad._src.execution.data import dtypes

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")
CUBE = array(2, 1, 3)
WITH_NAN = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
TIES = np.array([[1.0, 3.0, 3.0], [3.0, 1.0, 1.0]])
INTS = np.array([[1, 2, 3], [4, 0, 6]])
BOOLS = INTS > 2
ALL, ROWS = {"axis": (0, 1)}, {"axis": (0,)}


def kept(**settings):
    return settings | {"keepdims": True}


def reductions(name, arrays=(A, Z), **settings):
    """A reduction over one axis, all axes, a kept axis, of a 0-dim and of an empty array."""
    yield from (Sample(name, (x,), axes | settings) for x in arrays for axes in (ROWS, ALL))
    yield Sample(name, (CUBE,), kept(axis=(2,)) | settings)
    yield Sample(name, (POINT,), {"axis": ()} | settings)
    yield Sample(name, (EMPTY,), {"axis": (1,)} | settings)


SAMPLES = [
    *reductions("sum"),
    Sample("sum", (Z,), kept(axis=1)),
    Sample("sum", (A,), {"axis": (0,), "dtype": dtypes.float32}, smooth=False),
    Sample("sum", (A,), {"axis": 1, "dtype": dtypes.complex128}),
    *(Sample("sum", (x,), ROWS) for x in (INTS, BOOLS)),
    Sample("sum", (INTS,), {"axis": (0,), "dtype": dtypes.bool}),
    *(Sample("sum_all", (x,)) for x in (A, V, POINT, EMPTY, Z, INTS)),
    Sample("sum_all", (A,), {"dtype": dtypes.float32}, smooth=False),
    Sample("spread", (V,), {"shape": (2, 3), "axis": (0,)}),
    Sample("spread", (array(2, 1),), {"shape": (2, 3), "axis": (1,)}),
    Sample("spread", (POINT,), {"shape": (2, 3), "axis": (0, 1)}),
    Sample("over", (A,), {"count": 3}),
    Sample("over", (Z,), {"count": 2.5}),
    *reductions("mean"),
    Sample("mean", (A,), {"axis": (0,), "dtype": dtypes.float32}, smooth=False),
    Sample("mean", (INTS,), {"axis": (0,), "dtype": dtypes.float64}),
    *(Sample("mean_all", (x,)) for x in (A, POINT, Z)),
    *reductions("nansum", (A, WITH_NAN)),
    *(Sample("count_nonzero", (x,), ROWS) for x in (INTS, A)),
    *(Sample("trace", (x,)) for x in (A, array(3, 2), EMPTY, Z, INTS)),
    Sample("on_diagonal", (POINT,), {"shape": (2, 3)}),
    *(Sample(name, (x,), axes) for name in ("all", "any") for x in (A, INTS, BOOLS) for axes in (ALL, ROWS)),
    Sample("all", (INTS.astype("uint8"),), kept(axis=(1,))),
    Sample("any", (BOOLS,), {"axis": ()}),
    *(
        sample
        for name in ("var", "std", "var_mean", "std_mean")
        for sample in reductions(name, correction=0.5)
        if sample.args[0].ndim and not (name.startswith("std") and sample.args[0] is CUBE)
    ),
    *(Sample(name, (A,), {"axis": (1,), "correction": 1, "keepdims": True}) for name in ("var", "std", "var_mean")),
    Sample("var", (POINT,), {"axis": (), "correction": 0}),
    *(sample for name in ("amax", "amin", "aminmax") for sample in reductions(name, (A,))),
    *(
        Sample(name, (TIES,), axes, smooth=False, note=" ties")
        for name in ("amax", "amin", "aminmax")
        for axes in (ROWS, kept(**ALL))
    ),
    *(Sample(name, (x,)) for name in ("max_all", "min_all") for x in (A, V, POINT)),
    *(Sample(name, (TIES,), smooth=False, note=" ties") for name in ("max_all", "min_all")),
    *(Sample(name, (x,)) for name in ("median_all", "nanmedian_all") for x in (A, V, POINT)),
    Sample("nanmedian_all", (WITH_NAN,), smooth=False, oracle=lambda x: x[0, 2], note=" nan"),
    Sample("share", (TIES, np.array([3.0, 3.0, 3.0])), {"axis": (0,), "nan": False}),
    *(Sample(name, (x,), {"axis": axis}) for name in ("argmax", "argmin") for x in (A, TIES) for axis in (None, 1)),
    Sample("argmax", (POINT,), {"axis": 0}),
]  # fmt: skip

KINKS = {
    "median_all": Kink(lambda t, x: x.median(), (f(0, 1, 1),), [0, 0.5, 0.5], [0, 1, 0]),
    "nanmedian_all": Kink(lambda t, x: x.nanmedian(), (f(0, 1, 1),), [0, 0.5, 0.5], [0, 1, 0]),
    "std": Kink(lambda t, x: x.std(), (f(1, 1, 1),), [0, 0, 0], [nan, nan, nan], jnp=lambda x: jnp.std(x, ddof=1)),
    "std_mean": Kink(
        lambda t, x: t.std_mean(x)[0], (f(1, 1, 1),), [0, 0, 0], [nan, nan, nan], jnp=lambda x: jnp.std(x, ddof=1)
    ),
}  # fmt: skip
