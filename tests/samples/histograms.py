"""Samples of the operators in ``ops/histograms.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

A, EMPTY = array(2, 3), array(0, 3)
INTS = np.array([[3, 1, 3], [4, 4, 0]])
ENDS = np.array([[-1.0, -1.0, -1.0], [1.0, 1.5, 2.0]])
EDGES = np.array([-2.0, -0.5, 0.5, 2.0])
REFUSED = {"derivable": False, "forward": False}
"""What PyTorch can't differentiate: backward raises."""

SAMPLES = [
    Sample("extent", (INTS,)),
    Sample("extent", (INTS[:0],)),
    Sample("histogram", (A, ENDS[:, :1], None), {"bins": 3, "density": False}, **REFUSED),
    Sample("histogram", (A, ENDS[:, :1], A), {"bins": 3, "density": True}, **REFUSED),
    Sample("histogram_between", (A, EDGES, None), {"density": False}, **REFUSED),
    Sample("histogramdd", (A, ENDS, None), {"bins": (2, 1, 2), "density": True}, **REFUSED),
    Sample("histogramdd", (EMPTY, ENDS, None), {"bins": (2, 1, 2), "density": False}, **REFUSED),
    Sample("histogramdd_edges", (A, ENDS, None), {"bins": (2, 1, 2)}, **REFUSED),
    Sample("histogramdd_between", (A, A[:, 0], EDGES, EDGES, EDGES), {"density": False}, **REFUSED),
]  # fmt: skip
