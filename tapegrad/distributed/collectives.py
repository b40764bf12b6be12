"""Collectives: what processes compute of one another's tensors.

Each is one program of XLA's that all processes of a group run, on a mesh that has the first device of each
(``collected``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tapegrad._src.bindings.writes.in_place import copy_
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.data.devices import jitted
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributed.groups import ProcessGroup, Work, member, members, work
from tapegrad.errors import message
from tapegrad.interop.arrays import from_jax_array

__all__ = [
    "ReduceOp", "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "broadcast",
    "gather", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


class ReduceOp(Enum):
    """The operation that puts together what the processes have."""

    SUM = "sum"
    AVG = "mean"
    PRODUCT = "prod"
    MIN = "min"
    MAX = "max"
    BAND = "bitwise_and"
    BOR = "bitwise_or"
    BXOR = "bitwise_xor"


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # the class of what PyTorch's ReduceOp names


@cache
def _mesh(ranks: tuple[int, ...]) -> Mesh:
    """A mesh of the first device of each process."""
    first: dict[int, Any] = {}
    for device in jax.devices():
        first.setdefault(device.process_index, device)
    return Mesh(np.array([first[rank] for rank in ranks]), ("ranks",), axis_types=(AxisType.Auto,))


@cache
def _program(compute: Callable, settings: tuple, ranks: tuple[int, ...], split: bool) -> Callable:
    out = NamedSharding(_mesh(ranks), PartitionSpec("ranks") if split else PartitionSpec())

    def collective(x: Any) -> Any:
        return compute(x, *settings)

    collective.__name__ = collective.__qualname__ = f"{compute.__name__[1:]}{settings[:1] or ''}"
    return jitted(collective, marks=True, out_shardings=out)


def checked(tensor: Any) -> Tensor:
    """A tensor that a collective was given. Raises TypeError: it is none."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `tensor` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    return tensor


def collected(tensor: Tensor, group: ProcessGroup, compute: Callable, *settings: Any, split: bool = False) -> Tensor:
    """The result that is computed of the stack of what each process has: all of it, or this process's row.
    Raises RuntimeError: the tensor lies on a mesh.
    """
    if checked(tensor).device.sharded:
        raise RuntimeError(message("a collective is of tensors that each process has", got="one on a mesh",
                                   hint="write x.redistribute(...), or x.to_local()"))  # fmt: skip
    own = array_of(value_of(tensor))
    where = NamedSharding(_mesh(group.ranks), PartitionSpec("ranks"))
    own = jax.device_put(own, where.mesh.local_devices[0])
    with jax.enable_x64(True):
        rows = jax.make_array_from_single_device_arrays((group.size(), *own.shape), where, [own[None]])
        found = _program(compute, settings, group.ranks, split)(rows).addressable_shards[0].data
    return from_jax_array(found[0] if split else found)


def _all_gather(x: Any) -> Any:
    return x


def _reduce(x: Any, how: str, everywhere: NamedSharding | None = None) -> Any:
    if everywhere is not None:  # what carries elements between CPUs does not know bits
        return getattr(jnp, how).reduce(jax.lax.with_sharding_constraint(x, everywhere), axis=0)
    return getattr(jnp, how)(x, axis=0).astype(x.dtype)


def _reduced(tensor: Tensor, group: ProcessGroup, op: ReduceOp | str, split: bool = False) -> Tensor:
    how = ReduceOp(op).value
    bits = how.startswith("bitwise")
    settings = (NamedSharding(_mesh(group.ranks), PartitionSpec()),) if bits else ()
    return collected(tensor, group, _reduce, how, *settings, split=split)


def _broadcast(x: Any, source: int) -> Any:
    return x[source]


def _all_to_all(x: Any) -> Any:
    return jnp.swapaxes(x, 0, 1)


def of_first(tensor: Tensor) -> Tensor:
    """The elements that the first process has."""
    return collected(tensor, members(None), _broadcast, 0) if processes.count > 1 else tensor


def _put(target: Tensor, value: Tensor) -> None:
    if value.shape != target.shape:
        raise RuntimeError(message("a tensor for a result has another shape", expected=tuple(value.shape),
                                   got=tuple(target.shape)))  # fmt: skip
    with no_grad():
        copy_(target, value.to(target.device))


def _stacked(tensors: Sequence[Tensor], group: ProcessGroup) -> Tensor:
    if len(tensors) != group.size():
        raise ValueError(message("one tensor for each process", expected=group.size(), got=len(tensors)))
    if len({(tuple(tensor.shape), tensor.dtype) for tensor in tensors}) > 1:
        raise ValueError(message("tensors of one collective have one shape and dtype", hint="pad them",
                                 got=[tuple(tensor.shape) for tensor in tensors]))  # fmt: skip
    with jax.enable_x64(True):
        return from_jax_array(jnp.stack([array_of(value_of(tensor)) for tensor in tensors]))


