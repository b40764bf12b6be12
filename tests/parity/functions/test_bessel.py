"""Bessel functions beside PyTorch's, which are off by up to 1e-6 in places.

They are compared with that tolerance, and with SciPy's closely.
"""

import numpy as np
import pytest
import scipy.special as scipy
import torch as pytorch
from harness import agree
from transcripts import same_transcript

import tapegrad

pytestmark = pytest.mark.parity

LINE = np.concatenate([np.linspace(-24, 24, 97), np.logspace(-8, 2.5, 30), [2.0, 5.0, 2.1, -3.5]])
BORDERS = np.array([0.0, -1.0, np.nan, np.inf, -np.inf, 1e3, -1e3])

BESSEL = {
    "bessel_j0": scipy.j0, "bessel_j1": scipy.j1, "bessel_y0": scipy.y0, "bessel_y1": scipy.y1,
    "modified_bessel_i0": scipy.i0, "modified_bessel_i1": scipy.i1, "modified_bessel_k0": scipy.k0,
    "modified_bessel_k1": scipy.k1, "scaled_modified_bessel_k0": scipy.k0e, "scaled_modified_bessel_k1": scipy.k1e,
    "spherical_bessel_j0": lambda x: scipy.spherical_jn(0, np.abs(x)), "airy_ai": lambda x: scipy.airy(x)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions(name):
    points = np.concatenate([LINE, BORDERS])
    ours = getattr(tapegrad.special, name)(tapegrad.tensor(points, requires_grad=True))
    theirs = getattr(pytorch.special, name)(pytorch.tensor(points, requires_grad=True))
    assert ours.requires_grad is theirs.requires_grad is False
    ours, theirs = ours.numpy(), theirs.numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=3e-6)
    with np.errstate(invalid="ignore", divide="ignore"):
        truth = BESSEL[name](LINE)
    there = theirs[: len(LINE)]
    np.testing.assert_allclose(ours[: len(LINE)], np.where(np.isnan(there), np.nan, truth), rtol=2e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["bessel_y1", "airy_ai", "modified_bessel_k0", "bessel_j0"])
def test_bessel_functions_of_float32(name):
    def program(torch):
        function = getattr(torch.special, name)
        return function(torch.tensor([0.3, 2.5, 4.0, 20.0])), function(torch.tensor([3, 6]))

    agree(program, rtol=1e-5, atol=2e-6)


LINES = """
torch.special.erfcx(torch.tensor([0, 1])).dtype, torch.special.airy_ai(torch.tensor([True])).dtype
torch.special.erfcx.__name__, torch.special.airy_ai.__name__, torch.special.round.__name__
torch.special.airy_ai(torch.ones(1, dtype=torch.bfloat16))
torch.special.bessel_j0(torch.ones(1, dtype=torch.complex64))
torch.special.airy_ai(2.0)
torch.special.bessel_j0(2.0)
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line):
    same_transcript(line)
