"""Files: ``torch.save`` and ``torch.load`` in PyTorch's formats; ``safetensors``.

A file that isn't trusted is read by an interpreter of our own, which makes tensors and plain containers, and runs
nothing: Note [Nothing is executed] in ``unpickling.py``. It is all public surface of tensors from here.
"""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.state.storages import legacy as _legacy
from tapegrad.serialization import safetensors
from tapegrad.serialization.loading import get_unsafe_globals_in_checkpoint, load
from tapegrad.serialization.locations import (
    MAP_LOCATION,
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
)
from tapegrad.serialization.names import (
    StorageType,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from tapegrad.serialization.rebuild import _get_layout as _get_layout
from tapegrad.serialization.records import LoadEndianness, get_default_load_endianness, set_default_load_endianness
from tapegrad.serialization.saving import DEFAULT_PROTOCOL, save

__getattr__ = refusing(__name__)

__all__ = [
    "DEFAULT_PROTOCOL", "MAP_LOCATION", "LoadEndianness", "StorageType", "add_safe_globals", "clear_safe_globals",
    "default_restore_location", "get_default_load_endianness", "get_safe_globals", "get_unsafe_globals_in_checkpoint",
    "load", "location_tag", "normalize_storage_type", "register_package", "safe_globals", "safetensors", "save",
    "set_default_load_endianness", "validate_cuda_device",
]  # fmt: skip


def normalize_storage_type(storage_type: type) -> type:
    """The class of typed storages of the name that a class has.

    Args:
        storage_type: a class, as ``torch.FloatStorage``.

    >>> normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
    True
    """
    return _legacy(storage_type.__name__)
