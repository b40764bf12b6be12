"""``torch.signal``: window functions."""

from tapegrad.signal import windows

__all__ = ["windows"]
