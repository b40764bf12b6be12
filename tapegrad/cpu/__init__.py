"""``torch.cpu``: what programs ask of the CPU that they could ask of a GPU; nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.bindings.cpu import current_device, device_count, is_available, is_initialized, set_device, synchronize
from tapegrad.cpu import amp

__getattr__ = refusing(__name__)
__all__ = ["amp", "current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
