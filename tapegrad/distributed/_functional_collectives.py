"""Collectives as functions: those that libraries import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed.nn.functional import all_to_all_single
from tapegrad.errors import message


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: XLA orders what is computed, and whoever reads it waits.

    >>> import tapegrad as torch
    >>> wait_tensor(torch.ones(2))
    tensor([1., 1.])
    """
    return tensor


def all_to_all_single_autograd(
    self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None, group: Any = None,
    tag: str = "",
) -> Tensor:  # fmt: skip
    """Equal parts of a tensor, one for each process, handed out: what all have for this one; the gradient goes back.
    Raises RuntimeError: parts of several lengths are asked for.
    """
    for sizes in (output_split_sizes, input_split_sizes):
        if len({*(sizes or ())}) > 1:
            raise RuntimeError(message("parts of one collective have one length", got=sizes, hint="pad them"))
    return all_to_all_single(self, self, group=group)
