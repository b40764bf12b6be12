"""``erfcx``, ``frexp``, gamma functions, and the names of ``torch.special`` beside PyTorch's."""

from itertools import product

import numpy as np
import pytest
import torch as pytorch
from elementwise import NAN, POSITIVE, M, N, at, call
from expressions import expression
from harness import agree, same, same_error
from samples import array
from transcripts import same_transcript

import tapegrad

pytestmark = pytest.mark.parity

# -- with derivatives --------------------------------------------------------------------------------------------------

DIFFERENTIABLE = {
    "torch.special.erfcx(x)": (array(2, 3) * 5,),
    "torch.special.erfcx(x.T[::2])": (array(2, 3),),
    "torch.special.erfcx(x)  # of none": (array(0, 3),),
    "torch.frexp(x)": (array(2, 3),),
    "x.frexp().mantissa": (array(3),),
}


@pytest.mark.parametrize("text", DIFFERENTIABLE)
def test_derivatives(text):
    same(expression(text), *DIFFERENTIABLE[text], rtol=1e-10)


NUMBERS = ["y + 1, x + 1", "y + 1, 3", "3.0, x + 1", "x * 0, -1.0", "0, x * 0 - 1", "x.long(), 3"]


@pytest.mark.parametrize("name", ["xlog1py", "zeta"])
@pytest.mark.parametrize("arguments", NUMBERS)
def test_pairs_of_which_one_may_be_a_number(name, arguments):
    """The first argument of ``zeta`` has no derivative, which ``test_errors`` asks for."""
    grads = name != "zeta" or arguments.startswith(("3", "0"))
    text = f"torch.special.{name}({arguments})"
    same(expression(text), np.array([0.5, 2.0, 3.0]), np.array([0.7, 1.2, 4.0]), grads=grads)


ERRORS = [
    "torch.special.zeta(x + 1, 3.0).sum().backward()", "torch.special.zeta(x + 1, x).sum().backward()",
    "torch.special.zeta(2, 3)", "torch.special.zeta(x, 'a')", "torch.special.zeta(x.half(), 2)",
    "torch.special.xlog1py(x, 2j)", "torch.special.xlog1py(2, 3)",
    "torch.special.ndtri(x.half())", "torch.special.log_ndtr(x.bfloat16())", "torch.special.round(x.int())",
    "torch.special.round(x > 1)",
]  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    same_error(expression(text), np.array([0.5, 2.0, 3.0]))


def test_erfcx_at_extremes():
    def program(torch):
        x = torch.tensor([-27.0, -26, -3, 0, 7.99, 8.01, 30, 1e5, 1e200, np.inf, -np.inf, np.nan], dtype=torch.float64)
        y = torch.special.erfcx(x.requires_grad_())
        return y, torch.autograd.grad(y[1:-3].sum(), x)

    agree(program, rtol=1e-10)


