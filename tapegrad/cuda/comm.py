"""``torch.cuda.comm``: tensors that go to several devices, and come back from them. Gradients flow through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from tapegrad._src.functions.arithmetic import add
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "scatter"]


def broadcast(tensor: Tensor, devices: Iterable[Any]) -> tuple[Tensor, ...]:
    """A tensor on each of several devices.

    >>> broadcast(torch.ones(1), ["cpu", "cpu"])
    (tensor([1.]), tensor([1.]))
    """
    return tuple(tensor.to(device) for device in devices)


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Iterable[Any], buffer_size: int = 10 << 20
) -> list[tuple[Tensor, ...]]:
    """Tensors on each of several devices; how many bytes go at once is XLA's affair."""
    return [tuple(tensor.to(device) for tensor in tensors) for device in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors from several devices.

    Args:
        inputs: the tensors, of one shape.
        destination: where it lies; the device of the first by default.

    >>> reduce_add([torch.ones(1), torch.ones(1)])
    tensor([2.])
    """
    where = inputs[0].device if destination is None else destination
    return reduce(add, (one.to(where) for one in inputs))


def scatter(
    tensor: Tensor, devices: Sequence[Any], chunk_sizes: Sequence[int] | None = None, dim: int = 0
) -> tuple[Tensor, ...]:
    """The parts of a tensor, each on a device of its own.

    Args:
        tensor: the tensor.
        devices: the devices.
        chunk_sizes: how long the parts are along ``dim``; about equal by default.
        dim: along which it is divided.

    >>> scatter(torch.arange(3), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2]))
    """
    parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split([*chunk_sizes], dim)
    return tuple(part.to(device) for part, device in zip(parts, devices, strict=False))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None) -> Tensor:
    """Tensors from several devices as one.

    Args:
        tensors: the tensors.
        dim: along which they are joined.
        destination: where it lies; the device of the first by default.
    """
    where = tensors[0].device if destination is None else destination
    return cat([one.to(where) for one in tensors], dim)
