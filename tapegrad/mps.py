"""``torch.mps``: there is none; nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.bindings.other_devices import device_count, is_available

__getattr__ = refusing(__name__)
__all__ = ["device_count", "is_available"]
