"""Modules in compiled steps: parameters, buffers, training flags and hooks are state that a step finds."""

import copy
import pickle

import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad.nn.modules.module import register_module_forward_hook

pytestmark = pytest.mark.once("chooses when operators are computed")


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))


def trainer(model, rate=0.1):
    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(parameter.grad, alpha=rate)
        model.zero_grad()
        return loss.detach()

    return step


X, Y = torch.arange(12.0).reshape(4, 3).sin(), torch.ones(4, 1)


def states(model):
    return {name: tensor.tolist() for name, tensor in model.state_dict().items()}


def assert_alike(ours, others):
    for name, tensor in ours.state_dict().items():
        torch.testing.assert_close(tensor, others.state_dict()[name], rtol=1e-4, atol=1e-5)


def test_a_training_step_is_replayed_and_does_what_it_would_without():
    compiled, eager = net(), net()
    step, plain = torch.compile(trainer(compiled)), trainer(eager)
    for _ in range(6):
        torch.testing.assert_close(step(X, Y), plain(X, Y), rtol=1e-5, atol=1e-6)
    assert step.replayed >= 3 and compiled[1].num_batches_tracked == 6
    assert_alike(compiled, eager)


def clipped_trainer(model):
    def step(x):
        loss = (model(x) ** 2).sum()
        loss.backward()
        total = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(parameter.grad, alpha=0.1)
        model.zero_grad()
        return loss.detach(), total

    return step


CHANGED_WEIGHTS = {
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)),
    "spectral norm": lambda: nn.utils.spectral_norm(nn.Linear(3, 2)),
    "pruned": lambda: nn.utils.prune.l1_unstructured(nn.Linear(3, 2), "weight", 2),
}


@pytest.mark.parametrize("kind", CHANGED_WEIGHTS)
def test_weights_that_are_worked_out_before_each_call(kind):
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(CHANGED_WEIGHTS[kind]())
    step, plain = torch.compile(clipped_trainer(models[0])), clipped_trainer(models[1])
    for _ in range(5):
        torch.testing.assert_close(step(X), plain(X), rtol=1e-4, atol=1e-5)
    assert step.replayed
    assert_alike(*models)


def change_mode(model):
    model.eval()


def change_one_mode(model):
    model[1].train(False)


def load(model):
    model.load_state_dict({name: tensor * 0.5 for name, tensor in model.state_dict().items()})


def replace(model):
    model[2] = nn.ReLU()


def replace_parameter(model):
    model[0].weight = nn.Parameter(torch.ones(4, 3) * 0.1)


def set_setting(model):
    model[1].momentum = 0.5


def append(model):
    model.append(nn.Sigmoid())


def hook(model):
    model[0].register_forward_hook(lambda module, args, output: output * 2)


def backward_hook(model):
    model[3].register_full_backward_hook(lambda module, given, out: (given[0] * 2,))


def take_statistics(model):
    model[1].running_mean = None
    model[1].running_var = None
    model[1].track_running_stats = False


CHANGES = [change_mode, change_one_mode, load, replace, replace_parameter, set_setting, append, hook, backward_hook,
           take_statistics]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_between_calls_is_noticed(change):
    compiled, eager = net(), net()
    step, plain = torch.compile(trainer(compiled)), trainer(eager)
    for _ in range(3):
        step(X, Y), plain(X, Y)
    assert step.replayed
    change(compiled), change(eager)
    for _ in range(3):
        torch.testing.assert_close(step(X, Y), plain(X, Y), rtol=1e-5, atol=1e-6)
    assert_alike(compiled, eager)


def test_hooks_of_all_modules_are_noticed():
    model, seen = net().eval(), []
    step = torch.compile(model)
    with torch.no_grad():
        for _ in range(4):
            step(X)
        assert step.replayed
        with register_module_forward_hook(lambda module, args, output: seen.append(type(module).__name__)):
            step(X)
        step(X)
    assert seen.count("Linear") == 2


def test_what_lists_of_parameters_hold_is_noticed():
    class Held(nn.Module):
        def __init__(self):
            super().__init__()
            self.held = nn.ParameterList([torch.ones(2), 3.0])
            self.named = nn.ParameterDict({"rate": 2.0})

        def forward(self, x):
            return (x * self.held[0] * self.held[1] * self.named["rate"]).detach()

    model = Held()
    step = torch.compile(model)
    assert [step(torch.ones(2)).tolist() for _ in range(4)] == [[6.0, 6.0]] * 4 and step.replayed
    model.held[1], model.named["rate"] = 5.0, 3.0
    assert step(torch.ones(2)).tolist() == [15.0, 15.0]
    model.held[0].data.mul_(2)
    assert step(torch.ones(2)).tolist() == [30.0, 30.0]


def test_dropout_draws_anew():
    model = nn.Dropout(0.5)
    step = torch.compile(model)
    with torch.no_grad():
        drawn = [tuple(step(torch.ones(64)).tolist()) for _ in range(6)]
    assert step.replayed and len(set(drawn)) == 6
    model.eval()
    assert step(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_a_compiled_module_is_a_module():
    model = net()
    compiled = torch.compile(model)
    assert isinstance(compiled, nn.Module) and compiled._orig_mod is model
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Sequential(")
    assert next(iter(compiled.state_dict())) == "_orig_mod.0.weight"
    assert list(map(id, compiled.parameters())) == list(map(id, model.parameters()))
    compiled.eval()
    assert not model.training and not compiled.training
    compiled.note = 3
    assert model.note == 3 and "note" not in vars(compiled)
    del compiled.note
    assert not hasattr(model, "note")
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        torch.testing.assert_close(other(X), model(X))
        assert other._orig_mod is not model


def test_a_module_compiles_itself():
    model, eager = net(), net()
    model.compile()
    with torch.no_grad():
        for _ in range(4):
            torch.testing.assert_close(model(X), eager(X), rtol=1e-5, atol=1e-6)
    assert model._compiled_call_impl.replayed
    assert pickle.loads(pickle.dumps(model))._compiled_call_impl is None
    assert_alike(model, eager)