def _parts(tensor: Tensor, group: ProcessGroup, shape: Sequence[int] | None = None) -> Tensor:
    """A tensor as a stack of one part for each process."""
    if tensor.numel() % group.size():
        raise RuntimeError(message("a tensor can't be split evenly between the processes", got=tuple(tensor.shape),
                                   hint=f"pad it to a multiple of {group.size()}"))  # fmt: skip
    return tensor.detach().reshape(group.size(), *(shape or (-1,)))


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Put the sum (or what ``op`` says) of what all processes have into the tensor of each."""
    _put(tensor, _reduced(checked(tensor), members(group), op))
    return work([tensor], async_op)


def reduce(
    tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Put the sum (or what ``op`` says) of what all processes have into the tensor of one."""
    given = members(group)
    target = member(dst, given, group_dst)
    found = _reduced(tensor, given, op)
    if given.rank() == target:
        _put(tensor, found)
    return work([tensor], async_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Put what each process has into the tensors of the list."""
    given = members(group)
    if len(tensor_list) != given.size():
        raise ValueError(
            message("all_gather: one tensor for each process", expected=given.size(), got=len(tensor_list))
        )
    for target, value in zip(tensor_list, collected(tensor, given, _all_gather), strict=True):
        _put(target, value)
    return work(tensor_list, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Put what all processes have behind one another into a tensor."""
    found = collected(input_tensor, members(group), _all_gather)
    if found.numel() != output_tensor.numel():
        raise RuntimeError(message("output tensor size must be equal to world_size times input tensor size",
                                   expected=found.numel(), got=output_tensor.numel()))  # fmt: skip
    _put(output_tensor, found.reshape(tuple(output_tensor.shape)))
    return work([output_tensor], async_op)


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Put what each process has into the tensors that one of them lists."""
    given = members(group)
    own = given.rank() == member(dst, given, group_dst)
    if own != bool(gather_list):
        raise ValueError("Argument ``gather_list`` must be specified on destination rank." if own else
                         "Argument ``gather_list`` must NOT be specified on non-destination ranks.")  # fmt: skip
    found = collected(tensor, given, _all_gather)
    for target, value in zip(gather_list or (), found if own else (), strict=True):
        _put(target, value)
    return work(gather_list, async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Put what the process ``src`` has into the tensor of each."""
    given = members(group)
    _put(tensor, collected(tensor, given, _broadcast, member(src, given, group_src)))
    return work([tensor], async_op)


def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Put the tensor that the process ``src`` has for this one into ``tensor``."""
    given = members(group)
    source = member(src, given, group_src)
    own = given.rank() == source
    if own != bool(scatter_list):
        raise ValueError("Argument ``scatter_list`` must be specified on source rank." if own else
                         "Argument ``scatter_list`` must NOT be specified on non-source ranks.")  # fmt: skip
    rows = _stacked(scatter_list, given) if scatter_list else _parts(
        tensor.new_zeros(given.size(), *tensor.shape), given, tensor.shape)  # fmt: skip
    _put(tensor, collected(rows, given, _broadcast, source, split=True))
    return work([tensor], async_op)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Put the sum over all processes of the tensor that each has for this one into ``output``."""
    given = members(group)
    _put(output, _reduced(_stacked(input_list, given), given, op, split=True))
    return work([output], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """``reduce_scatter`` of tensors that are one, behind one another."""
    given = members(group)
    found = _reduced(_parts(input, given), given, op, split=True)
    if found.numel() != output.numel():
        raise RuntimeError(message("input tensor size must be equal to world_size times output tensor size",
                                   expected=found.numel(), got=output.numel()))  # fmt: skip
    _put(output, found.reshape(tuple(output.shape)))
    return work([output], async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Put what each process has for this one into the tensors of the first list."""
    given = members(group)
    found = collected(_stacked(input_tensor_list, given), given, _all_to_all, split=True)
    for target, value in zip(output_tensor_list, found, strict=True):
        _put(target, value)
    return work(list(output_tensor_list), async_op)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """``all_to_all`` of tensors that are one, behind one another, in equal parts.

    Raises:
        RuntimeError: parts of several lengths are asked for.
    """
    given = members(group)
    for sizes in (output_split_sizes, input_split_sizes):
        if len({*(sizes or ())}) > 1:
            raise RuntimeError(message("parts of one collective have one length", got=sizes, hint="pad them"))
    _put(output, collected(_parts(input, given), given, _all_to_all, split=True).reshape(tuple(output.shape)))
    return work([output], async_op)
