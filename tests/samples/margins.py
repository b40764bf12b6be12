"""Samples of the operators in ``ops/margins.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

SCORES, TARGETS = array(3, 4), np.array([1, 3, 0])
SEVERAL = np.array([[1, 3, -1, 0], [0, -1, 2, 2], [2, 1, 3, -1]])

SAMPLES = [
    Sample("multi_margin_loss", (SCORES, TARGETS, None), {"p": 1, "margin": 1.0, "reduction": "mean"}, forward=False,
           twice=False),
    Sample("multi_margin_loss", (SCORES, TARGETS, array(4, low=0.5)), {"p": 2, "margin": 0.7, "reduction": "none"},
           forward=False, twice=False, constants=("weight",)),
    Sample("multi_margin_gradient", (array(3), SCORES, TARGETS, None), {"p": 2, "margin": 1.0, "reduction": "none"},
           derivable=False, twice=False),
    Sample("multilabel_margin_loss", (SCORES, SEVERAL), {"reduction": "sum"}, forward=False, twice=False),
    Sample("multilabel_margin_gradient", (array(), SCORES, SEVERAL), {"reduction": "mean"}, derivable=False,
           twice=False),
]  # fmt: skip
