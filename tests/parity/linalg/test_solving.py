"""Linear equations and inverses beside PyTorch's: singular matrices, shapes, dtypes, errors."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A = array(3, 3) + 3 * np.eye(3)[::-1]
B = array(3, 2, seed=1)
V = array(3, seed=2)
BATCH = np.stack([A, A.T, -A])
COMPLEX = A + 1j * A[::-1]
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
MIXED = np.stack([np.eye(2), SINGULAR, np.zeros((2, 2))])
INTS = np.array([[1, 2], [3, 4]])

RESULTS = {
    "torch.linalg.solve(x, y)": [(A, B), (BATCH, B), (BATCH, A), (A, V), (COMPLEX, B + 0j), (A[:, :0][:0], B[:0])],
    "torch.linalg.solve(x, y.T, left=False)": [(A, B), (COMPLEX, B + 0j)],
    "torch.linalg.solve_ex(x, y, check_errors=True)": [(BATCH, V)],
    "torch.linalg.inv(x)": [(A,), (COMPLEX,), (BATCH[:0],)], "x.inverse()": [(BATCH,)],
    "torch.linalg.inv_ex(x.transpose(-1, -2)).inverse.exp()": [(BATCH,)],
    "torch.linalg.solve_triangular(x, y, upper=True)": [(A, B), (BATCH, B)],
    "torch.linalg.solve_triangular(x, y.mT, upper=False, left=False, unitriangular=True)": [(COMPLEX, B + 0j)],
    "torch.triangular_solve(y, x, upper=False, transpose=True)": [(BATCH, B)],
    "torch.linalg.tensorinv(x.reshape(3, 1, 3), ind=2)": [(A,)],
    "torch.linalg.tensorsolve(x.reshape(3, 3, 1).transpose(0, 1), y, dims=(0,))": [(A, V)],
}


@pytest.mark.parametrize(("text", "inputs"), [(text, one) for text in RESULTS for one in RESULTS[text]])
def test_results_and_derivatives(text, inputs):
    same(expression(text), *inputs, rtol=1e-9)


TRAPS = {
    "only the triangle is read": (
        "torch.linalg.solve_triangular(x, y, upper=True)", np.triu(A) + np.nan * np.tril(A, -1), B,
    ),
    "no diagonal is read": (
        "torch.linalg.solve_triangular(x, y, upper=False, unitriangular=True)", np.tril(A, -1) + np.nan * np.triu(A), B,
    ),
    "a zero on the diagonal": ("torch.linalg.solve_triangular(x, y, upper=True)", np.triu(A, 1), np.ones((3, 1))),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_first_derivatives_at_singular_matrices(trap):
    text, *inputs = TRAPS[trap]
    same(expression(text), *inputs, second=False)


def test_what_is_said_of_singular_matrices():
    def program(torch):
        x = torch.tensor(MIXED.tolist())
        y = torch.ones(3, 2, 1)
        return [
            torch.linalg.solve_ex(x, y).info, torch.linalg.inv_ex(x).info, torch.linalg.lu_factor_ex(x).info,
            torch.linalg.inv_ex(x)[0][0], torch.linalg.inv_ex(x).inverse.stride(),
            type(torch.linalg.solve_ex(x, y)).__name__,
        ]  # fmt: skip

    agree(program)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_narrow_types(dtype):
    def program(torch, x, y):
        x, y = x.to(getattr(torch, dtype)), y.to(getattr(torch, dtype))
        solved = torch.linalg.solve(x, y), torch.linalg.solve_triangular(x, y, upper=True)
        return *solved, torch.linalg.inv(x), torch.linalg.det(x), torch.linalg.slogdet(x)

    same(program, A, B, rtol=2e-4, atol=1e-4)


def test_results_given():
    def program(torch):
        out, x = torch.empty(0), torch.tensor(A.tolist())
        torch.linalg.inv(x, out=out)
        sign, logarithm = torch.empty(0), torch.empty(0)
        torch.linalg.slogdet(x, out=(sign, logarithm))
        return out, sign, logarithm, torch.linalg.solve(x, x[0], out=torch.empty(3))

    agree(program)


def test_the_class_of_the_error():
    def program(torch):
        error = torch.linalg.LinAlgError
        return error.__name__, issubclass(error, RuntimeError), error is torch._C._LinAlgError

    agree(program)


ERRORS = {
    "torch.linalg.solve": [
        ("x, y[0]", SINGULAR),
        ("x, y", MIXED),
        ("x[0], y[0]", A),
        ("x[:, :2], y[0]", A),
        ("x, y[:2]", A),
        ("x, y[:, 0][:2]", A),
        ("x, y[:, :2], left=False", A),
        ("x, y, left=False", BATCH, A[:, :2]),
        ("x, y[0], left=False", A, BATCH[0]),
        ("x, y.float()", A),
        ("x.half(), y.half()", A),
        ("x, y", INTS),
        ("x, y[0, 0]", A),
        ("x, y", BATCH, BATCH[:2]),
    ],
    "torch.linalg.solve_ex": [("x, y, check_errors=True", MIXED), ("x, y, check_errors=True", SINGULAR)],
    "torch.linalg.inv": [("x", SINGULAR), ("x", MIXED), ("x[:, :2]", A), ("x[0]", A), ("x", INTS), ("x.half()", A)],
    "torch.inverse": [("x", SINGULAR)], "torch.linalg.inv_ex": [("x, check_errors=True", MIXED)],
    "torch.linalg.solve_triangular": [
        (f"{arguments}, upper=True", A)
        for arguments in (
            "x[:, :2], y",
            "x[0], y",
            "x, y[0]",
            "x, y[:2]",
            "x, y[:, :2], left=False",
            "x.long(), y.long()",
            "x.half(), y.half()",
        )
    ]
    + [("x, y, upper=True", BATCH, BATCH[:2])],
    "torch.triangular_solve": [
        ("x, x[:, :2]", A),
        ("x[:2, :2], x", A),
        ("x[0], x", A),
        ("x.float(), x", A),
        ("x.long(), x.long()", A),
        ("x, y", BATCH, BATCH[:2]),
    ],
    "torch.linalg.tensorinv": [
        ("x.reshape(3, 3, 1), ind=0", A),
        ("x.reshape(3, 1, 3)[:2], ind=1", A),
        ("x, ind=5", A),
        ("torch.zeros(2, 2), ind=1", A),
        ("x.reshape(2, 1, 2)", INTS),
    ],
    "torch.linalg.tensorsolve": [
        ("x, y[:, 0][:2]", A),
        ("torch.zeros(2, 2), torch.zeros(2)", A),
        ("x, y[0], dims=(7,)", A),
    ],
}


@pytest.mark.parametrize(
    ("text", "inputs"), [(f"{name}({text})", rest) for name, cases in ERRORS.items() for text, *rest in cases]
)
def test_errors(text, inputs):
    same_error(expression(text), inputs[0], inputs[-1])
