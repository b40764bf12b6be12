"""Samples of the operators in ``ops/embedding.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from samples import Sample, array

LOOKUPS = np.array([[1, 3], [3, 0]])
TABLE_OF_ROWS = array(4, 3)


def without_padding(weight, indices, *, padding_idx, by_frequency):
    """An embedding, as it is differentiated: the row of padding has no derivative."""
    rows = weight[indices]
    return jnp.where((indices == padding_idx)[..., None], jax.lax.stop_gradient(rows), rows)


def lookup(op, x, padding_idx=-1, by_frequency=False, oracle=None, smooth=True, **more):
    settings = {**more, "padding_idx": padding_idx, "by_frequency": by_frequency}
    return Sample(op, (x, LOOKUPS), settings, oracle=oracle, smooth=smooth)


SAMPLES = [
    lookup("embedding", TABLE_OF_ROWS),
    lookup("embedding", TABLE_OF_ROWS, padding_idx=3, oracle=without_padding, smooth=False),
    lookup("embedding_adjoint", array(2, 2, 3), count=4, padding_idx=3),
    lookup("embedding_adjoint", array(2, 2, 3), count=4, by_frequency=True),
    lookup("weighted_rows", TABLE_OF_ROWS, padding_idx=1, by_frequency=True),
    Sample("embedding_renorm", (TABLE_OF_ROWS, LOOKUPS), {"max_norm": 1.0, "norm_type": 2.0}, constants=("weight",)),
]  # fmt: skip
