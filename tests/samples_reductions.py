"""Samples for reductions, scans and softmax."""

import jax.numpy as jnp
import numpy as np
from samples import Sample, array

from tapegrad.execution import dtypes

INF = float("inf")
A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")
CUBE = array(2, 1, 3)
WITH_NAN = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
TIES = np.array([[1.0, 3.0, 3.0], [3.0, 1.0, 1.0]])
ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 0.5]])
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


def norm_oracle(x, *, ord, axis, keepdims=False, dtype=None):
    """A norm that jax can differentiate: without the absolute value's kink at 0."""
    size = jnp.sqrt(jnp.real(x) ** 2 + jnp.imag(x) ** 2)
    if ord == 2:
        return jnp.sqrt(jnp.sum(size**2, axis=axis, keepdims=keepdims))
    if np.isinf(ord):
        return (jnp.max if ord > 0 else jnp.min)(size, axis=axis, keepdims=keepdims)
    return jnp.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def dist_oracle(x, y, *, ord):
    return norm_oracle(x - y, ord=ord, axis=tuple(range((x - y).ndim)))


SAMPLES = [
    # sums and means
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
    # truth
    *(Sample(name, (x,), axes) for name in ("all", "any") for x in (A, INTS, BOOLS) for axes in (ALL, ROWS)),
    Sample("all", (INTS.astype("uint8"),), kept(axis=(1,))),
    Sample("any", (BOOLS,), {"axis": ()}),
    # statistics
    # (jax has no gradient for the root at the deviation of a single element: see the parity tests)
    *(
        sample
        for name in ("var", "std", "var_mean", "std_mean")
        for sample in reductions(name, correction=0.5)
        if sample.args[0].ndim and not (name.startswith("std") and sample.args[0] is CUBE)
    ),
    *(Sample(name, (A,), {"axis": (1,), "correction": 1, "keepdims": True}) for name in ("var", "std", "var_mean")),
    Sample("var", (POINT,), {"axis": (), "correction": 0}),
    # extrema
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
    # norms
    *(
        Sample("vector_norm", (x,), {"ord": ord, "axis": (0,)}, oracle=norm_oracle)
        for x in (A, Z)
        for ord in (1, 2, 3, 0.5, 1.5, -1)
    ),
    *(Sample("vector_norm", (A,), {"ord": ord, "axis": (0, 1)}, oracle=norm_oracle) for ord in (2, INF, -INF)),
    Sample("vector_norm", (Z,), {"ord": INF, "axis": (1,)}, oracle=norm_oracle),
    Sample("vector_norm", (CUBE,), kept(ord=2, axis=(0,)), oracle=norm_oracle),
    Sample("vector_norm", (POINT,), {"ord": 2, "axis": ()}, oracle=norm_oracle),
    *(Sample("renorm", (A,), {"ord": ord, "axis": axis, "limit": 1.5})
      for ord in (1, 2, 3.0, INF) for axis in ((1,), (0,))),
    Sample("renorm", (Z,), {"ord": 2, "axis": (1,), "limit": 1.5}),
    Sample("renorm", (CUBE,), {"ord": 2, "axis": (0, 2), "limit": 1.5}),
    Sample("vector_norm", (INTS,), {"ord": 0, "axis": (0,), "dtype": dtypes.float64}),
    *(Sample("dist", (A, y), {"ord": ord}, oracle=dist_oracle) for y in (V + 0.3, array(seed=1)) for ord in (1, 2, 3)),
    Sample("dist", (Z, A), {"ord": 2}, oracle=dist_oracle),
    # softmax and its kin
    *(Sample(name, (A,), {"axis": axis}) for name in ("softmax", "log_softmax") for axis in (0, 1)),
    *(Sample(name, (x,), {"axis": 0}) for name in ("softmax", "log_softmax") for x in (POINT, EMPTY)),
    *reductions("logsumexp"),
    Sample("logsumexp", (INTS,), ROWS),
    # scans and products
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
]
