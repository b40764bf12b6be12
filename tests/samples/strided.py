"""Samples of the operators in ``ops/strided.py``."""

from __future__ import annotations

from samples import Sample, array

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
Z = array(2, 3, dtype="complex128")


def window(x, offset, shape, strides, x_strides, x_offset=0, size=None, memory=None):
    settings = {"shape": shape, "strides": strides, "x_strides": x_strides, "size": size or x.size}
    return Sample("as_strided", (x, offset, x_offset, memory), settings)


def adjoint_of_window(g, offset, x_offset, strides, shape, x_strides, size):
    settings = {"strides": strides, "shape": shape, "x_strides": x_strides, "size": size}
    return Sample("window_adjoint", (g, offset, x_offset), settings)


SAMPLES = [
    window(A, 0, (3, 2), (1, 3), (3, 1)),
    window(A, 1, (2,), (2,), (3, 1)),
    window(A, 3, (3,), (1,), (3, 1)),
    window(A, 4, (), (), (3, 1)),
    window(A, 0, (2, 3), (1, 1), (3, 1)),
    window(A, 2, (2, 3), (1, 0), (3, 1)),
    window(A, 0, (0, 3), (3, 1), (3, 1)),
    window(A, 1, (3,), (2,), (1, 2)),
    window(V, 1, (2, 2), (2, 1), (2,), x_offset=1, size=6),
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
]  # fmt: skip
