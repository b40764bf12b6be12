"""Norms and distances of tensors, against PyTorch."""

import numpy as np
import pytest
from case_tables import cases
from harness import agree, same, same_error

from tests.parity.functions.test_reductions import BOOLS, EMPTY, INTS, NANS, POINT, TIES, ZEROS, A, Z, program

pytestmark = pytest.mark.parity

NORM_ORDERS = ["'fro'", "None", "0", "1", "2", "3", "0.5", "1.5", "4.", "-1", "-2", "inf", "-inf"]


@pytest.mark.parametrize("x", [A, ZEROS, np.zeros((2, 3)), Z], ids=["matrix", "with zeros", "all zeros", "complex"])
@pytest.mark.parametrize("ord", NORM_ORDERS)
def test_norm(ord, x):
    same(program(f"x.norm({ord})"), x)
    same(program(f"torch.norm(x, {ord}, 1)"), x)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.norm()", "x.norm(dim=0)", "torch.norm(x, 2, (0, 1), True)", "x.norm('fro', [0, 1])", "x.norm(2, ())",
          "torch.norm(x, 3, None, True)", "x.norm(2, dtype=torch.complex128 if x.is_complex() else torch.float64)",
          "torch.linalg.vector_norm(x)", "torch.linalg.vector_norm(x, 1, 0)",
          "torch.linalg.vector_norm(x, 3., (0,), True)", "torch.linalg.norm(x)", "torch.linalg.norm(x, dim=0)",
          "torch.linalg.norm(x, 1)", "torch.linalg.norm(x, 'fro')", "torch.linalg.norm(x, inf, (0, 1))",
          "torch.linalg.norm(x, 1, keepdim=True)", "torch.linalg.norm(x, 2, 1)",
          "torch.linalg.matrix_norm(x)", "torch.linalg.matrix_norm(x, 1)",
          "torch.linalg.matrix_norm(x, -1, (1, 0), True)", "torch.linalg.matrix_norm(x, -inf)",
          "torch.linalg.matrix_norm(x, inf, (1, 0))"],
         {"matrix": A, "ties": TIES, "complex": Z}),
        (["x.norm()", "x.norm(3, 0)", "torch.linalg.norm(x)"], {"0-dim": POINT}),
        (["x.norm()", "x.norm(0)", "x.norm('fro', 1)", "x.norm(1, 0)", "x.norm(inf, 1)"], {"empty": EMPTY}),
        (["x.norm()", "x.norm(inf)", "x.norm(1)", "x.norm(1.5, 0)"], {"nan": NANS}),
        (["x.norm(torch.tensor(3.))"], {"matrix": A}),
        (["torch.linalg.norm(x, 2)", "torch.linalg.norm(x)", "torch.linalg.norm(x, 0)"], {"vector": A[0]}),
        (["x.norm() ** 2", "x.norm(inf)"], {"zeros": np.zeros(2), "inf ties": np.array([-3.0, 3.0, 1.0])}),
    ),
)  # fmt: skip
def test_norm_forms(text, x):
    same(program(text), x)


@pytest.mark.parametrize("p", ["2", "1", "3", "0.5", "inf", "0", "-1"])
def test_dist(p):
    for x, y in [(A, TIES), (A, A[0]), (A, A), (Z, Z * 2), (A, POINT), (A.astype("float32"), TIES)]:
        rtol = 1e-5 if x.dtype == np.float32 else 1e-7
        # PyTorch raises in the backward of p = 0
        same(program(f"torch.dist(x, y, {p})"), x, y, rtol=rtol, second=x is not y, grads=p != "0")


def test_the_count_of_nonzero_has_no_gradient():
    def account(torch):
        x = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
        norm = x.norm(0)
        return [norm, torch.autograd.grad(norm, x, allow_unused=True)]

    agree(account)


@pytest.mark.parametrize(
    "text, x",
    cases(
        (["x.norm(2, 2)", "x.norm(2, (0, 0))", "x.norm('bad')", "torch.linalg.norm(x, 'bad')",
          "torch.linalg.norm(x, 3)", "torch.linalg.norm(x, 2, (0, 1, 0))",
          "torch.linalg.matrix_norm(x, 1, (0, 0))", "torch.linalg.matrix_norm(x, 0)",
          "torch.linalg.norm(x, 'fro', 0)", "x.norm(dtype=torch.float32)",
          "torch.linalg.vector_norm(x, dtype=torch.int64)",
          "torch.linalg.vector_norm(x, dtype=torch.complex128)", "torch.dist(x, torch.ones(4))",
          "torch.linalg.matrix_norm(x, dtype=torch.float32)"], {"matrix": A}),
        (["torch.linalg.norm(x, 2)", "torch.linalg.matrix_norm(x)", "torch.linalg.norm(x, 'fro')",
          "torch.linalg.norm(x, out=torch.zeros(0, dtype=torch.bool))"], {"0-dim": POINT}),
        (["x.norm(inf)", "x.norm(-1)", "x.norm(inf, 0)"], {"empty": EMPTY}),
        (["x.norm()", "torch.dist(x, x)", "torch.linalg.norm(x)", "torch.linalg.matrix_norm(x)"], {"ints": INTS}),
        (["x.norm()"], {"bools": BOOLS}),
        (["torch.linalg.vector_norm(x, dtype=torch.float64)",
          "torch.linalg.vector_norm(x, dtype=torch.complex64)"], {"complex": Z}),
    ),
)  # fmt: skip
def test_errors(text, x):
    same_error(program(text), x)


@pytest.mark.parametrize(
    "text",
    ["torch.linalg.vector_norm(x, 'fro')"],
)  # fmt: skip
def test_wrong_arguments(text):
    same_error(program(text), A, match="")
