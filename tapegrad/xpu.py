"""``torch.xpu``: there is none; nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.device_names.other_devices import (
    device_count,
    empty_cache,
    is_available,
    is_bf16_supported,
    is_initialized,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    seed,
    seed_all,
)

__getattr__ = refusing(__name__)
__all__ = [
    "device_count", "empty_cache", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "seed",
    "seed_all",
]
