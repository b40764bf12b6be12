"""Modules that ``torch.jit.script`` gives: they are ``ScriptModule``s, whose errors are those of ``torch.jit``."""

import copy
import pickle

import pytest
from harness import agree

import tapegrad

pytestmark = [
    pytest.mark.parity,
    pytest.mark.once("modules, and a few numbers"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


def model_of(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    model[0].weight.data = torch.arange(6.0).reshape(3, 2)
    model[0].bias.data = -torch.ones(3)
    return model


def test_a_scripted_module_has_what_the_module_has():
    def program(torch):
        model = model_of(torch)
        scripted = torch.jit.script(model)
        scripted(torch.ones(2)).sum().backward()
        told = [isinstance(part, torch.jit.ScriptModule) for part in (scripted, getattr(scripted, "0"), model)]
        told += [repr(scripted), list(scripted.state_dict()), scripted.original_name, model[0].weight.grad]
        scripted.eval()
        told += [scripted.training, getattr(scripted, "0").training, torch.jit.script(scripted) is scripted]
        return [*told, isinstance(torch.jit.trace(model, torch.ones(2)), torch.jit.ScriptModule)]

    agree(program)


def test_errors_are_those_of_torch_jit():
    def program(torch):
        scripted = torch.jit.script(model_of(torch))
        try:
            scripted(torch.ones(5))
        except RuntimeError as error:
            lines = str(error).splitlines()
            return lines[:2], any("mat1 and mat2 shapes cannot be multiplied" in line for line in lines)

    agree(program)


def test_copies_are_scripted_and_apart():
    scripted = tapegrad.jit.script(model_of(tapegrad))
    for twin in (copy.deepcopy(scripted), pickle.loads(pickle.dumps(scripted))):
        assert isinstance(twin, tapegrad.jit.ScriptModule)
        assert twin[0].weight is not scripted[0].weight
        assert tapegrad.equal(twin(tapegrad.ones(2)), scripted(tapegrad.ones(2)))


def test_what_there_is_no_code_of_says_so():
    scripted = tapegrad.jit.script(tapegrad.nn.ReLU())
    with pytest.raises(NotImplementedError, match="there is no TorchScript here"):
        scripted.code
    with pytest.raises(NotImplementedError, match="there are no TorchScript files here"):
        scripted.save("f.pt")


def test_a_scripted_graph_keeps_its_code():
    graph = tapegrad.fx.symbolic_trace(model_of(tapegrad))
    scripted = tapegrad.jit.script(graph)
    assert scripted.code == graph.code
    assert tapegrad.equal(copy.deepcopy(scripted)(tapegrad.ones(2)), graph(tapegrad.ones(2)))
