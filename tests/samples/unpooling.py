"""Samples of the operators in ``ops/unpooling.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

START = array(1, 2, 3, low=0.05, high=0.95)

SAMPLES = [
    Sample("max_unpool2d", (array(1, 2, 2), np.array([[[0, 5], [2, 1]]])), {"lengths": (2, 3)}, note="one channel"),
    Sample("max_unpool3d", (array(1, 1, 1, 2), np.array([[[[7, 2]]]])), {"lengths": (2, 2, 2)}),
    Sample("fractional_max_pool2d", (array(1, 2, 4, 5), START[:, :, :2]), {"kernel": (2, 2), "sizes": (2, 3)},
           constants=("samples",)),
    Sample("fractional_max_pool3d", (array(2, 3, 4, 3), START), {"kernel": (2, 1, 2), "sizes": (2, 2, 1)},
           constants=("samples",)),
]  # fmt: skip
