"""Classes say the module that PyTorch has them in: ``print(type(x))``, pickles and messages show no room of ours."""

import pickle
from operator import attrgetter

import pytest

import tapegrad

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.once("classes are looked at")]

NAMES = [
    "Event", "Generator", "Size", "Stream", "SymBool", "SymFloat", "SymInt", "Tensor", "TypedStorage", "UntypedStorage",
    "device", "dtype", "finfo", "iinfo", "layout", "memory_format", "nn.Parameter", "nn.Module", "optim.SGD",
    "autograd.Function", "overrides.TorchFunctionMode", "return_types.max", "return_types.linalg_svd",
    "utils.hooks.RemovableHandle", "utils._pytree.TreeSpec", "distributions.Normal",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_class_says_pytorchs_module(name):
    ours, theirs = attrgetter(name)(tapegrad), attrgetter(name)(torch)
    shown = f"{theirs.__module__}.{theirs.__qualname__}".replace("torch", "tapegrad", 1)
    assert f"{ours.__module__}.{ours.__qualname__}" == shown
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parametrize("text", ["torch.ones(2)", "torch.float32", "torch.Size([2])", "torch.ones(2).max(0)"])
def test_types_are_printed_alike(text):
    def make(module):
        return eval(text, {"torch": module})

    assert str(type(make(tapegrad))) == str(type(make(torch))).replace("torch", "tapegrad", 1)
