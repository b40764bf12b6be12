"""Answers of ``torch.cpu``: there is one CPU, and it is always there."""

from typing import Any

from tapegrad._src.execution.kernels.deferred_checks import look


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def device_count() -> int:
    """1."""
    return 1


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Raises what checks of compiled calls have found; to read a value is to wait for it."""
    look()
