"""PyTorch's files: a zip archive of records, none compressed, each of which begins at a multiple of 64 bytes.

Note [Archives]
``NAME/data.pkl`` is the pickle, in which a storage is only named; ``NAME/data/0``, ``NAME/data/1``, ... are the bytes
of the storages. ``NAME/byteorder`` says how numbers lie in them, ``NAME/version`` and ``NAME/.data/serialization_id``
are there for PyTorch. Nothing is ever unpacked to a path, and what the directory claims is compared with the file
before any memory is taken: records must be where it says, and all of them together are never larger than the file.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from struct import Struct
from typing import IO, Any

import numpy as np

MAGIC = b"PK\x03\x04"
ALIGNMENT = 64

_HEADER = Struct("<4s22xHH")  # of a record: the magic number, the lengths of its name and of what fills the gap
_ZIP64_FIELD = 20
_CHECKED_TOGETHER = 2**22  # bytes that are handed to another thread at once
_NO_CRC = 0  # what PyTorch writes when it is told not to compute checksums


class DamagedArchive(RuntimeError):
    """An archive that is cut short, was tampered with, or claims what can't be."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"PytorchStreamReader failed reading zip archive: {why}. The file may not have been written to its end, "
            "or may have been changed afterwards."
        )


class ArchiveReader:
    """The records of an archive, by their names.

    Args:
        file: a seekable binary file, which stays open; the archive begins where it stands.

    Raises:
        DamagedArchive: the directory is not there, or what it says can't be.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = file.seek(0, 2)
        try:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
        except Exception as error:  # zipfile's own and, of some that are damaged, nearly any other
            raise DamagedArchive(f"failed finding central directory ({error})") from None
        if not entries:
            raise DamagedArchive("it has no records")
        self.name = entries[0].filename.partition("/")[0]
        self.entries = {self._checked_name(entry): entry for entry in entries}
        if len(self.entries) < len(entries):
            raise DamagedArchive("two records have one name")
        if sum(entry.file_size for entry in entries) > self.size:
            raise DamagedArchive("its records are larger than the file")
        self.places = {name: self._found(entry) for name, entry in self.entries.items()}

    def _checked_name(self, entry: zipfile.ZipInfo) -> str:
        root, _, name = entry.filename.partition("/")
        leads_out = name.startswith("/") or "\\" in name or ".." in entry.filename.split("/")
        if root != self.name or not name or leads_out:
            raise DamagedArchive(f"the name {entry.filename!r} leads out of the archive")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.compress_size != entry.file_size:
            raise DamagedArchive(f"the record {name!r} is compressed or encrypted, which torch.save does to none")
        return name

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def place(self, name: str) -> tuple[int, int]:
        """The place of a record's bytes in the file, and how many there are.
        Raises RuntimeError: there is no such record.
        """
        if name not in self.places:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self.places[name]

    def _found(self, entry: zipfile.ZipInfo) -> tuple[int, int]:
        self.file.seek(max(entry.header_offset, 0))
        head = self.file.read(_HEADER.size)
        magic, named, gap = _HEADER.unpack(head) if len(head) == _HEADER.size else (b"", 0, 0)
        written = [entry.orig_filename.encode(encoding, "replace") for encoding in ("utf-8", "cp437")]
        is_there = magic == MAGIC and self.file.read(named) in written
        if not is_there or entry.header_offset < 0:
            raise DamagedArchive(f"{entry.filename!r} isn't where the directory says")
        begin = entry.header_offset + _HEADER.size + named + gap
        if begin + entry.file_size > self.size:
            raise DamagedArchive(f"the record {entry.filename!r} reaches beyond the end of the file")
        return begin, entry.file_size

    def read(self, name: str) -> np.ndarray:
        """The bytes of a record. Raises DamagedArchive: they aren't those that were written."""
        data = self.read_unchecked(name)
        self.check(name, data)
        return data

    def read_unchecked(self, name: str) -> np.ndarray:
        """The same, whose checksum is still to be compared.
        Raises DamagedArchive: there are fewer than the directory says.
        """
        begin, size = self.place(name)
        data = aligned(size)
        self.file.seek(begin)
        view, read = data.data, 0
        while read < size:
            part = _read_into(self.file, view[read:])
            if not part:
                raise DamagedArchive(f"the record {name!r} ends too early")
            read += part
        return data

    def check(self, name: str, data: Any) -> None:
        """Compare the checksum of the bytes of a record, if it has one."""
        written = self.entries[name].CRC
        if written != _NO_CRC and zlib.crc32(data) != written:
            raise DamagedArchive(f"the checksum of the record {name!r} is wrong")


