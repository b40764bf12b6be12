"""Optimizers beside PyTorch's: the database of optimizers that its wheel brings, step for step; state dicts; errors."""

import copy
import gc
import importlib
import io
import pickle
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from harness import agree
from late_database import listed

import tapegrad
from tapegrad._src.execution.tiers.xla_copies import xla_copy
from tapegrad._src.tensor.tensor import value_of

pytestmark = pytest.mark.parity


def database():
    """PyTorch's optimizers, each with options."""
    return importlib.import_module("torch.testing._internal.common_optimizers").optim_db


def cases():
    """The classes and options that are compared, and what they are called."""
    return [
        (info.optim_cls.__name__, given.kwargs, f"{info.optim_cls.__name__}-{given.desc}-{number}")
        for info in database()
        for number, given in enumerate(info.optim_inputs_func(device="cpu"))
        if info.optim_cls.__name__ != "SparseAdam"
    ]


CASES = [pytest.param(*case, id=name) for *case, name in listed(cases)]
STEPS = 100

BEYOND = {"Optax": "interop/test_optax.py"}
"""Optimizers that PyTorch has not got, and the file of ``tests/`` that holds each against another oracle."""


def without_oracle(namespace):
    """The optimizers of a namespace that are neither run beside PyTorch's, nor held against something else."""
    classes = [one for one in (getattr(namespace, name) for name in dir(namespace)) if isinstance(one, type)]
    names = {one.__name__ for one in classes if issubclass(one, tapegrad.optim.Optimizer)} - {"Optimizer"}
    tests = Path(__file__).parents[2]
    others = {name for name, file in BEYOND.items() if f"optim.{name}(" in (tests / file).read_text()}
    return sorted(names - {info.optim_cls.__name__ for info in database()} - others)


def test_every_optimizer_has_an_oracle():
    """If this is red, give the optimizer a test with another oracle, and its file here."""
    assert without_oracle(tapegrad.optim) == []


def test_an_optimizer_without_an_oracle_is_found():
    class SignSGD(tapegrad.optim.SGD):
        pass

    assert without_oracle(SimpleNamespace(SignSGD=SignSGD, SGD=tapegrad.optim.SGD, Optax=int)) == ["SignSGD"]


def ours(value):
    """An option as the other library has it."""
    if isinstance(value, torch.Tensor):
        return tapegrad.tensor(value.detach().numpy(), requires_grad=value.requires_grad)
    return tuple(map(ours, value)) if isinstance(value, tuple) else value


def loss_of(lib, weights, x, y):
    """A small network, with a complex parameter's likes left out: matrices only, for all optimizers take them."""
    hidden = lib.tanh(x @ weights[0])
    return ((hidden @ weights[1] - y) ** 2).mean()


def weights_of(lib, dtype="float64", nudge=0.0):
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((3, 4)) * (1 + nudge), rng.standard_normal((4, 2))
    return [lib.tensor(one, dtype=getattr(lib, dtype), requires_grad=True) for one in arrays]


def data_of(lib, dtype="float64"):
    rng = np.random.default_rng(1)
    return [lib.tensor(rng.standard_normal(shape), dtype=getattr(lib, dtype)) for shape in ((5, 3), (5, 2))]


def trained(lib, name, options, steps=STEPS, nudge=0.0):
    """The weights after some steps, and the optimizer."""
    weights, (x, y) = weights_of(lib, nudge=nudge), data_of(lib)
    optimizer = getattr(lib.optim, name)(weights, **options)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(lib, weights, x, y)
        loss.backward()
        return loss

    for _ in range(steps):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    return weights, optimizer


def numbers(tensors):
    return [tensor.detach().numpy() for tensor in tensors]


def rounding_grown(name, options, steps):
    """How far PyTorch is from itself when a rounding error is put in at the start: uphill, paths may part."""
    one, other = (numbers(trained(torch, name, copy.deepcopy(options), steps, nudge)[0]) for nudge in (0.0, 1e-15))
    return max(np.abs(a - b).max() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("name", "options"), CASES)
