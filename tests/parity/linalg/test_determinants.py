"""Determinants and their logarithms beside PyTorch's, also of singular matrices."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, same, same_error

import tapegrad
from tests.parity.linalg.test_solving import BATCH, COMPLEX, INTS, MIXED, SINGULAR, A

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

RESULTS = {
    "torch.linalg.det(x)": [(A,), (BATCH,), (COMPLEX,), (BATCH[:, :0, :0],)],
    "torch.linalg.slogdet(x)": [(BATCH,), (COMPLEX,)], "torch.slogdet(x).logabsdet": [(A[:, :0][:0],)],
    "torch.logdet(x)": [(BATCH,), (-A,), (COMPLEX,)], "x.logdet() + x.det()": [(BATCH[0] @ A,)],
}


@pytest.mark.parametrize(("text", "inputs"), [(text, one) for text in RESULTS for one in RESULTS[text]])
def test_results_and_derivatives(text, inputs):
    same(expression(text), *inputs, rtol=1e-9)


TRAPS = {
    "det of rank n-1": ("torch.linalg.det(x)", SINGULAR), "det of zeros": ("torch.linalg.det(x)", np.zeros((2, 2))),
    "det of rank n-2": ("torch.linalg.det(x)", np.outer([1.0, 2, 3], [1.0, 1, 1])),
    "slogdet": ("torch.linalg.slogdet(x)", SINGULAR), "logdet": ("torch.logdet(x)", SINGULAR),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_first_derivatives_at_singular_matrices(trap):
    text, *inputs = TRAPS[trap]
    same(expression(text), *inputs, second=False)


@pytest.mark.parametrize("x", [SINGULAR, MIXED[:2], np.diag([1.0, 2.0, 0.0])], ids=["2x2", "batch", "3x3"])
def test_second_derivatives_of_the_determinant_of_a_singular_matrix(x):
    same(expression("torch.linalg.det(x)"), x)


def test_logdet_of_a_singular_matrix_has_no_recorded_gradient():
    def program(torch):
        x = torch.tensor(SINGULAR.tolist(), requires_grad=True)
        return attempt(lambda: torch.autograd.grad(torch.logdet(x), x, create_graph=True))

    agree(program)


def test_third_derivatives_of_the_determinant():
    def program(torch):
        x = torch.tensor(A.tolist(), dtype=torch.float64, requires_grad=True)
        y = torch.linalg.det(x)
        for _ in range(3):
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            y = (g * torch.arange(9.0, dtype=torch.float64).reshape(3, 3).cos()).sum()
        return y

    agree(program)


ERRORS = {
    "torch.linalg.det": [("x[:, :2]", A), ("x[0]", A), ("x", INTS), ("x.half()", A)],
    "torch.linalg.slogdet": [("x[:, :2]", A), ("x[0]", A), ("x", INTS), ("x.half()", A)],
    "torch.logdet": [("x[:, :2]", A), ("x[0]", A), ("x", INTS)],
}


@pytest.mark.parametrize(
    ("text", "inputs"), [(f"{name}({text})", rest) for name, cases in ERRORS.items() for text, *rest in cases]
)
def test_errors(text, inputs):
    same_error(expression(text), inputs[0], inputs[-1])


@pytest.mark.parametrize("name", ["det", "slogdet", "solve"])
def test_the_gradient_of_a_tangent_is_the_derivative(name):
    """PyTorch's is not: see the house's list of where it is inaccurate."""
    x = tapegrad.tensor([[0.25, 1.25, 0.5], [1.0, 0.75, 0.75]], dtype=tapegrad.float64, requires_grad=True)

    def function(x):
        square = x @ x.mT + tapegrad.eye(2, dtype=x.dtype)
        found = tapegrad.linalg.solve(square, x * x) if name == "solve" else getattr(tapegrad.linalg, name)(square)
        return found[1] if name == "slogdet" else found.sum()

    direction = x.detach().clone()
    tapegrad.autograd.gradcheck(lambda x: tapegrad.func.jvp(function, (x,), (direction,))[1], (x,))
