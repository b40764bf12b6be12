"""Samples of the operators in ``ops/quantiles.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array

A = array(2, 3)
ORDERED = np.sort(A, 1)
WITH_NAN = np.array([[1.0, 2.0, np.nan], [1.0, 3.0, 4.0]])
Q, QS = np.float64(0.3).reshape(()), np.array([0.1, 0.6])

SAMPLES = [
    *(
        Sample(name, (q, x), {"ignore_nan": ignore_nan} | settings, note=note)
        for name, settings in (("rank", {"rounding": "lower"}), ("rank_slope", {}))
        for q, x, ignore_nan, note in ((Q, ORDERED, False, ""), (QS, WITH_NAN, True, " nan"))
    ),
    Sample("rank", (QS, WITH_NAN), {"rounding": "nearest", "ignore_nan": False}),
    Sample("rank", (QS, ORDERED), {"rounding": "higher", "ignore_nan": False}),
    *(
        Sample("ranks", (q, x), {"ignore_nan": ignore_nan}, note=note)
        for q, x, ignore_nan, note in (
            (Q, ORDERED, False, ""),
            (QS, ORDERED, False, ""),
            (QS, WITH_NAN, True, " nan"),
            (QS, WITH_NAN, False, " nan"),
        )
    ),
]  # fmt: skip
