"""Products, running sums, products and extrema, and differences, against PyTorch."""

import numpy as np
import pytest
from case_tables import cases
from harness import agree, attempt, same, same_error

from tests.parity.functions.test_reductions import (
    BOOLS,
    BYTES,
    EMPTY,
    INF,
    INTS,
    NANS,
    POINT,
    SHAPES,
    TIES,
    ZEROS,
    A,
    Z,
    program,
)

pytestmark = pytest.mark.parity


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.prod()", "x.prod(0)", "x.prod(-1, True)", "torch.prod(x, dim=1)"],
         {"matrix": A, "zeros": ZEROS, "one zero": np.array([[2.0, 0.0], [3.0, 1.0]]), "complex": Z,
          "complex zero": Z * (INTS != 0)}),
        (["x.prod()", "x.prod(0)"], {"0-dim": POINT, "0-dim zero": np.array(0.0), "empty": EMPTY, "ints": INTS,
                                     "bools": BOOLS, "bytes": BYTES}),
        (["x.prod(1)"], {"empty": EMPTY}),
        (["x.prod(dtype=torch.float64)", "x.prod(0, dtype=torch.float64)"], {"float32": A.astype("float32")}),
        (["x.prod(dtype=torch.float32)"], {"ints": INTS}),
        (["x.cumsum(0)", "x.cumsum(-1)", "torch.cumsum(x, dim=0)"],
         {**SHAPES, "empty": EMPTY, "complex": Z, "ints": INTS, "bools": BOOLS, "bytes": BYTES, "nan": NANS}),
        (["x.cumsum(0, dtype=torch.float32)", "x.cumprod(0, dtype=torch.float32)"], {"ints": INTS}),
        (["x.cumprod(0)", "x.cumprod(-1)"],
         {**SHAPES, "empty": EMPTY, "complex": Z, "zeros": ZEROS, "ints": INTS, "bools": BOOLS}),
        (["x.cumprod(0)"], {"more zeros": np.array([2.0, 0.0, 3.0, 0.0, 4.0])}),
        (["x.logcumsumexp(0)", "x.logcumsumexp(-1)"], {**SHAPES, "empty": EMPTY, "big": A * 1000}),
        (["x.logcumsumexp(1)"], {"complex": Z}),
        (["x.cummax(0)", "x.cummin(-1)", "torch.cummax(x, 1 if x.ndim else 0)"],
         {**SHAPES, "empty": EMPTY, "ties": TIES, "nan": NANS, "ints": INTS, "bools": BOOLS}),
        (["x.diff()", "x.diff(n=2)", "x.diff(dim=0)", "x.diff(n=5)", "torch.diff(x, 1, 0, x[:1], x)",
          "torch.diff(x, append=x)"], {"matrix": A, "ints": INTS, "bools": BOOLS, "bytes": BYTES}),
    ),
)  # fmt: skip
def test_products_and_scans(text, x):
    same(program(text), x, rtol=1e-5 if x.dtype == np.float32 else 1e-7)


def test_logcumsumexp_from_minus_infinity():
    same(program("x.logcumsumexp(0)"), np.array([-INF, 1.0, 2.0]))


def test_products_stay_exact_where_dividing_fails():
    """PyTorch divides by the factor and gives nan; the derivative of a product by an infinite factor is the others."""
    import tapegrad as torch

    x = torch.tensor([INF, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(x.prod(), x)
    assert gradient.tolist() == [2.0, INF]


@pytest.mark.parametrize("text", ["x.cumprod(1)", "x[0].cumprod(-1)", "x[0, 0].cumprod(0)"])
def test_products_of_one_number_have_no_second_derivative(text):
    same(program(text), np.array([[1.5], [2.0]]))
    agree(lambda torch: [
        torch.autograd.grad(eval(text, {"x": x}).sum(), x, create_graph=True)[0].requires_grad
        for x in [torch.tensor([[1.5], [2.0]], requires_grad=True)]
    ])  # fmt: skip


@pytest.mark.parametrize("function", ["cummin", "cummax"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,)], ids=str)
def test_running_extrema_of_complex_numbers_if_there_are_none_to_compare(function, shape):
    def program(torch):
        x = torch.ones(shape, dtype=torch.complex64)
        run = getattr(torch, function)
        return attempt(lambda: list(run(x, 0))), attempt(lambda: run(x.clone().requires_grad_(), 0))

    agree(program)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.prod(2)", "x.cumsum(2)", "x.cummax(-3)", "x.logcumsumexp(2)", "x.diff(dim=2)", "x.diff(n=-1)",
          "x.diff(prepend=torch.tensor(1.))", "x.diff(append=torch.ones(1, 3))"], {"matrix": A}),
        (["x.diff()"], {"0-dim": POINT}),
        (["x.logcumsumexp(0)"], {"ints": INTS}),
        (["x.cummax(0)"], {"complex": Z}),
    ),
)  # fmt: skip
def test_errors(text, x):
    same_error(program(text), x)


@pytest.mark.parametrize(
    "text",
    ["x.prod((0, 1))", "x.prod(None)", "x.cumsum()", "x.cumsum((0,))"],
)  # fmt: skip
def test_wrong_arguments(text):
    same_error(program(text), A, match="")
