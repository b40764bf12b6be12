"""Covariances, integrals and derivatives of samples, products and combinations of vectors, beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, same, same_error, warned
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

X = array(3, 4)
ROW = np.array([1.0, 2.0, 4.0, 8.0])
INTS = np.arange(6).reshape(2, 3)
COUNTS = np.array([1, 2, 1, 3])

RESULTS = {
    "torch.cov(x)": [(X,), (ROW,), (X + 1j * X[::-1],), (INTS,), (array(),), (X[:, :1],), (X[:, :0],), (X[:0],)],
    "torch.cov(x, correction=0)": [(X,)],
    "torch.cov(x, fweights=y)": [(X, COUNTS)],
    "x.cov(aweights=y, correction=2)": [(X, ROW)],
    "torch.cov(x, fweights=y, aweights=z)": [(X, COUNTS, ROW)],
    "torch.corrcoef(x)": [(X,), (X + 1j * X[::-1],), (ROW,)],
    "torch.trapezoid(x)": [(X,), (INTS,), (ROW[:1],), (ROW[:0],), (X[:, :0],)],
    "torch.trapz(x, y)": [(X, ROW), (X, X), (ROW, ROW)],
    "torch.trapz(x, dx=0.5, dim=0)": [(X,)],
    "torch.trapezoid(x, y, dim=0)": [(X, ROW[:3])],
    "torch.cumulative_trapezoid(x)": [(X,), (INTS,), (ROW[:1],)],
    "torch.cumulative_trapezoid(x, y, dim=1)": [(X, ROW), (X, X)],
    "torch.cumulative_trapezoid(x, dx=2, dim=0)": [(X,)],
    "torch.gradient(x)": [(X,), (INTS,), (array(),)],
    "torch.gradient(x, edge_order=2)": [(X,)],
    "torch.gradient(x, spacing=2, dim=1)": [(X,)],
    "torch.gradient(x, spacing=[2.0, 0.5])": [(X,)],
    "torch.gradient(x, spacing=(y,), dim=(1,))": [(X, ROW)],
    "torch.gradient(x, spacing=(y,), edge_order=2)": [(ROW[::-1].copy(), ROW)],
    "torch.cartesian_prod(x, y)": [(ROW, ROW[:2])],
    "torch.cartesian_prod(x)": [(ROW,)],
    "torch.combinations(x)": [(ROW,), (ROW[:0],), (COUNTS,)],
    "torch.combinations(x, 3, with_replacement=True)": [(ROW[:3],)],
    "torch.combinations(x, r=0)": [(ROW,)],
    "torch.combinations(x, 5)": [(ROW,)],
}


@pytest.mark.parametrize(("text", "inputs"), [(text, one) for text in RESULTS for one in RESULTS[text]])
def test_results_and_derivatives(text, inputs):
    same(expression(text), *inputs, rtol=1e-9)


WITHOUT_FREED_TENSORS = [
    "torch.trapezoid(x)", "torch.trapz(x, dx=0.5)", "torch.trapezoid(x, dx=2)", "torch.trapezoid(x, y)",
    "torch.cumulative_trapezoid(x)", "torch.cumulative_trapezoid(x, dx=0.5)", "torch.cumulative_trapezoid(x, y)",
]  # fmt: skip


@pytest.mark.parametrize("text", WITHOUT_FREED_TENSORS)
def test_backward_twice(text):
    """A graph that saved numbers alone is not freed; one that saved the points is, as they were when it was made."""
    compute = expression(text)

    def program(torch):
        x, y = torch.ones(3, 4, requires_grad=True), torch.tensor([1.0, 2.0, 4.0, 8.0])
        result = compute(torch, x, y)
        with torch.no_grad():
            x.mul_(2)
            y.mul_(2)
        seen = [(name, getattr(result.grad_fn, name)) for name in dir(result.grad_fn) if name == "_saved_other"]
        return seen, [attempt(lambda: torch.autograd.grad(result.sum(), x)) for _ in range(2)]

    agree(program)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_narrow_types(dtype):
    def program(torch, x):
        x = x.to(getattr(torch, dtype))
        return torch.cov(x), torch.trapezoid(x), *torch.gradient(x)

    same(program, X, grads=False, rtol=2e-2, atol=2e-2)


def test_a_covariance_without_degrees_of_freedom():
    agree(lambda torch: warned(lambda: torch.cov(torch.ones(2, 3), correction=5)))


ERRORS = {
    "torch.cov": [
        "x[None]",
        "x > 0",
        "x, fweights=y[:2].long()",
        "x, fweights=y",
        "x, fweights=y[None].long()",
        "x, fweights=-y.long()",
        "x, aweights=-y",
        "x, aweights=y.long()",
        "x, aweights=y[None]",
        "x, aweights=y[:2]",
        "x, fweights=y.long() * 0",
    ],
    "torch.corrcoef": ["x[None]", "x > 0"],
    "torch.trapezoid": [
        "x[0, 0]",
        "x > 0",
        "x, y[:2]",
        "x, dim=2",
        "x, y > 0",
        "x, dx=1j",
        "y, x",
        "x, x=y, dx=1",
        "x, 2.0",
    ],
    "torch.cumulative_trapezoid": ["x[0, 0]", "x > 0", "x, y[:2]", "x, dim=2", "x, y > 0", "x, dx=1j"],
    "torch.gradient": [
        "x[:1]",
        "x[:2], edge_order=2",
        "x, edge_order=3",
        "x, spacing=[1.0]",
        "x, spacing=[1.0], dim=(0, 1)",
        "x, dim=(0, 0)",
        "x, dim=2",
        "x, spacing=(x, x)",
        "x.byte()",
        "x > 0",
    ],
    "torch.cartesian_prod": ["", "x, y", "y, y.long()", "x[0, 0]", "[y, y]"],
    "torch.combinations": ["x", "y, -1", "x[0, 0]"],
}


@pytest.mark.parametrize("text", [f"{name}({arguments})" for name in ERRORS for arguments in ERRORS[name]])
def test_errors(text):
    same_error(expression(text), X, ROW)
