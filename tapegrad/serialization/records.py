"""The storages of an archive, which the pickle names, and the order of the bytes in them."""

from __future__ import annotations

import mmap
import sys
from enum import Enum
from typing import Any

import numpy as np

from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage, storage_of_host
from tapegrad._src.execution.data.devices import META, device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad.serialization.archive import ArchiveReader, ChecksumChecks, DamagedArchive
from tapegrad.serialization.locations import is_meta, restorer
from tapegrad.serialization.names import dtype_of
from tapegrad.serialization.unpickling import DamagedPickle

CPU = device("cpu")


class LoadEndianness(Enum):
    """In which order the bytes of numbers are taken to lie in files that don't say."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness: list[LoadEndianness | None] = [None]


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes in files that don't say; None is little."""
    return _endianness[0]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes in files that don't say.

    Raises:
        TypeError: this is no ``LoadEndianness``.
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness[0] = endianness


class Records:
    """The storages of an archive, each of which is read when the pickle first names it.

    Args:
        archive: where they are.
        map_location: where they are wanted.
        mapped: whether they stay in the file.
        checks: what compares the checksums of what is read.
    """

    def __init__(self, archive: ArchiveReader, map_location: Any, mapped: bool, checks: ChecksumChecks) -> None:
        self.checks = checks
        self.archive, self.restore = archive, restorer(map_location)
        self.meta = is_meta(map_location)
        self.found: dict[str, TypedStorage] = {}
        self.swapped = _is_swapped(archive)
        self.mapped = mmap.mmap(archive.file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else None

    def persistent_load(self, named: Any) -> TypedStorage:
        """The storage that the pickle names by a tuple: a word, its class, its key, its place and its length."""
        kind, key, location, count = checked_name(named, 5)
        if key not in self.found:
            d = dtype_of(kind)
            self.found[key] = TypedStorage(wrap_storage=self._storage(key, d, count * d.itemsize, location), dtype=d)
        return self.found[key]

    def _storage(self, key: str, d: dtype, nbytes: int, location: str) -> UntypedStorage:
        begin, size = self.archive.place(f"data/{key}")
        if nbytes > size:
            raise DamagedArchive(f"a storage of {nbytes} bytes is said to be in the record 'data/{key}', of {size}")
        if self.meta:
            return UntypedStorage(nbytes, device=META)
        data = self._bytes(f"data/{key}", begin, size)[:nbytes]
        return self.restore(storage_of_host(swapped(data, d) if self.swapped else data, d, CPU), location)

    def _bytes(self, name: str, begin: int, size: int) -> np.ndarray:
        if self.mapped is None or not size:
            data = self.archive.read_unchecked(name)
            self.checks.add(name, data)
            return data
        return np.frombuffer(self.mapped, np.uint8, size, begin)


def _is_swapped(archive: ArchiveReader) -> bool:
    """Tell whether the bytes of numbers lie the other way round than here."""
    if "byteorder" in archive:
        written = archive.read("byteorder").tobytes()
        if written not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {written.decode(errors='replace')}")
        return written.decode() != sys.byteorder
    chosen = get_default_load_endianness()
    if chosen is LoadEndianness.NATIVE:
        return False
    return sys.byteorder != ("big" if chosen is LoadEndianness.BIG else "little")


def swapped(data: np.ndarray, d: dtype) -> np.ndarray:
    """Bytes in which those of each number lie the other way round; a complex one is two numbers."""
    width = d.itemsize // 2 if d.is_complex else d.itemsize
    return data if data.size % width else data.view(f"u{width}").byteswap().view(np.uint8)


def checked_name(named: Any, length: int) -> tuple:
    """The parts of what names a storage in a pickle, behind the first, in a tuple of so many.
    Raises DamagedPickle: it names none.
    """
    if type(named) is not tuple or len(named) != length or _text(named[0]) != "storage":
        raise DamagedPickle("its pickle names something that is no storage")
    _, kind, key, location, count, *rest = named
    is_named = type(_text(key)) is str and type(_text(location)) is str
    if not is_named or type(count) is not int or not 0 <= count < 2**60:
        raise DamagedPickle("its pickle names a storage without a key, a place or a size")
    return kind, _text(key), _text(location), count, *rest


def _text(given: Any) -> Any:
    """Words of Python 2, which may come as bytes."""
    return given.decode("latin1") if type(given) is bytes else given
