"""Classes say the module that PyTorch has them in: ``print(type(x))``, pickles and messages show no room of ours."""

import pickle
from operator import attrgetter

import pytest

import tapegrad

torch = pytest.importorskip("torch")

NAMES = """
    Event Generator Size Stream SymBool SymFloat SymInt Tensor TypedStorage UntypedStorage device dtype finfo iinfo layout
    memory_format overrides.TorchFunctionMode return_types.max return_types.linalg_svd utils.hooks.RemovableHandle
    utils._pytree.TreeSpec nn.Parameter nn.Module optim.SGD autograd.Function distributions.Normal
""".split()


@pytest.mark.parity
@pytest.mark.parametrize("name", NAMES)
def test_a_class_says_pytorchs_module(name):
    ours, theirs = attrgetter(name)(tapegrad), attrgetter(name)(torch)
    shown = f"{theirs.__module__}.{theirs.__qualname__}".replace("torch", "tapegrad", 1)
    assert f"{ours.__module__}.{ours.__qualname__}" == shown
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parity
@pytest.mark.parametrize("make", [lambda t: t.ones(2), lambda t: t.float32, lambda t: t.Size([2]), lambda t: t.ones(2).max(0)])
def test_types_are_printed_alike(make):
    assert str(type(make(tapegrad))) == str(type(make(torch))).replace("torch", "tapegrad", 1)
