"""The files of PyTorch before 1.6: pickles one after the other, then the storages.

A magic number, the version of the format, what the machine was like, the object, the keys of its storages: each a
pickle. Behind them, for each key, the number of elements and the elements. Files in the still older format of a tar
archive are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from tapegrad._src.bindings.state.storages import TypedStorage, fill_storage, host_bytes, storage_of_host
from tapegrad.serialization.locations import Restorer
from tapegrad.serialization.names import dtype_of
from tapegrad.serialization.pickling import Storages, pickler
from tapegrad.serialization.records import CPU, checked_name, swapped
from tapegrad.serialization.unpickling import DamagedPickle, Source

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}

Reads = Callable[[Source, Callable[[Any], Any]], Any]
"""A function that makes an object of a pickle, given how storages are found."""


def load(file: IO[bytes], restore: Restorer, read: Reads) -> Any:
    """The object in a file, which is left where the object ends.
    Raises RuntimeError: it is another kind of file, or damaged. EOFError: it is empty.
    """
    begin = file.tell()
    left = file.seek(0, 2) - begin
    file.seek(begin)
    if not left:
        raise EOFError("torch.load: there is nothing in the file")
    source = Source(file, left)
    if read(source, _no_storage) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = read(source, _no_storage)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = read(source, _no_storage)
    little = system.get("little_endian", True) if type(system) is dict else True
    waiting = Waiting(source, restore)
    result = read(source, waiting.persistent_load)
    waiting.fill(read(source, _no_storage), little is (sys.byteorder == "little"))
    return result


def _no_storage(named: Any) -> Any:
    raise DamagedPickle("its pickle names a storage where there can be none")


class Waiting:
    """The storages that a pickle names, whose elements come behind it.

    Args:
        source: the file.
        restore: brings a storage to where it is wanted.
    """

    def __init__(self, source: Source, restore: Restorer) -> None:
        self.source, self.restore = source, restore
        self.found: dict[str, tuple[TypedStorage, int]] = {}
        self.views: dict[str, TypedStorage] = {}
        self.claimed = 0

    def persistent_load(self, named: Any) -> Any:
        """The storage that a tuple names, of zeros as yet; or the class of a module, whose source is not compared."""
        if type(named) is tuple and len(named) == 4 and named[0] == "module":
            return named[1]
        kind, key, location, count, view = checked_name(named, 6)
        if view is not None:
            raise DamagedPickle("it has views of storages, which no PyTorch since 0.4 has written")
        if key not in self.found:
            d = dtype_of(kind)
            self.claimed += count * d.itemsize
            if self.claimed > self.source.left:
                raise DamagedPickle("its storages are larger than the file")
            empty = storage_of_host(np.zeros(count * d.itemsize, np.uint8), d, CPU)
            self.found[key] = TypedStorage(wrap_storage=self.restore(empty, location), dtype=d), count
        return self.found[key][0]

    def fill(self, keys: Any, native: bool) -> None:
        """Read the elements of all storages, which lie in the order of these keys."""
        are_keys = type(keys) is list and all(type(key) is str for key in keys)
        if not are_keys or len(keys) != len(self.found) or set(keys) != self.found.keys():
            raise DamagedPickle("it has other storages than its pickle names")
        for key in keys:
            storage, count = self.found[key]
            written = int.from_bytes(self.source.read(8), "little")
            if written != count:
                raise DamagedPickle(f"a storage of {count} elements is said to have {written}")
            data = np.frombuffer(self.source.read(count * storage.dtype.itemsize), np.uint8)
            fill_storage(storage.untyped(), data if native else swapped(data, storage.dtype), storage.dtype)


def save(thing: Any, file: IO[bytes], pickle_module: Any, protocol: int) -> None:
    """Write an object as PyTorch did before 1.6."""
    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, _SYSTEM):
        pickle_module.dump(head, file, protocol=protocol)
    storages = Storages()
    pickler(pickle_module, file, protocol, storages, legacy=True).dump(thing)
    pickle_module.dump(list(storages.found), file, protocol=protocol)
    for memory, d in storages.found.values():
        data = host_bytes(memory)
        file.write((data.size // d.itemsize).to_bytes(8, "little"))
        file.write(data.data)
