"""Quantiles, beside PyTorch's."""

import numpy as np
import pytest
from harness import agree, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A, V = array(2, 3), array(4)
NAN = np.array([[1.0, np.nan, 2.0, 4.0], [3.0, 1.0, 0.5, 7.0]])
QS = np.array([0.2, 0.7])
HOWS = ("linear", "lower", "higher", "midpoint", "nearest")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name, how):
    def program(torch, x, q):
        function = getattr(torch, name)
        return function(x, 0.3, dim=1, interpolation=how), function(x, q, dim=1, interpolation=how)

    same(program, NAN, QS)


QUANTILES = {
    "all": lambda torch, x, q: torch.quantile(x, 0.3),
    "all, kept": lambda torch, x, q: x.quantile(q, keepdim=True),
    "first dimension": lambda torch, x, q: torch.quantile(x, q, dim=0),
    "first dimension, kept": lambda torch, x, q: torch.quantile(x, q, 0, True),
    "one": lambda torch, x, q: torch.quantile(x, q[0], dim=-1, keepdim=True),
    "of a vector": lambda torch, x, q: torch.quantile(x[0], q[1], 0),
    "of a number": lambda torch, x, q: torch.quantile(x[0, 0], q, dim=0),
    "ends": lambda torch, x, q: torch.quantile(x, torch.tensor([0.0, 1.0, 0.5], dtype=x.dtype), dim=1),
    "int": lambda torch, x, q: torch.quantile(x, 1),
    "no quantiles": lambda torch, x, q: torch.quantile(x, q[:0], dim=1),
    "not contiguous": lambda torch, x, q: torch.nanquantile(x.T, q, dim=0),
    "nothing but nan": lambda torch, x, q: torch.nanquantile(x * float("nan"), 0.5, dim=1),
}


@pytest.mark.parametrize("case", QUANTILES)
def test_quantile_cases(case):
    same(QUANTILES[case], A, QS)


def test_quantile_of_ties():
    same(lambda torch, x: torch.quantile(x, 0.5), np.array([1.0, 2.0, 3.0, 4.0]))
    same(lambda torch, x: torch.quantile(x, 0.3), np.array([2.0, 2.0, 1.0, 2.0]))


def test_quantile_in_float32():
    agree(lambda torch: torch.quantile(torch.linspace(-3, 5, 40), torch.linspace(0, 1, 7)))


QUANTILE_ERRORS = {
    "int": lambda torch, x: torch.quantile(torch.arange(3), 0.5),
    "half": lambda torch, x: torch.nanquantile(x.half(), 0.5),
    "complex": lambda torch, x: torch.quantile(x + 1j, 0.5),
    "empty": lambda torch, x: torch.quantile(x[:0], 0.5),
    "interpolation": lambda torch, x: torch.quantile(x, 0.5, interpolation="cubic"),
    "number above": lambda torch, x: torch.quantile(x, 1.5),
    "nan": lambda torch, x: torch.nanquantile(x, float("nan")),
    "tensor below": lambda torch, x: torch.quantile(x, torch.tensor([0.5, -0.1], dtype=torch.float64)),
    "matrix": lambda torch, x: torch.quantile(x, torch.zeros(1, 1, dtype=torch.float64)),
    "another dtype": lambda torch, x: torch.quantile(x, torch.zeros(1)),
    "dim": lambda torch, x: torch.quantile(x, 0.5, dim=2),
    "out": lambda torch, x: torch.quantile(x.detach(), 0.5, out=torch.empty(())),
}


@pytest.mark.parametrize("case", QUANTILE_ERRORS)
def test_quantile_errors(case):
    same_error(QUANTILE_ERRORS[case], A)


@pytest.mark.parametrize("wrong", ["half", (0, 1)])
def test_quantile_overloads(wrong):
    same_error(
        lambda torch, x: torch.quantile(x, wrong) if isinstance(wrong, str) else torch.quantile(x, 0.5, wrong),
        A,
        match="quantile() received an invalid combination of arguments - got (Tensor, ",
    )
