"""Samples of the operators in ``ops/gathering.py``.

JAX has no derivative of a scattered product or extremum; the oracles here reduce a dense array instead.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from kinks import Kink, f

from samples import Sample, array
from samples.indexing import places

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")
TWICE = places(1, 0, 1)
ROWS = places([0, 1, 0], [1, 1, 0])
DISTINCT = places([2, 0], [1, 2])
NONE = places()
ZERO, ONE = np.array(0), np.array(1)


def dense(reduce, neutral):
    """The oracle of a scattered reduction along axis 1 of matrices."""

    def oracle(x, index, src, *, axis, include_self=True):
        goes = index[:, :, None] == jnp.arange(x.shape[1])
        candidates = jnp.where(goes, src[:, :, None], neutral)
        own = x if include_self else jnp.where(goes.any(1), neutral, x)
        return reduce(jnp.concatenate([own[:, None], candidates], 1), 1)

    return oracle


PROD, AMAX, AMIN = dense(jnp.prod, 1.0), dense(jnp.max, -jnp.inf), dense(jnp.min, jnp.inf)


def of_slices(x, index, src, *, axis, include_self=True):
    """The product of rows: ``PROD`` of columns, at one index for each."""
    assert axis == 0
    return PROD(x.T, jnp.broadcast_to(index, src.T.shape), src.T, axis=1, include_self=include_self).T


WITH_ZERO = np.array([[0.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
TIES = np.array([[1.0, 2.0, 1.0], [0.5, 0.5, 3.0]])
POINT, EMPTY = array(), array(0, 3)
COMPLEX = array(2, 3, dtype="complex128")
INTS = np.array([[3, 1, 3], [4, 4, 0]])
FIRST, SECOND = np.array([0, 1, 5]), np.array([2, -1, -9])
"""Indices of which the last are out of range."""
MASK = np.array([True, True, False])

SAMPLES = [
    *[Sample("gather", (x, index), {"axis": axis}) for x, index, axis in (
        (A, ROWS, 0), (A, ROWS, 1), (A, DISTINCT, 1), (V, TWICE, 0), (V, ONE, 0), (S, places(0, 0), 0), (S, ZERO, 0),
        (A, NONE, 1), (Z, ROWS, 1), (A, places([2], dtype="int32"), 1),
    )],
    *[Sample("scatter_add", (x, index, src), {"axis": axis}) for x, index, src, axis in (
        (A, ROWS, array(2, 3, seed=1), 0), (A, ROWS, array(2, 3, seed=1), 1), (A, places([2]), array(1, 1), 1),
        (V, TWICE, V, 0), (S, ZERO, S, 0), (A, NONE, array(0), 0), (Z, ROWS, Z, 1),
    )],
    *[Sample("scatter", (x, index, src), {"axis": axis}) for x, index, src, axis in (
        (A, DISTINCT, array(2, 2), 1), (A, places([1, 0, 1]), array(1, 3), 0), (S, ZERO, S, 0), (V, ONE, S, 0),
    )],
    *[Sample("scatter_number", (x, 1.5, index), {"axis": 0}) for x, index in ((A, ROWS), (V, TWICE), (S, places(0)))],
    Sample("scatter_sum", (A, ROWS, array(2, 3, seed=1)), {"axis": 1}),
    *[Sample("scatter_mean", (A, index, src), {"axis": 1, "include_self": own})
      for own in (True, False) for index, src in ((ROWS, array(2, 3, seed=1)), (DISTINCT, array(2, 2)))],
    *[Sample("scatter_kept", (A, ROWS), {"axis": 1, "include_self": own}) for own in (True, False)],
    *[Sample("scatter_count", (A, ROWS), {"axis": 1, "include_self": own}, constants=("x",)) for own in (True, False)],
    Sample("scatter_prod", (A, ROWS, array(2, 3, seed=3)), {"axis": 1}, oracle=PROD),
    *[Sample(op, (A, ROWS, array(2, 3, seed=3)), {"axis": 1, "include_self": own}, oracle=oracle)
      for op, oracle in (("scatter_amax", AMAX), ("scatter_amin", AMIN)) for own in (True, False)],
    *[
        Sample("index_prod", (A, TWICE, array(3, 3, seed=3)), {"axis": 0, "include_self": own}, oracle=of_slices)
        for own in (True, False)
    ],
    Sample("scatter_prod", (A, ROWS, WITH_ZERO), {"axis": 1}, oracle=PROD, note=" a zero"),
    *[Sample(op, (TIES, ROWS, TIES), {"axis": 1, "include_self": True}, oracle=oracle, smooth=False, note=" ties")
      for op, oracle in (("scatter_amax", AMAX), ("scatter_amin", AMIN))],
    *[Sample("index_select", (x, index), {"axis": axis})
      for x, index, axis in (
          (A, TWICE, 0), (A, TWICE, 1), (A, ONE, 0), (S, places(0), 0), (A, NONE, 1), (Z, TWICE, 1))],
    *[Sample("index_add", (x, index, source), {"axis": axis}) for x, index, source, axis in (
        (A, TWICE, array(3, 3), 0), (A, places(2, 0), array(2, 2), 1), (A, ONE, array(1, 3), 0), (S, ZERO, S, 0),
        (A, NONE, E, 0),
    )],
    *[Sample("index_add_scaled", (x, index, source, 2.5), {"axis": axis}) for x, index, source, axis in (
        (A, TWICE, array(3, 3), 0), (A, places(2, 0), array(2, 2), 1), (S, ZERO, S, 0),
    )],
    *[Sample("index_copy", (x, index, source), {"axis": axis}) for x, index, source, axis in (
        (A, places(1), array(1, 3), 0), (A, places(2, 0), array(2, 2), 1), (S, places(0), array(1), 0),
    )],
    *[Sample("index_fill", (x, index, 1.5), {"axis": axis})
      for x, index, axis in ((A, TWICE, 0), (A, places(-1), 1), (S, ZERO, 0))],
    *[Sample("index_fill_tensor", (x, index, S), {"axis": axis})
      for x, index, axis in ((A, TWICE, 1), (A, ONE, 0), (V, TWICE, 0))],
    *[Sample("take", (x, index))
      for x, index in ((A, places([4, 1], [1, -1])), (S, places(0, 0)), (A, NONE), (Z, TWICE))],
    *[Sample("put", (A, index, source), {"accumulate": accumulate})
      for index, source in ((places(4, 1), array(2)), (places([0, -1]), array(2))) for accumulate in (True, False)],
    Sample("put", (A, places(1, 1), array(2)), {"accumulate": True}, note=" twice"),
    *[Sample("put_number", (A, 1.5, index)) for index in (places(4, 1), places(1, 1))],
    *[Sample("masked_select", (x, places(0, 2, 5)), {"shape": (2, 3)}) for x in (A, V, S, Z)],
    *[Sample("masked_scatter", (x, mask, source)) for x, mask, source in (
        (A, A > 0, array(2, 3, seed=1)), (V, A > 0, array(7)), (A, V > 0, array(2, 3, seed=1)), (A, A > 9, array(0)),
    )],
    *[Sample("masked_scatter_adjoint", (A, mask), {"shape": (7,)}) for mask in (A > 0, V > 0)],
    *[Sample("one_hot", (index,), {"num_classes": 3}) for index in (TWICE, ROWS, ONE)],
    *(
        Sample("unsafe_masked_index", (x, MASK, fill, FIRST, SECOND))
        for x, fill in ((A, 7.0), (COMPLEX, 1.0), (INTS, 2))
    ),
    Sample("unsafe_masked_index", (A, MASK, 7.0, FIRST), note=" rows"),
    Sample("unsafe_masked_index", (EMPTY, MASK, 7.0, FIRST)),
    *(Sample("unsafe_masked_index_put_accumulate", (x, MASK, v, FIRST, SECOND)) for x, v in ((A, V), (A, POINT))),
    Sample("unsafe_masked_index_put_accumulate", (COMPLEX, MASK, COMPLEX[0], FIRST, SECOND)),
    Sample("unsafe_masked_index_put_accumulate", (EMPTY, MASK, V, FIRST, SECOND)),
]  # fmt: skip

KINKS = {
    "scatter_amax": Kink(
        lambda t, x: t.zeros(2).scatter_reduce(0, t.tensor([0, 0, 1]), x, "amax", include_self=False),
        (f(0, 0, 0),), [1 / 3, 1 / 3, 0.5], [0.5, 0.5, 1],
    ),
    "scatter_amin": Kink(
        lambda t, x: t.zeros(2).scatter_reduce(0, t.tensor([0, 0, 1]), x, "amin", include_self=False),
        (f(0, 0, 0),), [1 / 3, 1 / 3, 0.5], [0.5, 0.5, 1],
    ),
}  # fmt: skip
