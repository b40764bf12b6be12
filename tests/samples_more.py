"""Samples of quantiles, histograms, membership, hashes, masked indices and what else the other families leave over."""

import numpy as np
from samples import Sample, array

from tapegrad.execution import dtypes

A, V, POINT, EMPTY = array(2, 3), array(3), array(), array(0, 3)
COMPLEX = array(2, 3, dtype="complex128")
INTS = np.array([[3, 1, 3], [4, 4, 0]])
ORDERED = np.sort(A, 1)
WITH_NAN = np.array([[1.0, 2.0, np.nan], [1.0, 3.0, 4.0]])
Q, QS = np.float64(0.3).reshape(()), np.array([0.1, 0.6])
ENDS = np.array([[-1.0, -1.0, -1.0], [1.0, 1.5, 2.0]])
EDGES = np.array([-2.0, -0.5, 0.5, 2.0])
FIRST, SECOND = np.array([0, 1, 5]), np.array([2, -1, -9])
"""Indices of which the last are out of range."""

MASK = np.array([True, True, False])

QUANTILES = [
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

REFUSED = {"derivable": False, "forward": False}
"""What PyTorch can't differentiate: backward raises."""

HISTOGRAMS = [
    Sample("extent", (INTS,)),
    Sample("extent", (INTS[:0],)),
    Sample("histogram", (A, ENDS[:, :1], None), {"bins": 3, "density": False}, **REFUSED),
    Sample("histogram", (A, ENDS[:, :1], A), {"bins": 3, "density": True}, **REFUSED),
    Sample("histogram_between", (A, EDGES, None), {"density": False}, **REFUSED),
    Sample("histogramdd", (A, ENDS, None), {"bins": (2, 1, 2), "density": True}, **REFUSED),
    Sample("histogramdd", (EMPTY, ENDS, None), {"bins": (2, 1, 2), "density": False}, **REFUSED),
    Sample("histogramdd_edges", (A, ENDS, None), {"bins": (2, 1, 2)}, **REFUSED),
    Sample("histogramdd_between", (A, A[:, 0], EDGES, EDGES, EDGES), {"density": False}, **REFUSED),
]

SETS = [
    Sample("isin", (INTS, INTS[0])),
    Sample("isin", (A, np.concatenate([V] * 6)), {"invert": True}, note=" many"),
    Sample("isin", (A, V[:0])),
    *(Sample("nonzero_static", (INTS, ), {"size": size, "fill_value": -1}) for size in (2, 7)),
    *(Sample("nonzero_static", (x,), {"size": 2, "fill_value": 3}) for x in (POINT, EMPTY)),
    Sample("unravel_index", (INTS,), {"shape": (2, 3)}),
    Sample("unravel_index", (INTS,), {"shape": ()}),
    *(Sample("hash_tensor", (x,), {"axis": (0,), "keepdims": True, "dtype": dtypes.uint64}) for x in (A, INTS)),
]

PARTS = [
    *(
        Sample("unsafe_masked_index", (x, MASK, fill, FIRST, SECOND))
        for x, fill in ((A, 7.0), (COMPLEX, 1.0), (INTS, 2))
    ),
    Sample("unsafe_masked_index", (A, MASK, 7.0, FIRST), note=" rows"),
    Sample("unsafe_masked_index", (EMPTY, MASK, 7.0, FIRST)),
    *(Sample("unsafe_masked_index_put_accumulate", (x, MASK, v, FIRST, SECOND)) for x, v in ((A, V), (A, POINT))),
    Sample("unsafe_masked_index_put_accumulate", (COMPLEX, MASK, COMPLEX[0], FIRST, SECOND)),
    Sample("unsafe_masked_index_put_accumulate", (EMPTY, MASK, V, FIRST, SECOND)),
    Sample("chunk_cat", (A, array(1, 3)), {"axis": 0, "num_chunks": 2}, **REFUSED),
    Sample("chunk_cat", (A, A[:, :1]), {"axis": 1, "num_chunks": 2}, **REFUSED),
]

SAMPLES = [*QUANTILES, *HISTOGRAMS, *SETS, *PARTS]
