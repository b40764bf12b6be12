"""Samples of losses, convolutions, pooling, normalization, embedding, attention and resampling."""

import numpy as np
from samples import Sample, array



MATRIX = array(2, 3)
TARGET = array(2, 3, seed=5)
ROW = array(3)
NOTHING = array(0, 3)
PROBABILITIES = array(2, 3, low=0.05, high=0.95)
TARGETS = array(2, 3, low=0.1, high=0.9, seed=5)
WEIGHT = array(3, low=0.5, high=2.0)
CLASSES = np.array([2, 0])

LOSSES = [
    Sample("mse_loss", (MATRIX, TARGET), {"reduction": "mean"}),
    Sample("mse_loss", (MATRIX, ROW), {"reduction": "mean"}, note="broadcast"),
    Sample("mse_loss", (MATRIX, ROW), {"reduction": "none"}, note="broadcast"),
    Sample("mse_loss", (array(), array(seed=3)), {"reduction": "sum"}),
    Sample("mse_loss", (NOTHING, NOTHING), {"reduction": "sum"}),
    Sample("smooth_l1_loss", (MATRIX, TARGET), {"beta": 1.3, "reduction": "mean"}),
    Sample("smooth_l1_loss", (MATRIX, ROW), {"beta": 0.7, "reduction": "none"}),
    Sample("huber_loss", (MATRIX, TARGET), {"delta": 1.3, "reduction": "sum"}),
    Sample("huber_loss", (MATRIX, ROW), {"delta": 0.7, "reduction": "none"}),
    Sample("binary_cross_entropy", (PROBABILITIES, TARGETS, None), {"reduction": "mean"}),
    Sample("binary_cross_entropy", (PROBABILITIES, TARGETS, WEIGHT), {"reduction": "none"}),
    Sample("binary_cross_entropy_with_logits", (MATRIX, TARGETS, None, None), {"reduction": "mean"}),
    Sample("binary_cross_entropy_with_logits", (MATRIX, TARGETS, WEIGHT, None), {"reduction": "none"}),
    Sample("binary_cross_entropy_with_logits", (MATRIX, TARGETS, None, WEIGHT), {"reduction": "sum"}),
    Sample("binary_cross_entropy_with_logits", (MATRIX, TARGETS, WEIGHT, WEIGHT), {"reduction": "none"}),
    Sample("floored", (WEIGHT, 0.1)),
]


def classes(op, x, target, weight, reduction, axis=1, ignore=-100, **more):
    settings = {"axis": axis, **more, "reduction": reduction, "ignore_index": ignore}
    return Sample(op, (x, target, weight), settings)


CLASSIFICATION = [
    classes("nll_loss", MATRIX, CLASSES, None, "mean"),
    classes("nll_loss", MATRIX, CLASSES, WEIGHT, "mean"),
    classes("nll_loss", MATRIX, CLASSES, WEIGHT, "none", ignore=0),
    classes("nll_loss", ROW, np.array(1), None, "sum", axis=0),
    classes("nll_loss2d", array(2, 3, 2), np.array([[2, 0], [1, 1]]), None, "mean"),
    classes("nll_loss2d", array(2, 3, 2), np.array([[2, 0], [1, 1]]), WEIGHT, "none", ignore=1),
    classes("nll_loss_adjoint", array(), CLASSES, WEIGHT, "mean", classes=3),
    classes("nll_loss_adjoint", array(2), CLASSES, None, "none", classes=3, ignore=0),
    classes("nll_loss_adjoint", array(2, 2), np.array([[2, 0], [1, 1]]), WEIGHT, "none", classes=3),
]


def conv(op, x, w, bias=None, stride=1, padding=0, dilation=1, groups=1, note="", **more):
    n = x.ndim - 2
    pairs = padding if isinstance(padding, tuple) else ((padding, padding),) * n
    settings = {**more, "stride": (stride,) * n, "padding": pairs, "dilation": (dilation,) * n, "groups": groups}
    args = (x, w) if op == "conv_weight" else (x, w, bias)
    return Sample(op, args, settings, note=note)


IMAGE = array(2, 2, 4, 5)
KERNEL = array(3, 2, 2, 3)
SIGNAL = array(1, 4, 5)

CONVOLUTIONS = [
    conv("convolution", IMAGE, KERNEL, array(3)),
    conv("convolution", IMAGE, KERNEL, None, stride=2, padding=1),
    conv("convolution", IMAGE, KERNEL, None, padding=((0, 1), (1, 1))),
    conv("convolution", IMAGE, array(3, 2, 2, 2), None, dilation=2, padding=1),
    conv("convolution", SIGNAL, array(6, 2, 2), array(6), groups=2, stride=2),
    conv("convolution", SIGNAL, array(4, 1, 2), None, groups=4),
    conv("convolution", array(1, 2, 4, dtype="complex128"), array(1, 2, 2, dtype="complex128"), None, note="complex"),
    conv("convolution", array(1, 1, 2, 3, 2), array(1, 1, 1, 2, 2), array(1)),
    conv("convolution", array(0, 4, 5), array(6, 2, 2), array(6), groups=2),
    conv("conv_transpose", array(2, 3, 3, 3), KERNEL, array(2), output_size=(4, 5)),
    conv("conv_transpose", array(1, 3, 3, 3), KERNEL, None, output_size=(6, 7), stride=2, padding=((0, 0), (1, 1))),
    conv("conv_transpose", array(1, 4, 3), array(4, 2, 2), None, output_size=(8,), stride=2, dilation=2, groups=2),
    conv("conv_weight", IMAGE, array(2, 3, 3, 3), kernel_size=(2, 3)),
    conv("conv_weight", SIGNAL, array(1, 6, 2), kernel_size=(2,), stride=2, groups=2),
    conv("conv_weight", SIGNAL, array(1, 6, 3), kernel_size=(2,), dilation=2, groups=2),
]

SAMPLES = [*LOSSES, *CLASSIFICATION, *CONVOLUTIONS]
