"""Eigenvalues and eigenvectors beside PyTorch's. Vectors are compared by what does not depend on their
signs and phases."""

import pytest
from expressions import expression
from harness import same
from matrices import BATCH, NOTHING, POSITIVE_Z, A, Z

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

SPECTRA = {
    "eigh": ("torch.linalg.eigh(x)[1].abs()", A),
    "eigh reads the lower triangle": ("[*torch.linalg.eigh(x)][:1] + [torch.linalg.eigh(x, 'L')[1] ** 2]", A),
    "eigh of the upper triangle": ("torch.linalg.eigh(x, UPLO='U')[1] ** 2", A),
    "eigh of complex": ("torch.linalg.eigh(x + x.mH)[1].abs()", Z),
    "eigh projector": ("(lambda v: v[:, :1] @ v[:, :1].mH)(torch.linalg.eigh(x)[1])", POSITIVE_Z),
    "eigh of a batch": ("torch.linalg.eigh(x.mT @ x)[1].abs()", BATCH),
    "eigvalsh": ("torch.linalg.eigvalsh(x)", POSITIVE_Z), "eigvalsh of nothing": ("torch.linalg.eigvalsh(x)", NOTHING),
    "eig": ("torch.linalg.eig(x)[1].abs().sum(1)", A), "eig of complex": ("torch.linalg.eig(x)[1].abs().sum(1)", Z),
    "eigvals": ("torch.linalg.eigvals(x).abs().sort()[0]", A),
    "eigvalsh, mapped": ("torch.vmap(lambda y: torch.linalg.eigvalsh(y.mT @ y))(x)", BATCH),
    "eigvals, mapped": ("torch.vmap(lambda y: torch.linalg.eigvals(y.mT @ y).real.sort()[0])(x)", BATCH),
    "svdvals, mapped twice": ("torch.vmap(torch.vmap(torch.linalg.svdvals))(x[None])", BATCH),
}


@pytest.mark.parametrize("case", SPECTRA)
def test_spectra(case):
    text, *inputs = SPECTRA[case]
    same(expression(text), *inputs)
