"""Numbers at equal distances, to the last digit as PyTorch's kernels for CPUs have them."""

from __future__ import annotations

from typing import Any

import numpy as np


def equal_steps(low: Any, high: Any, count: int, kind: Any) -> np.ndarray:
    """``count`` numbers (at least 2) from ``low`` to ``high``, counted from the nearer end.

    ``kind`` is the scalar type of all: the step is rounded to it, and each number once, for vector units multiply and
    add in one. So the middle of ``-1 ... 1`` is the last digit of the step, not 0.

    >>> equal_steps(0.0, 1.0, 5, np.float32).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    wide = np.float64 if kind is np.float32 else np.longdouble if kind is np.float64 else np.result_type(kind)
    low, high = kind(low), kind(high)
    step, places = np.asarray((high - low) / kind(count - 1), wide), np.arange(count)
    numbers = np.where(places < count // 2, low + step * places, high - step * places[::-1])
    return numbers.astype(kind)
