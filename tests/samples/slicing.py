"""Samples of the operators in ``ops/slicing.py``."""

from __future__ import annotations

from samples import Sample, array

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
CUBE = array(2, 3, 4)
SQUARE = array(3, 3)

SAMPLES = [
    *[Sample("select", (x, index), {"axis": axis})
      for x, index, axis in ((A, 1, 0), (A, 0, 1), (CUBE, 2, 1), (V, 2, 0))],
    *[Sample("select_adjoint", (V, index), {"axis": axis, "length": 2}) for index, axis in ((1, 0), (0, 1))],
    Sample("select_adjoint", (S, 2), {"axis": 0, "length": 3}),
    *[Sample("select_scatter", (A, V, index), {"axis": 0}) for index in (0, 1)],
    *[Sample("select_scatter", (A, source, 2), {"axis": 1}) for source in (array(2), S, array(1), 3.0)],
    *[Sample("slice", (A, start), {"axis": axis, "length": n, "step": step})
      for start, axis, n, step in ((0, 0, 1, 1), (1, 1, 2, 1), (0, 1, 2, 2), (0, 1, 3, 1), (0, 1, 0, 1))],
    Sample("slice", (array(7), 1), {"axis": 0, "length": 2, "step": 3}),
    Sample("slice", (E, 1), {"axis": 1, "length": 2, "step": 1}),
    *[Sample("slice_adjoint", (A, start), {"axis": axis, "step": step, "length": n})
      for start, axis, step, n in ((1, 0, 1, 4), (0, 1, 2, 6), (1, 1, 2, 6), (0, 1, 1, 3))],
    Sample("slice_adjoint", (E, 0), {"axis": 0, "step": 2, "length": 2}),
    *[Sample("slice_scatter", (A, source, start), {"axis": 1, "length": 2, "step": step})
      for source, start, step in (
          (array(2, 2), 1, 1), (array(2, 2), 0, 2), (array(2, 1), 0, 2), (S, 1, 1), (2.0, 0, 1))],
    Sample("slice_scatter", (A, array(2, 0), 0), {"axis": 1, "length": 0, "step": 1}),
    *[Sample("diagonal", (x,), {"offset": offset, "axis1": a, "axis2": b})
      for x, offset, a, b in ((A, 0, 0, 1), (A, 1, 0, 1), (A, -1, 0, 1), (A, 1, 1, 0), (CUBE, 0, 2, 0), (A, 5, 0, 1))],
    *[Sample("diagonal_copy", (A,), {"offset": offset}) for offset in (0, 1, -1)],
    *[Sample("diagonal_adjoint", (x,), {"offset": offset, "axis1": a, "axis2": b, "shape": shape})
      for x, offset, a, b, shape in ((array(2), 1, 0, 1, (2, 3)), (array(3, 2), 0, 2, 0, (2, 3, 4)))],
    *[Sample("diagonal_scatter", (A, array(n)), {"offset": offset, "axis1": 0, "axis2": 1})
      for n, offset in ((2, 0), (1, -1), (1, 2))],
    *[Sample("diag_embed", (x,), {"offset": offset, "axis1": a, "axis2": b})
      for x, offset, a, b in ((V, 0, 0, 1), (V, 1, 0, 1), (A, -1, 1, 2), (A, 1, 2, 0))],
    *[Sample("unfold", (x,), {"axis": axis, "size": size, "step": step})
      for x, axis, size, step in ((A, 1, 2, 1), (array(7), 0, 3, 2), (CUBE, 1, 2, 1), (S, 0, 1, 1), (A, 1, 3, 5))],
    *[Sample("unfold_adjoint", (array(2, 2, 2),), {"axis": 1, "size": 2, "step": step, "length": n})
      for step, n in ((1, 3), (2, 5))],
    Sample("unfold_adjoint", (array(1),), {"axis": 0, "size": 1, "step": 1, "length": None}),
    *[Sample(op, (x,), {"diagonal": k})
      for op in ("tril", "triu") for x, k in ((A, 0), (SQUARE, 1), (CUBE, -1), (E, 0))],
]  # fmt: skip
