"""Samples of the operators in ``ops/bessel.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample
from tapegrad.ops import bessel

FAR = np.array([-20.0, -7.0, -0.5, 0.5, 3.0, 30.0])
BESSEL = [op.name for op in vars(bessel).values() if getattr(op, "kind", None)]

SAMPLES = [
    *(Sample(op, (FAR,), constants=("x",)) for op in BESSEL),
]  # fmt: skip
