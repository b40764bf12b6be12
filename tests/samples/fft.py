"""Samples of the operators in ``ops/fft.py``."""

from __future__ import annotations

from samples import Sample, array

Z, X, SMALL = array(2, 4, dtype="complex128"), array(2, 4), array(3, dtype="complex128")
ODD = array(2, 5)
HALF, HALF_ODD = array(2, 3, dtype="complex128"), array(3, 2, dtype="complex128", seed=1)


def settings(axes, norm, **more):
    return {"axes": axes, "norm": norm, **more}


def of_real(op, *calls):
    return [
        Sample(op, (x,), settings(axes, norm, onesided=onesided, **more)) for x, axes, norm, onesided, more in calls
    ]


SAMPLES = [
    Sample("fft_c2c", (Z,), settings((1,), 0, forward=True)),
    Sample("fft_c2c", (Z,), settings((0, 1), 2, forward=False)),
    Sample("fft_c2c", (SMALL,), settings((0,), 1, forward=True)),
    Sample("fft_c2c", (array(dtype="complex128"),), settings((), 2, forward=False)),
    Sample("fft_c2c", (array(0, 3, dtype="complex128"),), settings((1,), 0, forward=True)),
    *of_real(
        "fft_r2c",
        (X, (1,), 0, True, {}), (X, (1,), 0, False, {}), (ODD, (0, 1), 1, True, {}), (ODD, (1, 0), 2, False, {}),
        (array(1, 1), (1,), 2, True, {}), (array(0, 3), (1,), 0, True, {}),
    ),
    *of_real(
        "fft_r2c_adjoint",
        (HALF, (1,), 0, True, {"length": 4}), (HALF, (0, 1), 1, True, {"length": 5}),
        (Z, (1,), 2, False, {"length": 4}),
    ),
    Sample("fft_c2r", (HALF,), settings((1,), 2, length=4)),
    Sample("fft_c2r", (HALF,), settings((0, 1), 1, length=5)),
    Sample("fft_c2r", (HALF_ODD,), settings((1, 0), 0, length=4)),
    Sample("fft_c2r", (array(0, 2, dtype="complex128"),), settings((1,), 0, length=3)),
    Sample("fft_c2r_adjoint", (X,), settings((1,), 2)),
    Sample("fft_c2r_adjoint", (ODD,), settings((0, 1), 1)),
]  # fmt: skip
