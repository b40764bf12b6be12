"""``torch._utils``: the functions that pickles name to have tensors made again, and those that join tensors."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.protocols import rebuild_tensor as rebuild_tensor
from tapegrad._src.execution.data.devices import accelerator_type
from tapegrad._src.execution.data.devices import device as Device
from tapegrad._src.execution.data.dtypes import _element_size
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.serialization.rebuild import (
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage,
    _rebuild_nested_tensor,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_sparse_tensor,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
)
from tapegrad.utils.data._utils.worker import ExceptionWrapper

__getattr__ = refusing(__name__)

__all__ = [
    "ExceptionWrapper",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_available_device_type",
    "_get_device_index",
    "_get_device_module",
    "_rebuild_device_tensor_from_cpu_tensor",
    "_rebuild_device_tensor_from_numpy",
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_nested_tensor",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_reorder_tensors_as",
    "_take_tensors",
    "_unflatten_dense_tensors",
]  # fmt: skip


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of tensors of one dtype, one after the other.

    >>> _flatten_dense_tensors([torch.ones(1, 2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Parts of a tensor, of the shapes of others: what ``_flatten_dense_tensors`` has joined.

    >>> _unflatten_dense_tensors(torch.arange(3), [torch.ones(1, 2), torch.zeros(1)])
    (tensor([[0, 1]]), tensor([2]))
    """
    parts, place = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, place, tensor.numel()).view(tensor.shape))
        place += tensor.numel()
    return tuple(parts)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one type, each of no more bytes than a limit, unless one tensor has more.

    >>> [len(group) for group in _take_tensors([torch.ones(2), torch.ones(1), torch.ones(3)], 12)]
    [2, 1]
    """
    groups: defaultdict[str, list[Tensor]] = defaultdict(list)
    sizes: defaultdict[str, int] = defaultdict(int)
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        if groups[kind] and sizes[kind] + size > size_limit and sizes[kind] > 0:
            yield groups[kind]
            groups[kind], sizes[kind] = [], 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from (group for group in groups.values() if group)


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors, those of each type in their order, in the order of others' types."""
    found: defaultdict[str, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        found[tensor.type()].append(tensor)
    waiting = {kind: iter(group) for kind, group in found.items()}
    return tuple(next(waiting[tensor.type()]) for tensor in ordered_tensors)


def _get_available_device_type() -> str | None:
    """The type of the accelerator, or None."""
    return accelerator_type()


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; -1 of the CPU.

    Args:
        device: a device, its name or its index.
        optional: whether one without an index is the first.
        allow_cpu: whether it may be the CPU.

    Raises:
        ValueError: it is the CPU, or has no index.
    """
    where = Device(device) if isinstance(device, str) else device
    if isinstance(where, int):
        return where
    if where is not None and where.type == "cpu":
        if not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {where}")
        return -1
    if where is not None and where.index is not None:
        return where.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{where}")
    return 0


def _get_device_module(device_type: str) -> Any:
    """The module of a type of devices, as ``torch.cuda``.

    Raises:
        RuntimeError: there is none.
    """
    found = getattr(sys.modules["tapegrad"], device_type, None)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return found
