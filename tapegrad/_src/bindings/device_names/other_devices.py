"""Answers of ``torch.mps``, ``torch.xpu`` and ``torch.mtia``: jax has no such devices."""


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0
