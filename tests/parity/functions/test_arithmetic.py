"""Sums, products, quotients, powers and remainders against PyTorch: values, dtypes, gradients, kinks, errors, names."""

import pytest
from elementwise import (
    AWAY_V,
    FLAGS,
    INF,
    NAN,
    NUMBERS,
    POSITIVE,
    UNIT,
    A,
    M,
    N,
    V,
    Z,
    at,
    call,
    same_broadcast,
    same_function,
    same_saved,
    same_with_number,
)
from harness import same, same_error
from samples import array

pytestmark = pytest.mark.parity

TRAPS = {
    "tensor powers at 0": (call("pow"), at(0, 0, 0, 0, 2), at(0, 2, -1, 0.5, 0)),
    "powers of negative numbers": (call("pow"), at(-2, -2, -2), at(2, 3, 0.5)),
    "powers of 0": (lambda torch, x: 0**x, at(0, 1, -1)), "powers of 2": (lambda torch, x: 2**x, at(0, 1, -1, 0.5)),
    "powers of a negative number": (lambda torch, x: (-2.0) ** x, at(0, 1, -1, 0.5)),
    "powers of 1": (lambda torch, x: 1**x, at(0, 1, NAN, INF)),
    "float_power(0, 0)": (call("float_power"), at(0.0), at(0.0)),
    "complex powers at 0": (lambda torch, z: (z**2, z**0), at(0, 1j, dtype="complex128")),
    "complex tensor powers at 0": (call("pow"), at(0, dtype="complex128"), at(2, dtype="complex128")),
    "atan2 at 0": (call("atan2"), at(0.0, -0.0, 0.0, INF), at(0.0, 0.0, -0.0, -INF)),
    "hypot at 0": (call("hypot"), at(0.0, 3), at(0.0, 4)),
    "logaddexp of infinities": (call("logaddexp"), at(-INF, INF, 0), at(-INF, INF, -INF)),
    "remainder": (call("remainder"), at(5, -5, 4, -0.0), at(3, 3, 2, 2)),
    "remainder of infinities": (call("remainder"), at(1, -1, 0, INF, 1), at(INF, INF, -INF, 2, 0)),
    "remainder of a number": (call("remainder", -2), at(5, -5, 4.5)),
    "fmod": (call("fmod"), at(5, -5, 4, 1), at(3, 3, -2, 0)), "fmod of a number": (call("fmod", -2), at(5, -5, 4.5)),
    "div rounded down": (call("div", rounding_mode="floor"), at(5, -5, 0.5, -1), at(3, 3, -0.1, INF)),
    "div rounded to 0": (call("div", rounding_mode="trunc"), at(5, -5, 0.5), at(3, 3, -0.1)),
    "div by a number, rounded": (call("div", 2, rounding_mode="trunc"), at(5, -5, 0.5)),
    "div by 0, rounded": (call("div", rounding_mode="floor"), at(1, -1, 0, NAN, INF), at(0, 0, 0, 0, 0)),
    "copysign at 0": (call("copysign"), at(0, 0, 2), at(1, -1, -1)),
    "copysign of a number": (call("copysign", -0.0), at(0, 1, -2)),
    "heaviside": (lambda torch, x: torch.heaviside(x.detach(), torch.tensor(0.5, dtype=x.dtype)), at(0.0, 1, -1, NAN)),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap):
    program, *inputs = TRAPS[trap]
    same(program, *inputs)


BINARY = {
    "+": lambda torch, x, y: x + y, "-": lambda torch, x, y: x - y, "*": lambda torch, x, y: x * y,
    "/": lambda torch, x, y: x / y, "%": lambda torch, x, y: x % y, "**": lambda torch, x, y: x**y,
    "//": lambda torch, x, y: x.detach() // (y.detach() if isinstance(y, torch.Tensor) else y),
}  # fmt: skip


@pytest.mark.parametrize("symbol", BINARY)
def test_operators_broadcast(symbol):
    same_broadcast(BINARY[symbol])


@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("number", [True, *NUMBERS], ids=repr)
def test_operators_with_numbers_on_the_right(symbol, number):
    same_with_number(BINARY[symbol], number, lambda x: refused(symbol, x, number))


def refused(symbol, x, number):
    return (symbol == "**" and x is N and number == -3) or (symbol == "-" and number is True)


REFLECTED = {
    "+": lambda torch, x, y: y + x, "-": lambda torch, x, y: y - x, "*": lambda torch, x, y: y * x,
    "/": lambda torch, x, y: y / x, "**": lambda torch, x, y: y**x, "//": lambda torch, x, y: y // x.detach(),
    "%": lambda torch, x, y: y % x.detach(),
}  # fmt: skip


@pytest.mark.parametrize("symbol", REFLECTED)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_operators_with_numbers_on_the_left(symbol, number):
    same_with_number(REFLECTED[symbol], number)


