"""The nonlinearities of ``nn.functional`` against PyTorch: kinks, nan, parameters, dtypes, errors, in-place forms."""

import math

import numpy as np
import pytest
from harness import agree, same, same_error
from samples import array

pytestmark = pytest.mark.parity

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
WIDE = array(2, 3, low=-9, high=9)
N, FLAGS = np.array([[1, -2, 3], [4, 5, -9]]), A > 0
Z = array(2, 3, dtype="complex128")
INF, NAN = math.inf, math.nan

ACTIVATIONS = {
    "relu": {}, "relu6": {}, "leaky_relu": {"negative_slope": 0.1}, "elu": {"alpha": 2.0}, "selu": {},
    "celu": {"alpha": 2.0}, "gelu": {}, "gelu, tanh": {"approximate": "tanh"}, "silu": {}, "mish": {}, "softplus": {},
    "softplus, bent": {"beta": 2, "threshold": 5}, "logsigmoid": {}, "hardtanh": {},
    "hardtanh, shifted": {"min_val": -2, "max_val": 0.5}, "hardsigmoid": {}, "hardswish": {}, "hardshrink": {},
    "softshrink": {"lambd": 0.3}, "tanhshrink": {}, "softsign": {}, "sigmoid": {}, "tanh": {},
    "threshold": {"threshold": 0.1, "value": 2},
}  # fmt: skip
KINKS = np.array([-3.0, -1, -0.5, -0.3, -0.0, 0, 0.1, 0.3, 0.5, 1, 3, 6, 10, 20, 25, -25, NAN])
"""Where any of them has a kink or a threshold."""
ONCE = {"hardsigmoid"}
"""What PyTorch can differentiate only once."""


def activation(case):
    name, settings = case.split(",")[0], ACTIVATIONS[case]
    return lambda torch, x: getattr(torch.nn.functional, name)(x, **settings)


@pytest.mark.parametrize("case", ACTIVATIONS)
def test_to_second_order(case):
    for x in (A, WIDE, POINT, EMPTY):
        same(activation(case), x, second=case not in ONCE)


@pytest.mark.parametrize("case", ACTIVATIONS)
def test_at_kinks(case):
    same(activation(case), KINKS, second=case not in ONCE)


@pytest.mark.parametrize("case", ACTIVATIONS)
def test_far_out(case):
    same(activation(case), np.array([-1000.0, 1000.0, 1e5, -1e5]), second=False)


