"""Elementwise functions against PyTorch: values, dtypes, gradients to second order, kinks, errors, node names."""

import math

import numpy as np
import pytest
from harness import same, same_error
from samples import array

pytestmark = pytest.mark.parity

A, B, V, W, POINT, EMPTY = array(2, 3), array(2, 3, seed=1), array(3), array(3, seed=1), array(), array(0, 3)
POSITIVE, UNIT, ABOVE = array(2, 3, low=0.2), array(2, 3, low=-0.9, high=0.9), array(2, 3, low=1.1, high=3)
AWAY, AWAY_V = POSITIVE * np.array([1, -1, 1]), array(3, low=0.2, seed=1) * np.array([-1, 1, 1])
Z = array(2, 3, dtype="complex128") / 2 + 0.7
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
POSITIVE_POINT, FLAGS = np.asarray(0.7), A > 0
INF, NAN = math.inf, math.nan
ODD = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0])


def call(name, *args, **kwargs):
    """The program that calls ``torch.name`` (or ``torch.special.name``) on its tensors and these arguments."""
    home, _, short = name.rpartition(".")

    def program(torch, *tensors):
        return getattr(getattr(torch, home) if home else torch, short)(*tensors, *args, **kwargs)

    return program


UNARY = {
    "exp": A, "exp2": A, "expm1": A, "log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE, "log1p": POSITIVE,
    "sqrt": POSITIVE, "rsqrt": POSITIVE, "reciprocal": AWAY, "sin": A, "cos": A, "tan": UNIT, "asin": UNIT,
    "acos": UNIT, "atan": A, "sinh": A, "cosh": A, "tanh": A, "asinh": A, "acosh": ABOVE, "atanh": UNIT, "sigmoid": A,
    "angle": A, "sinc": AWAY, "erf": A, "erfc": A, "erfinv": UNIT, "lgamma": AWAY, "digamma": AWAY, "floor": A,
    "ceil": A, "trunc": A, "frac": A, "abs": A, "neg": A, "sgn": A, "sign": A, "deg2rad": A, "rad2deg": A, "round": A,
    "square": A, "logit": UNIT, "nan_to_num": A, "positive": A, "i0": A, "special.entr": POSITIVE,
    "special.ndtri": np.abs(UNIT), "special.ndtr": A, "special.log_ndtr": A, "special.i0e": A, "special.i1": A,
    "special.i1e": A,
}  # fmt: skip
COMPLEX = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "angle", "sinc", "abs",
    "neg", "sgn", "square", "nan_to_num", "positive",
]  # fmt: skip
PREDICATES = ["isnan", "isinf", "isfinite", "signbit", "logical_not", "isposinf", "isneginf", "isreal"]
HALVES = [
    "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "tanh", "sigmoid", "erf", "floor", "abs", "neg", "square",
    "lgamma",
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary_to_second_order(name):
    rtol = 1e-6 if name in ("lgamma", "digamma") else 1e-7
    same(call(name), UNARY[name], rtol=rtol, names=name != "special.ndtr")  # which is a composite in either


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("values", [N, N.astype("uint8"), FLAGS], ids=["int64", "uint8", "bool"])
def test_unary_of_integers(name, values):
    """The same dtype, the same numbers, or the same error."""
    same_or_same_error(call(name), values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", UNARY)
def test_unary_of_odd_numbers(name):
    same(call(name), ODD, grads=False, names=False)


@pytest.mark.parametrize("name", [*COMPLEX, "floor", "round", "erf", "lgamma", "sign", "frac", "deg2rad", "logit"])
def test_unary_of_complex_numbers(name):
    same_or_same_error(call(name), Z)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", HALVES)
def test_unary_in_narrow_types(name, dtype):
    def program(torch, x):
        return call(name)(torch, x.to(getattr(torch, dtype)))

    rtol = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5}[dtype]
    same(program, UNARY[name].astype("float32"), second=False, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", [*PREDICATES, "bitwise_not"])
@pytest.mark.parametrize("values", [ODD, N, FLAGS, Z], ids=["float64", "int64", "bool", "complex128"])
def test_predicates(name, values):
    same_or_same_error(call(name), values)


def same_or_same_error(program, *inputs, **options):
    """What PyTorch refuses is refused in the same words; what it takes gives the same."""
    try:
        same(program, *inputs, **options)
    except (NotImplementedError, RuntimeError):
        same_error(program, *inputs)


def at(*numbers, dtype="float64"):
    return np.array(numbers, dtype)


TRAPS = {
    "abs at 0": (call("abs"), at(-1, 0, 2)),
    "abs of complex 0": (call("abs"), at(0, 3 + 4j, dtype="complex128")),
    "sgn of complex 0": (call("sgn"), at(0, 3 + 4j, dtype="complex128")),
    "angle of complex 0": (call("angle"), at(0, 1 + 1j, dtype="complex128")),
    "angle of reals": (call("angle"), at(0, -0.0, -1, NAN)),
    "round half to even": (call("round"), at(0.5, 1.5, 2.5, -0.5)),
    "round to decimals": (call("round", decimals=1), at(0.25, 1.35, -2.449)),
    "round to tens": (call("round", decimals=-1), at(25.0, 135.0, -244.9)),
    "sqrt at 0": (call("sqrt"), at(0, 4)),
    "sqrt of a negative number": (call("sqrt"), at(-1.0)),
    "rsqrt at 0": (call("rsqrt"), at(0.0, 4)),
    "reciprocal at 0": (call("reciprocal"), at(0.0, -0.0)),
    "log at 0": (call("log"), at(0.0, -1.0)),
    "log1p at -1": (call("log1p"), at(-1.0, -2)),
    "where hides a value, not its gradient": (
        lambda torch, x: torch.where(x > 0, torch.log(x), torch.zeros(3, dtype=x.dtype)),
        at(-1, 0, 2),
    ),
    "sqrt masked at 0": (lambda torch, x: torch.where(x > 0, torch.sqrt(x), 0.0), at(0, 4)),
    **{
        f"pow(x, {e})": (lambda torch, x, e=e: x**e, at(0.0, -0.0, -2, 3, NAN, INF, -INF))
        for e in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, 2.5, 7, 0.0, 1.0)
    },
    "tensor powers at 0": (call("pow"), at(0, 0, 0, 0, 2), at(0, 2, -1, 0.5, 0)),
    "powers of negative numbers": (call("pow"), at(-2, -2, -2), at(2, 3, 0.5)),
    "powers of 0": (lambda torch, x: 0**x, at(0, 1, -1)),
    "powers of 2": (lambda torch, x: 2**x, at(0, 1, -1, 0.5)),
    "powers of a negative number": (lambda torch, x: (-2.0) ** x, at(0, 1, -1, 0.5)),
    "powers of 1": (lambda torch, x: 1**x, at(0, 1, NAN, INF)),
    "float_power(0, 0)": (call("float_power"), at(0.0), at(0.0)),
    "complex powers at 0": (lambda torch, z: (z**2, z**0), at(0, 1j, dtype="complex128")),
    "complex tensor powers at 0": (call("pow"), at(0, dtype="complex128"), at(2, dtype="complex128")),
    "clamp at the bounds": (call("clamp", 0, 1), at(-1, 0, 0.5, 1, 2, NAN)),
    "clamp from below": (call("clamp", min=0), at(-1, 0, 0.5, NAN)),
    "clamp from above": (call("clamp", max=0), at(-1, 0, 0.5, NAN)),
    "clamp to contradicting bounds": (call("clamp", 2, 1), at(0.0, 1, 1.5, 2, 3)),
    "clamp to nan": (call("clamp", NAN, 1), at(0.0, 1)),
    "clamp_min": (call("clamp_min", 0.5), at(0, 0.5, 1, NAN)),
    "clamp_max": (call("clamp_max", 0.5), at(0, 0.5, 1, NAN)),
    "clamp to tensors": (call("clamp"), at(-1, 0, 0.5, 1, 2, NAN), at(0, 0, 0, 0, 0, 0), at(1, 1, 1, 1, 1, 1)),
    "clamp to contradicting tensors": (call("clamp"), at(0, 1.5, 3), at(2, 2, 2), at(1, 1, 1)),
    "clamp to a tensor": (lambda torch, x, y: (x.clamp(min=y), x.clamp(max=y)), at(0, 1, 2), at(1, 1, 1)),
    "clamp_min to a tensor": (call("clamp_min"), at(0, 1, 2, NAN), at(1, 1, 1, 1)),
    "clamp_max to a tensor": (call("clamp_max"), at(0, 1, 2, NAN), at(1, 1, 1, 1)),
    **{
        f"{name}: ties and nan": (call(name), at(1, 2, 1, NAN, 1, NAN), at(1, 1, 2, 1, NAN, NAN))
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    "atan2 at 0": (call("atan2"), at(0.0, -0.0, 0.0, INF), at(0.0, 0.0, -0.0, -INF)),
    "hypot at 0": (call("hypot"), at(0.0, 3), at(0.0, 4)),
    "xlogy at 0": (call("xlogy"), at(0, 0, 1, NAN, 0, 0), at(0, 2, 0, 1, NAN, -1)),
    "xlogy of numbers": (lambda torch, x: (torch.xlogy(x, 2), torch.xlogy(2, x)), at(0, 1, 2)),
    "special.xlog1py at 0": (call("special.xlog1py"), at(0, 1, 0), at(-1, 2, -2)),
    "logaddexp of infinities": (call("logaddexp"), at(-INF, INF, 0), at(-INF, INF, -INF)),
    "sinc at 0": (call("sinc"), at(0, 0.5)),
    "asin, acos at 1": (lambda torch, x: (torch.asin(x), torch.acos(x)), at(1, -1, 2)),
    "atanh, acosh at 1": (lambda torch, x: (torch.atanh(x), torch.acosh(x)), at(1.0, -2)),
    "remainder": (call("remainder"), at(5, -5, 4, -0.0), at(3, 3, 2, 2)),
    "remainder of infinities": (call("remainder"), at(1, -1, 0, INF, 1), at(INF, INF, -INF, 2, 0)),
    "remainder of a number": (call("remainder", -2), at(5, -5, 4.5)),
    "fmod": (call("fmod"), at(5, -5, 4, 1), at(3, 3, -2, 0)),
    "fmod of a number": (call("fmod", -2), at(5, -5, 4.5)),
    "div rounded down": (call("div", rounding_mode="floor"), at(5, -5, 0.5, -1), at(3, 3, -0.1, INF)),
    "div rounded to 0": (call("div", rounding_mode="trunc"), at(5, -5, 0.5), at(3, 3, -0.1)),
    "div by a number, rounded": (call("div", 2, rounding_mode="trunc"), at(5, -5, 0.5)),
    "div by 0, rounded": (call("div", rounding_mode="floor"), at(1, -1, 0, NAN, INF), at(0, 0, 0, 0, 0)),
    "frac": (call("frac"), at(1.5, -1.5)),
    "copysign at 0": (call("copysign"), at(0, 0, 2), at(1, -1, -1)),
    "copysign of a number": (call("copysign", -0.0), at(0, 1, -2)),
    "nan_to_num": (call("nan_to_num"), at(NAN, INF, -INF, 1)),
    "nan_to_num with numbers": (call("nan_to_num", 1.5, posinf=2, neginf=-3), at(NAN, INF, -INF, 1)),
    "nan_to_num of complex": (
        lambda torch, z: torch.nan_to_num(z.detach()),
        at(complex(NAN, INF), 1j, dtype="complex128"),
    ),
    "logit": (call("logit"), at(0.0, 1, 0.5, 2)),
    "logit with eps": (call("logit", 0.1), at(0.05, 0.1, 0.5, 0.95)),
    "saturated": (lambda torch, x: (torch.sigmoid(x), torch.tanh(x)), at(1000.0, -1000)),
    "lerp": (call("lerp", 0.5), at(1, INF), at(2, INF)),
    "lerp by a tensor": (call("lerp"), at(0, 0), at(10, 10), at(0.5, 0.2)),
    "sqrt on the branch cut": (call("sqrt"), at(complex(-1, 0.0), complex(-1, -0.0), dtype="complex128")),
    "log on the branch cut": (call("log"), at(complex(-1, 0.0), complex(-1, -0.0), dtype="complex128")),
    "asin on the branch cut": (call("asin"), at(complex(2, 0.0), complex(2, -0.0), -2 + 0j, dtype="complex128")),
    "acosh on both sides": (call("acosh"), at(0.5 + 0.1j, 0.5 - 0.1j, -2 + 1j, -2 - 1j, dtype="complex128")),
    "special.entr": (call("special.entr"), at(0.0, -1, 0.5)),
    "special.ndtri": (call("special.ndtri"), at(0.0, 1, 0.5)),
    "special.i1 at 0": (lambda torch, x: (torch.special.i1(x), torch.special.i1e(x)), at(0.0, 1e-30)),
    "erfinv at 1": (call("erfinv"), at(1.0, -1, 2)),
    "lgamma at whole numbers": (call("lgamma"), at(0.0, -1, 1, 2)),
    "digamma at 0": (call("digamma"), at(0.0, -0.0)),
    "heaviside": (lambda torch, x: torch.heaviside(x.detach(), torch.tensor(0.5, dtype=x.dtype)), at(0.0, 1, -1, NAN)),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap):
    program, *inputs = TRAPS[trap]
    same(program, *inputs)


# -- operators and functions of several operands -----------------------------------------------------------------------

BINARY = {
    "+": lambda torch, x, y: x + y, "-": lambda torch, x, y: x - y, "*": lambda torch, x, y: x * y,
    "/": lambda torch, x, y: x / y, "%": lambda torch, x, y: x % y, "**": lambda torch, x, y: x**y,
    "//": lambda torch, x, y: x.detach() // (y.detach() if isinstance(y, torch.Tensor) else y),
    "==": lambda torch, x, y: x == y, "!=": lambda torch, x, y: x != y, "<": lambda torch, x, y: x < y,
    "<=": lambda torch, x, y: x <= y, ">": lambda torch, x, y: x > y, ">=": lambda torch, x, y: x >= y,
}  # fmt: skip


@pytest.mark.parametrize("symbol", BINARY)
def test_operators_broadcast(symbol):
    for x, y in ((POSITIVE, AWAY_V), (POSITIVE_POINT, AWAY), (EMPTY, V)):
        same(BINARY[symbol], x, y, rtol=1e-6)


@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("number", [2, 2.5, True, -3, np.float32(1.5), np.int64(2)], ids=repr)
def test_operators_with_numbers_on_the_right(symbol, number):
    for x in (POSITIVE, N):
        compare = same_error if refused(symbol, x, number) else same
        compare(lambda torch, t: BINARY[symbol](torch, t, number), x)


def refused(symbol, x, number):
    return (symbol == "**" and x is N and number == -3) or (symbol == "-" and number is True)


REFLECTED = {
    "+": lambda torch, x, y: y + x, "-": lambda torch, x, y: y - x, "*": lambda torch, x, y: y * x,
    "/": lambda torch, x, y: y / x, "**": lambda torch, x, y: y**x, "//": lambda torch, x, y: y // x.detach(),
    "%": lambda torch, x, y: y % x.detach(), "<": lambda torch, x, y: y < x, "==": lambda torch, x, y: y == x,
}  # fmt: skip


@pytest.mark.parametrize("symbol", REFLECTED)
@pytest.mark.parametrize("number", [2, 2.5, -3, np.float32(1.5), np.int64(2)], ids=repr)
def test_operators_with_numbers_on_the_left(symbol, number):
    for x in (POSITIVE, N):
        same(lambda torch, t: REFLECTED[symbol](torch, t, number), x)


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
    "div, truncated": ((N, M), {"rounding_mode": "trunc"}), "xlogy": ((N, M), {}), "copysign": ((N, AWAY_V), {}),
    "maximum": ((A, W), {}), "minimum": ((N, V), {}), "atan2": ((A, N), {}), "hypot": ((A, AWAY_V), {}),
    "ldexp": ((A, V), {}), "ldexp of integers": ((N, M), {}), "mvlgamma": ((POSITIVE + 1, 3), {}),
    "logaddexp": ((A, V), {}), "logaddexp2": ((A, V), {}), "lerp": ((A, W, 0.3), {}),
    "lerp, complex": ((Z, Z, 0.7), {}), "addcmul": ((A, V, B), {"value": 2}),
    "addcmul of integers": ((N, M, N), {"value": 2.5}), "addcdiv": ((A, V, AWAY), {"value": 2}),
    "addcmul with integers": ((A, V, N), {}), "complex": ((A, V), {}), "polar": ((POSITIVE, V), {}),
    "clamp": ((A, -0.5, 0.5), {}), "clip": ((A,), {"max": 0.5}), "clamp of integers": ((N, 0, 2.5), {}),
    "clamp of booleans": ((FLAGS, 0, 1), {}), "clamp by tensors": ((A, V, W), {}), "clamp_min": ((N, 1.5), {}),
    "logical_and": ((A, M), {}), "logical_or": ((Z, FLAGS), {}), "logical_xor": ((FLAGS, M), {}),
    "bitwise_and": ((N, 1), {}), "bitwise_left_shift": ((N, 2), {}), "gcd": ((N, M), {}), "lcm": ((N, M), {}),
    "isclose": ((A, A + 1e-6), {}), "isclose, exactly": ((A, A), {"rtol": 0, "atol": 0}),
    "isclose of nan": ((ODD, ODD), {"equal_nan": True}), "isclose of integers": ((N, N), {}),
    "polygamma": ((2, POSITIVE), {}), "nan_to_num": ((N,), {}), "real": ((Z,), {}), "imag": ((Z,), {}),
    "conj": ((Z,), {}), "real of real": ((A,), {}), "conj_physical": ((Z,), {}), "allclose": ((A, A + 1e-9), {}),
    "equal": ((A, A), {}), "equal, other dtype": ((np.array([1.0]), np.array([1])), {}),
    "equal, other shape": ((A, V), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function(case):
    args, kwargs = FUNCTIONS[case]
    name = case.split(",")[0].split(" ")[0]
    same(lambda torch, *given: getattr(torch, name)(*given, **kwargs), *args)


def test_functions_with_a_derivative_in_one_argument():
    x, y = array(2, 3, low=0.5, high=3), array(3, low=0.5, high=3, seed=1)
    for name in ("igamma", "igammac", "special.gammainc", "special.zeta"):
        lift = 1 if name == "special.zeta" else 0
        same(lambda torch, x, y, name=name, lift=lift: call(name)(torch, x.detach() + lift, y), x, y, rtol=1e-6)
        same_error(lambda torch, x, y, name=name: call(name)(torch, x + 1, y).sum().backward(), x, y)


@pytest.mark.parametrize(
    "name", ["absolute", "negative", "arcsin", "arctan2", "multiply", "greater_equal", "fix", "subtract"]
)
def test_aliases(name):
    args = (UNIT, UNIT) if name in ("arctan2", "multiply", "greater_equal", "subtract") else (UNIT,)
    same(call(name), *args)
    same(lambda torch, x, *rest: getattr(x, name)(*rest), *args)


def test_parts_of_complex_numbers():
    same(lambda torch, z: (z.real, z.imag, z.conj(), z.real * 2 + z.imag), Z)
    same(lambda torch, x: x.real, A)
    same_error(lambda torch, x: x.imag, A)


# -- errors ------------------------------------------------------------------------------------------------------------

ERRORS = {
    "+ None": (lambda torch, x: x + None, A),
    "None +": (lambda torch, x: None + x, A),
    "** None": (lambda torch, x: x**None, A),
    "// str": (lambda torch, x: x // "a", A),
    "& None": (lambda torch, x: x & None, N),
    "< None": (lambda torch, x: x < None, A),
    ">= str": (lambda torch, x: x >= "a", A),
    "broadcast": (lambda torch, x, y: x + y, A, array(4)),
    "broadcast, comparing": (lambda torch, x, y: x == y, A, array(4)),
    "+ of a string": (call("add", "a"), A),
    "mul by None": (call("mul", None), A),
    "-bool": (lambda torch, x: -x, FLAGS),
    "+bool": (lambda torch, x: +x, FLAGS),
    "bool - bool": (lambda torch, x: x - x, FLAGS),
    "bool - 1": (lambda torch, x: x - 1, FLAGS),
    "1 - bool": (lambda torch, x: 1 - x, FLAGS),
    "bool // bool": (lambda torch, x: x // x, FLAGS),
    "bool % bool": (lambda torch, x: x % x, FLAGS),
    "bool ** bool": (lambda torch, x: x**x, FLAGS),
    "integer to a negative power": (lambda torch, x: x**-1, N),
    "integer by zero": (lambda torch, x: x // 0, N),
    "integer modulo zero": (lambda torch, x: x % 0, N),
    "great int": (lambda torch, x: x * 2**70, A),
    "complex order": (lambda torch, x: x < x, Z),
    "complex maximum": (call("maximum"), Z, Z),
    "complex clamp": (call("clamp", 1), Z),
    "complex remainder": (call("remainder", 2), Z),
    "clamp without bounds": (call("clamp"), A),
    "clamp int8 beyond": (call("clamp", -200, 300), N.astype("int8")),
    "maximum with a number": (call("maximum", 2), A),
    "integer hypot": (call("hypot"), N, N),
    "float alpha": (call("add", 2, alpha=2.5), N),
    "complex alpha": (call("add", 2, alpha=2j), A),
    "bool alpha": (call("sub", 2, alpha=True), A),
    "rounding mode": (call("div", 2, rounding_mode="up"), A),
    "where by integers": (lambda torch, x: torch.where(x, x, x), N),
    "masked_fill by integers": (lambda torch, x: x.masked_fill(x, 1), N),
    "masked_fill with dimensions": (lambda torch, x, m: x.masked_fill(m, x), V, FLAGS),
    "masked_fill overflow": (lambda torch, x: x.masked_fill(x > 0, 1e300), A.astype("float32")),
    "masked_fill int overflow": (lambda torch, x: x.masked_fill(x > 0, 300), N.astype("int8")),
    "masked_fill complex": (lambda torch, x: x.masked_fill(x > 0, 1j), A),
    "lerp dtypes": (call("lerp", 0.5), A, A.astype("float32")),
    "lerp of integers": (call("lerp", 0.5), N, N),
    "addcdiv of integers": (call("addcdiv"), N, N, N),
    "complex of integers": (call("complex"), N, N),
    "complex of two dtypes": (call("complex"), A, A.astype("float32")),
    "isclose dtypes": (call("isclose"), A, N),
    "isclose rtol": (call("isclose", rtol=-1), A, A),
    "equal with a number": (call("equal", 1), A),
    "sign of complex": (call("sign"), Z),
    "exp of a number": (lambda torch, x: torch.exp(2.0), A),
    "derivative of //": (lambda torch, x: (x // 2).sum().backward(), A),
    "derivative of number %": (lambda torch, x: (2 % x).sum().backward(), A),
    "abs of bool": (call("abs"), FLAGS),
    "float & int": (lambda torch, x: x & 1, A),
    "eq with None": (call("eq", None), A),
    "pow of two numbers": (lambda torch, x: torch.pow(2, 3), A),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case):
    same_error(*ERRORS[case])


def test_foreign_operands_are_unequal():
    same(lambda torch, x: (x == None, x != None, x == "a", x == [1]), A)  # noqa: E711 - that is what is tested


# -- nodes -------------------------------------------------------------------------------------------------------------

SAVED = {
    "mul": (lambda torch, x, y: x * y, ["self", "other"]),
    "div": (lambda torch, x, y: x / y, ["self", "other"]),
    "pow": (lambda torch, x, y: x**y, ["self", "exponent", "result"]),
    "power": (lambda torch, x, y: x**3, ["self", "exponent"]),
    "other power": (lambda torch, x, y: x**3.3, ["self", "exponent"]),
    "number power": (lambda torch, x, y: 3.0**x, ["self", "exponent", "result"]),
    "add": (lambda torch, x, y: x + y, ["alpha"]),
    "add, scaled": (lambda torch, x, y: torch.add(x, y, alpha=3), ["alpha"]),
    "exp": (lambda torch, x, y: x.exp(), ["result"]),
    "sin": (lambda torch, x, y: x.sin(), ["self"]),
    "clamp": (lambda torch, x, y: x.clamp(0.5, 1), ["self", "min", "max"]),
    "clamp to tensors": (lambda torch, x, y: x.clamp(y, y + 1), ["self", "min", "max"]),
    "maximum": (lambda torch, x, y: x.maximum(y), ["self", "other"]),
    "where": (lambda torch, x, y: torch.where(x > 1, x, y), ["condition"]),
    "masked_fill": (lambda torch, x, y: x.masked_fill(x > 1, 2), ["mask"]),
    "logit": (lambda torch, x, y: (x / 3).logit(0.1), ["self", "eps"]),
    "lerp": (lambda torch, x, y: x.lerp(y, 0.3), ["weight"]),
    "addcmul": (lambda torch, x, y: x.addcmul(y, y, value=2), ["tensor1", "tensor2", "value"]),
    "div rounded": (lambda torch, x, y: x.div(y, rounding_mode="floor"), ["rounding_mode"]),
}


@pytest.mark.parametrize("case", SAVED)
def test_what_nodes_have_saved(case):
    program, fields = SAVED[case]

    def saved(torch, x, y):
        node = program(torch, x, y).grad_fn
        values = [getattr(node, f"_saved_{field}") for field in fields]
        return [value.detach() if isinstance(value, torch.Tensor) else plain(value) for value in values]

    def plain(value):
        return float(value) if isinstance(value, int) else value  # an int beside floats is a float here

    same(saved, POSITIVE, array(3, low=0.2, seed=1))
