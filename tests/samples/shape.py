"""Samples of the operators in ``ops/shape.py``."""

from __future__ import annotations

from samples import Sample, array

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
ONES = array(1, 3, 1)
CUBE = array(2, 3, 4)
Z = array(2, 3, dtype="complex128")

SAMPLES = [
    *[Sample(op, (A,), {"shape": shape}) for op in ("view", "unsafe_view") for shape in ((3, 2), (6,), (1, 2, 3))],
    *[Sample("view", (x,), {"shape": shape}) for x, shape in ((S, (1, 1)), (E, (3, 0)), (Z, (6,)))],
    *[Sample(op, (x,)) for op in ("alias", "clone") for x in (A, S, E, Z)],
    *[Sample("permute", (x,), {"axes": axes}) for x, axes in ((A, (1, 0)), (CUBE, (2, 0, 1)), (S, ()), (E, (1, 0)))],
    *[Sample("transpose", (x,), {"axis0": a, "axis1": b})
      for x, a, b in ((A, 0, 1), (CUBE, 2, 0), (A, 1, 1), (S, 0, 0))],
    *[Sample("t", (x,)) for x in (A, V, S, Z)],
    *[Sample("squeeze", (x,)) for x in (ONES, A, S)],
    *[Sample("squeeze_axis", (x,), {"axis": axis}) for x, axis in ((ONES, 0), (ONES, 1), (ONES, 2), (S, 0))],
    *[Sample("squeeze_axes", (ONES,), {"axis": axis}) for axis in ((0, 2), (0, 1), ())],
    *[Sample("unsqueeze", (x,), {"axis": axis}) for x, axis in ((A, 0), (A, 2), (S, 0), (E, 1))],
]  # fmt: skip
