"""Groups of tensors that one call may take, where optimizers of other packages look for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.tensor import Tensor

__all__: list[str] = []


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Tensor | None], device: device) -> bool:
    return _device_has_foreach_support(device) and all(one is None or type(one) is Tensor for one in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[device, dtype], tuple[list[list[Any]], list[int]]]:
    """Lists of tensors, cut up by the device and dtype of those of the first one; with where each came from.

    Raises:
        RuntimeError: lists of several lengths.

    >>> groups = _group_tensors_by_device_and_dtype([[torch.ones(1), torch.ones(1).int(), torch.zeros(1)]], True)
    >>> [(dtype, places) for (_, dtype), (_, places) in groups.items()]
    [(torch.float32, [0, 2]), (torch.int32, [1])]
    """
    first = tensorlistlist[0]
    places: dict[tuple[device, dtype], list[int]] = {}
    for place, tensor in enumerate(first):
        places.setdefault((tensor.device, tensor.dtype), []).append(place)
    return {
        key: ([[many[place] for place in found] if many else [] for many in tensorlistlist], found * with_indices)
        for key, found in places.items()
    }
