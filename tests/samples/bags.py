"""Samples of the operators in ``ops/bags.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

ROWS = array(4, 3)
NUMBERS, OFFSETS = np.array([1, 3, 3, 0, 1]), np.array([0, 2, 2])
BAGS = np.array([0, 0, 2, 2, 2])


def bag(mode, weights=None, padding_idx=-1, by_frequency=False, **more):
    settings = {"mode": mode, "padding_idx": padding_idx, "by_frequency": by_frequency}
    return Sample("embedding_bag", (ROWS, NUMBERS, OFFSETS, weights), settings, forward=False, twice=False, **more)


def bag_adjoint(mode, **more):
    settings = {"rows": 4, "mode": mode, "padding_idx": -1, "by_frequency": False}
    args = (array(3, 3), NUMBERS, BAGS, np.array([2, 0, 3]), np.array([[1, 3, 3], [0, 0, 0], [3, 0, 1]]), None)
    return Sample("embedding_bag_adjoint", args, settings, derivable=False, twice=False, **more)


SAMPLES = [
    bag("sum"),
    bag("sum", array(5)),
    bag("mean"),
    bag("max"),
    bag_adjoint("max"),
    bag_adjoint("mean"),
    Sample("bag_products", (array(3, 3), ROWS, NUMBERS, BAGS), {"padding_idx": 3}, derivable=False, twice=False),
]  # fmt: skip
