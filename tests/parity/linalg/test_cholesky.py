"""Factors of positive definite matrices beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import same
from matrices import BATCH, NOTHING, POSITIVE, POSITIVE_Z, TALL_Z

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

FACTORS = {
    "cholesky": ("torch.linalg.cholesky(x)", POSITIVE),
    "cholesky of complex": ("torch.linalg.cholesky(x, upper=True)", POSITIVE_Z),
    "cholesky reads the lower triangle": (
        "torch.linalg.cholesky(x + x.new_tensor([[0, 7, 7], [0, 0, 7], [0, 0, 0]]))",
        POSITIVE,
    ),
    "cholesky_ex": ("torch.linalg.cholesky_ex(x)", POSITIVE),
    "cholesky of nothing": ("torch.linalg.cholesky(x)", NOTHING),
    "torch.cholesky": ("torch.cholesky(x, upper=True)", POSITIVE),
    "cholesky_inverse": ("torch.cholesky_inverse(x)", np.tril(POSITIVE_Z)),
    "cholesky_inverse of an upper one": ("x.cholesky_inverse(True)", np.triu(POSITIVE)),
    "cholesky_solve": ("torch.cholesky_solve(x, y)", TALL_Z, np.tril(POSITIVE_Z)),
    "cholesky_solve of an upper one, broadcast": ("torch.cholesky_solve(x, y, upper=True)", BATCH, np.triu(POSITIVE)),
}


@pytest.mark.parametrize("case", FACTORS)
def test_factors(case):
    text, *inputs = FACTORS[case]
    same(expression(text), *inputs)