LINES = """
torch.frexp(torch.tensor([1.0, -12.0, 0.0, float("inf"), float("nan")]))
torch.frexp(torch.tensor([3.0], dtype=torch.float16)), torch.frexp(torch.tensor([3.0], dtype=torch.bfloat16))
torch.frexp(torch.ones(2), out=(torch.ones(2), torch.ones(2, dtype=torch.int32)))
torch.frexp(torch.tensor([1]))
torch.frexp(torch.tensor([1j]))
torch.frexp(2.0)
torch.special.erfcx(torch.ones(1, dtype=torch.float16))
torch.special.erf(2.0)
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line):
    same_transcript(line)


@pytest.mark.parametrize("home", ["special", "fft", "signal.windows"])
def test_nothing_is_missing(home):
    def names(module):
        for part in home.split("."):
            module = getattr(module, part)
        return {name for name in dir(module) if callable(getattr(module, name)) and name != "Tensor"}

    public = {name for name in names(pytorch) if not name.startswith("_")}
    assert public - names(tapegrad) == set()


ALIASES = [
    ("expit", "sigmoid"), ("exp2", "exp2"), ("gammaln", "lgamma"), ("psi", "digamma"), ("digamma", "digamma"),
    ("sinc", "sinc"), ("log1p", "log1p"), ("expm1", "expm1"), ("erf", "erf"), ("erfc", "erfc"), ("i0", "i0"),
    ("round", "round"),
]  # fmt: skip


def test_aliases():
    def program(torch):
        x, y = torch.tensor([0.3, 1.7]), torch.tensor([0.5, 2.5])
        both = [(getattr(torch.special, alias)(x), getattr(torch, name)(x)) for alias, name in ALIASES]
        special = torch.special
        return both, [
            special.gammainc(x, y), special.gammaincc(x, y), special.multigammaln(x + 2, 2), special.logsumexp(x, 0),
            special.softmax(x, 0), special.log_softmax(x, 0), special.xlogy(x, y), special.logit(x / 2),
            special.erfinv(x / 2), special.polygamma(2, x), special.ndtr(x),
        ]  # fmt: skip

    agree(program, rtol=1e-5)


def test_erfcx_of_float32():
    agree(lambda torch: torch.special.erfcx(torch.tensor([-2.0, 0.3, 4.9, 5.1, 40.0])), rtol=1e-6)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_of_large_numbers(name):
    ends = [0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e300, 1e7, 1.001e7, 0.9999e7, 1e12]
    order, at = (np.array(column) for column in zip(*product(ends[4:], ends), strict=True))
    spread = np.linspace(-4, 4, 33)
    for x in (3e2, 1.9e4, 2.1e4, 1e6, 1e9):
        order, at = np.append(order, np.full(33, x)), np.append(at, x + spread * np.sqrt(x))
    theirs = getattr(pytorch.special, name)(pytorch.tensor(order), pytorch.tensor(at)).numpy()
    ours = getattr(tapegrad.special, name)(tapegrad.tensor(order), tapegrad.tensor(at)).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=3e-9, atol=1e-300)


ELEMENTS_AT_BORDERS = {
    "xlogy at 0": (call("xlogy"), at(0, 0, 1, NAN, 0, 0), at(0, 2, 0, 1, NAN, -1)),
    "xlogy of numbers": (lambda torch, x: (torch.xlogy(x, 2), torch.xlogy(2, x)), at(0, 1, 2)),
    "special.xlog1py at 0": (call("special.xlog1py"), at(0, 1, 0), at(-1, 2, -2)),
    "special.entr": (call("special.entr"), at(0.0, -1, 0.5)),
    "special.ndtri": (call("special.ndtri"), at(0.0, 1, 0.5)),
    "special.i1 at 0": (lambda torch, x: (torch.special.i1(x), torch.special.i1e(x)), at(0.0, 1e-30)),
    "erfinv at 1": (call("erfinv"), at(1.0, -1, 2)), "lgamma at whole numbers": (call("lgamma"), at(0.0, -1, 1, 2)),
    "digamma at 0": (call("digamma"), at(0.0, -0.0)),
}


@pytest.mark.parametrize("trap", ELEMENTS_AT_BORDERS)
def test_trap(trap):
    program, *inputs = ELEMENTS_AT_BORDERS[trap]
    same(program, *inputs)


ELEMENTWISE = {
    "xlogy": ((N, M), {}), "mvlgamma": ((POSITIVE + 1, 3), {}), "polygamma": ((2, POSITIVE), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_function(case):
    args, kwargs = ELEMENTWISE[case]
    name = case.split(",")[0].split(" ")[0]
    same(lambda torch, *given: getattr(torch, name)(*given, **kwargs), *args)


ORDERS = [-1.0, 0.0, 1e-300, 0.5, 1.0, 2.0, 2.5, 3.0, 100.0, 1e4, 1e300, np.inf, -np.inf, np.nan]
PLACES = [-3.0, -2.0, -1.5, -1.0, 0.0, -0.0, 1e-300, 1.0, 2.5, 100.0, 1e300, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["zeta", "gammainc", "gammaincc"])
def test_extremes_of_pairs(name):
    def program(torch):
        function = getattr(torch.special, name)
        x, y = (torch.tensor(values, dtype=torch.float64) for values in (ORDERS, PLACES))
        return [function(x[:, None], y), function(x[5], y[8]), function(x[7], y[1]), function(x[4], y[10])]

    agree(program)


def test_functions_with_a_derivative_in_one_argument():
    x, y = array(2, 3, low=0.5, high=3), array(3, low=0.5, high=3, seed=1)
    for name in ("igamma", "igammac", "special.gammainc", "special.zeta"):
        lift = 1 if name == "special.zeta" else 0
        same(lambda torch, x, y, name=name, lift=lift: call(name)(torch, x.detach() + lift, y), x, y, rtol=1e-6)
        same_error(lambda torch, x, y, name=name: call(name)(torch, x + 1, y).sum().backward(), x, y)
