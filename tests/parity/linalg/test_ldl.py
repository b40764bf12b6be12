"""LDL decompositions beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, same, same_error
from samples import array

from tests.parity.linalg.test_lu import COMPLEX, PIVOTS, SYMMETRIC, A, B

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("x", [SYMMETRIC, np.stack([SYMMETRIC, A]), COMPLEX, array(0, 0)], ids=lambda x: str(x.shape))
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl(x, hermitian):
    def program(torch, x):
        factor, pivots = torch.linalg.ldl_factor(x, hermitian=hermitian)
        right = torch.ones(x.shape[-1], 2, dtype=x.dtype)
        solved = torch.linalg.ldl_solve(factor, pivots, right, hermitian=hermitian)
        return factor, pivots, solved, torch.linalg.ldl_factor_ex(x).info

    same(program, x, grads=False)


def test_ldl_is_not_differentiable():
    def program(torch):
        x = torch.tensor(SYMMETRIC.tolist(), requires_grad=True)
        factor, pivots = torch.linalg.ldl_factor(x)
        solved = torch.linalg.ldl_solve(factor.detach(), pivots, x)
        return [attempt(lambda one=one: one.sum().backward()) for one in (factor, solved)]

    agree(program)


ERRORS = [
    "torch.linalg.ldl_factor(x[:2])", "torch.linalg.ldl_factor(x[0])", "torch.linalg.ldl_factor(x.long())",
    "torch.linalg.ldl_solve(x, y, z[:2])", "torch.linalg.ldl_solve(x, y.double(), z)",
    "torch.linalg.ldl_solve(x, y, z.float())", "torch.linalg.ldl_solve(x, y[:1], z)",
    "torch.linalg.ldl_solve(x, y, z[0])", "torch.linalg.ldl_solve(x[:2], y, z)",
    "torch.linalg.ldl_solve(x.half(), y, z.half())",
]


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    same_error(expression(text), A, PIVOTS, B)


@pytest.mark.parametrize("text", ["torch.linalg.ldl_factor(x)", "torch.linalg.ldl_factor_ex(x, check_errors=True)"])
def test_singular_blocks(text):
    same_error(expression(text), np.zeros((2, 2)), match="Unknown error code: 1.")  # PyTorch: an assertion that failed
