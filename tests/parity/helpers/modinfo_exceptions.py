"""What of PyTorch's database of modules is not compared, and what is not compared closely; each with its reason."""

LEFT_OUT: dict[str, str] = {}
"""Entries that are not run, and why."""

DRAWN = "random numbers: the streams differ"

RANDOM: dict[str, str] = dict.fromkeys(
    (
        "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "FractionalMaxPool2d",
        "FractionalMaxPool3d", "RReLU",
    ),
    DRAWN,
)  # fmt: skip
"""Classes whose outputs aren't compared in training; shapes, dtypes and node names are."""

ONE_LOOP = "PyTorch records each step; here layers and cells are one operator"

NAMED_OTHERWISE: dict[str, str] = {
    **dict.fromkeys(("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"), ONE_LOOP),
    "LinearCrossEntropyLoss": "an option that saves memory names the node; here it changes nothing",
    "CrossMapLRN2d": "PyTorch's is a custom function",
}
"""Classes whose nodes may have other names, and why."""

FUSED = "PyTorch's fused attention has none"

ONCE: dict[str, str] = {
    **dict.fromkeys(
        ("Transformer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"), FUSED
    ),
    "Hardsigmoid": "PyTorch has no second derivative",
    "LinearCrossEntropyLoss": "PyTorch's has none with the option that saves memory",
}
"""Classes whose second derivatives aren't compared, and why."""

MEMORY_OTHERWISE: dict[str, str] = {
    "LocalResponseNorm": "PyTorch's wants memory of which it can make a view",
    "NLLLoss": "PyTorch's wants contiguous memory",
}
"""Classes that aren't called with inputs whose memory is in another order, and why."""

ROUGH: dict[str, float] = {"Hardsigmoid": 1e-7}
"""Classes of which PyTorch's numbers are rough, and how rough."""
