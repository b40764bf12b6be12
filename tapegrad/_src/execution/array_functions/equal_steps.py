"""Numbers at equal distances, to the last digit as PyTorch's kernels for CPUs have them."""

from __future__ import annotations

from typing import Any

import numpy as np

_WIDER = {np.float32: np.float64, np.float64: np.longdouble}


def equal_steps(low: Any, high: Any, count: int, scalar: Any, fused: bool = True) -> np.ndarray:
    """``count`` numbers (at least 2) from ``low`` to ``high``, counted from the nearer end.

    ``scalar`` is the scalar type of all: the step is rounded to it, and each number once, for vector units multiply and
    add in one; of complex numbers so is each part. So the middle of ``-1 ... 1`` is the last digit of the step, not 0.
    Numbers of half precision, and all if nothing is ``fused``, are rounded after each operation.

    >>> equal_steps(0.0, 1.0, 5, np.float32).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if fused and issubclass(scalar, np.complexfloating):
        part = np.float32 if scalar is np.complex64 else np.float64
        real, imag = (equal_steps(*ends, count, part) for ends in ((low.real, high.real), (low.imag, high.imag)))
        return (real + 1j * imag).astype(scalar)
    wide = _WIDER.get(scalar, scalar) if fused else scalar
    with np.errstate(all="ignore"):
        low, high = scalar(low), scalar(high)
        step, counting = np.asarray((high - low) / scalar(count - 1), wide), np.arange(count)
        steps = counting.astype(wide)
        numbers = np.where(counting < count // 2, low + step * steps, high - step * steps[::-1])
        return numbers.astype(scalar)
