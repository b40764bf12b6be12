"""``torch.mps``: there is none; nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.device_names.other_devices import (
    device_count,
    is_available,
    manual_seed,
)

__getattr__ = refusing(__name__)
__all__ = [
    "device_count", "is_available", "manual_seed",
]
