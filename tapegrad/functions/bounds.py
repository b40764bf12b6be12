"""Checks that need a tensor's numbers: where PyTorch refuses an index or a probability that is out of range.

They are made where the numbers are at hand: on the CPU, and not inside somebody's ``jax.jit``.
"""

from __future__ import annotations

import numpy as np

from tapegrad.execution.host import is_traced, may_look, to_host
from tapegrad.tensor.lifted import all_elements
from tapegrad.tensor.tensor import Tensor


def numbers(tensor: Tensor) -> np.ndarray | None:
    """The elements of a tensor; None where they are on another device or not known yet."""
    if not may_look():
        return None
    value = all_elements(tensor)
    return None if tensor.device.type != "cpu" or is_traced(value) else to_host(value)


def first_outside(tensor: Tensor, length: int, ignored: int | None = None) -> int | None:
    """The first index that is not in [0, length), and is not ``ignored``; None if all are good.

    >>> import tapegrad as torch
    >>> first_outside(torch.tensor([0, 3, 5]), 3), first_outside(torch.tensor([0, -100]), 3, ignored=-100)
    (3, None)
    """
    found = numbers(tensor)
    if found is None or not found.size:
        return None
    bad = (found < 0) | (found >= length)
    if not bad.any():
        return None
    if ignored is not None:
        bad &= found != ignored
    return int(found[bad].ravel()[0]) if bad.any() else None
