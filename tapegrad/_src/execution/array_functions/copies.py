"""Copies of values."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def copied(array: Any) -> Any:
    """An array with the same elements in memory of its own; nothing is compiled for that."""
    shared = not getattr(array, "is_fully_addressable", True)  # by several processes: jax wants to know where it goes
    with jax.enable_x64(True):
        return jax.device_put(array, array.sharding if shared else None, may_alias=False)


def taken_over(array: np.ndarray) -> jax.Array:
    """An array with the same elements in memory of XLA's own, which it may write over: what it reads where NumPy has
    it, it may not. When this returns, nothing is read from NumPy's any more, and nothing was compiled: of what lies
    where XLA reads it, jax makes no copy until it is an array of jax's own.

    >>> import numpy as np
    >>> taken_over(np.arange(3.0))
    Array([0., 1., 2.], dtype=float64)
    """
    with jax.enable_x64(True):
        return copied(jax.device_put(array)).block_until_ready()
