"""Collectives as functions, of which libraries import this one."""

from __future__ import annotations

from tapegrad.tensor.tensor import Tensor


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: XLA orders what is computed, and whoever reads it waits.

    >>> import tapegrad as torch
    >>> wait_tensor(torch.ones(2))
    tensor([1., 1.])
    """
    return tensor
