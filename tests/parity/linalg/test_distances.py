"""Distances of rows beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, same, same_error
from samples import array

from tests.parity.linalg.test_matrix_functions import BATCH, ROWS, A

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

EQUAL = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 2.0]])
MANY = array(26, 2)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_distances_of_equal_rows(p):
    same(lambda torch, x, y: torch.cdist(x, y, p), EQUAL, EQUAL[1:], second=False)
    same(lambda torch, x: torch.pdist(x, p), EQUAL, second=False)


DISTANCES = {
    "torch.cdist(x, y, compute_mode='use_mm_for_euclid_dist')": [(EQUAL[1:], array(3, 2)), (BATCH, array(3, 2))],
    "torch.cdist(x, y)": [(MANY, EQUAL + 0.5)],
    "torch.cdist(x, y, 2.0, 'donot_use_mm_for_euclid_dist')": [(MANY, EQUAL)],
    "torch.cdist(x, y, p=1)": [(BATCH[:, None], BATCH), (MANY[:0], EQUAL), (EQUAL[:, :0], EQUAL[:, :0])],
    "F.pdist(x)": [(MANY[:4],), (MANY[:1],), (MANY[:3, :0],)],
}


@pytest.mark.parametrize(("text", "inputs"), [(text, one) for text in DISTANCES for one in DISTANCES[text]])
def test_distances(text, inputs):
    same(expression(text), *inputs, second="use_mm" in text and "donot" not in text, rtol=1e-6)


def test_distances_have_one_derivative():
    def program(torch):
        x = torch.tensor(MANY[:3].tolist(), requires_grad=True)
        seen = []
        for distances in (torch.cdist(x, x), torch.pdist(x)):
            (g,) = torch.autograd.grad(distances.sum(), x, create_graph=True)
            seen.append(attempt(lambda g=g: torch.autograd.grad(g.sum(), x)))
        return seen

    agree(program)


ERRORS = {
    "torch.cdist": [
        "x[0], x",
        "x, x[0]",
        "x, y",
        "x, x, p=-1",
        "x, x, compute_mode='x'",
        "x.long(), x",
        "x, x.long()",
        "x, x.float()",
        "x.half(), x.half()",
        "x + 0j, x + 0j",
        "torch.stack([x, x]), torch.stack([x, x, x])",
        "x, x, p='a'",
    ],
    "torch.pdist": ["x[0]", "x, p=-1", "x.long()", "x.half()", "x + 0j"],
}


@pytest.mark.parametrize("text", [f"{name}({arguments})" for name in ERRORS for arguments in ERRORS[name]])
def test_errors(text):
    same_error(expression(text), A, ROWS)
