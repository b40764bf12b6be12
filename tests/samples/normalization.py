"""Samples of the operators in ``ops/normalization.py``."""

from __future__ import annotations

import jax

from samples import Sample, array
from tapegrad.ops.operator import TABLE

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


def only_the_result(name):
    """A kernel with several outputs, as it is differentiated: only the first one has a derivative."""

    def oracle(*args, **settings):
        out, *others = TABLE[name].function(*args, **settings)
        return out, *map(jax.lax.stop_gradient, others)

    return oracle


SAMPLES = [
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
