"""Names that packages import, and small functions beside them: what they do in PyTorch."""

import collections
import importlib

import numpy as np
import pytest
import torch
from harness import attempt, recorded_warnings

import tapegrad

pytestmark = pytest.mark.parity

Pair = collections.namedtuple("Pair", "x y")


def plain(value):
    """Containers as they are, with tensors as lists."""
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def gathered_badly(lib):
    gather = importlib.import_module(f"{lib.__name__}.nn.parallel.scatter_gather").gather
    return gather([{"a": lib.ones(1)}, {}], "cpu")


def allclose(lib):
    with recorded_warnings() as seen:
        lib.testing.assert_allclose([1.0, float("nan")], np.array([1.00001, np.nan]))
    refused = attempt(lambda: lib.testing.assert_allclose([1.0], [2.0]))
    return [(str(one.message), one.category) for one in seen], refused


@pytest.mark.parametrize("program", [gathered_badly, allclose])
def test_as_pytorch(program):
    theirs, ours = (plain(attempt(lambda lib=lib: program(lib))) for lib in (torch, tapegrad))
    assert str(ours) == str(theirs)


def test_containers_are_cut_and_gathered():
    """PyTorch's want GPUs: here is what its documentation says."""
    parallel = tapegrad.nn.parallel
    parts = parallel.scatter(Pair({"a": tapegrad.arange(3)}, "text"), ["cpu", "cpu"])
    assert plain(parts) == (
        "list",
        [("Pair", [("dict", {"a": [0, 1]}), "text"]), ("Pair", [("dict", {"a": [2]}), "text"])],
    )
    again = parallel.gather([part.x for part in parts], "cpu")
    assert plain(again) == ("dict", {"a": [0, 1, 2]})


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("_subclasses.fake_tensor", "is_fake"),
        ("compiler", "set_stance"),
        ("fx.experimental.proxy_tensor", "get_proxy_mode"),
        ("jit", "Error"),
        ("jit", "ScriptWarning"),
        ("overrides", "get_ignored_functions"),
        ("utils", "set_module"),
    ],
)
def test_what_packages_import_is_there(module, name):
    theirs, ours = (getattr(importlib.import_module(f"{lib}.{module}"), name) for lib in ("torch", "tapegrad"))
    assert callable(ours)
    assert isinstance(ours, type) == isinstance(theirs, type) or name == "set_stance"
