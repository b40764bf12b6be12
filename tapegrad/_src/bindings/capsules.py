"""DLPack capsules that are read: by ``from_dlpack``, and by ``asarray``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._src.execution.array_functions.host import from_dlpack as value_from_dlpack
from tapegrad._src.execution.array_functions.host import is_immutable
from tapegrad._src.tensor.exposing import writable
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.tensor import Tensor, describe

CPU = 1
"""DLPack's number for memory of the host."""

TELLS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""True if what NumPy makes of others' data can be written to where they allow it; before, it never could."""


class Capsule:
    """A capsule of data on the CPU, which NumPy and jax can read."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def is_capsule(given: Any) -> bool:
    """Tell whether this is a capsule of DLPack's which nobody has read yet."""
    return type(given).__name__ == "PyCapsule" and '"dltensor' in repr(given)


def opened(capsule: Any) -> np.ndarray | Tensor:
    """The contents of a capsule: an array on its memory, or a tensor, if NumPy can't read it."""
    host = host_view(Capsule(capsule))
    if host is not None and host.size:  # a capsule does not say whether it is read-only
        return host if host.flags.writeable else writable(host)
    value = value_from_dlpack(Capsule(capsule), None)
    return fresh(value, describe(value))


def host_view(other: Any) -> np.ndarray | None:
    """An array as NumPy sees it, if it can."""
    try:
        host = np.from_dlpack(other)
    except (BufferError, RuntimeError, TypeError):
        return None
    if TELLS or is_immutable(other):
        return host
    return other if isinstance(other, np.ndarray) else writable(host)
