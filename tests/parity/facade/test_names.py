"""Small names of the facade: constants, questions about types and views."""

import sys

import pytest
from harness import agree
from sources import PACKAGE

from tests.house.test_layers import private_across_rooms


@pytest.mark.parametrize("name", ["pi", "e", "inf", "newaxis"])
def test_constants(name):
    agree(lambda torch: getattr(torch, name))


def test_nan():
    agree(lambda torch: torch.nan != torch.nan)


def test_newaxis_adds_a_dimension():
    agree(lambda torch: torch.arange(3)[:, torch.newaxis].shape)


@pytest.mark.parametrize("number", [True, 2, 2.0, 2j])
@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
def test_result_type(name, number):
    def program(torch):
        kind = getattr(torch, name)
        one, point = torch.ones(1, dtype=kind), torch.ones((), dtype=kind)
        return [str(torch.result_type(*pair)) for pair in ((one, number), (point, number), (number, one), (one, point))]

    agree(program)


def test_what_is_a_view():
    def program(torch):
        x = torch.ones(2, 3)
        return [part._is_view() for part in (x, x.view(6), x[0], x.T, x + 1, x.clone(), x[0].view(1, 3))]

    agree(program)


@pytest.mark.once("reads the source")
def test_private_names_that_cross_rooms_are_pytorchs():
    """A room takes nothing private from another one, but what programs know by such a name."""
    modules = [module for path, module in sys.modules.items() if path.partition(".")[0] == "torch"]
    theirs = {name for module in modules for name in vars(module)}
    assert {taken for taken in private_across_rooms(PACKAGE) if taken[-1] not in theirs} == set()
