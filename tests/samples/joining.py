"""Samples of the operators in ``ops/joining.py``."""

from __future__ import annotations

from samples import Sample, array

A, B, V, S, E = array(2, 3), array(2, 3, seed=1), array(3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")
EMPTY = array(0)
REFUSED = {"derivable": False, "forward": False}
"""What PyTorch can't differentiate: backward raises."""

SAMPLES = [
    *[Sample("cat", xs, {"axis": axis})
      for xs, axis in (
          ((A, B), 0), ((A, array(2, 1), B), 1), ((A,), 1), ((V, V), 0), ((A, E), 0), ((EMPTY, EMPTY), 0))],
    Sample("cat", (A, Z), {"axis": 0}),
    Sample("cat", (EMPTY, A, B), {"axis": 1}),
    *[Sample("stack", xs, {"axis": axis})
      for xs, axis in (((A, B), 0), ((A, B), 1), ((A, B), 2), ((S, S), 0), ((V,), 1))],
    Sample("stack", (A, Z), {"axis": 0}),
    *[Sample("unbind", (x,), {"axis": axis}) for x, axis in ((A, 0), (A, 1), (V, 0), (array(1, 3), 0), (E, 1), (Z, 0))],
    *[Sample(op, (x,), {"axis": axis, "size": size})
      for op in ("split", "unsafe_split") for x, axis, size in ((A, 0, 1), (A, 1, 2), (A, 1, 5), (E, 0, 2))],
    *[Sample(op, (A,), {"axis": axis, "sizes": sizes})
      for op in ("split_with_sizes", "unsafe_split_with_sizes")
      for axis, sizes in ((1, (1, 2)), (1, (0, 3)), (0, (2,)), (1, (1, 1, 1)))],
    *[Sample("block_diag", xs) for xs in ((A, array(1, 3)), (A, B, array(3, 1)), (A,), (A, Z))],
    Sample("chunk_cat", (A, array(1, 3)), {"axis": 0, "num_chunks": 2}, **REFUSED),
    Sample("chunk_cat", (A, A[:, :1]), {"axis": 1, "num_chunks": 2}, **REFUSED),
]  # fmt: skip
