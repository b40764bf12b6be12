"""Samples of recurrent layers and cells: one and several steps, both directions, padded, projected, without biases."""

import numpy as np

from samples import Sample, array

X, H, C = array(3, 2, 2, seed=1), array(2, 3, seed=2), array(2, 3, seed=3)
ACTIVE = np.array([[True, True], [True, True], [True, False]])[:, :, None]


def weights(gates, width=3, shown=3):
    """The weights and biases of a layer of ``width`` with results as wide as ``shown``."""
    shapes = [(gates * width, 2), (gates * width, shown), (gates * width,), (gates * width,)]
    return [array(*shape, seed=seed, low=-0.9, high=0.9) for seed, shape in enumerate(shapes)]


def layer(op, gates, *, cell=False, active=None, biases=True, reverse=False, x=X):
    states = (H, C) if op.startswith("lstm") else (H,)
    given = weights(gates) if biases else [*weights(gates)[:2], None, None]
    if cell:
        return Sample(op, (x[0], *states, *given), smooth="relu" not in op)
    projection = [None] if op.startswith("lstm") else []
    return Sample(op, (x, *states, *given, *projection, active), {"reverse": reverse}, smooth="relu" not in op)


def projected(active=None, reverse=False):
    shown = array(2, 2, seed=2), C, *weights(4, shown=2), array(2, 3, seed=5)
    return Sample("lstm_layer", (X, *shown, active), {"reverse": reverse}, note=" projected")


SAMPLES = [
    sample
    for kind, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    for sample in (
        layer(f"{kind}_layer", gates),
        layer(f"{kind}_layer", gates, active=ACTIVE, reverse=True),
        layer(f"{kind}_layer", gates, biases=False, x=X[:1]),
        layer(f"{kind}_cell", gates, cell=True),
        layer(f"{kind}_cell", gates, cell=True, biases=False),
    )
] + [
    projected(),
    projected(ACTIVE, reverse=True),
]
