"""Orthogonal polynomials beside PyTorch's."""

import numpy as np
import pytest
from harness import agree
from transcripts import same_transcript

pytestmark = pytest.mark.parity

POLYNOMIALS = [
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    *(f"{prefix}chebyshev_polynomial_{kind}" for prefix in ("", "shifted_") for kind in "tuvw"),
]  # fmt: skip

ARGUMENTS = np.array([0.0, 0.3, -0.9, 1.0, -1.0, 1.5, -7.0, np.nan])
DEGREES = np.array([-2, -0.5, 0, 0.5, 1, 2, 3, 5, 6, 7, 8, 9, 20, 33.7, np.nan])


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    def program(torch):
        x, n = torch.tensor(ARGUMENTS.tolist(), dtype=torch.float64)[:, None], torch.tensor(DEGREES.tolist())
        return getattr(torch.special, name)(x.requires_grad_(), n.double().requires_grad_())

    agree(program, rtol=1e-10, atol=1e-11)


def test_polynomials_of_numbers():
    def program(torch):
        x, t, h = torch.tensor([0.5, 2.0]), torch.special.chebyshev_polynomial_t, torch.special.hermite_polynomial_h
        return [
            t(x, 2), t(x, 2.7), t(2.0, x), t(2, x.long()), t(x.long(), 3), t(x, x.double()), t(x=x, n=3),
            t(torch.ones(0, 3), torch.ones(1)), h(x.double(), 512).isnan(), h(x.double(), 513), h(x, 128), h(x, 129),
        ]  # fmt: skip

    agree(program)


@pytest.mark.parametrize("name", POLYNOMIALS[4:])
def test_degrees_that_nobody_counts_to(name):
    """No step is made for each degree where the polynomial is known, or is nan by then."""

    def program(torch):
        x = torch.tensor([1.0, -1.0, 0.0, 1.5, -3.0, 0.25, np.inf, np.nan], dtype=torch.float64)
        return [getattr(torch.special, name)(x, n) for n in (1e9, 2.0**30 + 1)]

    agree(program, rtol=1e-6, atol=1e-6)


LINES = """
torch.special.legendre_polynomial_p(2, 3)
torch.special.legendre_polynomial_p(torch.ones(1), "a")
torch.special.legendre_polynomial_p(torch.ones(1, dtype=torch.float16), 2)
torch.special.legendre_polynomial_p(torch.ones(1), 2j)
torch.special.legendre_polynomial_p(torch.ones(2), torch.ones(3))
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line):
    same_transcript(line)
