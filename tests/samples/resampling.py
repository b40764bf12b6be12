"""Samples of the operators in ``ops/resampling.py``."""

from __future__ import annotations

from samples import Sample, array
from tapegrad.ops.resampling import Sampling


def windows(size, kernel, stride=1, low=0, dilation=1, counted="padded", high=None):
    """Windows along one dimension."""
    return Sampling(
        "window", size, kernel=kernel, stride=stride, low=low, dilation=dilation, counted=counted,
        high=low if high is None else high,
    )  # fmt: skip


PLANE = array(1, 2, 4, 5)
HALVES = (windows(2, 2, 2), windows(2, 2, 2))
PADDED = (windows(3, 2, 2, low=1), windows(3, 3, 2, low=1))
INSIDE = (windows(3, 2, 2, low=1, counted="inside"), windows(3, 3, 2, low=1, counted="inside"))
ADAPTIVE = (Sampling("adaptive", 3), Sampling("adaptive", 2))


def interpolation(op, kind, *shape, size=5, **more):
    samplings = (Sampling(kind, size, **more),) * (len(shape) - 1)
    return Sample(op, (array(*shape),), {"samplings": samplings})


SAMPLES = [
    *(Sample("avg_pool2d", (PLANE,), {"samplings": samplings}) for samplings in (HALVES, PADDED, INSIDE)),
    Sample("avg_pool3d", (array(1, 2, 3, 4),), {"samplings": (windows(1, 2), windows(2, 2), windows(2, 2, 2))}),
    Sample("adaptive_avg_pool2d", (PLANE,), {"samplings": ADAPTIVE}),
    Sample("adaptive_avg_pool3d", (array(1, 2, 3, 4),), {"samplings": (Sampling("adaptive", 2),) * 3}),
    Sample("resample", (array(2, 5),), {"samplings": (Sampling("adaptive", 3),)}),
    Sample("resample_adjoint", (array(2, 3),), {"samplings": (Sampling("adaptive", 3),), "lengths": (5,)}),
    Sample("resample_adjoint", (array(2, 3),), {"samplings": (windows(3, 3, 2, low=1),), "lengths": (5,)}),
    interpolation("upsample_nearest1d", "nearest", 2, 3),
    interpolation("upsample_nearest2d", "nearest", 2, 2, 3),
    interpolation("upsample_nearest3d", "nearest", 1, 2, 3, 2, size=3),
    interpolation("upsample_nearest_exact1d", "nearest-exact", 2, 3, size=2),
    interpolation("upsample_nearest_exact2d", "nearest-exact", 2, 2, 3),
    interpolation("upsample_nearest_exact3d", "nearest-exact", 1, 2, 3, 2, size=3),
    interpolation("upsample_linear1d", "linear", 2, 3),
    interpolation("upsample_linear1d", "linear", 2, 3, align=True),
    interpolation("upsample_bilinear2d", "linear", 2, 2, 3, scale=2.1),
    interpolation("upsample_trilinear3d", "linear", 1, 2, 3, 2, size=3),
    interpolation("upsample_bicubic2d", "cubic", 1, 2, 3),
    interpolation("upsample_bilinear2d_aa", "linear-antialias", 1, 5, 4, size=2),
    interpolation("upsample_bicubic2d_aa", "cubic-antialias", 1, 5, 4, size=2),
]  # fmt: skip