class PyTorchFileReader:
    """The records of a file in PyTorch's format, for libraries that read them one by one.

    Args:
        name_or_buffer: the path of the file, or a seekable binary file.

    Raises:
        DamagedArchive: it is no such file.
    """

    def __init__(self, name_or_buffer: str | IO[bytes]) -> None:
        self._opened = open(name_or_buffer, "rb") if isinstance(name_or_buffer, str) else None  # noqa: SIM115
        self._archive = ArchiveReader(self._opened or name_or_buffer)  # type: ignore[arg-type]

    def __del__(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record; an error if there is none, or they aren't those that were written."""
        return self._archive.read(name).tobytes()

    def has_record(self, name: str) -> bool:
        """Tell whether there is one of this name."""
        return name in self._archive

    def get_all_records(self) -> list[str]:
        """The names of all."""
        return list(self._archive.entries)


class ChecksumChecks:
    """Compares checksums of records while others are read: by another thread, some megabytes at a time.

    A context, at whose end all have been compared.

    Raises:
        DamagedArchive: at its end, if one is wrong.
    """

    def __init__(self, archive: ArchiveReader) -> None:
        self.archive = archive
        self._thread = ThreadPoolExecutor(1, "checksums")
        self._waiting: list[tuple[str, np.ndarray]] = []
        self._size = 0
        self._begun: list[Future[None]] = []

    def add(self, name: str, data: np.ndarray) -> None:
        """Have a record compared until the end of the context; it must not be written to before."""
        self._waiting.append((name, data))
        self._size += data.size
        if self._size >= _CHECKED_TOGETHER:
            self._begun.append(self._thread.submit(self._compare, self._waiting))
            self._waiting, self._size = [], 0

    def _compare(self, records: list[tuple[str, np.ndarray]]) -> None:
        for name, data in records:
            self.archive.check(name, data)

    def __enter__(self) -> ChecksumChecks:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        with self._thread:
            if kind is None:
                self._compare(self._waiting)
                for one in self._begun:
                    one.result()


def aligned(size: int) -> np.ndarray:
    """So many bytes that begin where jax takes an array as it is, and doesn't copy it.

    >>> aligned(10).ctypes.data % ALIGNMENT
    0
    """
    row = np.empty(size + ALIGNMENT, np.uint8)
    skipped = -row.ctypes.data % ALIGNMENT
    return row[skipped : skipped + size]


def _read_into(file: IO[bytes], view: memoryview) -> int:
    if hasattr(file, "readinto"):
        return file.readinto(view) or 0
    data = file.read(len(view))
    view[: len(data)] = data
    return len(data)


class ArchiveWriter:
    """Writes records one after the other.

    Args:
        archive: what they are written to.
        name: of the folder that all of them are in.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.archive, self.name = archive, name
        self._crcs: list[int] = []

    def write(self, name: str, data: Any) -> None:
        """Write a record, so that its bytes begin at a multiple of 64."""
        entry = zipfile.ZipInfo(f"{self.name}/{name}")
        begin = self.archive.fp.tell() + _HEADER.size + len(entry.filename.encode())  # type: ignore[union-attr]
        begin += _ZIP64_FIELD if len(data) * 1.05 > zipfile.ZIP64_LIMIT else 0  # as zipfile decides
        entry.extra = _gap(-(begin + 4) % ALIGNMENT)
        self.archive.writestr(entry, data)
        self._crcs.append(entry.CRC)

    def close(self) -> None:
        """Write what PyTorch wants to find besides."""
        self.write("version", b"3\n")
        self.write(".data/serialization_id", b"%020d%020d" % (len(self._crcs), zlib.crc32(repr(self._crcs).encode())))


def _gap(size: int) -> bytes:
    """A field of an entry that fills so many bytes after its own four."""
    return b"FB" + size.to_bytes(2, "little") + b"Z" * size


@contextmanager
def writing(file: IO[bytes], name: str) -> Iterator[ArchiveWriter]:
    """An archive that is written to a file, and closed at the end if nothing was raised."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        writer = ArchiveWriter(archive, name)
        yield writer
        writer.close()
