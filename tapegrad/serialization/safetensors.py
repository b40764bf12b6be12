"""Files of safetensors, through the package of that name, whose ``safetensors.torch`` has the same functions.

``pip install 'tapegrad[files]'`` brings the package.

>>> from tapegrad.serialization.safetensors import load, save
>>> load(save({"weight": torch.arange(3.0)}))
{'weight': tensor([0., 1., 2.])}
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from tapegrad._src.bindings.state.storages import host_bytes, storage_of_host, tensor_on
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.geometry import Geometry, contiguous_strides
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.serialization.saving import replacing

CODES: dict[str, dtype] = {
    "F64": dtypes.float64, "F32": dtypes.float32, "F16": dtypes.float16, "BF16": dtypes.bfloat16,
    "I64": dtypes.int64, "I32": dtypes.int32, "I16": dtypes.int16, "I8": dtypes.int8,
    "U64": dtypes.uint64, "U32": dtypes.uint32, "U16": dtypes.uint16, "U8": dtypes.uint8, "BOOL": dtypes.bool,
    "F8_E4M3": dtypes.float8_e4m3fn, "F8_E5M2": dtypes.float8_e5m2, "C64": dtypes.complex64,
}  # fmt: skip
"""The dtypes by the names that files have for them."""


def _package(name: str) -> Any:
    """The package, or a module of it. Raises ModuleNotFoundError: it isn't installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ModuleNotFoundError(
            "safetensors is not installed; pip install 'tapegrad[files]', or pip install safetensors"
        ) from None


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Tensors as the bytes of a file.

    Args:
        tensors: by their names.
        metadata: texts that are kept beside them.

    Raises:
        RuntimeError: two of them share memory, which such a file can't say.
        ValueError: one is not contiguous.
    """
    return _package("safetensors.numpy").save(_arrays(tensors), metadata)


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file, which appears at its path when it is complete: see ``save``."""
    data = save(tensors, metadata)
    with replacing(filename) as file:
        file.write(data)


def load(data: bytes, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in the bytes of a file. Raises safetensors.SafetensorError: it is damaged."""
    found = _package("safetensors").deserialize(data)
    return {name: _tensor(what, device) for name, what in found}


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in a file, on a device: see ``load``."""
    with open(os.fspath(filename), "rb") as file:
        return load(file.read(), device)


def _arrays(tensors: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Tensors as the package wants them."""
    holders: dict[int, str] = {}
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. Call .contiguous() "
                "on it before."
            )
        holder = holders.setdefault(tensor.untyped_storage()._cdata, name)
        if holder != name and tensor.numel():
            raise RuntimeError(
                f"{holder!r} and {name!r} share memory, which a file of safetensors can't say; clone one of them"
            )
        if tensor.dtype not in CODES.values():
            raise ValueError(f"safetensors has no {tensor.dtype}")
        arrays[name] = array_of(tensor)
    return arrays


def array_of(tensor: Any) -> np.ndarray:
    """The elements of a contiguous tensor."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    elements = host_bytes(plain.untyped_storage())[plain.storage_offset() * plain.dtype.itemsize :]
    return elements[: plain.numel() * plain.dtype.itemsize].view(plain.dtype.numpy).reshape(plain.shape)


def _tensor(described: dict[str, Any], wanted: Any) -> Tensor:
    d, shape = CODES[described["dtype"]], tuple(described["shape"])
    data = np.frombuffer(bytes(described["data"]), np.uint8)
    return tensor_on(storage_of_host(data, d, device(wanted)), d, Geometry(shape, contiguous_strides(shape)))
