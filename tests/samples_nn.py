"""Samples of losses, convolutions, pooling, normalization, embedding, attention and resampling."""

import jax
import jax.numpy as jnp
import numpy as np
from samples import Sample, array

from tapegrad.ops.operator import TABLE
from tapegrad.ops.resampling import Sampling

MATRIX = array(2, 3)
TARGET = array(2, 3, seed=5)
ROW = array(3)
NOTHING = array(0, 3)
PROBABILITIES = array(2, 3, low=0.05, high=0.95)
TARGETS = array(2, 3, low=0.1, high=0.9, seed=5)
WEIGHT = array(3, low=0.5, high=2.0)
CLASSES = np.array([2, 0])

WEIGHTS = ("weight", "pos_weight")

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
]


def classes(op, x, target, weight, reduction, axis=1, ignore=-100, **more):
    settings = {"axis": axis, **more, "reduction": reduction, "ignore_index": ignore}
    return Sample(op, (x, target, weight), settings, constants=() if weight is None else ("weight",))


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
    conv("conv_transpose", array(1, 3, 3, 3), KERNEL, None, output_size=(7, 6), stride=2, padding=((0, 0), (1, 1))),
    conv("conv_transpose", array(1, 4, 3), array(4, 2, 2), None, output_size=(8,), stride=2, dilation=2, groups=2),
    conv("conv_weight", IMAGE, array(2, 3, 3, 3), kernel_size=(2, 3)),
    conv("conv_weight", SIGNAL, array(1, 6, 2), kernel_size=(2,), stride=2, groups=2),
    conv("conv_weight", SIGNAL, array(1, 6, 3), kernel_size=(2,), dilation=2, groups=2),
]


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
SPARSE = (windows(2, 2, 2, dilation=2, low=1), windows(3, 2, 1, dilation=2))
ADAPTIVE = (Sampling("adaptive", 3), Sampling("adaptive", 2))
INDICES = np.array([[[0, 5, 5], [2, 1, 0]]])

POOLS = [
    *(Sample("max_pool2d", (PLANE,), {"samplings": samplings}) for samplings in (HALVES, PADDED, SPARSE)),
    Sample("max_pool2d", (PLANE[0],), {"samplings": HALVES}, note="no batch"),
    Sample("max_pool2d", (PLANE[:0],), {"samplings": HALVES}),
    Sample("max_pool1d", (array(2, 5),), {"samplings": (windows(3, 3, 2, low=1),)}),
    Sample("max_pool3d", (array(1, 2, 3, 4),), {"samplings": (windows(1, 2), *HALVES)[:1] + (windows(2, 2),) * 2}),
    Sample("adaptive_max_pool1d", (array(2, 5),), {"samplings": (Sampling("adaptive", 3),)}),
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
    *(Sample("avg_pool2d", (PLANE,), {"samplings": samplings}) for samplings in (HALVES, PADDED, INSIDE)),
    Sample("avg_pool1d", (array(2, 5),), {"samplings": (windows(3, 3, 2, low=1),)}),
    Sample("avg_pool1d", (array(2, 5),), {"samplings": (Sampling("window", 2, kernel=2, stride=2, divisor=3),)}),
    Sample("avg_pool3d", (array(1, 2, 3, 4),), {"samplings": (windows(1, 2), windows(2, 2), windows(2, 2, 2))}),
    Sample("adaptive_avg_pool1d", (array(2, 5),), {"samplings": (Sampling("adaptive", 3),)}),
    Sample("adaptive_avg_pool2d", (PLANE,), {"samplings": ADAPTIVE}),
    Sample("adaptive_avg_pool3d", (array(1, 2, 3, 4),), {"samplings": (Sampling("adaptive", 2),) * 3}),
    Sample("resample", (array(2, 5),), {"samplings": (Sampling("adaptive", 3),)}),
    Sample("resample_adjoint", (array(2, 3),), {"samplings": (Sampling("adaptive", 3),), "lengths": (5,)}),
    Sample("resample_adjoint", (array(2, 3),), {"samplings": (windows(3, 3, 2, low=1),), "lengths": (5,)}),
]


def interpolation(op, kind, *shape, size=5, **more):
    samplings = (Sampling(kind, size, **more),) * (len(shape) - 1)
    return Sample(op, (array(*shape),), {"samplings": samplings})


INTERPOLATIONS = [
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
]

FEATURES = array(2, 4, 3)
CHANNELS = array(4, low=0.5, high=2.0)
LAST = array(3, low=0.5, high=2.0)
VARIANCES = array(4, low=0.5, high=1.5, seed=3)
EPS = {"eps": 1e-5}
OUTER = {"axes": (2,), **EPS}


def statistics_are_constants(x, weight, bias, running_mean, running_var, momentum, *, eps):
    """The kernel of batch normalization, as it is differentiated: the running statistics have no derivative."""
    out, *statistics = TABLE["batch_norm"].function(x, weight, bias, running_mean, running_var, momentum, eps=eps)
    return out, *map(jax.lax.stop_gradient, statistics)


def batch_norm(*args, **more):
    return Sample("batch_norm", args, EPS, smooth=False, oracle=statistics_are_constants, **more)


RUNNING = ("running_mean", "running_var")

