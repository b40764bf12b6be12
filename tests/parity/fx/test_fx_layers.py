"""Layers, looked into: what graphs their ``forward`` is traced to; and the names that graphs have for functions."""

import types

import pytest
import torch as pytorch
from fx_programs import programs, same_account
from torch.fx.node import _get_qualified_name
from torch.overrides import get_overridable_functions

import tapegrad
from tapegrad.fx._naming import _get_qualified_name as name_of

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

LAYERS = """
Linear(2, 3); Conv2d(3, 4, 3); Conv1d(3, 4, 3, padding="same"); Conv2d(3, 4, 3, padding_mode="circular", padding=1)
ConvTranspose2d(3, 4, 3); BatchNorm2d(3); BatchNorm2d(3).eval(); LayerNorm(4); GroupNorm(2, 4); InstanceNorm2d(3)

RMSNorm(4); ReLU(); GELU(); SiLU(); Softmax(1); LogSoftmax(1); Tanh(); Sigmoid(); LeakyReLU(); ELU(); PReLU(); Mish()
Hardswish(); Softplus(); GLU(); Dropout(0.1); Dropout2d(); AlphaDropout(); MaxPool2d(2); AvgPool2d(2); Hardtanh()

AdaptiveAvgPool2d(1); AdaptiveMaxPool2d(1); LPPool2d(2, 2); Flatten(); Unflatten(1, (2, 2)); Embedding(3, 4); ReLU6()
Upsample(scale_factor=2); PixelShuffle(2); ZeroPad2d(1); ReflectionPad2d(1); Identity(); Bilinear(2, 3, 4); SELU()

MSELoss(); CrossEntropyLoss(); BCEWithLogitsLoss(); NLLLoss(); KLDivLoss(); SmoothL1Loss(); TripletMarginLoss(); CELU()
CosineSimilarity(); PairwiseDistance(); LocalResponseNorm(2); MaxPool1d(2); Fold((4, 4), 2); ChannelShuffle(2); RReLU()

Softmin(1); Threshold(0.1, 20); Softsign(); Tanhshrink(); Hardshrink(); Softshrink(); LogSigmoid(); EmbeddingBag(3, 4)
RNN(2, 2); LSTMCell(2, 2); GRUCell(2, 2); Sequential(Linear(2, 2), ReLU()); MarginRankingLoss()
BatchNorm1d(3, momentum=None)
"""

LOOKING = """
class Looking(fx.Tracer):
    def is_leaf_module(self, m, path):
        return False
def shown(layer):
    try:
        return Looking().trace(layer).python_code("self").src
    except fx.proxy.TraceError as error:
        return repr(error)
[shown(eval("nn." + layer.replace("(Linear", "(nn.Linear").replace(", ReLU", ", nn.ReLU"))) for layer in LAYERS]
"""


@pytest.mark.parametrize("layers", programs(LAYERS))
def test_layers_are_traced_to_the_same_code(layers):
    names = [name.strip() for line in layers.split("\n") for name in line.split("; ")]
    same_account(LOOKING.replace("LAYERS", repr(names)))


NAMED_OTHERWISE = {"lobpcg", "__itruediv__", "__ipow__", "__pow__"}
"""Aliases of methods, and what PyTorch has in a module of its own."""


def functions():
    """The functions that tracers can see, with the paths where both libraries have them."""
    for home, found in get_overridable_functions().items():
        known = {id(function) for function in found}
        owner = "torch.Tensor" if home is pytorch.Tensor else getattr(home, "__name__", "")
        for name, function in list(getattr(home, "__dict__", {}).items()):
            if id(function) in known and getattr(function, "__name__", "__get__") not in ("__get__", "__set__"):
                yield f"{owner}.{name}", function


def found_at(path):
    """What this package has at a path; None if it has nothing there."""
    found = tapegrad
    for step in path.split(".")[1:]:
        found = getattr(found, step, None)
    return found


@pytest.mark.filterwarnings("ignore")
def test_functions_have_the_same_names_and_are_found_by_them():
    compared = 0
    for path, theirs in functions():
        ours = found_at(path)
        if not isinstance(ours, types.FunctionType) or path.rpartition(".")[2] in NAMED_OTHERWISE:
            continue
        name = _get_qualified_name(theirs)
        assert name_of(ours) == name, path
        assert found_at(name) is ours, name
        compared += 1
    assert compared > 700
