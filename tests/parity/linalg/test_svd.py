"""Singular values and vectors beside PyTorch's. Vectors are compared by what does not depend on their
signs and phases."""

import pytest
from expressions import expression
from harness import same
from matrices import BATCH, TALL, TALL_Z, WIDE, WIDE_Z, A

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

SPECTRA = {
    "svd": ("[torch.linalg.svd(x)[i].abs() for i in (0, 2)]", A),
    "svd, reduced": ("[torch.linalg.svd(x, full_matrices=False)[i].abs() for i in (0, 2)]", WIDE),
    "svd of complex": ("[torch.linalg.svd(x, full_matrices=False)[i].abs() for i in (0, 2)]", TALL_Z),
    "svd, the pairs' phases": ("(lambda u, s, vh: u @ vh)(*torch.linalg.svd(x, full_matrices=False))", WIDE_Z),
    "svd of a batch": ("torch.linalg.svd(x, full_matrices=False)[0] ** 2", BATCH),
    "svd, U alone": ("torch.linalg.svd(x)[0][:, :2] ** 2", TALL), "svdvals": ("torch.linalg.svdvals(x)", BATCH),
    "torch.svd": ("torch.svd(x)[2] ** 2", TALL), "torch.svd, full": ("x.svd(some=False)[0][:, :2].abs()", TALL),
    "torch.svd, values": ("torch.svd(x, compute_uv=False)", TALL),
}


@pytest.mark.parametrize("case", SPECTRA)
def test_spectra(case):
    text, *inputs = SPECTRA[case]
    same(expression(text), *inputs)