NORMALIZATIONS = [
    Sample("layer_norm", (FEATURES, LAST, array(3)), OUTER),
    Sample("layer_norm", (FEATURES, None, None), {"axes": (1, 2), **EPS}),
    Sample("layer_norm", (FEATURES, None, array(3)), OUTER),
    Sample("layer_norm", (array(0, 3), LAST, array(3)), {"axes": (1,), **EPS}),
    Sample("group_norm", (FEATURES, CHANNELS, array(4)), {"groups": 2, **EPS}),
    Sample("group_norm", (FEATURES, None, None), {"groups": 4, **EPS}),
    batch_norm(FEATURES, CHANNELS, array(4), None, None, 0.1),
    batch_norm(FEATURES[:, :, 0], CHANNELS, array(4), array(4), VARIANCES, 0.1),
    batch_norm(FEATURES, None, None, None, None, 0.0),
    Sample("batch_norm_inference", (FEATURES, CHANNELS, array(4), array(4), VARIANCES), EPS, constants=RUNNING),
    Sample("batch_norm_inference", (FEATURES, None, None, array(4), VARIANCES), EPS, constants=RUNNING),
    Sample("rms_norm", (FEATURES, LAST), OUTER),
    Sample("rms_norm", (FEATURES, None), {"axes": (1, 2), **EPS}),
    Sample("weight_norm", (FEATURES, array(FEATURES.shape[0], 1, 1)), {"axes": (1, 2)}),
    Sample("weight_norm", (FEATURES, array(1, 1, FEATURES.shape[2])), {"axes": (0, 1)}),
]

PATCHES = (windows(2, 3, 2, low=1), windows(4, 2, 1))
KEY = np.array([7, 11], "uint32")
LOOKUPS = np.array([[1, 3], [3, 0]])
TABLE_OF_ROWS = array(4, 3)


def without_padding(weight, indices, *, padding_idx, by_frequency):
    """An embedding, as it is differentiated: the row of padding has no derivative."""
    rows = weight[indices]
    return jnp.where((indices == padding_idx)[..., None], jax.lax.stop_gradient(rows), rows)


def lookup(op, x, padding_idx=-1, by_frequency=False, oracle=None, smooth=True, **more):
    settings = {**more, "padding_idx": padding_idx, "by_frequency": by_frequency}
    return Sample(op, (x, LOOKUPS), settings, oracle=oracle, smooth=smooth)


LOOKUP = [
    lookup("embedding", TABLE_OF_ROWS),
    lookup("embedding", TABLE_OF_ROWS, padding_idx=3, oracle=without_padding, smooth=False),
    lookup("embedding_adjoint", array(2, 2, 3), count=4, padding_idx=3),
    lookup("embedding_adjoint", array(2, 2, 3), count=4, by_frequency=True),
    lookup("weighted_rows", TABLE_OF_ROWS, padding_idx=1, by_frequency=True),
    Sample("embedding_renorm", (TABLE_OF_ROWS, LOOKUPS), {"max_norm": 1.0, "norm_type": 2.0}, constants=("weight",)),
    Sample("im2col", (array(1, 2, 4, 5),), {"samplings": PATCHES}),
    Sample("im2col", (array(2, 4, 5),), {"samplings": PATCHES}, note="no batch"),
    Sample("col2im", (array(1, 12, 8),), {"samplings": PATCHES, "lengths": (4, 5)}),
    Sample("dropout", (MATRIX, KEY), {"p": 0.4, "shape": (2, 3)}),
    Sample("dropout", (FEATURES, KEY), {"p": 0.4, "shape": (2, 4, 1)}),
    Sample("dropout", (MATRIX, KEY), {"p": 1, "shape": (2, 3)}),
    Sample("alpha_dropout", (MATRIX, KEY), {"p": 0.4, "shape": (2, 3)}),
]

QUERIES = array(1, 2, 3, 2)
KEYS = array(1, 2, 4, 2, seed=1)
VALUES = array(1, 2, 4, 3, seed=2)
MASK = np.array([[True, True, False, True], [False] * 4, [True, False, False, True]])


def attention(op, q, k, v, mask=None, key=None, p=0.0, causal=False):
    return Sample(op, (q, k, v, mask, key), {"scale": 0.7, "causal": causal, "p": p})


ATTENTION = [
    Sample("attention_scores", (QUERIES, KEYS), {"scale": 0.7}),
    Sample("attention_scores", (array(2, 1, 3, 2), KEYS), {"scale": 1.0}),
    Sample("safe_softmax", (MATRIX,), {"axis": 1}),
    Sample("causal_mask", (MATRIX,)),
    attention("attention", QUERIES, KEYS, VALUES),
    attention("attention", QUERIES, KEYS, VALUES, MASK),
    attention("attention", QUERIES, KEYS, VALUES, causal=True),
    attention("attention_by_parts", QUERIES, KEYS, VALUES, array(3, 4)),
    attention("attention_by_parts", QUERIES[0], KEYS[0], VALUES[0], None, KEY, p=0.3),
    attention("attention_by_parts", array(2, 1, 3, 2), KEYS, VALUES, array(1, 2, 1, 4)),
]

SAMPLES = [
    *LOSSES, *CLASSIFICATION, *CONVOLUTIONS, *POOLS, *INTERPOLATIONS, *NORMALIZATIONS, *LOOKUP, *ATTENTION,
]  # fmt: skip
