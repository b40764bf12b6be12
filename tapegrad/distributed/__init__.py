"""``torch.distributed``: what programs ask before they use it. There are no groups of processes."""

from tapegrad.absent import refusing

__getattr__ = refusing(__name__)
__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """False: there are no groups of processes."""
    return False


def is_initialized() -> bool:
    """False: no group of processes was made."""
    return False
