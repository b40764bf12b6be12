"""A parameter's path in errors and pictures: Note [Paths of parameters]."""

import copy
import gc
import pickle

import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad.tensor.paths import owners, path_of


def network():
    return nn.Sequential(nn.Linear(2, 3), nn.ModuleDict({"last": nn.Linear(3, 1)}))


def test_paths():
    net = network()
    assert [path_of(parameter) for parameter in net.parameters()] == [
        (path, "Sequential") for path, _ in net.named_parameters()
    ]
    assert path_of(torch.ones(2)) is None and path_of(nn.Parameter(torch.ones(2))) is None
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert path_of(other[1]["last"].bias) == ("1.last.bias", "Sequential")


def test_modules_are_not_kept():
    gc.collect()
    before = len(owners)
    net = network()
    assert len(owners) == before + 4
    del net
    gc.collect()
    assert len(owners) == before


def test_a_module_that_has_itself():
    net = nn.Linear(1, 1)
    net._modules["own"] = net
    assert path_of(net.bias) == ("own.bias", "Linear")


def test_errors_name_the_parameter():
    net = network()
    with pytest.raises(RuntimeError, match=r"operation.\nWhere:\n  it is the parameter 1.last.bias of Sequential"):
        net[1]["last"].bias.add_(1)
    with pytest.raises(RuntimeError, match="it is the parameter 0.weight of Sequential"):
        torch.autograd.grad(net[1]["last"](torch.ones(3)).sum(), net[0].weight)
    net.requires_grad_(False)
    with pytest.raises(RuntimeError, match="it is the parameter 0.bias of Sequential"):
        torch.autograd.grad(torch.ones(1, requires_grad=True).sum(), net[0].bias)


def test_pictures_name_parameters():
    net = network()
    loss = net[1]["last"](net[0](torch.ones(2))).sum()
    svg = loss.graph().svg()
    assert all(f">{name}<" in svg for name, _ in net.named_parameters())
    assert ">mine<" in loss.graph({"mine": net[0].bias}).svg()
