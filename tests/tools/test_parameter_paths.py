"""A parameter's path in errors and pictures: Note [Paths of parameters]."""

import copy
import gc
import pickle

import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad._src.tensor.paths import owners, path_of


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


def test_errors_name_the_module_in_a_note():
    """Their messages stay what they are; of modules around others the innermost is named."""
    net = network()
    with pytest.raises(RuntimeError) as caught:
        net[0](torch.ones(5))
    assert caught.value.__notes__ == ["raised in the module Sequential.0 (Linear)"]
    assert "module" not in str(caught.value)
    with pytest.raises(NotImplementedError) as caught:
        nn.Sequential(nn.ModuleList())(1)
    assert caught.value.__notes__ == ["raised in the module Sequential.0 (ModuleList)"]


def test_other_exceptions_may_leave_a_module():
    class OutputWriter(nn.Module):
        def forward(self):
            raise StopIteration

    with pytest.raises(StopIteration) as caught:
        OutputWriter()()
    assert not hasattr(caught.value, "__notes__")


def test_profiles_name_modules():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Tanh()))
    with torch.profiler.profile(with_modules=True) as prof:
        with pytest.raises(RuntimeError):
            net(torch.ones(5))
        net(torch.ones(2)).sum().backward()
    net(torch.ones(2))
    inside = [
        (event.name, event.cpu_parent and event.cpu_parent.name)
        for event in prof.events()
        if event.name.startswith("nn.Module") or event.name == "aten::tanh"
    ]
    outer, first, second, last = (
        f"nn.Module: Sequential{rest}" for rest in ("", ".0 (Linear)", ".1 (Sequential)", ".1.0 (Tanh)")
    )
    assert inside == [(outer, None), (first, outer), (outer, None), (first, outer), (second, outer), (last, second),
                      ("aten::tanh", last)]  # fmt: skip
    assert f"{first}  " in prof.key_averages().table()
