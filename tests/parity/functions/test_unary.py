"""Functions of one tensor, element by element, against PyTorch: values, dtypes, gradients to second order, kinks,
errors, node names."""

import numpy as np
import pytest
from elementwise import (
    ABOVE,
    AWAY,
    FLAGS,
    INF,
    NAN,
    ODD,
    POSITIVE,
    UNIT,
    A,
    N,
    V,
    Z,
    at,
    call,
    same_function,
    same_or_same_error,
    same_saved,
)
from harness import same, same_error

pytestmark = pytest.mark.parity

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


TRAPS = {
    "abs at 0": (call("abs"), at(-1, 0, 2)), "abs of complex 0": (call("abs"), at(0, 3 + 4j, dtype="complex128")),
    "sgn of complex 0": (call("sgn"), at(0, 3 + 4j, dtype="complex128")),
    "angle of complex 0": (call("angle"), at(0, 1 + 1j, dtype="complex128")),
    "angle of reals": (call("angle"), at(0, -0.0, -1, NAN)),
    "round half to even": (call("round"), at(0.5, 1.5, 2.5, -0.5)),
    "round to decimals": (call("round", decimals=1), at(0.25, 1.35, -2.449)),
    "round to tens": (call("round", decimals=-1), at(25.0, 135.0, -244.9)), "sqrt at 0": (call("sqrt"), at(0, 4)),
    "sqrt of a negative number": (call("sqrt"), at(-1.0)), "rsqrt at 0": (call("rsqrt"), at(0.0, 4)),
    "reciprocal at 0": (call("reciprocal"), at(0.0, -0.0)), "log at 0": (call("log"), at(0.0, -1.0)),
    "log1p at -1": (call("log1p"), at(-1.0, -2)),
    **{
        f"pow(x, {e})": (lambda torch, x, e=e: x**e, at(0.0, -0.0, -2, 3, NAN, INF, -INF))
        for e in (0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, 2.5, 7, 0.0, 1.0)
    },
    **{
        f"{name}: ties and nan": (call(name), at(1, 2, 1, NAN, 1, NAN), at(1, 1, 2, 1, NAN, NAN))
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    "sinc at 0": (call("sinc"), at(0, 0.5)),
    "asin, acos at 1": (lambda torch, x: (torch.asin(x), torch.acos(x)), at(1, -1, 2)),
    "atanh, acosh at 1": (lambda torch, x: (torch.atanh(x), torch.acosh(x)), at(1.0, -2)),
    "frac": (call("frac"), at(1.5, -1.5)), "nan_to_num": (call("nan_to_num"), at(NAN, INF, -INF, 1)),
    "nan_to_num with numbers": (call("nan_to_num", 1.5, posinf=2, neginf=-3), at(NAN, INF, -INF, 1)),
    "nan_to_num of complex": (
        lambda torch, z: torch.nan_to_num(z.detach()),
        at(complex(NAN, INF), 1j, dtype="complex128"),
    ),
    "logit": (call("logit"), at(0.0, 1, 0.5, 2)), "logit with eps": (call("logit", 0.1), at(0.05, 0.1, 0.5, 0.95)),
    "saturated": (lambda torch, x: (torch.sigmoid(x), torch.tanh(x)), at(1000.0, -1000)),
    "sqrt on the branch cut": (call("sqrt"), at(complex(-1, 0.0), complex(-1, -0.0), dtype="complex128")),
    "log on the branch cut": (call("log"), at(complex(-1, 0.0), complex(-1, -0.0), dtype="complex128")),
    "asin on the branch cut": (call("asin"), at(complex(2, 0.0), complex(2, -0.0), -2 + 0j, dtype="complex128")),
    "acosh on both sides": (call("acosh"), at(0.5 + 0.1j, 0.5 - 0.1j, -2 + 1j, -2 - 1j, dtype="complex128")),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap):
    program, *inputs = TRAPS[trap]
    same(program, *inputs)


FUNCTIONS = {
    "complex": ((A, V), {}), "polar": ((POSITIVE, V), {}), "nan_to_num": ((N,), {}), "real": ((Z,), {}),
    "imag": ((Z,), {}), "conj": ((Z,), {}), "real of real": ((A,), {}), "conj_physical": ((Z,), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function(case):
    same_function(case, *FUNCTIONS[case])


def test_parts_of_complex_numbers():
    same(lambda torch, z: (z.real, z.imag, z.conj(), z.real * 2 + z.imag), Z)
    same(lambda torch, x: x.real, A)
    same_error(lambda torch, x: x.imag, A)


ERRORS = {
    "complex of integers": (call("complex"), N, N), "complex of two dtypes": (call("complex"), A, A.astype("float32")),
    "sign of complex": (call("sign"), Z), "exp of a number": (lambda torch, x: torch.exp(2.0), A),
    "abs of bool": (call("abs"), FLAGS),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case):
    same_error(*ERRORS[case])


SAVED = {
    "exp": (lambda torch, x, y: x.exp(), ["result"]), "sin": (lambda torch, x, y: x.sin(), ["self"]),
    "logit": (lambda torch, x, y: (x / 3).logit(0.1), ["self", "eps"]),
}


@pytest.mark.parametrize("case", SAVED)
def test_what_nodes_have_saved(case):
    same_saved(*SAVED[case])


@pytest.mark.parametrize(
    "name", ["absolute", "negative", "arcsin", "fix"]
)
def test_aliases(name):
    same(call(name), UNIT)
    same(lambda torch, x: getattr(x, name)(), UNIT)
