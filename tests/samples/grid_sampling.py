"""Samples of the operators in ``ops/grid_sampling.py``."""

from __future__ import annotations

from samples import Sample, array


def points(*shape, seed=1):
    return array(*shape, low=-1.35, high=1.3, seed=seed)


def grid(op, x, at, mode="bilinear", padding="zeros", align=False, orders=(0, 0), **more):
    settings = {**more, "orders": orders, "mode": mode, "padding": padding, "align": align}
    return Sample(op, (x, at), settings, smooth=padding != "border")


PLANES, SPOTS = array(2, 1, 3, 4), points(2, 2, 2, 2)

SAMPLES = [
    grid("grid_sample", PLANES, SPOTS),
    grid("grid_sample", PLANES, SPOTS, padding="border", align=True),
    grid("grid_sample", PLANES, SPOTS, mode="bicubic", padding="reflection"),
    grid("grid_sample", PLANES, SPOTS, mode="nearest"),
    grid("grid_sample", PLANES, SPOTS, mode="bicubic", orders=(1, 0)),
    grid("grid_sample", PLANES[:0], SPOTS[:0]),
    grid("grid_sample3d", array(1, 1, 2, 3, 2), points(1, 1, 2, 1, 3), orders=(0, 0, 0)),
    grid("grid_spread", array(2, 1, 2, 2), SPOTS, mode="bicubic", lengths=(3, 4)),
    grid("grid_spread", array(2, 1, 2, 2), SPOTS, padding="border", orders=(0, 1), lengths=(3, 4)),
    Sample("affine_grid", (array(2, 2, 3),), {"size": (2, 3), "align": False}),
    Sample("affine_grid", (array(1, 3, 4),), {"size": (2, 1, 3), "align": True}),
    Sample("affine_grid_adjoint", (array(2, 2, 3, 2),), {"size": (2, 3), "align": True}),
]  # fmt: skip
