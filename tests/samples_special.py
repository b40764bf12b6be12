"""Samples for Bessel functions, orthogonal polynomials, ``erfcx``, ``frexp`` and the samplers of distributions.

Bessel functions and polynomials have no derivative in PyTorch: only their values are compared here, and in
``parity/test_special.py`` with SciPy's.
"""

import numpy as np
from samples import Sample, array
from samples_elementwise import zeta_series

from tapegrad.ops import bessel, polynomials

KEY = np.array([3, 14], np.uint32)
A, POSITIVE = array(2, 3), array(2, 3, low=0.2)
FAR = np.array([-20.0, -7.0, -0.5, 0.5, 3.0, 30.0])
DEGREES = np.array([0.0, 3.0, 9.0])
EXPONENTS = array(2, 3, low=0.6, high=7.0)

BESSEL = [op.name for op in vars(bessel).values() if getattr(op, "kind", None)]
POLYNOMIALS = [*polynomials.CHEBYSHEV, *polynomials.OTHERS]


def mantissa(x):
    """The convention: the exponent is a constant."""
    exponent = np.floor(np.log2(np.abs(EXPONENTS))) + 1
    return x / 2**exponent, exponent.astype(np.int32)


SAMPLES = [
    *(Sample(op, (FAR,), constants=("x",)) for op in BESSEL),
    *(Sample(op, (A, DEGREES), constants=("x", "n")) for op in POLYNOMIALS),
    *(Sample("erfcx", (x,)) for x in (A, A * 9, array(), array(0, 3))),
    Sample("times", (A, 0.5)),
    Sample("plus", (A, 0.5)),
    Sample("xlog1py_number", (A, 0.7)),
    Sample("number_xlog1py", (1.7, POSITIVE)),
    Sample("zeta_number", (np.array([[2, 3, 4], [5, 6, 7]]), 2.5)),
    Sample("number_zeta", (3.0, POSITIVE), oracle=zeta_series),
    Sample("frexp", (EXPONENTS,), oracle=mantissa),
    Sample("standard_gamma_grad", (POSITIVE, POSITIVE.T.reshape(2, 3)), derivable=False),
    Sample("standard_gamma", (POSITIVE, KEY), twice=False, smooth=False),
    Sample("sample_dirichlet", (POSITIVE, KEY), derivable=False),
    Sample("dirichlet_grad", (array(2, 3, low=0.1, high=0.9), POSITIVE, POSITIVE + 1), derivable=False),
    Sample("binomial", (np.array([3.0, 10.0]), np.array([0.2, 0.7]), KEY), derivable=False),
]
