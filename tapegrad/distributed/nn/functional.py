"""Collectives with derivatives. Each process has a loss of its own, and the gradient is that of the sum of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.joining import stack
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function import Function
from tapegrad.distributed import collectives
from tapegrad.distributed.collectives import ReduceOp
from tapegrad.distributed.groups import member, members
from tapegrad.errors import message

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, op: ReduceOp, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        found = x.clone()
        collectives.all_reduce(found, op, group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        if ctx.op not in (ReduceOp.SUM, ReduceOp.AVG):
            raise RuntimeError(message(f"all_reduce has no derivative for {ctx.op}", hint="use ReduceOp.SUM"))
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _AllToAll(Function):
    """Rows, one for each process, are handed out; so is their gradient, back."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, group: Any) -> Tensor:
        ctx.group = group
        found = rows.new_empty(rows.shape)
        collectives.all_to_all_single(found, rows, group=group)
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        return _AllToAll.apply(grad, ctx.group), None


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum of what all processes have."""
    return _AllReduce.apply(tensor, op, group)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Tensor:
    """Equal parts, one for each process, handed out; ``output`` says of which shape the result is."""
    rows = input.reshape(members(group).size(), -1)
    return _AllToAll.apply(rows, group).reshape(tuple(output.shape))


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None) -> tuple:
    """A tensor for each process, handed out: what all have for this one."""
    return tuple(_AllToAll.apply(stack(list(input_tensor_list)), group))


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Gather what all processes have."""
    return tuple(_AllToAll.apply(stack([tensor] * members(group).size()), group))


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The sum over all processes of the tensor that each has for this one."""
    found = _AllToAll.apply(stack(list(input_list)), group)
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(message(f"reduce_scatter has no derivative for {op}", hint="use ReduceOp.SUM"))
    return found.sum(0) if op is ReduceOp.SUM else found.mean(0)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Send all what the process ``src`` has. Its gradient is the sum of those of all; that of others is 0."""
    given = members(group)
    own = given.rank() == member(src, given)
    return _AllReduce.apply(tensor if own else tensor * 0, ReduceOp.SUM, group)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum of what all have, in the process ``dst``; in others what they have."""
    given = members(group)
    found = _AllReduce.apply(tensor, op, group)
    return found if given.rank() == member(dst, given) else tensor + found * 0


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Gather what all have in the process ``dst``; others get zeros."""
    given = members(group)
    found = all_gather(tensor, group)
    return found if given.rank() == member(dst, given) else tuple(one * 0 for one in found)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor that the process ``src`` has for this one; others give tensors of the same shapes."""
    given = members(group)
    return all_to_all(tensors, tensors, group)[member(src, given)]
