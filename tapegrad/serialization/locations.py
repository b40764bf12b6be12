"""Places of storages when they were saved, and where they are to be: tags as ``cpu`` and ``cuda:0``,
``map_location``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from tapegrad._src.bindings.device_names.cuda import device_count, is_available
from tapegrad._src.bindings.state.storages import UntypedStorage
from tapegrad._src.execution.data.devices import META, device

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
Restorer = Callable[[Any, str], Any]

MAP_LOCATION: TypeAlias = Callable[[UntypedStorage, str], Any] | device | str | dict[str, str] | None
"""The values that ``load`` takes as ``map_location``."""

_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Have storages of a kind of device tagged, and brought there again.

    Args:
        priority: the lower, the sooner it is asked.
        tagger: the tag of a storage, or None if it isn't one of its.
        deserializer: of a storage on the CPU and a tag, the storage where the tag says, or None.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The place of a storage, as files say it.

    Raises:
        RuntimeError: no package knows its device.
    """
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {_type_name(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage brought to where a tag says.

    Raises:
        RuntimeError: no package knows the tag, or there is no such device.
    """
    for _, _, deserializer in _packages:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    raise RuntimeError(f"don't know how to restore data location of {_type_name(storage)} (tagged with {location})")


def _type_name(storage: Any) -> str:
    if isinstance(storage, UntypedStorage):
        return "torch.storage.UntypedStorage"
    return f"{type(storage).__module__}.{type(storage).__qualname__}"


def restorer(map_location: Any) -> Restorer:
    """A function that brings each storage of a file to where it is wanted: see ``load``."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        wanted = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, wanted)

    def restore(storage: Any, location: str) -> Any:
        restored = map_location(storage, location)
        return default_restore_location(storage, location) if restored is None else restored

    return restore


def is_meta(map_location: Any) -> bool:
    """Tell whether all of a file is wanted on ``meta``, where nothing needs to be read."""
    return isinstance(map_location, (str, device)) and str(map_location) == "meta"


def _cpu_tag(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _meta_tag(storage: Any) -> str | None:
    return "meta" if storage.device is META else None


def _meta(storage: Any, location: str) -> Any:
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _cuda_tag(storage: Any) -> str | None:
    return str(storage.device) if storage.device.type == "cuda" else None


def _cuda(storage: Any, location: str) -> Any:
    if location == "cuda" or re.match("cuda(:|[0-9]+)", location):
        return storage.to(device=validate_cuda_device(location))
    return None


def validate_cuda_device(location: str) -> int:
    """The index of the GPU that a tag names.

    Raises:
        RuntimeError: there is none, or not so many.
    """
    index = device(location).index or 0
    if not is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    if index >= device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
            f"{device_count()}. Please use torch.load with map_location to map your storages to an existing device."
        )
    return index


register_package(10, _cpu_tag, _cpu)
register_package(20, _cuda_tag, _cuda)
register_package(22, _meta_tag, _meta)
