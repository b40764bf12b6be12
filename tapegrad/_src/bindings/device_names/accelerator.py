"""The accelerator, whatever JAX has: ``torch.accelerator``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.declaring import sharing
from tapegrad._src.execution.data.devices import accelerator, accelerator_type, device
from tapegrad._src.execution.data.devices import device as Device
from tapegrad._src.execution.data.devices import device_count as count_devices
from tapegrad._src.execution.kernels.deferred_checks import look
from tapegrad._src.execution.programs.hardware import memory_of
from tapegrad._src.warn import warn

NO_NEW_PEAK = (
    "XLA counts the peak of memory since the process began, and can't begin anew: max_memory_allocated() will tell "
    "that one. Measure in a process of its own."
)
DEVICE_INDEX = "Args:\n    device_index: an accelerator, or its index; the first by default."
NO_ACCELERATOR = "Raises:\n    RuntimeError: there is none."


@public("accelerator", asks="nobody")
def is_available() -> bool:
    """Tell whether JAX has a device here that is no CPU."""
    return accelerator_type() is not None


@public("accelerator", asks="nobody")
def device_count() -> int:
    """Count the accelerators that JAX has here."""
    device_type = accelerator_type()
    return 0 if device_type is None else count_devices(device_type)


@public("accelerator", asks="nobody")
def current_accelerator(check_available: bool = False) -> device | None:
    """The type of the accelerator as a device without an index, such as ``torch.device("cuda")``; None without one.

    >>> where = torch.accelerator.current_accelerator() or torch.device("cpu")
    """
    device_type = accelerator_type()
    return None if device_type is None else device(device_type)


@public("torch", asks="nobody")
def get_device_module(device: Any = None) -> Any:
    """The module that speaks of devices of a type, such as ``torch.cuda``; by default, of the accelerator or the CPU.

    Raises:
        RuntimeError: it is no device, or there is no such module.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if device is not None and not isinstance(device, (Device, str)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    device_type = (accelerator_type() or "cpu") if device is None else Device(device).type
    package = __name__.partition(".")[0]
    if find_spec(f"{package}.{device_type}") is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return import_module(f"{package}.{device_type}")


@public("accelerator", asks="nobody")
@sharing(NO_ACCELERATOR)
def current_device_index() -> int:
    """Which accelerator a device type without an index means: always the first."""
    accelerator()
    return 0


@public("accelerator", asks="nobody")
def current_device_idx() -> int:
    """``current_device_index``, by an old name."""
    warn("Use `current_device_index` instead.", FutureWarning)
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
    warn("Use `set_device_index` instead.", FutureWarning)
    _choose(device)


def _choose(wanted: Any) -> None:
    device_type = accelerator()
    index = wanted if isinstance(wanted, int) else device(wanted).index or 0
    if index != 0:
        raise RuntimeError(
            f"set_device_index(): '{device_type}' without an index means '{device_type}:0' here; use "
            f"torch.set_default_device('{device_type}:{index}'), or name the device where tensors are made"
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
@sharing(NO_ACCELERATOR)
def empty_cache() -> None:
    """Does nothing, where there is an accelerator: XLA keeps its own pool of memory."""
    accelerator()


def _memory(device: Any) -> dict[str, int]:
    device_type = accelerator()
    index = device if isinstance(device, int) else None if device is None else Device(device).index
    return memory_of(Device(device_type, index or 0))


@public("accelerator", asks="nobody")
@sharing(DEVICE_INDEX, NO_ACCELERATOR)
def memory_stats(device_index: Any = None, /) -> OrderedDict[str, int]:
    """XLA's counts of an accelerator's memory, in its own words: ``bytes_in_use``, ``peak_bytes_in_use``, …"""
    return OrderedDict(_memory(device_index))


@public("accelerator", asks="nobody", aliases=("memory_reserved",))
@sharing(DEVICE_INDEX, NO_ACCELERATOR)
def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes that arrays take on an accelerator."""
    return _memory(device_index).get("bytes_in_use", 0)


@public("accelerator", asks="nobody", aliases=("max_memory_reserved",))
@sharing(DEVICE_INDEX, NO_ACCELERATOR)
def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that arrays have taken on an accelerator since the process began."""
    return _memory(device_index).get("peak_bytes_in_use", 0)


@public("accelerator", asks="nobody")
@sharing(DEVICE_INDEX, NO_ACCELERATOR)
def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Count the bytes of an accelerator's memory that are free, and those that XLA may use in all."""
    stats = _memory(device_index)
    limit = stats.get("bytes_limit", 0)
    return limit - stats.get("bytes_in_use", 0), limit


@public("accelerator", asks="nobody")
@sharing(DEVICE_INDEX, NO_ACCELERATOR)
def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Warns that XLA's peak is that of the whole process, and can't be reset."""
    accelerator()
    warn(NO_NEW_PEAK)
