"""The accelerator, whatever JAX has: ``torch.accelerator``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad.bindings.registry import public
from tapegrad.execution.devices import accelerator, accelerator_type, device
from tapegrad.execution.devices import device_count as count_devices
from tapegrad.execution.late import look


@public("accelerator", asks="nobody")
def is_available() -> bool:
    """Whether JAX has a device here that is no CPU."""
    return accelerator_type() is not None


@public("accelerator", asks="nobody")
def device_count() -> int:
    """How many accelerators JAX has here."""
    kind = accelerator_type()
    return 0 if kind is None else count_devices(kind)


@public("accelerator", asks="nobody")
def current_accelerator(check_available: bool = False) -> device | None:
    """The type of the accelerator as a device without an index, such as ``torch.device("cuda")``; None without one.

    >>> import tapegrad as torch
    >>> where = torch.accelerator.current_accelerator() or torch.device("cpu")
    """
    kind = accelerator_type()
    return None if kind is None else device(kind)


@public("accelerator", asks="nobody")
def current_device_index() -> int:
    """Which accelerator a device type without an index means: always the first.

    Raises:
        RuntimeError: there is none.
    """
    accelerator()
    return 0


@public("accelerator", asks="nobody")
def current_device_idx() -> int:
    """``current_device_index``, by an old name."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=3)
    return current_device_index()


@public("accelerator", asks="nobody")
def set_device_index(device: Any, /) -> None:
    """Does nothing for the first accelerator, which a type without an index always means.

    Raises:
        RuntimeError: there is none, or another one is asked for: name it, ``"cuda:1"``, where tensors are made, or by
            ``torch.set_default_device``.
    """
    _choose(device)


@public("accelerator", asks="nobody")
def set_device_idx(device: Any, /) -> None:
    """``set_device_index``, by an old name."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=3)
    _choose(device)


def _choose(wanted: Any) -> None:
    kind = accelerator()
    index = wanted if isinstance(wanted, int) else device(wanted).index or 0
    if index != 0:
        raise RuntimeError(
            f"set_device_index(): '{kind}' without an index means '{kind}:0' here; use "
            f"torch.set_default_device('{kind}:{index}'), or name the device where tensors are made"
        )


@contextmanager
def _device_index(device: int | None, /) -> Iterator[None]:
    """A context in which a type without an index means this accelerator: the first, or None for no choice."""
    if device is not None:
        _choose(device)
    yield


public("accelerator", name="device_index", asks="nobody")(_device_index)


@public("accelerator", asks="nobody")
def synchronize(device: Any = None, /) -> None:
    """Raises what checks of compiled calls have found. To read a value is to wait for it.

    Raises:
        RuntimeError: there is no accelerator.
    """
    accelerator()
    look()


@public("accelerator", asks="nobody")
def empty_cache() -> None:
    """Does nothing, where there is an accelerator: XLA keeps its own pool of memory.

    Raises:
        RuntimeError: there is none.
    """
    accelerator()
