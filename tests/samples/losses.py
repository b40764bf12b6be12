"""Samples of the operators in ``ops/losses.py``."""

from __future__ import annotations

from math import nan

import numpy as np
from kinks import Kink, f

from samples import Sample, array

MATRIX = array(2, 3)
TARGET = array(2, 3, seed=5)
ROW = array(3)
NOTHING = array(0, 3)
PROBABILITIES = array(2, 3, low=0.05, high=0.95)
TARGETS = array(2, 3, low=0.1, high=0.9, seed=5)
WEIGHT = array(3, low=0.5, high=2.0)
CLASSES = np.array([2, 0])
WEIGHTS = ("weight", "pos_weight")


def classes(op, x, target, weight, reduction, axis=1, ignore=-100, **more):
    settings = {"axis": axis, **more, "reduction": reduction, "ignore_index": ignore}
    return Sample(op, (x, target, weight), settings, constants=() if weight is None else ("weight",))


SAMPLES = [
    Sample("mse_loss", (MATRIX, TARGET), {"reduction": "mean"}),
    Sample("mse_loss", (MATRIX, ROW), {"reduction": "mean"}, note="broadcast"),
    Sample("mse_loss", (MATRIX, ROW), {"reduction": "none"}, note="broadcast"),
    Sample("mse_loss", (array(), array(seed=3)), {"reduction": "sum"}),
    Sample("mse_loss", (NOTHING, NOTHING), {"reduction": "sum"}),
    Sample("smooth_l1_loss", (MATRIX, TARGET), {"beta": 1.3, "reduction": "mean"}),
    Sample("smooth_l1_loss", (MATRIX, ROW), {"beta": 0.7, "reduction": "none"}),
    Sample("huber_loss", (MATRIX, TARGET), {"delta": 1.3, "reduction": "sum"}),
    Sample("huber_loss", (MATRIX, ROW), {"delta": 0.7, "reduction": "none"}),
    Sample("soft_margin_loss", (MATRIX, TARGET), {"reduction": "mean"}, constants=("y",)),
    Sample("binary_cross_entropy", (PROBABILITIES, TARGETS, None), {"reduction": "mean"}),
    Sample("binary_cross_entropy", (PROBABILITIES, TARGETS, WEIGHT), {"reduction": "none"}, constants=("weight",)),
    Sample("binary_cross_entropy_with_logits", (MATRIX, TARGETS, None, None), {"reduction": "mean"}),
    Sample(
        "binary_cross_entropy_with_logits",
        (MATRIX, TARGETS, WEIGHT, None),
        {"reduction": "none"},
        constants=("weight",),
    ),
    Sample(
        "binary_cross_entropy_with_logits",
        (MATRIX, TARGETS, None, WEIGHT),
        {"reduction": "sum"},
        constants=("pos_weight",),
    ),
    Sample(
        "binary_cross_entropy_with_logits", (MATRIX, TARGETS, WEIGHT, WEIGHT), {"reduction": "none"}, constants=WEIGHTS
    ),
    Sample("floored", (WEIGHT, 0.1)),
    classes("nll_loss", MATRIX, CLASSES, None, "mean"),
    classes("nll_loss", MATRIX, CLASSES, WEIGHT, "mean"),
    classes("nll_loss", MATRIX, CLASSES, WEIGHT, "none", ignore=0),
    classes("nll_loss", ROW, np.array(1), None, "sum", axis=0),
    Sample("loss_of_classes", (MATRIX, CLASSES), {"reduction": "mean", "ignore_index": -100}),
    Sample("loss_of_classes", (MATRIX, CLASSES), {"reduction": "none", "ignore_index": 0}),
    classes("nll_loss2d", array(2, 3, 2), np.array([[2, 0], [1, 1]]), None, "mean"),
    classes("nll_loss2d", array(2, 3, 2), np.array([[2, 0], [1, 1]]), WEIGHT, "none", ignore=1),
    classes("nll_loss_adjoint", array(), CLASSES, WEIGHT, "mean", classes=3),
    classes("nll_loss_adjoint", array(2), CLASSES, None, "none", classes=3, ignore=0),
    classes("nll_loss_adjoint", array(2, 2), np.array([[2, 0], [1, 1]]), WEIGHT, "none", classes=3),
    Sample("nll_loss_of_any", (array(2, 3, 2), np.array([[2, 0], [1, 1]]), None),
           {"axis": 1, "reduction": "none", "ignore_index": 1}),
    Sample("over_count", (array(2, 3),), {"count": 6}),
]  # fmt: skip

KINKS = {
    "binary_cross_entropy": Kink(
        lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y, reduction="sum"),
        (f(0, 1, 0.5), f(0, 1, 1)), [0, 0, -2], [nan, nan, -2],
    ),
}  # fmt: skip
