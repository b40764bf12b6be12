"""Comparisons, logical and bitwise functions and predicates against PyTorch's."""

import numpy as np
import pytest
from elementwise import (
    FLAGS,
    NUMBERS,
    ODD,
    A,
    M,
    N,
    V,
    Z,
    call,
    same_broadcast,
    same_function,
    same_or_same_error,
    same_with_number,
)
from harness import same, same_error
from samples import array

pytestmark = pytest.mark.parity

# -- operators and functions of several operands -----------------------------------------------------------------------

BINARY = {
    "==": lambda torch, x, y: x == y, "!=": lambda torch, x, y: x != y, "<": lambda torch, x, y: x < y,
    "<=": lambda torch, x, y: x <= y, ">": lambda torch, x, y: x > y, ">=": lambda torch, x, y: x >= y,
}  # fmt: skip


@pytest.mark.parametrize("symbol", BINARY)
def test_operators_broadcast(symbol):
    same_broadcast(BINARY[symbol])


@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("number", [True, *NUMBERS], ids=repr)
def test_operators_with_numbers_on_the_right(symbol, number):
    same_with_number(BINARY[symbol], number)


REFLECTED = {"<": lambda torch, x, y: y < x, "==": lambda torch, x, y: y == x}  # fmt: skip


@pytest.mark.parametrize("symbol", REFLECTED)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_operators_with_numbers_on_the_left(symbol, number):
    same_with_number(REFLECTED[symbol], number)


BITWISE = {
    "&": lambda torch, x, y: x & y, "|": lambda torch, x, y: x | y, "^": lambda torch, x, y: x ^ y,
    "<<": lambda torch, x, y: x << y, ">>": lambda torch, x, y: x >> y,
}  # fmt: skip


@pytest.mark.parametrize("symbol", BITWISE)
def test_bitwise_operators(symbol):
    program = BITWISE[symbol]
    narrow = N.astype("int8")
    for x, y in (
        (N, M),
        (narrow, narrow[0]),
        (N, 1),
        (3, N),
        (N, 70),
        (narrow, 9),
        (FLAGS, N),
        (FLAGS, 1),
        (A, 1),
        (1, A),
    ):
        same_or_same_error(program, x, y)
    same_or_same_error(program, FLAGS, FLAGS[0])


def test_inversion():
    same(lambda torch, x, y: (~x, ~y), N, FLAGS)
    same_error(lambda torch, x: ~x, A)


FUNCTIONS = {
    "logical_and": ((A, M), {}), "logical_or": ((Z, FLAGS), {}), "logical_xor": ((FLAGS, M), {}),
    "bitwise_and": ((N, 1), {}), "bitwise_left_shift": ((N, 2), {}), "gcd": ((N, M), {}), "lcm": ((N, M), {}),
    "isclose": ((A, A + 1e-6), {}), "isclose, exactly": ((A, A), {"rtol": 0, "atol": 0}),
    "isclose of nan": ((ODD, ODD), {"equal_nan": True}), "isclose of integers": ((N, N), {}),
    "allclose": ((A, A + 1e-9), {}), "equal": ((A, A), {}),
    "equal, other dtype": ((np.array([1.0]), np.array([1])), {}), "equal, other shape": ((A, V), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function(case):
    same_function(case, *FUNCTIONS[case])


ERRORS = {
    "& None": (lambda torch, x: x & None, N), "< None": (lambda torch, x: x < None, A),
    ">= str": (lambda torch, x: x >= "a", A), "broadcast, comparing": (lambda torch, x, y: x == y, A, array(4)),
    "complex order": (lambda torch, x: x < x, Z), "isclose dtypes": (call("isclose"), A, N),
    "isclose rtol": (call("isclose", rtol=-1), A, A), "equal with a number": (call("equal", 1), A),
    "float & int": (lambda torch, x: x & 1, A), "eq with None": (call("eq", None), A),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case):
    same_error(*ERRORS[case])


def test_foreign_operands_are_unequal():
    same(lambda torch, x: (x == None, x != None, x == "a", x == [1]), A)  # noqa: E711 - that is what is tested


PREDICATES = ["isnan", "isinf", "isfinite", "signbit", "logical_not", "isposinf", "isneginf", "isreal"]


@pytest.mark.parametrize("name", [*PREDICATES, "bitwise_not"])
@pytest.mark.parametrize("values", [ODD, N, FLAGS, Z], ids=["float64", "int64", "bool", "complex128"])
def test_predicates(name, values):
    same_or_same_error(call(name), values)