FUNCTIONS = {
    "add": ((A, V), {}), "add, scaled": ((A, V), {"alpha": 2.5}), "add a number, scaled": ((A, 2), {"alpha": 3}),
    "add of integers, scaled": ((N, M), {"alpha": 3}), "add of booleans": ((FLAGS, FLAGS), {"alpha": 2}),
    "add of complex, scaled": ((Z, A), {"alpha": 1.5j}), "add to a number": ((2, A), {}), "sub": ((A, V), {}),
    "sub, scaled": ((A, V), {"alpha": 2.5}), "sub from a number, scaled": ((2, A), {"alpha": 3}), "rsub": ((A, V), {}),
    "rsub, scaled": ((A, 2), {"alpha": 3}), "rsub of a number": ((A, 2), {}), "mul": ((A, Z), {}),
    "div": ((Z, AWAY_V), {}), "true_divide": ((N, M), {}), "divide": ((N, 2), {}), "pow": ((POSITIVE, V), {}),
    "pow of complex": ((Z, A), {}), "pow to a complex": ((POSITIVE, 1.5j), {}), "float_power": ((N, 2), {}),
    "float_power of a number": ((2, A), {}), "float_power of complex": ((Z, 2), {}), "remainder": ((A, AWAY_V), {}),
    "fmod": ((A, AWAY_V), {}), "fmod of integers": ((N, M), {}), "remainder of integers": ((N, M), {}),
    "floor_divide": ((N, M), {}), "div, floored": ((N, M), {"rounding_mode": "floor"}),
    "div, truncated": ((N, M), {"rounding_mode": "trunc"}), "copysign": ((N, AWAY_V), {}), "atan2": ((A, N), {}),
    "hypot": ((A, AWAY_V), {}), "ldexp": ((A, V), {}), "ldexp of integers": ((N, M), {}), "logaddexp": ((A, V), {}),
    "logaddexp2": ((A, V), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function(case):
    same_function(case, *FUNCTIONS[case])


@pytest.mark.parametrize(
    "name", ["arctan2", "multiply", "greater_equal", "subtract"]
)
def test_aliases(name):
    same(call(name), UNIT, UNIT)
    same(lambda torch, x, y: getattr(x, name)(y), UNIT, UNIT)


ERRORS = {
    "+ None": (lambda torch, x: x + None, A), "None +": (lambda torch, x: None + x, A),
    "** None": (lambda torch, x: x**None, A), "// str": (lambda torch, x: x // "a", A),
    "broadcast": (lambda torch, x, y: x + y, A, array(4)), "+ of a string": (call("add", "a"), A),
    "mul by None": (call("mul", None), A), "-bool": (lambda torch, x: -x, FLAGS),
    "+bool": (lambda torch, x: +x, FLAGS), "bool - bool": (lambda torch, x: x - x, FLAGS),
    "bool - 1": (lambda torch, x: x - 1, FLAGS), "1 - bool": (lambda torch, x: 1 - x, FLAGS),
    "bool // bool": (lambda torch, x: x // x, FLAGS), "bool % bool": (lambda torch, x: x % x, FLAGS),
    "bool ** bool": (lambda torch, x: x**x, FLAGS), "integer to a negative power": (lambda torch, x: x**-1, N),
    "integer by zero": (lambda torch, x: x // 0, N), "integer modulo zero": (lambda torch, x: x % 0, N),
    "great int": (lambda torch, x: x * 2**70, A), "complex remainder": (call("remainder", 2), Z),
    "integer hypot": (call("hypot"), N, N), "float alpha": (call("add", 2, alpha=2.5), N),
    "complex alpha": (call("add", 2, alpha=2j), A), "bool alpha": (call("sub", 2, alpha=True), A),
    "rounding mode": (call("div", 2, rounding_mode="up"), A),
    "derivative of //": (lambda torch, x: (x // 2).sum().backward(), A),
    "derivative of number %": (lambda torch, x: (2 % x).sum().backward(), A),
    "pow of two numbers": (lambda torch, x: torch.pow(2, 3), A),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case):
    same_error(*ERRORS[case])


SAVED = {
    "mul": (lambda torch, x, y: x * y, ["self", "other"]), "div": (lambda torch, x, y: x / y, ["self", "other"]),
    "pow": (lambda torch, x, y: x**y, ["self", "exponent", "result"]),
    "power": (lambda torch, x, y: x**3, ["self", "exponent"]),
    "other power": (lambda torch, x, y: x**3.3, ["self", "exponent"]),
    "number power": (lambda torch, x, y: 3.0**x, ["self", "exponent", "result"]),
    "add": (lambda torch, x, y: x + y, ["alpha"]),
    "add, scaled": (lambda torch, x, y: torch.add(x, y, alpha=3), ["alpha"]),
    "div rounded": (lambda torch, x, y: x.div(y, rounding_mode="floor"), ["rounding_mode"]),
}


@pytest.mark.parametrize("case", SAVED)
def test_what_nodes_have_saved(case):
    same_saved(*SAVED[case])
