"""Answers of ``torch.mps``, ``torch.xpu`` and ``torch.mtia``: jax has no such devices.

Seeds are given to devices that are not there yet, and what no device holds is freed: that is no error, as in PyTorch.
"""

from typing import Any


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator."""


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing: there is no generator."""


seed_all = seed


def empty_cache() -> None:
    """Nothing: there is no memory."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False
