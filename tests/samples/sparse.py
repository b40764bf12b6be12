"""Samples of the operators in ``ops/sparse.py``."""

from __future__ import annotations

import numpy as np

from samples import Sample, array
from tapegrad.ops import sparse  # noqa: F401 - imported on demand elsewhere

ROWS, COLUMNS = np.array([0, 1, 1, 0]), np.array([2, 0, 2, 2])

SAMPLES = [
    *[Sample(f"sparse_{name}", (array(4),)) for name in ("constructor", "compressed_constructor", "values", "t",
                                                         "transpose")],
    Sample("sparse_hspmm", (array(4),), derivable=False),
    Sample("sparse_sspaddmm", (array(4),), derivable=False),
    Sample("sparse_elsewhere", (array(2, 3), COLUMNS + 3 * ROWS), {"ndim": 2}),
    Sample("sparse_elsewhere", (array(2, 3), ROWS), {"ndim": 1}),
    Sample("sparse_fill", (array(2, 3), COLUMNS + 3 * ROWS), {"ndim": 2}, smooth=False),
    Sample("sparse_filled", (array(2, 3), np.zeros((2, 3))), smooth=False),
    Sample("sparse_total", (array(4, 3), np.zeros((2, 3))), {"ndim": 0}, smooth=False),
    Sample("sparse_total", (array(4, 3), np.zeros((2, 3))), {"ndim": 1}, smooth=False),
    Sample("sparse_coalesce", (array(4, 3), COLUMNS), {"count": 3}),
    Sample("sparse_rows", (array(3, 2), COLUMNS)),
    Sample("sparse_scatter", (array(4), COLUMNS + 3 * ROWS), {"shape": (2, 3)}),
    Sample("sparse_scatter", (array(4, 2), COLUMNS), {"shape": (3, 2)}),
    Sample("sparse_gather", (array(2, 3), COLUMNS + 3 * ROWS), {"ndim": 2}),
    Sample("sparse_gather", (array(2, 3), ROWS), {"ndim": 1}),
    Sample("sparse_matmul", (array(4), ROWS, COLUMNS, array(3, 2), None), {"count": 2}),
    Sample("sparse_matmul", (array(4, dtype="complex128"), ROWS, COLUMNS, array(3, 2, dtype="complex128"), None),
           {"count": 2}),
    Sample("sparse_matmul", (array(4), ROWS, COLUMNS, array(3, 2), np.zeros((2, 3))), {"count": 2}, smooth=False),
    Sample("sparse_matmul", (array(4), ROWS, COLUMNS, array(6, 2), np.zeros((2, 2, 3))), {"count": 4}, smooth=False),
    Sample("sparse_matmul", (array(4, dtype="complex128"), ROWS, COLUMNS, array(3, 2, dtype="complex128"),
                             np.zeros((2, 3), "complex128")), {"count": 2}, smooth=False),
    Sample("sparse_addmm", (array(4), ROWS, COLUMNS, array(3, 2)), {"count": 2}),
    Sample("sparse_inner", (array(2, 2), ROWS, COLUMNS, array(3, 2))),
]  # fmt: skip
