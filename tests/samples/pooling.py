"""Samples of the operators in ``ops/pooling.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from samples.resampling import windows
from tapegrad.ops.resampling import Sampling

PLANE = array(1, 2, 4, 5)
HALVES = (windows(2, 2, 2), windows(2, 2, 2))
PADDED = (windows(3, 2, 2, low=1), windows(3, 3, 2, low=1))
SPARSE = (windows(2, 2, 2, dilation=2, low=1), windows(3, 2, 1, dilation=2))
ADAPTIVE = (Sampling("adaptive", 3), Sampling("adaptive", 2))
INDICES = np.array([[[0, 5, 5], [2, 1, 0]]])

SAMPLES = [
    *(Sample("max_pool2d", (PLANE,), {"samplings": samplings}) for samplings in (HALVES, PADDED, SPARSE)),
    Sample("max_pool2d", (PLANE[0],), {"samplings": HALVES}, note="no batch"),
    Sample("max_pool2d", (PLANE[:0],), {"samplings": HALVES}),
    Sample("max_pool1d", (array(2, 5),), {"samplings": (windows(3, 3, 2, low=1),)}),
    Sample("max_pool3d", (array(1, 2, 3, 4),), {"samplings": (windows(1, 2), *HALVES)[:1] + (windows(2, 2),) * 2}),
    Sample("adaptive_max_pool2d", (PLANE,), {"samplings": ADAPTIVE}),
    Sample("adaptive_max_pool3d", (array(1, 2, 3, 4),), {"samplings": (Sampling("adaptive", 2),) * 3}),
    Sample("plane_scatter", (array(1, 2, 3), INDICES), {"lengths": (6,)}),
    *(
        Sample("window_scatter", (array(2, *shape), np.array(places)), {"lengths": lengths, "samplings": samplings})
        for shape, places, lengths, samplings in (
            ((2, 2), [[[0, 6], [9, 15]]] * 2, (5, 4), HALVES),
            ((3,), [[0, 2, 3]] * 2, (6,), (windows(3, 2, 2, low=1),)),
        )
    ),
    Sample("plane_gather", (array(1, 2, 2, 3), INDICES[..., None, :]), {"dims": 2}),
]  # fmt: skip
