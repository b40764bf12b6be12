"""Settings that are another number at each call, and share one plan. See Note [Dynamic settings]."""

import importlib
import pkgutil

import numpy as np
import pytest
from samples import all_samples

import tapegrad as torch
from tapegrad import ops
from tapegrad._src.dispatch import shape_class
from tapegrad._src.dispatch.patterns import pattern_of
from tapegrad.ops.operator import TABLE, forget_plans
from tests.execution.test_structures import as_spec, differentiated, lengths_of, results_and_gradients

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")

pytestmark = pytest.mark.once("counts plans, or runs kernels at once")


def plans():
    return torch.execution.stats().kinds.get("plans", 0)


F = torch.nn.functional

SETTINGS = {
    "softplus": lambda x, p: F.softplus(x, p),
    "leaky_relu": lambda x, p: F.leaky_relu(x, p),
    "elu": lambda x, p: F.elu(x, p),
    "huber": lambda x, p: F.huber_loss(x, torch.ones(1200), delta=p),
    "eps": lambda x, p: F.layer_norm(x, (1200,), eps=p),
    "dropout": lambda x, p: F.dropout(x, p),
    "clamp": lambda x, p: x.clamp(-p, p),
    "addcmul": lambda x, p: x.addcmul(x, x, value=p),
    "roll": lambda x, p: x.roll(int(100 * p) + 2),
    "norm": lambda x, p: x.norm(2 + p),
    "distance": lambda x, p: torch.cdist(x.reshape(30, 40), torch.ones(2, 40), 2 + p),
    "factors": lambda x, p: torch.addmm(x.reshape(30, 40), torch.ones(30, 2), torch.ones(2, 40), beta=p, alpha=1 + p),
    "alpha dropout": lambda x, p: F.alpha_dropout(x, p, training=True),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_ten_values_of_a_setting_make_two_plans_at_most(name):
    function, x = SETTINGS[name], torch.linspace(-2, 2, 1200, requires_grad=True)

    def step(value):
        function(x, value).sum().backward()

    torch.execution.clear_caches()
    step(0.5)
    first = plans()
    for i in range(10):
        step(0.1 + 0.08 * i)
    assert plans() <= first + 1


def test_numbers_at_which_another_formula_holds_are_told_from_those_that_move():
    x = torch.tensor([0.0, -3.0, 4.0, 1.0], requires_grad=True)
    numbers = x.detach().double().numpy()
    for p in (2.5, 3.5, 2.0, 1.0, float("inf"), 0.0, 4.5, 0.5, -1.5, float("-inf"), 1.5):
        norm = torch.linalg.vector_norm(x, p)
        assert torch.dist(x, torch.zeros(4), p).item() == norm.item()
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(norm.item(), np.linalg.norm(numbers, p), rtol=1e-5)
        if p not in (0.0, -1.5, float("-inf")):
            (grad,) = torch.autograd.grad(norm, x)
            size = np.abs(numbers)
            slope = np.where(size == 0, 0, (size.clip(1) / norm.item()) ** (p - 1)) if p < 9 else size == 4
            np.testing.assert_allclose(grad.numpy(), np.sign(numbers) * slope, rtol=1e-5)
        product = torch.addmm(torch.full((2, 2), float("nan")), torch.ones(2, 3), torch.ones(3, 2), beta=0.0, alpha=p)
        assert product.tolist() == [[3 * p] * 2] * 2


def test_a_dimension_that_changes_is_no_symbol():
    x = torch.ones(2, 3, 1, 1, 1, 5, requires_grad=True)
    assert [tuple(x.squeeze(axis).shape) for axis in (2, 3, 4, 5)] == [(2, 3, 1, 1, 5)] * 3 + [(2, 3, 1, 1, 1, 5)]
    assert [x.movedim(axis, 0).shape[1:] for axis in (0, 2, 5)] == [(3, 1, 1, 1, 5), (2, 3, 1, 1, 5), (2, 3, 1, 1, 1)]


def test_what_a_node_saved_is_the_number_of_its_own_call():
    x = torch.linspace(-2, 2, 30, requires_grad=True)
    values = [0.1 * i for i in range(1, 9)]
    losses = [F.softplus(x, value) for value in values]
    assert [loss.grad_fn._saved_beta for loss in losses] == values
    for value, loss in reversed(list(zip(values, losses, strict=True))):
        (grad,) = torch.autograd.grad(loss.sum(), x)
        np.testing.assert_allclose(grad.numpy(), 1 / (1 + np.exp(-value * x.detach().numpy())), rtol=1e-5)


def test_gradients_of_gradients_know_the_number_too():
    x = torch.linspace(-2, 2, 30, requires_grad=True)
    for value in (0.2, 0.4, 0.6, 0.8, 1.0):
        (grad,) = torch.autograd.grad(F.softplus(x, value).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum(), x)
        s = 1 / (1 + np.exp(-value * x.detach().numpy()))
        np.testing.assert_allclose(second.numpy(), value * s * (1 - s), rtol=1e-4)


def test_a_number_that_comes_back_gets_a_plan():
    torch.execution.clear_caches()
    x = torch.linspace(-2, 2, 31)
    for value in (0.2, 0.4, 0.6):
        F.softplus(x, value)
    before = plans()
    for _ in range(20):
        F.softplus(x, 0.8)
    assert plans() == before + 1


def test_other_tiers_run_settings_that_move():
    x = torch.linspace(-2, 2, 33, requires_grad=True)
    found = {}
    for tiers in ("auto", "xla"):
        for value in (0.2, 0.4, 0.6):
            with torch.execution.tiers(tiers):
                y = F.softplus(x, value)
                (grad,) = torch.autograd.grad(y.sum(), x)
            found[tiers] = y.detach().numpy(), grad.numpy()
    for one, other in zip(*found.values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_floats_are_arguments_of_large_kernels():
    x = torch.ones(50_000, requires_grad=True)
    for p in (0.1, 0.2, 0.3, 0.4, 0.5):
        (grad,) = torch.autograd.grad(F.dropout(x, p).sum(), x)
        kept = grad != 0
        np.testing.assert_allclose(grad[kept].numpy(), 1 / (1 - p), rtol=1e-6)
        assert abs(kept.float().mean().item() - (1 - p)) < 0.02


# -- the table ---------------------------------------------------------------------------------------------------------


def moved(settings, name, times):
    """Settings, of which one is another number."""
    value = settings[name]
    return {**settings, name: value + times if type(value) is int else value * (1 + 0.03125 * times) + 0.0625 * times}


def moving_samples():
    """A sample for each setting of an operator that is a number."""
    found = {}
    for sample in all_samples():
        for name, value in sample.settings.items():
            if type(value) in (int, float):
                found.setdefault(f"{sample.op}-{name}", (sample, name))
    return found


MOVING = moving_samples()


def computed(sample, settings):
    """Results and gradients, or the type of the error."""
    try:
        return results_and_gradients(TABLE[sample.op], sample.args, settings, differentiated(sample))
    except Exception as error:
        return type(error)


SPECIAL = {sample.op: sample for sample, _ in MOVING.values() if TABLE[sample.op].special}


@pytest.mark.parametrize("name", SPECIAL)
def test_an_operator_that_forgets_its_special_numbers_is_not_traced_for_all(name, monkeypatch):
    op, settings, specs = TABLE[name], SPECIAL[name].settings, tuple(map(as_spec, SPECIAL[name].args))
    moving = [key for key, value in settings.items() if type(value) in (int, float)]
    calls = [{**settings, **dict.fromkeys(moving, number)} for number in (3.5, 4.5)]
    pattern = pattern_of(*(lengths_of(specs, settings) for settings in calls), 0)
    shape_class.ShapeClass(op, specs, calls[1], pattern)
    monkeypatch.setattr(op, "special", ())
    with pytest.raises(TypeError, match="not declared special"):
        shape_class.ShapeClass(op, specs, calls[1], pattern)


@pytest.mark.parametrize("key", MOVING)
def test_results_of_numbers_that_move_are_those_of_each_by_itself(key, monkeypatch):
    sample, name = MOVING[key]
    settings = [moved(sample.settings, name, times) for times in range(4)]
    with monkeypatch.context() as patch:
        patch.setattr(shape_class.ShapeClasses, "bound", lambda self, *call: None)
        patch.setattr(shape_class.ShapeClasses, "made", lambda self, *call: None)
        forget_plans()
        expected = [computed(sample, some) for some in settings[2:]]
    forget_plans()
    found = [computed(sample, some) for some in settings]
    for one, other in zip(found[2:], expected, strict=True):
        if isinstance(other, type) or isinstance(one, type):
            assert isinstance(other, type), (one, other)
            assert isinstance(one, type), (one, other)
            continue
        for mine, its in zip(one, other, strict=True):
            last = 4 * np.finfo(its.dtype).eps if its is not None and its.dtype.kind in "fc" else 0
            np.testing.assert_allclose(mine, its, rtol=last, atol=0)  # of powers the last digit may differ


def test_turns_by_right_angles_are_told_apart():
    x = np.arange(6.0).reshape(2, 3)
    for k in (2, 3, 6, 7, 9):
        assert TABLE["rot90"](torch.tensor(x), k=k, axes=(0, 1)).tolist() == np.rot90(x, k).tolist()
