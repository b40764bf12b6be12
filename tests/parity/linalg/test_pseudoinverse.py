"""Pseudoinverses, ranks, condition numbers, norms by singular values, least squares, beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same
from matrices import BATCH, POSITIVE, POSITIVE_Z, TALL, TALL_Z, WIDE, WIDE_Z, A, Z

import tapegrad

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

LOW_RANK = np.outer([1.0, 2.0, 3.0], [1.0, 2.0]) / 4

PSEUDOINVERSES = {
    "pinv": ("torch.linalg.pinv(x)", TALL),
    "pinv of complex": ("torch.pinverse(x)", WIDE_Z),
    "pinv of low rank": ("torch.linalg.pinv(x, rcond=1e-12)", LOW_RANK),
    "pinv of Hermitian": ("torch.linalg.pinv(x, hermitian=True)", POSITIVE_Z),
    "pinv, tolerances": ("torch.linalg.pinv(x, atol=L([0.5, 3.0]), rtol=L(0.1))", BATCH),
    "pinv, rcond": ("torch.linalg.pinv(x, L([0.1, 0.9]))", BATCH),
    "pinv, atol": ("torch.linalg.pinv(x, atol=1.5)", A),
    "pinv of nothing": ("torch.linalg.pinv(x)", np.zeros((2, 0, 3))),
    "lstsq": ("torch.linalg.lstsq(x, y)", TALL, A),
    "lstsq of complex": ("torch.linalg.lstsq(x, y, driver='gels')[:2]", TALL_Z, Z[:, :1]),
    "lstsq of low rank": ("torch.linalg.lstsq(x, y, driver='gelsd', rcond=1e-12)[0]", LOW_RANK, A),
    "lstsq of a wide one": ("torch.linalg.lstsq(x, y, driver='gelss')", WIDE, A[:2]),
    "lstsq of vectors": ("torch.linalg.lstsq(x, y)[0]", BATCH, WIDE),
    "lstsq, broadcast": ("torch.linalg.lstsq(x, y)[0]", BATCH, TALL[None]),
    "matrix_rank": ("torch.linalg.matrix_rank(x)", LOW_RANK),
    "matrix_rank, tolerance": ("[torch.linalg.matrix_rank(x, t) for t in (2.0, L([0.5, 3.0]))]", BATCH),
    "matrix_rank of Hermitian": ("torch.linalg.matrix_rank(x, atol=4.0, rtol=0.1, hermitian=True)", POSITIVE),
    "cond": ("torch.linalg.cond(x)", BATCH),
    "cond, -2": ("torch.linalg.cond(x, -2)", A),
    "cond, 1": ("torch.linalg.cond(x.detach(), 1)", A),
    "cond, fro": ("torch.linalg.cond(x.detach(), 'fro')", Z),
    "cond, nuc": ("torch.linalg.cond(x, 'nuc')", A),
    "cond of singular ones": ("[torch.linalg.cond(torch.ones(2, 2), p) for p in (1, 'fro', float('inf'))]",),
    "cond of nothing": ("[torch.linalg.cond(torch.ones(2, 0, 0), p) for p in (None, 1, 'nuc')]",),
    "nuc": ("torch.linalg.matrix_norm(x, 'nuc', (0, 2))", BATCH),
    "nuc, keepdim": ("torch.linalg.matrix_norm(x, 'nuc', (2, 0), keepdim=True)", BATCH),
    "nuc by norm": ("torch.norm(x, 'nuc')", WIDE_Z),
    "2-norm": ("torch.linalg.norm(x, 2)", TALL),
    "-2-norm": ("torch.linalg.matrix_norm(x, -2, keepdim=True)", TALL_Z),
    "norms in double": ("torch.linalg.matrix_norm(x.float(), 2, dtype=torch.float64)", TALL),
    "norms of nothing": ("[torch.linalg.matrix_norm(torch.ones(0, 3), p) for p in ('nuc', 2)]",),
}


@pytest.mark.parametrize("case", PSEUDOINVERSES)
def test_pseudoinverses(case):
    text, *inputs = PSEUDOINVERSES[case]
    same(expression(text), *inputs)


def test_condition_by_the_inverse_has_a_gradient():
    """PyTorch's backward refuses here: its ``cond`` writes into the inverse that it has saved."""
    x = tapegrad.tensor(A.tolist(), dtype=tapegrad.float64, requires_grad=True)
    whole, parts = tapegrad.linalg.cond(x, 1), tapegrad.linalg.norm(x, 1) * tapegrad.linalg.norm(tapegrad.inverse(x), 1)
    gradients = [tapegrad.autograd.grad(one, x)[0].numpy() for one in (whole, parts)]
    np.testing.assert_allclose(*gradients)


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 4)])
def test_solutions_lie_in_columns(shape):
    def program(torch):
        a = torch.arange(1.0 * np.prod(shape)).view(shape).sin().requires_grad_()
        x = torch.linalg.lstsq(a, torch.ones(*shape[:-1], 2)).solution
        return x.stride(), x.is_contiguous(), x.mT.is_contiguous(), (x * 2).stride()

    agree(program)
