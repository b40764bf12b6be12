"""Samples of the operators in ``ops/arrangement.py``."""

from __future__ import annotations

from samples import Sample, array

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
CUBE = array(2, 3, 4)


def images(channels, height, width):
    return array(1, channels, height, width)


SAMPLES = [
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
