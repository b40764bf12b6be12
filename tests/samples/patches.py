"""Samples of the operators in ``ops/patches.py``."""

from __future__ import annotations

from samples import Sample, array
from samples.resampling import windows

PATCHES = (windows(2, 3, 2, low=1), windows(4, 2, 1))

SAMPLES = [
    Sample("im2col", (array(1, 2, 4, 5),), {"samplings": PATCHES}),
    Sample("im2col", (array(2, 4, 5),), {"samplings": PATCHES}, note="no batch"),
    Sample("col2im", (array(1, 12, 8),), {"samplings": PATCHES, "lengths": (4, 5)}),
]  # fmt: skip
