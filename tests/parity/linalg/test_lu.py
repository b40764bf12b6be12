"""LU decompositions beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A = array(3, 3) + 3 * np.eye(3)[::-1]
B = array(3, 2, seed=1)
BATCH = np.stack([A, A.T])
COMPLEX = A + 1j * A[::-1]
SYMMETRIC = A + A.T - 4 * np.eye(3)
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
PIVOTS = np.array([3, 2, 3], "int32")

RESULTS = {
    "torch.linalg.lu_factor(x)": [(BATCH,), (B,), (B.T,), (COMPLEX,), (BATCH[:0],)],
    "torch.linalg.lu_factor_ex(x)": [(array(2, 0),)],
    "torch.lu(x, get_infos=True)": [(BATCH,)],
    "x.lu()": [(B,)],
    "torch.linalg.lu(x)": [(BATCH,), (B,), (COMPLEX[:2],)],
    "torch.lu_unpack(x, y)": [(A, PIVOTS), (A[:, :2], PIVOTS[:2]), (A[:2], np.array([2, 2], "int32"))],
    "torch.lu_unpack(x.detach(), y, unpack_data=False)": [(A, PIVOTS)],
    "torch.lu_unpack(x, y, unpack_pivots=False)": [(A, PIVOTS)],
    "torch.linalg.lu_solve(x, y, z)": [(A, PIVOTS, B), (BATCH, np.stack([PIVOTS, PIVOTS]), B), (A, PIVOTS, BATCH)],
    "torch.linalg.lu_solve(x, y, z.mT, left=False, adjoint=True)": [(COMPLEX, PIVOTS, B + 0j)],
    "torch.lu_solve(z, x, y)": [(A, PIVOTS, B)],
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y, adjoint=True)": [(A, B)],
}


@pytest.mark.parametrize(("text", "inputs"), [(text, one) for text in RESULTS for one in RESULTS[text]])
def test_results_and_derivatives(text, inputs):
    same(expression(text), *inputs, rtol=1e-9)


def test_singular_matrices_are_decomposed():
    def program(torch):
        x = torch.tensor([SINGULAR.tolist(), np.zeros((2, 2)).tolist()])
        return torch.linalg.lu(x), torch.linalg.lu_factor_ex(x), torch.lu(x)

    agree(program)


ERRORS = [
    "torch.linalg.lu_factor(x[0])", "torch.linalg.lu_factor(x.long())", "torch.linalg.lu_factor(x * 0)",
    "torch.linalg.lu_factor_ex(torch.stack([x, x * 0]), check_errors=True)", "torch.linalg.lu_factor(x, pivot=False)",
    "torch.linalg.lu(x, pivot=False)", "torch.linalg.lu(x[0])", "torch.lu(x.half())",
    "torch.linalg.lu_solve(x, y, z[0])", "torch.linalg.lu_solve(x[:, :2], y, z)",
    "torch.linalg.lu_solve(x, y.long(), z)", "torch.linalg.lu_solve(x, y[:2], z)",
    "torch.linalg.lu_solve(x, y, z[:2])", "torch.linalg.lu_solve(x, y, z, left=False)",
    "torch.linalg.lu_solve(x, y, z.float())", "torch.linalg.lu_solve(x.long(), y, z.long())",
    "torch.linalg.lu_solve(x[0], y, z)", "torch.linalg.lu_solve(x, y + 5, z)", "torch.linalg.lu_solve(x, y - 3, z)",
    "torch.linalg.lu_solve(torch.stack([x, x]), y, z)", "torch.lu_solve(z[:2], x, y)", "torch.lu_unpack(x, y.long())",
    "torch.lu_unpack(x[0].detach(), y)", "torch.lu_unpack(x, y + 5)", "torch.lu_unpack(x, y - 3)",
]


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    same_error(expression(text), A, PIVOTS, B)
