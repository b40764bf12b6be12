"""Samples of the operators that move elements: views, slices, diagonals, repetition, padding."""

import numpy as np
from samples import Sample, array

from tapegrad.execution.dtypes import float32, float64, int64

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
ONES = array(1, 3, 1)
CUBE = array(2, 3, 4)
Z = array(2, 3, dtype="complex128")
SQUARE = array(3, 3)


def images(channels, height, width):
    return array(1, channels, height, width)


VIEWS = [
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
    *[Sample("view_as_real", (x,)) for x in (Z, array(dtype="complex128"), array(0, 3, dtype="complex128"))],
    *[Sample("view_as_complex", (x,)) for x in (array(3, 2), array(2, 3, 2), array(2))],
]  # fmt: skip

PARTS = [
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

ARRANGED = [
    *[Sample("repeat", (x,), {"repeats": repeats})
      for x, repeats in ((A, (1, 2)), (A, (2, 1, 3)), (V, (2,)), (S, (2, 2)), (S, ()), (A, (0, 1)), (E, (2, 1)))],
    *[Sample("flip", (x,), {"axes": axes}) for x, axes in ((A, (0,)), (A, (0, 1)), (A, ()), (S, (0,)), (E, (1,)))],
    *[Sample("roll", (x,), {"shifts": shifts, "axes": axes})
      for x, shifts, axes in (
          (A, (1,), ()), (A, (-2,), (1,)), (A, (1, 2), (0, 1)), (A, (1, 1), (1, 1)), (S, (1,), ()))],
    *[Sample("rot90", (A,), {"k": k, "axes": (0, 1)}) for k in (0, 1, 2, 3)],
    Sample("rot90", (CUBE,), {"k": 1, "axes": (2, 0)}),
    *[Sample("constant_pad", (A, value), {"widths": widths})
      for value, widths in ((0.0, ((0, 0), (1, 2))), (1.5, ((1, 0), (-1, 2))), (0, ((0, -1), (0, 0))))],
    Sample("constant_pad", (S, 1.0), {"widths": ()}),
    Sample("constant_pad", (E, 1.0), {"widths": ((1, 1), (0, 0))}),
    *[Sample(f"{mode}_pad1d", (x,), {"widths": (width,)})
      for mode in ("reflect", "replicate", "circular") for x, width in ((A, (2, 1)), (A, (1, -1)), (CUBE, (0, 2)))],
    *[Sample(f"{mode}_pad2d", (CUBE,), {"widths": ((1, 2), (3, 1))}) for mode in ("reflect", "replicate", "circular")],
    *[Sample(f"{mode}_pad3d", (array(1, 2, 3, 2),), {"widths": ((1, 1), (1, 0), (0, 1))})
      for mode in ("reflect", "replicate", "circular")],
    *[Sample("pad_adjoint", (array(2, 6),), {"mode": mode, "widths": ((2, 1),), "shape": (2, 3)})
      for mode in ("reflect", "replicate", "circular")],
    Sample("pixel_shuffle", (images(8, 1, 3),), {"factor": 2}),
    Sample("pixel_unshuffle", (images(2, 2, 6),), {"factor": 2}),
    Sample("channel_shuffle", (images(6, 1, 2),), {"groups": 2}),
    Sample("channel_shuffle", (images(6, 1, 2),), {"groups": 3}),
]  # fmt: skip


def window(x, offset, shape, strides, x_strides, x_offset=0, size=None, memory=None):
    settings = {"shape": shape, "strides": strides, "x_strides": x_strides, "size": size or x.size}
    return Sample("as_strided", (x, offset, x_offset, memory), settings)


def adjoint_of_window(g, offset, x_offset, strides, shape, x_strides, size):
    settings = {"strides": strides, "shape": shape, "x_strides": x_strides, "size": size}
    return Sample("window_adjoint", (g, offset, x_offset), settings)


WINDOWS = [
    window(A, 0, (3, 2), (1, 3), (3, 1)),
    window(A, 1, (2,), (2,), (3, 1)),
    window(A, 3, (3,), (1,), (3, 1)),
    window(A, 4, (), (), (3, 1)),
    window(A, 0, (2, 3), (1, 1), (3, 1)),  # overlaps
    window(A, 2, (2, 3), (1, 0), (3, 1)),
    window(A, 0, (0, 3), (3, 1), (3, 1)),
    window(A, 1, (3,), (2,), (1, 2)),  # laid out by columns
    window(V, 1, (2, 2), (2, 1), (2,), x_offset=1, size=6),  # itself a window
    window(S, 0, (2,), (0,), ()),
    window(Z, 1, (2,), (2,), (3, 1)),
    adjoint_of_window(V, 1, 0, (2,), (2, 3), (3, 1), 6),
    adjoint_of_window(A, 0, 0, (1, 1), (2, 3), (3, 1), 6),
    adjoint_of_window(A, 0, 1, (3, 1), (3,), (2,), 6),
    adjoint_of_window(V, 0, 0, (2,), (2, 3), (1, 2), 6),
    *[
        Sample(
            "copy_slices",
            (x, source, offset, start),
            {"shape": shape, "strides": strides, "x_strides": steps, "size": n},
        )
        for x, source, offset, shape, strides, steps, start, n in (
            (A, V, 3, (3,), (1,), (3, 1), 0, 6),
            (A, S, 1, (2,), (3,), (3, 1), 0, 6),
            (A, array(2, 1), 0, (2, 2), (1, 2), (3, 1), 0, 6),
            (A, V, 0, (3,), (2,), (1, 2), 0, 6),
            (V, S, 3, (2,), (2,), (2,), 1, 6),  # into a window
            (A, E, 0, (0, 3), (3, 1), (3, 1), 0, 6),
        )
    ],
]

SAMPLES = [
    *WINDOWS,
    *VIEWS,
    *PARTS,
    *ARRANGED,
    Sample("neg_view", (A,)),
    Sample("neg_view", (Z,)),
    *[Sample("bitcast", (array(2, 4),), {"dtype": dtype}) for dtype in (int64, float32)],
    Sample("bitcast", (np.arange(8, dtype="int32").reshape(2, 4),), {"dtype": float64}),
]
