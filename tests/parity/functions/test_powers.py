"""Powers of integers: they wrap around, whatever the exponent; errors for exponents that have no integer result."""

from itertools import product

import numpy as np
import pytest
from harness import agree, attempt, same

INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
BASES = (3, 5, 2, 0, 1, 7, 100, -1, -2, -3)
EXPONENTS = (0, 1, 2, 5, 31, 63, 64, 65, 100, 127, 128, 255, 256, 300, 2**31, 2**40 + 1, 2**62 + 3, 2**63 - 1,
             -1, -2, -128, -(2**63))  # fmt: skip


def bases(dtype):
    return [base for base in BASES if base >= 0 or dtype != "uint8"]


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_exponents_that_are_numbers(dtype):
    """Also ``pow_``, ``out=`` and exponents that the dtype can't hold, which are refused."""

    def program(torch):
        def made():
            return torch.tensor(bases(dtype), dtype=getattr(torch, dtype))

        forms = (lambda e: made() ** e, lambda e: made().pow_(e), lambda e: torch.pow(made(), e, out=torch.empty(0)))
        return [attempt(lambda form=form, e=e: form(e)) for e in EXPONENTS for form in forms]

    agree(program)


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_exponents_that_are_tensors(dtype):
    limits = np.iinfo(dtype)
    fitting = [exponent for exponent in EXPONENTS if limits.min <= exponent <= limits.max]
    base, exponent = np.array(list(product(bases(dtype), fitting)), dtype).T
    same(lambda torch, x, y: (x**y, x.clone().pow_(y), torch.pow(x, y, out=torch.empty(0, dtype=torch.int64))),
         base, exponent)  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGRAL)
def test_powers_of_a_number(dtype):
    exponent = np.array([0, 1, 2, 5, 64, 65, 100, 127], dtype)
    same(lambda torch, y: [base**y for base in (0, 1, 2, 3, 7)], exponent)
    same(lambda torch, y: [torch.tensor(base) ** y for base in (-1, -3, 100)], exponent)


def test_two_dtypes():
    base, exponent = np.array([3, 5, 2, 7, 100], "uint8"), np.array([64, 65, 100, 127, 2], "int8")
    same(lambda torch, x, y: [x ** y.to(getattr(torch, dtype)) for dtype in INTEGRAL], base, exponent)
    same(lambda torch, x, y: [x.to(getattr(torch, dtype)) ** y for dtype in INTEGRAL], base, exponent)
    same(lambda torch, x, y: torch.float_power(x, y), base, exponent)


def test_powers_of_truth_values():
    def program(torch):
        flags = torch.tensor([True, False])
        return [attempt(lambda e=e: flags**e) for e in (True, False, 0, 1, 2, -1, 2.0, 0.5)]

    agree(program)


def test_mapped_over_exponents():
    same(lambda torch, x, y: torch.func.vmap(lambda y: x**y)(y), np.array([3, 5, 2]), np.array([1, 64, 70]))


NEGATIVE = np.array([-2.0, -0.5, 2.0, 0.0])
PHASES = np.array([1j, 0.5 + 1j, 2 - 1j, 0.5j - 1])


@pytest.mark.parametrize(
    "text",
    ["torch.pow(x, z)", "x ** z", "torch.pow(-2.0, z)", "torch.pow(-0.5 + 1j, x + z)", "x ** 1j",
     "(x + z) ** (0.5 + 0j)", "torch.pow(1 + 0j, z)", "torch.float_power(x, z)",
     "torch.pow(torch.tensor([-2, 3, -1, 1]), z)"],
)  # fmt: skip
def test_negative_numbers_to_complex_powers(text):
    count = 4 if "tensor" in text else 3  # what is zero has no second derivative
    same(lambda torch, x, z: eval(text, {"torch": torch, "x": x, "z": z}), NEGATIVE[:count], PHASES[:count])


@pytest.mark.parametrize(
    "text",
    ["torch.pow(x, z)", "torch.pow(x + 0j, z)", "torch.pow(0.0, z)", "torch.pow(0j, z.real)", "x ** 0j",
     "x ** (1 + 1j)", "(x + 0j) ** z.real", "torch.pow(1, z * float('nan'))"],
)  # fmt: skip
def test_zero_to_complex_powers(text):
    exponents = np.array([0j, 1j, 3 + 0j, -1 + 0j, 2 + 1j, -1 + 1j])

    def program(torch, x, z):
        y = eval(text, {"torch": torch, "x": x, "z": z})
        leaves = [leaf for leaf in (x, z) if leaf.requires_grad]
        return y.detach(), *torch.autograd.grad(y, leaves, torch.ones_like(y), allow_unused=True)

    same(program, np.zeros(6), exponents, second=False, names=False)