def test_step_for_step(name, options):
    options = {key: value for key, value in options.items() if key not in ("fused", "capturable")}
    if options.get("foreach") and any(isinstance(one, torch.Tensor) for one in options.values()):
        options["foreach"] = False
    steps = STEPS if tapegrad.get_execution() == "immediate" and name != "LBFGS" else 10
    if options.get("differentiable"):
        options["differentiable"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, theirs = trained(torch, name, copy.deepcopy(options), steps)
        got, mine = trained(tapegrad, name, {key: ours(value) for key, value in options.items()}, steps)
        grown = rounding_grown(name, options, steps) if options.get("maximize") else 0.0
    tolerance = 2e-3 if name == "Muon" else max(1e-6, grown)  # a rounding error grows where it meets a bfloat16's edge
    for one, other in zip(numbers(got), numbers(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    first, second = theirs.state_dict(), mine.state_dict()
    assert {key: set(value) for key, value in first["state"].items()} == {
        key: set(value) for key, value in second["state"].items()
    }
    assert [sorted(group) for group in first["param_groups"]] == [sorted(group) for group in second["param_groups"]]
    assert repr(mine) == repr(theirs) or any(isinstance(one, torch.Tensor) for one in options.values())


@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (16, 16)], ids=str)
def test_muon_rounds_as_pytorch(shape):
    """The iteration in bfloat16 gives the same numbers: one step, and the next."""
    start, *slopes = np.random.default_rng(0).standard_normal((3, *shape))

    def program(lib):
        w = lib.tensor(start, requires_grad=True)
        optimizer = lib.optim.Muon([w], lr=0.1)
        for slope in slopes:
            w.grad = lib.tensor(slope)
            optimizer.step()
        return w.detach().numpy()

    np.testing.assert_allclose(program(tapegrad), program(torch), rtol=1e-13, atol=1e-13)


# -- state dicts ----------------------------------------------------------------------------------------------------

NAMES = (
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Rprop",
    "ASGD",
    "Adafactor",
)
OPTIONS = {
    "SGD": {"momentum": 0.9},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Adam": {"amsgrad": True},
    "LBFGS": {"max_iter": 3, "line_search_fn": "strong_wolfe"},
    "Muon": {"ns_steps": 0},  # the rounding of its iteration is compared elsewhere
}


def across(first, state, second):
    """A state dict as the other library reads it in a file."""
    file = io.BytesIO()
    first.save(state, file)
    file.seek(0)
    return second.load(file)


def steps_of(lib, weights, optimizer, count):
    x, y = data_of(lib)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(lib, weights, x, y)
        loss.backward()
        return loss

    for _ in range(count):
        optimizer.step(closure)
    return numbers(weights)


@pytest.mark.parametrize("name", [*NAMES, "LBFGS", "Muon"])
@pytest.mark.parametrize("way", ["from PyTorch", "to PyTorch"])
def test_a_state_goes_on_in_the_other_library(name, way):
    """Five steps there, five here: the weights are those of ten steps in one place."""
    first, second = (torch, tapegrad) if way == "from PyTorch" else (tapegrad, torch)
    options = OPTIONS.get(name, {})
    expected, _ = trained(torch, name, options, 10)
    weights = weights_of(first)
    optimizer = getattr(first.optim, name)(weights, **options)
    middle = steps_of(first, weights, optimizer, 5)
    others = [second.tensor(one, requires_grad=True) for one in middle]
    again = getattr(second.optim, name)(others, lr=123.0, **options)
    again.load_state_dict(across(first, optimizer.state_dict(), second))
    for one, other in zip(steps_of(second, others, again, 5), numbers(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def module_of(lib):
    """PyTorch deletes the attribute of this name, and leaves the module."""
    return importlib.import_module(f"{lib.__name__}.optim.optimizer")


def groups(lib):
    weights = weights_of(lib)
    optimizer = lib.optim.Adam([{"params": weights[:1]}, {"params": weights[1:], "lr": 0.1}])
    steps_of(lib, weights, optimizer, 1)
    state = optimizer.state_dict()
    return [{k: v for k, v in group.items() if k != "foreach"} for group in state["param_groups"]], list(state["state"])


def names(lib):
    weights = weights_of(lib)
    optimizer = lib.optim.SGD([("first", weights[0]), ("second", weights[1])])
    return optimizer.state_dict()["param_groups"][0]["param_names"], repr(optimizer)


def hooks(lib):
    """Hooks of steps and of state dicts, in their order; one that changes what it gets."""
    weights, seen = weights_of(lib), []
    optimizer = lib.optim.SGD(weights)
    note = lambda name: lambda *given: seen.append((name, len(given)))
    handles = [
        module_of(lib).register_optimizer_step_pre_hook(note("all before")),
        module_of(lib).register_optimizer_step_post_hook(note("all after")),
        optimizer.register_step_pre_hook(note("before")),
        optimizer.register_step_post_hook(note("after")),
        optimizer.register_state_dict_pre_hook(note("state")),
        optimizer.register_state_dict_post_hook(note("last")),
        optimizer.register_state_dict_post_hook(lambda one, state: state | {"more": 1}, prepend=True),
        optimizer.register_load_state_dict_pre_hook(note("load")),
        optimizer.register_load_state_dict_post_hook(note("loaded")),
    ]
    optimizer.step()
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    for handle in handles:
        handle.remove()
    optimizer.step()
    return seen, sorted(state)


def pickled(lib):
    weights = weights_of(lib)
    optimizer = lib.optim.SGD(weights, momentum=0.9)
    steps_of(lib, weights, optimizer, 2)
    again = pickle.loads(pickle.dumps(optimizer))
    return repr(again), len(again.state), [len(group["params"]) for group in again.param_groups]


def zeroed(lib):
    weights = weights_of(lib)
    optimizer = lib.optim.SGD(weights)
    steps_of(lib, weights, optimizer, 1)
    optimizer.zero_grad(set_to_none=False)
    zeros = [w.grad.abs().sum().item() for w in weights]
    optimizer.zero_grad()
    return zeros, [w.grad for w in weights]


def closures(lib):
    weights = weights_of(lib)
    optimizer = lib.optim.SGD(weights)

    def closure():
        optimizer.zero_grad()
        loss = (weights[0] ** 2).sum()
        loss.backward()
        return loss

    with lib.no_grad():
        return round(optimizer.step(closure).item(), 9)


def differentiable(lib):
    """The gradient of what comes after a step, by the learning rate."""
    w = lib.tensor([1.0, 2.0], requires_grad=True)
    rate = lib.tensor(0.1, requires_grad=True)
    moved = w.clone()
    optimizer = lib.optim.SGD([moved], lr=rate, differentiable=True)
    (moved.grad,) = lib.autograd.grad((moved.clone() ** 3).sum(), moved, create_graph=True)
    optimizer.step()
    grads = lib.autograd.grad((moved**2).sum(), (rate, w))
    return [round(number, 3) for grad in grads for number in grad.flatten().tolist()]


def complex_weights(lib):
    w = lib.tensor([1 + 2j, -0.5j], dtype=lib.complex128, requires_grad=True)
    optimizer = lib.optim.Adam([w], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (w * w.conj()).real.sum().backward()
        optimizer.step()
    return [round(float(part), 9) for part in lib.view_as_real(w.detach()).flatten()]


@pytest.mark.parametrize(
    "program",
    [groups, names, hooks, pickled, zeroed, closures, differentiable, complex_weights],
    ids=lambda p: p.__name__,
)
def test_programs(program):
    assert program(tapegrad) == program(torch)


# -- errors ----------------------------------------------------------------------------------------------------

WRONG = {
    "a tensor": lambda lib, w: lib.optim.SGD(w[0]),
    "nothing": lambda lib, w: lib.optim.SGD([]),
    "no tensor": lambda lib, w: lib.optim.SGD([3]),
    "no leaf": lambda lib, w: lib.optim.SGD([w[0] * 2]),
    "a set": lambda lib, w: lib.optim.SGD([{"params": set(w)}]),
    "twice": lambda lib, w: lib.optim.SGD([{"params": w}, {"params": w[:1]}]),
    "names missing": lambda lib, w: lib.optim.SGD([("a", w[0]), w[1]]),
    "groups without names": lambda lib, w: lib.optim.SGD([{"params": [("a", w[0])]}, {"params": [w[1]]}]),
    "group": lambda lib, w: lib.optim.SGD(w).add_param_group([w]),
    "rate": lambda lib, w: lib.optim.SGD(w, lr=-1),
    "rates": lambda lib, w: lib.optim.SGD(w, lr=lib.ones(2)),
    "momentum": lambda lib, w: lib.optim.SGD(w, momentum=-1),
    "decay": lambda lib, w: lib.optim.SGD(w, weight_decay=-1),
    "nesterov": lambda lib, w: lib.optim.SGD(w, nesterov=True),
    "ways": lambda lib, w: lib.optim.SGD(w, fused=True, foreach=True),
    "fused": lambda lib, w: lib.optim.Adam(w, fused=True, differentiable=True),
    "beta": lambda lib, w: lib.optim.Adam(w, betas=(1.0, 0.5)),
    "second beta": lambda lib, w: lib.optim.Adam(w, betas=(0.5, -1.0)),
    "betas": lambda lib, w: lib.optim.Adam(w, betas=(0.5, lib.tensor(0.5))),
    "eps": lambda lib, w: lib.optim.Adam(w, eps=-1),
    "tensor rate": lambda lib, w: lib.optim.Adam(w, lr=lib.tensor(0.1), foreach=True),
    "rho": lambda lib, w: lib.optim.Adadelta(w, rho=2),
    "alpha": lambda lib, w: lib.optim.RMSprop(w, alpha=-1),
    "etas": lambda lib, w: lib.optim.Rprop(w, etas=(1.5, 2)),
    "rate decay": lambda lib, w: lib.optim.Adagrad(w, lr_decay=-1),
    "start": lambda lib, w: lib.optim.Adagrad(w, initial_accumulator_value=-1),
    "momentum decay": lambda lib, w: lib.optim.NAdam(w, momentum_decay=-1),
    "adafactor": lambda lib, w: lib.optim.Adafactor(w, lr=-1),
    "clipping": lambda lib, w: lib.optim.Adafactor(w, d=0),
    "beta2": lambda lib, w: lib.optim.Adafactor(w, beta2_decay=1),
    "epsilons": lambda lib, w: lib.optim.Adafactor(w, eps=(-1, 0)),
    "muon": lambda lib, w: lib.optim.Muon([lib.zeros(2)]),
    "muon rate": lambda lib, w: lib.optim.Muon(w, adjust_lr_fn="x"),
    "lbfgs groups": lambda lib, w: lib.optim.LBFGS([{"params": w[:1]}, {"params": w[1:]}]),
    "lbfgs closure": lambda lib, w: lib.optim.LBFGS(w).step(),
    "sparse": lambda lib, w: dense_step(lib.optim.SparseAdam(w), w),
    "other groups": lambda lib, w: lib.optim.SGD(w).load_state_dict({"state": {}, "param_groups": []}),
    "other sizes": lambda lib, w: lib.optim.SGD(w).load_state_dict(lib.optim.SGD(w[:1]).state_dict()),
    "hook": lambda lib, w: hooked(lib.optim.SGD(w)),
    "no step": lambda lib, w: lib.optim.Optimizer(w, {}).step(),
    "required": lambda lib, w: lib.optim.Optimizer([{"params": w}], {"lr": module_of(lib).required}),
}  # fmt: skip


def dense_step(optimizer, weights):
    weights[0].sum().backward()
    optimizer.step()


def hooked(optimizer):
    optimizer.register_step_pre_hook(lambda *given: 3)
    optimizer.step()


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    def said(lib):
        with pytest.raises(Exception) as error:
            WRONG[name](lib, weights_of(lib))
        return error.type.__name__, str(error.value).partition(" at 0x")[0]

    mine, theirs = said(tapegrad), said(torch)
    if name in ("lbfgs closure", "hook"):  # names of Python's functions
        assert mine[0] == theirs[0]
    else:
        assert mine == theirs


def test_duplicates_are_warned_of():
    def said(lib):
        w = weights_of(lib)
        with pytest.warns(UserWarning) as caught:
            lib.optim.SGD([w[0], w[0]])
        return str(caught[0].message)

    assert said(tapegrad) == said(torch)


def test_compiled_steps():
    """A whole step, backward and update, compiled once: the numbers are those of PyTorch."""
    expected, _ = trained(torch, "Adam", {"lr": 0.01}, 20)
    weights, (x, y) = weights_of(tapegrad), data_of(tapegrad)
    optimizer = tapegrad.optim.Adam(weights, lr=0.01)

    @tapegrad.compile
    def step():
        optimizer.zero_grad()
        loss = loss_of(tapegrad, weights, x, y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(20):
        step()
    for one, other in zip(numbers(weights), numbers(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


# -- many small parameters --------------------------------------------------------------------------------------------


def many(lib, name, options, steps=4):
    """Weights of several shapes and dtypes, one that has no gradient, one that is a view's base, one that is shared."""
    rng = np.random.default_rng(0)
    shapes = [(3,), (2, 2), (), (1, 4), (5,), (0,), (2, 1, 2), (3,), (7,), (2,), (4,), (1,), (3, 3)]
    weights = [lib.tensor(rng.standard_normal(shape), requires_grad=True) for shape in shapes]
    weights += [lib.tensor(rng.standard_normal(shape).astype("float32"), requires_grad=True) for shape in shapes]
    part, versions = weights[3].detach()[0, 1:3], []
    seen = weights[4].detach().numpy()
    optimizer = getattr(lib.optim, name)(weights, **options)
    for step in range(steps):
        for i, weight in enumerate(weights):
            weight.grad = None if i == 9 or (i == 10 and step == 0) else (weight * (i + 1)).detach().cos()
        optimizer.step()
        versions.append([weight._version for weight in weights])
    return [*numbers(weights), part.numpy(), seen], versions


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Adafactor"])
def test_many_small_parameters(name):
    """They are updated as one where that can be; which shows in nothing but the time that it takes."""
    options = OPTIONS.get(name, {}) | {"maximize": True}
    (mine, versions), (theirs, others) = many(tapegrad, name, options), many(torch, name, options)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert [[a > b for a, b in zip(*pair, strict=True)] for pair in zip(versions[1:], versions, strict=False)] == [
        [a > b for a, b in zip(*pair, strict=True)] for pair in zip(others[1:], others, strict=False)
    ]


def small(lib, name, dtype, **options):
    """Three small parameters after four steps, with their states, and how often all of these were written to."""
    rng = np.random.default_rng(2)
    weights = [lib.tensor(rng.standard_normal(4)).to(dtype).requires_grad_() for _ in range(3)]
    optimizer = getattr(lib.optim, name)(weights, lr=0.1, **options)
    for _ in range(4):
        for weight in weights:
            weight.grad = lib.tensor(rng.standard_normal(4)).to(dtype)
        optimizer.step()
    found = [tensor for weight in weights for tensor in (weight, *optimizer.state[weight].values())]
    return [tensor.detach().double().numpy() for tensor in found], [tensor._version for tensor in found]


COUNTED = [("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {"amsgrad": True}), ("Adam", {}),
           ("AdamW", {}), ("RMSprop", {"momentum": 0.9}), ("Adagrad", {}), ("NAdam", {})]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), COUNTED)
def test_as_many_writes_are_counted(name, options):
    assert small(tapegrad, name, tapegrad.float32, **options)[1] == small(torch, name, torch.float32, **options)[1]


@pytest.mark.parametrize(("name", "options"), [("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {})])
def test_halves_are_rounded_after_each_call(name, options):
    mine, theirs = small(tapegrad, name, tapegrad.bfloat16, **options), small(torch, name, torch.bfloat16, **options)
    for one, other in zip(mine[0], theirs[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=2**-7)  # the last digit


LARGE = [("AdamW", {"weight_decay": 0.1}), ("Adam", {"weight_decay": 0.1, "maximize": True}), ("SGD", {}),
         ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
         ("SGD", {"momentum": 0.9, "dampening": 0.5, "maximize": True})]  # fmt: skip


def large_updates(name, options, dtype):
    """Parameters of several sizes after some steps, and where they lie at each."""
    rng = np.random.default_rng(2)
    weights = [tapegrad.tensor(rng.standard_normal(shape), dtype=dtype) for shape in ((90, 100), (300, 700), (5,))]
    optimizer, places = getattr(tapegrad.optim, name)(weights, lr=0.01, **options), []
    for _ in range(5):
        for weight in weights:
            weight.grad = tapegrad.tensor(rng.standard_normal(weight.shape), dtype=dtype)
        optimizer.step()
        places.append([id(value_of(weight)) for weight in weights])
    return [weight.numpy().copy() for weight in weights], [weight._version for weight in weights], places


@pytest.mark.once
@pytest.mark.parametrize(("name", "options"), LARGE)
@pytest.mark.parametrize("dtype", [tapegrad.float32, tapegrad.float64], ids=str)
def test_large_parameters_are_updated_in_their_memory(name, options, dtype):
    """The same bits and versions as call by call, and from the third step on in the same arrays."""
    mine, versions, places = large_updates(name, options, dtype)
    with tapegrad.execution.without("fused updates"):
        theirs, counted, _ = large_updates(name, options, dtype)
    assert versions == counted and places[2] == places[3] == places[4]
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.once
def test_who_keeps_a_large_parameter_or_has_it_as_gradient_sees_what_was():
    one, other = (tapegrad.ones(100, 100, requires_grad=True) for _ in range(2))
    optimizer = tapegrad.optim.SGD([one, other], lr=1.0)
    for _ in range(3):
        one.grad, other.grad = tapegrad.ones(100, 100), tapegrad.zeros(100, 100)
        optimizer.step()
    with tapegrad.autograd.graph.saved_tensors_survive_mutation():
        product = one * other
        other.grad = one.detach()
        optimizer.step()
        (gradient,) = tapegrad.autograd.grad(product.sum(), other)
    assert gradient.unique().tolist() == [-2.0] and one.unique().tolist() == [-3.0]
    assert other.unique().tolist() == [3.0]


def between_steps(lib, name, options):
    """Whatever may be done to parameters, gradients and states between steps that update them together."""
    rng = np.random.default_rng(1)
    weights = [lib.tensor(rng.standard_normal((2, 3)), requires_grad=True) for _ in range(4)]
    weights.append(weights[0].detach().clone().requires_grad_())
    weights[4].data = weights[3].data  # two that show one memory
    optimizer = getattr(lib.optim, name)(weights, **options)
    account, kept = [], []

    def step():
        loss = sum((weight**2 * (i + 1)).sum() for i, weight in enumerate(weights))
        for weight in weights:
            weight.grad = None
        loss.backward()
        before = [weight._version for weight in weights]
        optimizer.step()
        counted = [weight._version > version for weight, version in zip(weights, before, strict=True)]
        account.append([*(weight.tolist() for weight in weights), counted])

    def replace_state():
        optimizer.load_state_dict(optimizer.state_dict())

    def write():
        with lib.no_grad():
            weights[1].mul_(0.5)
            weights[2][0, 1] = 3.0

    def keep_a_graph():
        kept.append((weights[1] * weights[2]).sum())

    def keep_a_value():
        kept.append(weights[0].detach().numpy())

    def change_options():
        optimizer.param_groups[0]["lr"] *= 0.5

    def other_memory():
        weights[0].data = lib.ones((2, 3), dtype=lib.float64)

    def without_one():
        weights[1].requires_grad_(False)
        weights[1] = weights[1].detach()

    for happens in (
        step, step, replace_state, step, step, write, step, step, keep_a_graph, step, keep_a_value, step, step,
        change_options, step, other_memory, step, step, without_one, step, step,
    ):  # fmt: skip
        happens()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept[0].backward()
    return account, kept[1]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_between_steps_that_update_many(name):
    """They are put together once; whoever changes or keeps something meanwhile sees what PyTorch shows."""
    options = {"lr": 0.05, **({"momentum": 0.9, "nesterov": True} if name == "SGD" else {"weight_decay": 0.1})}
    (mine, value), (theirs, other) = between_steps(tapegrad, name, options), between_steps(torch, name, options)
    for one, another in zip(mine, theirs, strict=True):
        for left, right in zip(one, another, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-7)
    np.testing.assert_allclose(value, other, rtol=1e-7)


@pytest.mark.once
def test_parameters_are_updated_where_they_lie():
    """Of those that nobody else has nothing is put together, or taken apart, from the third step on."""
    weights = [tapegrad.ones(3, requires_grad=True) for _ in range(8)]
    optimizer = tapegrad.optim.SGD(weights, lr=1.0, momentum=0.5)
    places = []

    def step():
        for weight in weights:
            weight.grad = tapegrad.ones(3)
        optimizer.step()
        places.append([id(value_of(weight)) for weight in weights])

    for _ in range(6):
        step()
    with tapegrad.autograd.graph.saved_tensors_survive_mutation():
        product, before = weights[0] * weights[1], weights[0].tolist()
        step()
        (gradient,) = tapegrad.autograd.grad(product.sum(), weights[1])
    assert gradient.tolist() == before != weights[0].tolist()
    assert places[-4] == places[-3] == places[-2] != places[-1]


@pytest.mark.once
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}], ids=str)
def test_what_each_of_many_parameters_costs(options):
    """Fewer than three calls of Python, when they have been put together: PyTorch's fused step takes some three."""
    other = np.ones(10_000)
    assert xla_copy(other) is xla_copy(other)  # a copy for XLA, which is kept meanwhile

    def calls(count):
        weights = [tapegrad.ones(3, requires_grad=True) for _ in range(count)]
        for weight in weights:
            weight.grad = tapegrad.ones(3)
        optimizer, events = tapegrad.optim.SGD(weights, **options), []
        for _ in range(3):
            optimizer.step()
        gc.collect()  # now, and not while calls are counted
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            optimizer.step()
        finally:
            sys.setprofile(None)
        return events.count("call")

    assert calls(60) - calls(20) < 3 * 40


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"maximize": True}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        ("SGD", {"momentum": 0.9, "dampening": 0.3}), ("Adam", {"weight_decay": 0.1}), ("Adam", {"betas": (0.3, 0.9)}),
        ("AdamW", {}), ("Adam", {"maximize": True, "amsgrad": True}),
    ],
)  # fmt: skip
def test_alone_and_together_are_the_same_to_the_last_bit(name, options):
    rng = np.random.default_rng(0)
    start, gradient = rng.standard_normal((2, 50)).astype("float32")

    def trained_among(count):
        weights = [tapegrad.tensor(start, requires_grad=True) for _ in range(count)]
        optimizer = getattr(tapegrad.optim, name)(weights, lr=0.1, **options)
        for step in range(6):
            for weight in weights:
                weight.grad = tapegrad.tensor(gradient * (step + 1))
            optimizer.step()
        return weights[0].tolist(), {key: value.tolist() for key, value in optimizer.state[weights[0]].items()}

    assert trained_among(1) == trained_among(3)


def test_copies_and_states_are_in_pytorchs_order():
    said = []
    for library in (torch, tapegrad):
        p = library.ones(2, 2, requires_grad=True)
        optimizers = [getattr(library.optim, name)([p]) for name in ("Adafactor", "Muon", "NAdam", "SGD")]
        (p * p).sum().backward()
        optimizers[2].step()
        said.append([repr(made) == repr(copy.deepcopy(made)) for made in optimizers] + list(optimizers[2].state[p]))
    assert said[1] == said[0]


DIFFERENTIABLE = {
    "ASGD": [{"lr": 0.9}, {"lr": 0.9, "weight_decay": 0.1, "t0": 0}],
    "Adam": [{"betas": "tensors"}, {"amsgrad": True}],
    "AdamW": [{"betas": "tensors", "weight_decay": 0.1}],
    "RMSprop": [{"momentum": 0.9, "centered": True}],
    "Rprop": [{}],
    "NAdam": [{"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{}],
}


@pytest.mark.parametrize(("name", "options"), [(name, one) for name, all in DIFFERENTIABLE.items() for one in all])
def test_steps_are_differentiated(name, options):
    def account(torch):
        def double(*values):
            return torch.tensor(values, dtype=torch.float64, requires_grad=True)

        start, first, second = double(0.1, 0.5, -0.3), double(0.2, -0.4, 0.3), double(0.3, 0.1, 0.2)
        betas = (double(0.9), double(0.99))
        given = {**options, "betas": betas} if options.get("betas") else options
        p = start * 1
        optimizer = getattr(torch.optim, name)([p], differentiable=True, **given)
        for grad in (first, second):
            p.grad = grad * 1
            optimizer.step()
            optimizer.state[p] = {key: one.clone() for key, one in optimizer.state[p].items()}
        return [p.detach(), *torch.autograd.grad(p.sum(), [start, second, *betas], allow_unused=True)]

    agree(account, rtol=1e-5)


def test_a_state_that_requires_grad_is_averaged():
    def account(torch):
        def double(*values):
            return torch.tensor(values, dtype=torch.float64, requires_grad=True)

        start, mean = double(0.1, 0.5), double(0.3, 0.2)
        p = start * 1
        p.grad = start.detach()
        optimizer = torch.optim.ASGD([p], lr=0.9, differentiable=True)
        numbers = {name: double(value).detach() for name, value in (("step", 0.0), ("eta", 1.0), ("mu", 1.0))}
        optimizer.state[p].update(numbers, ax=mean * 1)
        optimizer.step()
        return [p, *torch.autograd.grad((p * optimizer.state[p]["ax"]).sum(), [start, mean])]

    agree(account)


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
def test_lbfgs_where_there_is_no_gradient(line_search_fn):
    def account(torch):
        x, calls = torch.zeros(2, requires_grad=True), []
        optimizer = torch.optim.LBFGS([x], tolerance_grad=-1, line_search_fn=line_search_fn)

        def closure():
            optimizer.zero_grad()
            loss = (x * x).sum()
            loss.backward()
            calls.append(float(loss.detach()))
            return loss

        return [float(optimizer.step(closure).detach()) for _ in range(2)], calls, x, optimizer.state[x]["n_iter"]

    agree(account)
