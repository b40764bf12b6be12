"""Batches in memory from which an accelerator copies fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tapegrad.utils.data._utils.collate import mapped, rebuilt


def pin_memory(data: Any, device: Any = None) -> Any:
    """A batch with its tensors pinned, and what else has a method ``pin_memory``, in the same containers."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return mapped(data, lambda key: pin_memory(data[key], device))
    if isinstance(data, tuple):
        pinned = (pin_memory(one, device) for one in data)
        return type(data)(*pinned) if hasattr(data, "_fields") else type(data)(pinned)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return rebuilt(data, lambda: [pin_memory(one, device) for one in data])
    return data
