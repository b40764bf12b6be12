"""Collectives as functions: those that libraries import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed import collectives
from tapegrad.distributed.groups import members
from tapegrad.distributed.nn.functional import all_to_all_single
from tapegrad.errors import message

__getattr__ = refusing(__name__)


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


class AsyncCollectiveTensor(Tensor):
    """The class of results that are not there yet, in PyTorch; here nothing is one: XLA waits by itself."""


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The sum of all processes' tensors, or what else is asked for, as a new one.

    Args:
        self: the tensor of this process.
        reduceOp: ``"sum"``, ``"avg"``, ``"max"``, ``"min"`` or ``"product"``.
        group: the processes.
        tag: not looked at.
    """
    found = self.detach().clone()
    collectives.all_reduce(found, getattr(collectives.ReduceOp, reduceOp.upper()), group)
    return found


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, one after the other.

    Args:
        self: the tensor of this process.
        gather_dim: the dimension along which they are put.
        group: the processes.
        tag: not looked at.
    """
    parts = [self.new_empty(self.shape) for _ in range(members(group).size())]
    collectives.all_gather(parts, self.detach(), group=group)
    return cat(parts, gather_dim)
