"""``torch.mtia``: there is none; nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.bindings.other_devices import device_count, is_available, is_initialized

__getattr__ = refusing(__name__)
__all__ = ["device_count", "is_available", "is_initialized"]
