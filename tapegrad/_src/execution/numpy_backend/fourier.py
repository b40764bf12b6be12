"""Rules of Fourier transforms: those of ``scipy.fft``, which take a fraction of the time of ``numpy.fft``.

They are called as that calls them (``parts.py``): it takes longer to find out whose transforms are meant, than to make
a small one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.operands import Unwritable, call, rule
from tapegrad._src.execution.numpy_backend.parts import compiled

TYPES = ("FFT", "IFFT", "RFFT", "IRFFT")
"""XLA's kinds of transforms, by their numbers."""


@rule("fft")
def fft(writer: Any, equation: Any) -> Any:
    """The transform of the last dimensions."""
    transform, lengths = equation.params["fft_type"], equation.params["fft_lengths"]
    name = getattr(transform, "name", str(transform))
    name = TYPES[int(name)] if name.isdigit() and int(name) < len(TYPES) else name
    if name not in TYPES or 0 in equation.aval.shape or 0 in equation.avals[0].shape:
        raise Unwritable(f"fft: {name}")
    if not lengths:
        return equation.full(0)
    length = lengths[-1:] if name == "IRFFT" else ()  # others are as long as what they are given
    return call(TRANSFORMS[name], equation.full(0), len(lengths), *length)


def routine(name: str) -> Callable:
    """``c2c``, ``r2c`` or ``c2r`` of SciPy's.

    >>> routine("r2c")(np.ones(4), (0,), True, 0, None, 1)
    array([4.+0.j, 0.+0.j, 0.+0.j])
    """
    module = compiled("scipy.fft")
    return getattr(module or import_module("scipy.fft._pocketfft.pypocketfft"), name)


def last(x: np.ndarray, count: int) -> tuple[int, ...]:
    """The last ``count`` dimensions."""
    return tuple(range(x.ndim - count, x.ndim))


def transformed(x: np.ndarray, count: int) -> np.ndarray:
    """The transform of complex numbers.

    >>> transformed(np.array([1, 1j]), 1)
    array([1.+1.j, 1.-1.j])
    """
    return routine("c2c")(x, last(x, count), True, 0, None, 1)


def transformed_back(x: np.ndarray, count: int) -> np.ndarray:
    """The inverse of it.

    >>> transformed_back(np.array([1 + 1j, 1 - 1j]), 1)
    array([1.+0.j, 0.+1.j])
    """
    return routine("c2c")(x, last(x, count), False, 2, None, 1)


def transformed_real(x: np.ndarray, count: int) -> np.ndarray:
    """The half of the transform of real numbers that says all."""
    return routine("r2c")(x, last(x, count), True, 0, None, 1)


def transformed_back_to_real(x: np.ndarray, count: int, length: int) -> np.ndarray:
    """The inverse of it; of ``length`` numbers in the last dimension.

    >>> transformed_back_to_real(transformed_real(np.arange(3.0), 1), 1, 3)
    array([0., 1., 2.])
    """
    return routine("c2r")(x, last(x, count), length, False, 2, None, 1)


TRANSFORMS = dict(zip(TYPES, (transformed, transformed_back, transformed_real, transformed_back_to_real), strict=True))
"""The functions by the type of the transform."""
