"""Samples of the operators in ``ops/distances.py``."""

from __future__ import annotations

from math import nan

from kinks import Kink, f

from samples import Sample, array

ROWS, OTHERS = array(3, 2), array(2, 2, seed=1)
FIRST_ORDER = {"twice": False, "second": False, "forward": False}

SAMPLES = [
    *[Sample("cdist", (ROWS, OTHERS), {"p": p}, **FIRST_ORDER) for p in (0.5, 1, 2, float("inf"))],
    Sample("cdist", (array(2, 3, 2), OTHERS), {"p": 1.5}, **FIRST_ORDER),
    Sample("cdist", (array(0, 2), OTHERS), {"p": 2}, **FIRST_ORDER),
    *[Sample("pdist", (ROWS,), {"p": p}, **FIRST_ORDER) for p in (2, 2.5)],
    Sample("euclidean_dist", (ROWS, OTHERS), forward=False),
    Sample("euclidean_dist", (array(2, 3, 2), array(2, 2, 2, seed=1)), forward=False),
    Sample("cdist_adjoint", (OTHERS, OTHERS, ROWS[:2], OTHERS), {"p": 2, "first": True}, derivable=False),
    Sample("pdist_adjoint", (array(3), ROWS, array(3)), {"p": 2}, derivable=False),
]  # fmt: skip

KINKS = {
    "cdist": Kink(lambda t, x, y: t.cdist(x, y, p=1.0), (f((1, 2)), f((1, 3))), [[0, -1]], [[1, -1]]),
    "euclidean_dist": Kink(
        lambda t, x, y: t.cdist(x, y, compute_mode="use_mm_for_euclid_dist"),
        (f((1, 2), (1, 3)), f((1, 2), (1, 3))), [[0, -1], [0, 1]], [[nan, nan], [nan, nan]],
    ),
    "pdist": Kink(lambda t, x: t.pdist(x), (f((1, 2), (1, 2)),), [[0, 0], [0, 0]], [[nan, nan], [nan, nan]]),
}  # fmt: skip