@pytest.mark.parametrize(
    "case", ["relu", "elu", "softplus", "logsigmoid", "hardtanh", "leaky_relu", "hardsigmoid", "sigmoid"]
)
def test_at_infinity(case):
    same(activation(case), np.array([INF, -INF]), second=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("case", ACTIVATIONS)
def test_narrow_types(case, dtype):
    rtol = {"float16": 3e-3, "bfloat16": 3e-2, "float32": 1e-5}[dtype]

    def program(torch, x):
        return activation(case)(torch, x.to(getattr(torch, dtype)))

    same(program, WIDE.astype("float32"), second=False, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("case", ACTIVATIONS)
@pytest.mark.parametrize("values", [N, FLAGS, Z], ids=["int64", "bool", "complex128"])
def test_other_types(case, values):
    """The same numbers or the same error."""
    program = activation(case)
    try:
        same(program, values, rtol=1e-5)
    except (NotImplementedError, RuntimeError):
        same_error(program, values)


def test_methods_and_functions_of_torch():
    same(lambda torch, x: (x.relu(), torch.relu(x), torch.selu(x), torch.celu(x, 2.0), x.hardshrink(0.3)), A)
    same(
        lambda torch, x: (torch.threshold(x, 0, 1), x.prelu(torch.tensor([0.2], dtype=x.dtype)), x.sigmoid(), x.tanh()),
        A,
    )


@pytest.mark.parametrize("weight", [np.array([0.25]), np.array(0.25), array(3)], ids=["one", "scalar", "per channel"])
def test_prelu(weight):
    same(lambda torch, x, w: torch.nn.functional.prelu(x, w), A, weight)
    same(lambda torch, x, w: torch.nn.functional.prelu(x, w), array(2, 3, 2), weight)


@pytest.mark.parametrize("weights", [[0.5], [0.5, 0.25]])
def test_a_weight_of_prelu_has_a_second_gradient_of_zeros(weights):
    def account(torch):
        x, w = torch.tensor([[1.0, -2.0]], requires_grad=True), torch.tensor(weights, requires_grad=True)
        first = torch.autograd.grad(torch.nn.functional.prelu(x, w).sum(), (x, w), create_graph=True)
        return [torch.autograd.grad(one.sum(), (x, w), allow_unused=True, retain_graph=True) for one in first]

    agree(account)


def test_prelu_at_kinks():
    x, w = np.array([0.0, -0.0, -1, NAN]), np.array([0.25])
    same(
        lambda torch, x, w: torch.nn.functional.prelu(x, w), x, w, second=False
    )  # PyTorch's contradicts its first order
    same(lambda torch, x, w: torch.nn.functional.prelu(x, w), np.array(-1.0), np.array([0.25]))


def test_rrelu():
    """Outside training it is leaky_relu with the mean slope; in training the slopes are drawn between the bounds."""
    same(lambda torch, x: torch.nn.functional.rrelu(x, 0.1, 0.5), A, names=False)

    def slopes(torch, x):
        y = torch.nn.functional.rrelu(x, 0.1, 0.5, training=True)
        (grad,) = torch.autograd.grad(y.sum(), x)
        slope = grad[x < 0]
        same = torch.allclose(y, x * grad)
        return same, bool((slope >= 0.1).all()), bool((slope <= 0.5).all()), bool((grad[x > 0] == 1).all())

    same(slopes, WIDE)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_glu(dim):
    same(lambda torch, x: torch.nn.functional.glu(x, dim), array(2, 4))


ERRORS = {
    "prelu, weights": (lambda F, x: F.prelu(x, x[0, :2].detach()), A),
    "prelu, dtypes": (lambda F, x: F.prelu(x, x[0].detach().float()), A),
    "prelu, 0-dim": (lambda F, x: F.prelu(x[0, 0], x[0].detach()), A),
    "prelu, 2-dim weights": (lambda F, x: F.prelu(x, x.detach()), A),
    "glu, odd": (lambda F, x: F.glu(x), A),
    "glu, 0-dim": (lambda F, x: F.glu(x), POINT),
    "glu, dim": (lambda F, x: F.glu(x, dim=3), A),
    "softshrink, negative": (lambda F, x: F.softshrink(x, -1), A.astype("float32")),
    "gelu, approximate": (lambda F, x: F.gelu(x, approximate="x"), A),
    "celu, 0": (lambda F, x: F.celu(x, 0), A),
    "hardtanh, order": (lambda F, x: F.hardtanh(x, 2, 1), A),
    "relu of a number": (lambda F, x: F.relu(2), A),
    "gelu of a number": (lambda F, x: F.gelu(2), A),
    "relu_ of a leaf": (lambda F, x: F.relu(x, inplace=True), A),
    "leaky_relu_, negative": (lambda F, x: F.leaky_relu_(x + 0, -0.5).sum().backward(), A),
    "rrelu_, negative": (lambda F, x: F.rrelu_(x + 0, -0.5, -0.25).sum().backward(), A),
    "elu_, negative": (lambda F, x: F.elu_(x + 0, -0.5).sum().backward(), A),
    "celu_, negative": (lambda F, x: F.celu_(x + 0, -0.5).sum().backward(), A),
}


@pytest.mark.parametrize("case", ERRORS)
def test_error(case):
    program, *inputs = ERRORS[case]
    same_error(lambda torch, *given: program(torch.nn.functional, *given), *inputs)


def test_complex_numbers_are_written_with_gradients():
    for call in (lambda torch, y: y.nan_to_num_(), lambda torch, y: y[:1].nan_to_num_()):

        def program(torch, x, call=call):
            y = x * 2
            call(torch, y)
            return y

        same(program, Z)
        same(lambda torch, x: torch.nn.functional.silu(x.detach() + 0, inplace=True), Z)


IN_PLACE = {
    "relu": (), "relu6": (), "hardtanh": (), "leaky_relu": (0.1,), "elu": (2.0,), "selu": (), "celu": (2.0,),
    "silu": (), "mish": (), "hardsigmoid": (), "hardswish": (), "threshold": (0.1, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    def program(torch, x):
        y = x + 0
        z = getattr(torch.nn.functional, name)(y, *IN_PLACE[name], inplace=True)
        return y, z is y, y._version

    same(program, A, names=False, second=False)


@pytest.mark.parametrize("name", ["relu", "hardtanh", "leaky_relu", "elu", "selu", "celu"])
def test_twins(name):
    same(lambda torch, x: getattr(torch.nn.functional, f"{name}_")(x + 0), A, names=False, second=False)


def test_what_cannot_be_differentiated_twice_has_a_history():
    def program(torch):
        x = torch.tensor([-4.0, 0.5, 1.0, 4.0], requires_grad=True)
        (g,) = torch.autograd.grad(torch.nn.functional.hardsigmoid(x).sum(), x, create_graph=True)
        return g.tolist(), g.requires_grad

    agree(program)


def test_what_nodes_have_saved():
    def saved(torch, x):
        F = torch.nn.functional
        nodes = [F.hardtanh(x, -2.0, 0.5).grad_fn, F.leaky_relu(x, 0.1).grad_fn, F.softplus(x, 2.0, 5.0).grad_fn]
        elu, gelu = F.elu(x, 2.0).grad_fn, F.gelu(x).grad_fn
        return [
            nodes[0]._saved_min_val,
            nodes[0]._saved_max_val,
            nodes[1]._saved_negative_slope,
            nodes[2]._saved_beta,
            nodes[2]._saved_threshold,
            elu._saved_alpha,
            gelu._saved_approximate,
            torch.relu(x).grad_fn._saved_result,
        ]

    same(saved, A, second=False)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
def test_second_derivatives_of_prelu_at_zero():
    def program(torch):
        x = torch.tensor([[0.0, -0.5], [0.3, 0.0]], dtype=torch.float64)
        return torch.func.hessian(lambda x: torch.nn.functional.prelu(x, x.flatten()[:1]).sum())(x)

    agree(program)
