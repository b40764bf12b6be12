"""QR decompositions and products of reflections beside PyTorch's."""

import pytest
from expressions import expression
from harness import same
from matrices import BATCH, TALL, TALL_Z, WIDE_Z, A

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

FACTORS = {
    "qr": ("torch.linalg.qr(x)", A), "qr of a tall one": ("torch.linalg.qr(x)", TALL_Z),
    "qr of a wide one": ("torch.linalg.qr(x, 'complete')", WIDE_Z),
    "qr, R of a batch": ("torch.linalg.qr(x).R", BATCH), "torch.qr": ("torch.qr(x)", TALL),
    "householder_product": ("torch.linalg.householder_product(x, y)", TALL_Z, TALL_Z[0]),
    "orgqr of fewer": ("torch.orgqr(x, y)", TALL, TALL[0, :1]), "ormqr": ("torch.ormqr(x, y, z)", TALL, TALL[0], TALL),
    "ormqr, other side": ("x.ormqr(y, z, left=False, transpose=True)", TALL_Z, TALL_Z[0], WIDE_Z),
}


@pytest.mark.parametrize("case", FACTORS)
def test_factors(case):
    text, *inputs = FACTORS[case]
    same(expression(text), *inputs)
