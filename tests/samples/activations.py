"""Samples of the operators in ``ops/activations.py``."""

from __future__ import annotations

import numpy as np
from kinks import Kink, f

from samples import Sample, array

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
WIDE = array(2, 3, low=-9, high=9)
Z = array(2, 3, dtype="complex128")
PLAIN = ("relu", "silu", "mish", "logsigmoid", "hardsigmoid", "hardswish")

SAMPLES = [
    *(Sample(op, (x,)) for op in PLAIN for x in (A, WIDE, POINT, EMPTY)),
    Sample("relu", (np.array([[1, -2, 3]]),)),
    Sample("silu", (Z,)),
    *(Sample("hardtanh", (A,), {"min_val": low, "max_val": high}) for low, high in ((-1.0, 1.0), (0.0, 6.0))),
    *(Sample(op, (x,), {"negative_slope": 0.1}) for op in ("leaky_relu", "leaky_relu_in_place") for x in (A, POINT)),
    *(Sample("prelu", args) for args in ((A, V), (A, POINT), (A, np.asarray([[0.25]])))),
    *(
        Sample(name, (x,), {"alpha": alpha, "scale": scale, "input_scale": inner})
        for name in ("elu", "elu_in_place")
        for x in (A, WIDE)
        for alpha, scale, inner in ((1.0, 1.0, 1.0), (1.5, 1.1, 0.5))
    ),
    *(Sample("celu", (x,), {"alpha": alpha}) for x in (A, WIDE) for alpha in (1.0, 2.0)),
    *(Sample("gelu", (x,), {"approximate": how}) for x in (A, WIDE, EMPTY) for how in ("none", "tanh")),
    *(
        Sample("softplus", (x,), {"beta": beta, "threshold": threshold})
        for x in (A, WIDE)
        for beta, threshold in ((1.0, 20.0), (2.0, 5.0))
    ),
    *(Sample(op, (A,), {"lambd": 0.5}) for op in ("hardshrink", "softshrink")),
    Sample("threshold", (A,), {"threshold": 0.3, "value": 2.0}),
    *(Sample("threshold_backward", (x, y), {"threshold": 0.0}) for x, y in ((A, -A), (A, V), (POINT, POINT))),
    Sample("hardsigmoid_backward", (V, A)),
    Sample("hardtanh_backward", (V, A), {"min_val": -1.0, "max_val": 1.0}),
    Sample("leaky_relu_backward", (V, A), {"negative_slope": 0.1}),
    *(Sample(f"prelu_{of}backward", (A, -A, weight)) for of in ("", "weight_") for weight in (V, POINT)),
    *(Sample(f"{op}_backward", (V, A), {"lambd": 0.5}) for op in ("hardshrink", "softshrink")),
    *(Sample("glu", (array(2, 4),), {"axis": axis}) for axis in (0, 1)),
]  # fmt: skip

KINKS = {
    "hardtanh": Kink(lambda t, x: t.nn.functional.hardtanh(x), (f(-1, 0, 1),), [0, 1, 0], [0.5, 1, 0.5]),
}  # fmt: skip
