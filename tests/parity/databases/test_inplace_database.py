"""Every in-place method that PyTorch's own database of operators knows, on the samples that it has for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from harness import close, run, sentence
from late_database import listed

import tapegrad

SAMPLES = 3
"""How many samples of an operator are run: those with the fewest elements."""

OTHERWISE = {
    "acosh_": "PyTorch has a derivative of the function, but none in place",
    "asinh_": "PyTorch has a derivative of the function, but none in place",
    "atanh_": "PyTorch has a derivative of the function, but none in place",
}
"""Methods that can't be compared with gradients, and why."""

RANDOM = frozenset(
    ("bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "uniform_", "random_", "rrelu_")
)
"""What they give differs; ``test_random.py`` has their distributions."""


@cache
def database() -> dict[str, Any]:
    """PyTorch's entries that have an in-place method, by its name; of several entries the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    found: dict[str, Any] = {}
    for entry in op_db:
        name = getattr(entry.inplace_variant, "__name__", "<lambda>")
        if name != "<lambda>" and pytorch.float64 in entry.dtypes:
            found.setdefault(name, entry)
    return found


def samples(name: str) -> list[tuple[Callable, list[np.ndarray]]]:
    """Programs that call the method, and their tensors."""
    entry = database()[name]
    found = []
    for sample in entry.sample_inputs("cpu", pytorch.float64, requires_grad=False):
        arrays: list[np.ndarray] = []
        parts = [replaced(part, arrays) for part in (sample.input, list(sample.args), dict(sample.kwargs))]
        if sum(map(np.size, arrays)):
            found.append((calling(name, *parts), arrays))
    return sorted(found, key=lambda pair: sum(map(np.size, pair[1])))[:SAMPLES]


def replaced(part: Any, arrays: list[np.ndarray]) -> Any:
    """A structure with numbered slots in place of its tensors, which are put into ``arrays``."""
    if isinstance(part, pytorch.Tensor):
        arrays.append(part.detach().numpy())
        return Slot(len(arrays) - 1)
    if isinstance(part, (list, tuple)):
        return [replaced(item, arrays) for item in part]
    if isinstance(part, dict):
        return {key: replaced(item, arrays) for key, item in part.items()}
    return part


class Slot(int):
    """Where a tensor stood."""


def filled(part: Any, tensors: list[Any]) -> Any:
    if isinstance(part, Slot):
        return tensors[part]
    if isinstance(part, list):
        return [filled(item, tensors) for item in part]
    if isinstance(part, dict):
        return {key: filled(item, tensors) for key, item in part.items()}
    return part


def calling(name: str, target: Any, args: list, kwargs: dict) -> Callable:
    """A program that writes to a copy of the first tensor; it gives that copy, which the method must have returned."""

    def program(torch: Any, *tensors: Any) -> Any:
        x = filled(target, list(tensors)) * 1
        out = getattr(x, name)(*filled(args, list(tensors)), **filled(kwargs, list(tensors)))
        assert out is x
        return [x, x._version, tuple(x.stride())]

    return program


def seen(module: Any, program: Callable, arrays: list[np.ndarray], name: str) -> Any:
    """What a program gives, with gradients of first and second order; or the error that it raises."""
    compared = name not in OTHERWISE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(module, program, arrays, compared, compared, compared)
        except (RuntimeError, TypeError, IndexError, ValueError) as error:
            return type(error), sentence(error)


def names() -> list[str]:
    return [name for name in sorted(database()) if name not in RANDOM and hasattr(tapegrad.Tensor, name)]


@pytest.mark.parametrize("name", listed(names))
def test_it_writes_what_pytorch_writes(name):
    for program, arrays in samples(name):
        theirs, ours = (seen(module, program, arrays, name) for module in (pytorch, tapegrad))
        if isinstance(theirs, tuple) or isinstance(ours, tuple):
            assert ours == theirs
        else:
            assert ours["kind"] == theirs["kind"]
            for key in theirs.keys() - {"kind"}:
                close(ours[key], theirs[key], 1e-6, 1e-9, key)


def test_all_are_there():
    missing = sorted(name for name in database() if not hasattr(tapegrad.Tensor, name))
    assert missing == []


@pytest.mark.parametrize("name", OTHERWISE)
def test_derivatives_that_pytorch_has_not(name):
    """The gradient in place is that of the function."""
    values = [1.5, 2.0] if name == "acosh_" else [0.25, -0.5]
    x = tapegrad.tensor(values, dtype=tapegrad.float64, requires_grad=True)
    in_place = getattr(x * 1, name)()
    function = getattr(x, name[:-1])()
    assert in_place.tolist() == function.tolist()
    grads = [tapegrad.autograd.grad(out.sum(), x)[0].tolist() for out in (in_place, function)]
    assert grads[0] == grads[1]
