"""``torch.cpu``: what programs ask of the CPU that they could ask of a GPU; nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.device_names.cpu import (
    Event,
    Stream,
    StreamContext,
    current_device,
    current_stream,
    device_count,
    is_available,
    is_initialized,
    set_device,
    stream,
    synchronize,
)
from tapegrad.cpu import amp

__getattr__ = refusing(__name__)
__all__ = [
    "Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "device_count", "is_available",
    "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip
