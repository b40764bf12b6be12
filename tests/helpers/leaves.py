"""A tensor that requires grad, of tapegrad alone: ``leaf`` of ``harness.py`` is for both libraries."""

from __future__ import annotations

from typing import Any

import tapegrad as torch


def leaf(*values: Any, **options: Any) -> torch.Tensor:
    """A leaf of one value as ``torch.tensor`` takes it, of several numbers in a row, or of 1, 2 and 3.

    >>> leaf(2.0).shape, leaf([1.0]).shape, leaf(1.0, 2.0).shape, leaf().shape
    (torch.Size([]), torch.Size([1]), torch.Size([2]), torch.Size([3]))
    """
    return torch.tensor(values[0] if len(values) == 1 else values or (1.0, 2.0, 3.0), requires_grad=True, **options)
