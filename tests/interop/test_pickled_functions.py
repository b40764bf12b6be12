"""Public functions are pickled by their names: what is loaded is the very function."""

import copy
import multiprocessing
import pickle

import pytest

import tapegrad as torch
from tapegrad._src.bindings.declaration.registry import NAMESPACES

pytestmark = pytest.mark.once("nothing is computed")


@pytest.mark.parametrize("home", sorted(NAMESPACES))
def test_every_function_pickles(home):
    functions = {name: thing for name, thing in NAMESPACES[home].items() if callable(thing)}
    assert [name for name, thing in functions.items() if pickle.loads(pickle.dumps(thing)) is not thing] == []


def test_functions_are_found_under_the_names_that_they_show():
    assert torch.linalg.det.__module__ == "tapegrad.linalg" and torch.linalg.det.__qualname__ == "det"
    assert torch.Tensor.abs.__qualname__ == "Tensor.abs" and copy.deepcopy(torch.Tensor.abs) is torch.Tensor.abs
    assert pickle.loads(pickle.dumps(torch.cuda.FloatTensor)) is torch.cuda.FloatTensor


def test_another_process_is_told_which_function():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(name_of, (torch.linalg.norm,)) == "linalg_norm"


def name_of(function):
    return function.__name__
