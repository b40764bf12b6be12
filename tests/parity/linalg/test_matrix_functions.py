"""Powers and exponentials of matrices, Vandermonde matrices, cross products, beside PyTorch's."""

import math

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, recorded_warnings, same, same_error, warned
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A = array(2, 2) + 2 * np.eye(2)
BATCH = np.stack([A, A.T])
COMPLEX = A + 1j * A[::-1]
V = array(3, seed=2)
ROWS = array(2, 3)
OTHERS = array(2, 3, seed=3)
INTS = np.array([[1, 2], [3, 4]])

RESULTS = {
    **{f"torch.linalg.matrix_power(x, {n})": [(A,)] for n in (0, 1, 3, 6, -2)},
    "x.matrix_power(4)": [(BATCH,), (COMPLEX,), (INTS,)],
    "torch.matrix_power(x, 0)": [(BATCH,), (INTS,)],
    "torch.matrix_power(x, -3)": [(COMPLEX,)],
    "torch.matrix_exp(x)": [(A,), (BATCH,), (COMPLEX,), (BATCH[:0],), (-30 * A,)],
    "torch.linalg.matrix_exp(x.mT)": [(np.array([[0.0, 1.0], [0.0, 0.0]]),)],
    "torch.linalg.vander(x)": [(V,), (ROWS,), (INTS,)],
    "torch.linalg.vander(x, N=4)": [(V + 1j,)],
    "torch.vander(x)": [(INTS[0],)],
    "torch.vander(x, 1)": [(V,)],
    "torch.linalg.cross(x, y)": [(ROWS, OTHERS), (ROWS[:1], OTHERS), (ROWS + 1j, OTHERS + 0j)],
    "torch.cross(x.T, y.T)": [(ROWS, OTHERS)],
    "x.cross(y, dim=-1)": [(ROWS, OTHERS), (INTS[:1].repeat(3, 0).T[:1], np.array([[3, 1, 2]]))],
    "torch.linalg.diagonal(x, offset=1)": [(BATCH,)],
    "torch.linalg.vecdot(x, y)": [(V, V), (ROWS, V)],
}


@pytest.mark.parametrize(("text", "inputs"), [(text, one) for text in RESULTS for one in RESULTS[text]])
def test_results_and_derivatives(text, inputs):
    same(expression(text), *inputs, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])  # of half types, PyTorch's are nan
def test_exponentials_of_narrow_types(dtype):
    same(lambda torch, x: torch.matrix_exp(x.to(getattr(torch, dtype))), A, second=False, rtol=1e-4)


@pytest.mark.parametrize("angle", [3.9, 4.0, 6.0, 7.8, 15.0])  # norms above and below of what is halved
def test_rotations_have_all_digits_of_float32(angle):
    def program(torch):
        x = torch.tensor([[0.0, -angle], [angle, 0.0]], dtype=torch.float32)
        exact = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        return bool((torch.matrix_exp(x) - exact).abs().max() < 3e-6)

    agree(program)


def test_cross_products_along_no_dimension_are_warned_of_before_they_are_refused():
    def program(torch):
        torch.set_warn_always(True)
        try:
            shapes = [((), ()), ((2, 4), (2, 4)), ((2, 3), (2, 3))]
            acts = [lambda a=a, b=b: torch.cross(torch.ones(a), torch.ones(b)) for a, b in shapes]
            return [warned(lambda act=act: attempt(act)) for act in acts]
        finally:
            torch.set_warn_always(False)

    agree(program)


def test_vander_writes_over_what_its_backward_needs():
    def program(torch):
        y = torch.vander(torch.tensor([1.0, 2.0], requires_grad=True), 3, increasing=True)
        return y, attempt(lambda: y.sum().backward())[1]

    agree(program)


def test_the_diagonal_is_a_view():
    def program(torch):
        x = torch.zeros(2, 2)
        torch.linalg.diagonal(x).add_(1)
        return x

    agree(program)


OLD = [
    "torch.lu(x)", "torch.lu_solve(x, *torch.linalg.lu_factor(x))", "torch.triangular_solve(x, x)",
    "torch.chain_matmul(x, x)",
    "torch.cross(torch.eye(3), torch.eye(3))",
]  # fmt: skip


@pytest.mark.parametrize("text", OLD)
def test_old_functions_say_so(text):
    def program(torch):
        x, before = torch.eye(2), torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            with recorded_warnings() as caught:
                expression(text)(torch, x)
        finally:
            torch.set_warn_always(before)
        return [(one.category.__name__, str(one.message).partition(" (Triggered internally")[0]) for one in caught]

    agree(program)


ERRORS = {
    "torch.linalg.matrix_power": [
        "x[:1], 2",
        "x[0], 2",
        "x, 2.0",
        "x.long(), -1",
        "x * 0, -1",
        "x > 0, 2",
        "x.half(), -1",
    ],
    "torch.matrix_exp": ["x[:1]", "x[0]", "x.long()"],
    "torch.linalg.vander": ["x, N=1", "x[0, 0]", "x > 1", "x[:, 0][:0]", "x.half()"],
    "torch.vander": ["x", "x[0], -1", "x[0, 0]"],
    "torch.linalg.cross": [
        "y, y[0]",
        "x, x",
        "y, y, dim=2",
        "y, y.float()",
        "y > 0, y > 0",
        "x[0, 0], x[0, 0]",
        "y, y[[0, 0, 0]]",
    ],
    "torch.cross": ["x, x", "y, y, dim=0", "y[[0, 0, 0]], y[:1]", "y, y[0]"],
    "torch.linalg.diagonal": ["x[0]", "x, dim1=0, dim2=0", "x, dim1=3"],
    "torch.linalg.vecdot": ["x[0], y[0]", "x, x.float()", "x.long(), x.long()"],
}


@pytest.mark.parametrize("text", [f"{name}({arguments})" for name in ERRORS for arguments in ERRORS[name]])
def test_errors(text):
    same_error(expression(text), A, ROWS)
