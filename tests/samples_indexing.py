"""Samples of the operators that read and write at places given by arrays of indices.

JAX has no derivative of a scattered product or extremum; the oracles here reduce a dense array instead.
"""

import jax.numpy as jnp
import numpy as np
from samples import Sample, array

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
CUBE = array(2, 3, 4)
Z = array(2, 3, dtype="complex128")


def places(*values, dtype="int64"):
    return np.array(values, dtype=dtype)


TWICE = places(1, 0, 1)
ROWS = places([0, 1, 0], [1, 1, 0])
DISTINCT = places([2, 0], [1, 2])
NONE = places()
ZERO, ONE = np.array(0), np.array(1)

INDEX = [
    *[Sample("index", args) for args in (
        (A, TWICE), (A, places(-1)), (A, None, TWICE), (A, TWICE, places(0, 2, 0)), (A, NONE), (Z, TWICE),
        (CUBE, places(0, 1), None, places(3, 0)), (CUBE, None, places([0], [2]), places(1, 1)),
        (A, places(1, dtype="int32")),
    )],
    *[Sample("index_put", (A, value, *indices), {"accumulate": accumulate}) for accumulate in (True, False)
      for value, indices in ((V, (places(1),)), (S, (places(1, 0),)), (array(2), (places(0, 1), places(2, 0))),
                             (array(2, 1), (None, places(1))), (array(0, 3), (NONE,)), (2.0, (places(0),)))],
    Sample("index_put", (A, A[:1], places(0, 0)), {"accumulate": True}, note=" twice"),
]  # fmt: skip


def dense(reduce, neutral):
    """The oracle of a scattered reduction along axis 1 of matrices."""

    def oracle(x, index, src, *, axis, include_self=True):
        goes = index[:, :, None] == jnp.arange(x.shape[1])
        candidates = jnp.where(goes, src[:, :, None], neutral)
        own = x if include_self else jnp.where(goes.any(1), neutral, x)
        return reduce(jnp.concatenate([own[:, None], candidates], 1), 1)

    return oracle


PROD, AMAX, AMIN = dense(jnp.prod, 1.0), dense(jnp.max, -jnp.inf), dense(jnp.min, jnp.inf)
WITH_ZERO = np.array([[0.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
TIES = np.array([[1.0, 2.0, 1.0], [0.5, 0.5, 3.0]])

ONE_DIM = [
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
    Sample("scatter_prod", (A, ROWS, WITH_ZERO), {"axis": 1}, oracle=PROD, note=" a zero"),
    *[Sample(op, (TIES, ROWS, TIES), {"axis": 1, "include_self": True}, oracle=oracle, smooth=False, note=" ties")
      for op, oracle in (("scatter_amax", AMAX), ("scatter_amin", AMIN))],
]  # fmt: skip

SLICES = [
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
]  # fmt: skip

FLAT = [
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
]  # fmt: skip

SAMPLES = [*INDEX, *ONE_DIM, *SLICES, *FLAT]
