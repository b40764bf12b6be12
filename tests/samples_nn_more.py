"""Samples of grids of points, bags of embeddings, unpooling, segments, classification over time, margins."""

import jax
import jax.numpy as jnp
import numpy as np
from samples import Sample, array
from samples_nn import CHANNELS, EPS, FEATURES, VARIANCES, conv

from tapegrad.ops.operator import TABLE


def points(*shape, seed=1):
    return array(*shape, low=-1.35, high=1.3, seed=seed)


def grid(op, x, at, mode="bilinear", padding="zeros", align=False, orders=(0, 0), **more):
    settings = {**more, "orders": orders, "mode": mode, "padding": padding, "align": align}
    return Sample(op, (x, at), settings, smooth=padding != "border")


PLANES, SPOTS = array(2, 1, 3, 4), points(2, 2, 2, 2)

GRIDS = [
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
]

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


LOOKUPS = [
    bag("sum"),
    bag("sum", array(5)),
    bag("mean"),
    bag("max"),
    bag_adjoint("max"),
    bag_adjoint("mean"),
    Sample("bag_products", (array(3, 3), ROWS, NUMBERS, BAGS), {"padding_idx": 3}, derivable=False, twice=False),
]


def product(x, bounds, *, axis, how, initial):
    """The products of segments, of which JAX knows the derivative too; the scatter of the kernel has none there."""
    place = jnp.arange(x.shape[axis])
    inside = (place >= bounds[:, :-1, None]) & (place < bounds[:, 1:, None])
    return jnp.prod(jnp.where(inside, x[:, None], 1), -1)


def segments(how, *shape, initial=None, bounds=((0, 2, 2, 5),), axis=0, **more):
    settings = {"axis": axis, "how": how, "initial": initial}
    args = (array(*shape), np.array(bounds[0] if axis == 0 else bounds))
    return Sample("segment_reduce", args, settings, forward=False, twice=False, **more)


SEGMENTS = [
    segments("sum", 5, 2),
    segments("mean", 5, initial=0.5),
    segments("max", 2, 5, initial=-3.0, bounds=((0, 2, 4), (1, 2, 5)), axis=1),
    segments("min", 5, initial=3.0),
    segments("prod", 2, 5, bounds=((0, 2, 5), (0, 1, 5)), axis=1, oracle=product),
    Sample(
        "segment_gradient",
        (array(2), array(5), np.array([0, 2, 5]), array(2, seed=1)),
        {"axis": 0, "how": "sum", "initial": None},
        derivable=False,
        twice=False,
    ),
]

STEPS, LENGTHS = np.array([4, 3]), np.array([2, 1])
LABELS = np.array([[1, 2], [2, 0]])
LOG_PROBABILITIES = np.asarray(jax.nn.log_softmax(array(4, 2, 3), 2), "float64")
CTC = {"longest": 2, "blank": 0, "zero_infinity": False}


def with_probabilities(log_probs, targets, steps, lengths, **settings):
    """The kernel, as it is differentiated: the sum of the probabilities, which does not change, has a derivative."""
    loss, alpha = TABLE["ctc_loss"].function(log_probs, targets, steps, lengths, **settings)
    counts = jnp.arange(log_probs.shape[0])[:, None, None] < jnp.asarray(steps)[:, None]
    total = jnp.sum(jnp.where(counts, jnp.exp(log_probs), 0), (0, 2))
    return loss + total - jax.lax.stop_gradient(total), jax.lax.stop_gradient(alpha)


def given_losses():
    """What the gradient of the loss reads."""
    loss, alpha = TABLE["ctc_loss"].function(LOG_PROBABILITIES, LABELS, STEPS, LENGTHS, **CTC)
    return np.asarray(loss, "float64"), np.asarray(alpha, "float64")


TIME = [
    Sample(
        "ctc_loss", (LOG_PROBABILITIES, LABELS, STEPS, LENGTHS), CTC, smooth=False, forward=False, twice=False,
        oracle=with_probabilities,
    ),
    Sample(
        "ctc_gradient", (array(2), LOG_PROBABILITIES, LABELS, STEPS, LENGTHS, array(2, seed=1), array(2, 4, 5)), CTC,
        derivable=False, twice=False,
    ),
]  # fmt: skip

