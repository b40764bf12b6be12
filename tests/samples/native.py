"""Samples of the operators in ``ops/native.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

KEPT = array(2, 3) > 0

SAMPLES = [
    Sample("max_pool2d_gradient", (array(1, 1, 2), array(1, 2, 3), np.array([[[0, 5]]]))),
    Sample("softmax_gradient", (array(2, 3), array(2, 3, seed=1)), {"axis": 1}),
    Sample("softmax_gradient", (array(), array(seed=1)), {"axis": 0}),
    Sample("dropout_gradient", (array(2, 3), KEPT), {"scale": 2.0}),
    Sample("masked_dropout", (array(2, 3), KEPT), {"scale": 2.0}),
]  # fmt: skip
