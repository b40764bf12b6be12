"""Optimizers beside PyTorch's: the database of optimizers that its wheel brings, step for step; state dicts; errors."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch.testing._internal.common_optimizers import optim_db

import tapegrad

pytestmark = pytest.mark.parity

CASES = [
    pytest.param(info.optim_cls.__name__, given.kwargs, id=f"{info.optim_cls.__name__}-{given.desc}-{number}")
    for info in optim_db
    for number, given in enumerate(info.optim_inputs_func(device="cpu"))
    if info.optim_cls.__name__ != "SparseAdam"
]
STEPS = 100


def ours(value):
    """An option as the other library has it."""
    if isinstance(value, torch.Tensor):
        return tapegrad.tensor(value.detach().numpy(), requires_grad=value.requires_grad)
    return tuple(map(ours, value)) if isinstance(value, tuple) else value


def loss_of(lib, weights, x, y):
    """A small network, with a complex parameter's likes left out: matrices only, for all optimizers take them."""
    hidden = lib.tanh(x @ weights[0])
    return ((hidden @ weights[1] - y) ** 2).mean()


def weights_of(lib, dtype="float64"):
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((3, 4)), rng.standard_normal((4, 2))
    return [lib.tensor(one, dtype=getattr(lib, dtype), requires_grad=True) for one in arrays]


def data_of(lib, dtype="float64"):
    rng = np.random.default_rng(1)
    return [lib.tensor(rng.standard_normal(shape), dtype=getattr(lib, dtype)) for shape in ((5, 3), (5, 2))]


def trained(lib, name, options, steps=STEPS):
    """The weights after some steps, and the optimizer."""
    weights, (x, y) = weights_of(lib), data_of(lib)
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


@pytest.mark.parametrize(("name", "options"), CASES)
def test_step_for_step(name, options):
    options = {key: value for key, value in options.items() if key not in ("fused", "capturable")}
    if options.get("foreach") and any(isinstance(one, torch.Tensor) for one in options.values()):
        options["foreach"] = False
    steps = 10 if name in ("LBFGS", "Muon") or tapegrad.get_execution() == "deferred" else STEPS
    if options.get("differentiable"):
        options["differentiable"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, theirs = trained(torch, name, copy.deepcopy(options), steps)
        got, mine = trained(tapegrad, name, {key: ours(value) for key, value in options.items()}, steps)
    tolerance = 2e-2 if name == "Muon" else 1e-6
    for one, other in zip(numbers(got), numbers(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    first, second = theirs.state_dict(), mine.state_dict()
    assert {key: set(value) for key, value in first["state"].items()} == {
        key: set(value) for key, value in second["state"].items()
    }
    assert [sorted(group) for group in first["param_groups"]] == [sorted(group) for group in second["param_groups"]]
    assert repr(mine) == repr(theirs) or any(isinstance(one, torch.Tensor) for one in options.values())