SCORES, TARGETS = array(3, 4), np.array([1, 3, 0])
SEVERAL = np.array([[1, 3, -1, 0], [0, -1, 2, 2], [2, 1, 3, -1]])
MARGINS = [
    Sample("multi_margin_loss", (SCORES, TARGETS, None), {"p": 1, "margin": 1.0, "reduction": "mean"}, forward=False,
           twice=False),
    Sample("multi_margin_loss", (SCORES, TARGETS, array(4, low=0.5)), {"p": 2, "margin": 0.7, "reduction": "none"},
           forward=False, twice=False, constants=("weight",)),
    Sample("multi_margin_gradient", (array(3), SCORES, TARGETS, None), {"p": 2, "margin": 1.0, "reduction": "none"},
           derivable=False, twice=False),
    Sample("multilabel_margin_loss", (SCORES, SEVERAL), {"reduction": "sum"}, forward=False, twice=False),
    Sample("multilabel_margin_gradient", (array(), SCORES, SEVERAL), {"reduction": "mean"}, derivable=False,
           twice=False),
]  # fmt: skip

PLACES = np.array([[[0, 5], [2, 1]]])
START = array(1, 2, 3, low=0.05, high=0.95)
POOLS = [
    Sample("max_unpool1d", (array(1, 2, 2), PLACES), {"lengths": (6,)}),
    Sample("max_unpool2d", (array(1, 2, 2), np.array([[[0, 5], [2, 1]]])), {"lengths": (2, 3)}, note="one channel"),
    Sample("max_unpool3d", (array(1, 1, 1, 2), np.array([[[[7, 2]]]])), {"lengths": (2, 2, 2)}),
    Sample("fractional_max_pool2d", (array(1, 2, 4, 5), START[:, :, :2]), {"kernel": (2, 2), "sizes": (2, 3)},
           constants=("samples",)),
    Sample("fractional_max_pool3d", (array(2, 3, 4, 3), START), {"kernel": (2, 1, 2), "sizes": (2, 2, 1)},
           constants=("samples",)),
    Sample("max_pool2d_gradient", (array(1, 1, 2), array(1, 2, 3), np.array([[[0, 5]]]))),
]  # fmt: skip

KEPT = array(2, 3) > 0
GRADIENTS = [
    Sample("softmax_gradient", (array(2, 3), array(2, 3, seed=1)), {"axis": 1}),
    Sample("softmax_gradient", (array(), array(seed=1)), {"axis": 0}),
    Sample("dropout_gradient", (array(2, 3), KEPT), {"scale": 2.0}),
    Sample("masked_dropout", (array(2, 3), KEPT), {"scale": 2.0}),
    Sample("nll_loss_of_any", (array(2, 3, 2), np.array([[2, 0], [1, 1]]), None),
           {"axis": 1, "reduction": "none", "ignore_index": 1}),
    Sample("over_count", (array(2, 3),), {"count": 6}),
    *(Sample("distance_norm", (array(2, 3),), {"ord": p, "axis": (1,)}) for p in (2, 3)),
]

RUNNING = ("running_mean", "running_var")


def only_the_result(name):
    """A kernel with several outputs, as it is differentiated: only the first one has a derivative."""

    def oracle(*args, **settings):
        out, *others = TABLE[name].function(*args, **settings)
        return out, *map(jax.lax.stop_gradient, others)

    return oracle


NORMALIZATIONS = [
    *(
        Sample(name, (FEATURES, CHANNELS, array(4), array(4), VARIANCES, 0.1), EPS, smooth=False,
               oracle=only_the_result(name))
        for name in ("batch_norm_legit", "batch_norm_with_update")
    ),
    Sample("batch_norm_alone", (FEATURES, None, None, None, None, 0.1), EPS, smooth=False,
           oracle=only_the_result("batch_norm_alone")),
    *(
        Sample(name, (FEATURES, CHANNELS, array(4), array(4), VARIANCES), EPS, constants=RUNNING)
        for name in ("batch_norm_legit_inference", "batch_norm_no_training")
    ),
    Sample("native_group_norm", (FEATURES, CHANNELS, array(4)), {"groups": 2, **EPS}),
    Sample("moments", (FEATURES,), {"kind": "layer", "argument": (2,), **EPS}, constants=("x",)),
]  # fmt: skip

COMPLEX_CONVOLUTIONS = [
    conv("complex_convolution", array(1, 2, 4, dtype="complex128"), array(1, 2, 2, dtype="complex128"), array(1) + 0j),
    conv("complex_conv_transpose", array(1, 2, 3, dtype="complex128"), array(2, 1, 2, dtype="complex128"), None,
         output_size=(6,), stride=2),
    conv("conv_transpose", array(1, 1, 2), array(1, 1, 2), None, output_size=(6,), stride=1, dilation=2, note="longer"),
    conv("conv_weight", array(1, 1, 6), array(1, 1, 2), kernel_size=(2,), dilation=2, note="longer"),
]  # fmt: skip

SAMPLES = COMPLEX_CONVOLUTIONS + GRIDS + LOOKUPS + SEGMENTS + TIME + MARGINS + POOLS + GRADIENTS + NORMALIZATIONS
