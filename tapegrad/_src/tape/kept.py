"""Functions that are written while the program runs, and kept on disk for the next process.

Note [Kept functions]
To trace a kernel and to write it for the host takes a millisecond or two, a hundred times what it takes to run it once,
and a program does so anew in each process. So what came of it, a function of Python's and its constants, is kept: under
a digest of all that it follows from (the operator, specs, settings; what is asked for in a program's name in
``dispatch/call_keys.py``), in a file that is named after the versions of Python, NumPy, jax and this package, the
processor, and the size and age of its sources. What is decided for a call, and which functions run it, is the same
whether it is found or made: only the work is saved, so the results have the same bits.

Nothing of a file is executed unless it belongs to this user, nobody else may write to it, its table of contents has the
digest that stands before it, and the entry the one that stands in there. The file is written once, when the process
ends, and put in the place of the old one in one step; where it can't be, nothing happens. It holds up to ``LIMIT``
bytes: beyond, only what this process has used is kept. Whoever deletes it loses nothing but time.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import mmap
import os
import platform
import struct
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

from tapegrad._src.caches import Cache, remembered
from tapegrad._src.tape.mechanisms import DISK_CACHE, SHIPPED_CLASSES
from tapegrad._src.warn import WRITTEN
from tapegrad.version import __version__

LIMIT = 16 << 20
"""The most bytes of a file."""

FILES = 4
"""The most files in a directory: those that were used least recently go."""

SOURCES = ("ops", "_src/dispatch", "_src/execution", "_src/tape", "_src/tensor")
"""The rooms on whose sources it depends what is written."""

VARIABLE = "TAPEGRAD_CACHE_DIR"
"""The variable of the environment that names the directory; nothing is kept where it is empty."""

SHIPPED = "TAPEGRAD_SHIPPED"
"""The variable of the environment that names another file than the one that comes with the package; empty: none."""

ABOUT = b"about".ljust(16)
"""Under what key such a file says for which versions and sources it was written."""

HEADER = 24
"""A digest and a length stand before the table of contents."""


def digest(data: bytes) -> bytes:
    """The digest that is looked for, and compared: sixteen bytes.

    >>> len(digest(b"multiply"))
    16
    """
    return blake2b(data, digest_size=16).digest()


def platform_caches() -> Path:
    """The directory in which programs of this user keep what can be made again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def default_directory() -> Path | None:
    """The directory where things are kept unless somebody says otherwise; None if nowhere."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    with contextlib.suppress(RuntimeError):  # a user without a home
        return platform_caches() / "tapegrad"
    return None


PACKAGE = Path(__file__).resolve().parents[2]


def sources() -> Iterator[os.DirEntry[str]]:
    """The package's sources, as far as it depends on them what is written."""
    due = [str(PACKAGE / room) for room in SOURCES]
    while due:
        with os.scandir(due.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.name.endswith(".py"):
                    yield entry
                elif entry.name != "__pycache__" and entry.is_dir():
                    due.append(entry.path)


def versions() -> list[Any]:
    """Those of all that writes, and the kinds of instructions that NumPy has found the processor to have: what is
    written, and what that is likely to cost, depends on them."""
    packages = [import_module(name) for name in ("jax", "jaxlib", "numpy", "ml_dtypes")]
    kinds = packages[2].show_config(mode="dicts").get("SIMD Extensions", {}).get("found", ())
    mine = [sys.version, platform.machine(), *kinds, __version__]
    return mine + [getattr(one, "__version__", None) for one in packages]


def file_name() -> str:
    """The name of the file for these versions and sources."""
    found = [f"{one.path}:{one.stat().st_size}:{one.stat().st_mtime_ns}" for one in sources()]
    return f"written-{digest(repr([versions(), found]).encode()).hex()}.bin"


Table = dict[bytes, tuple[int, int, bytes]]
"""The places where entries begin, their lengths and digests, by key."""


class KeptFile:
    """A file of entries, and its table of contents: for each key where its entry begins, its length, and its digest.

    Raises:
        OSError, ValueError: there is none that may be trusted.
    """

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                raise ValueError("others may write to it")
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        expected, length = self._memory[:16], int.from_bytes(self._memory[16:HEADER], "little")
        table = self._memory[HEADER : HEADER + length]
        if digest(table) != expected:
            raise ValueError("it is damaged")
        self.table: Table = marshal.loads(table)
        self._start = HEADER + length

    def find(self, key: bytes) -> bytes | None:
        """The entry under a key; None if there is none that is whole."""
        place = self.table.get(key)
        if place is None:
            return None
        begin, length, expected = place
        found = self._memory[self._start + begin : self._start + begin + length]
        return found if digest(found) == expected else None

    @property
    def entries(self) -> bytes:
        """All entries, as they are: who reads one compares it with its digest."""
        return self._memory[self._start :]


def joined(table: Table, before: bytes, new: dict[bytes, bytes]) -> list[bytes]:
    """The parts of a file: that of a table of contents and its entries, and new ones."""
    table, begin = dict(table), len(before)
    for key, entry in new.items():
        table[key] = begin, len(entry), digest(entry)
        begin += len(entry)
    contents = marshal.dumps(table)
    return [digest(contents), len(contents).to_bytes(8, "little"), contents, before, *new.values()]


class Keeper:
    """A keeper of entries: found by key in the file of a directory, and new ones, which are written at the end.

    Attributes:
        directory: where the file is; None if nothing is kept.
        new: what was not there; ``used``: the keys of what was found in the file.
        found, missed: how many times something was there, and was not.
        room: how many bytes there may yet be of what is new.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = None if directory is None else directory.absolute()
        self.new: dict[bytes, bytes] = {}
        self.used: set[bytes] = set()
        self.found = self.missed = 0
        self.room = 0 if directory is None else LIMIT
        self._file: KeptFile | None = None
        self._opened = directory is None
        self._lock = threading.Lock()

    @cached_property
    def path(self) -> Path | None:
        """The file."""
        return None if self.directory is None else self.directory / file_name()

    def find(self, key: bytes) -> bytes | None:
        """The entry that is kept under a key."""
        if not self._opened:
            self._open()
        found = self.new.get(key)
        if found is None and self._file is not None:
            found = self._file.find(key)
            if found is not None:
                self.used.add(key)
        self.found += found is not None
        self.missed += found is None
        return found

    def keep(self, key: bytes, entry: bytes) -> None:
        """Keep something for the next process."""
        if self.room > 0:
            self.new[key] = entry
            self.room -= len(entry)

    def _open(self) -> None:
        with self._lock:
            if not self._opened:
                self._file = self._read()
                self._opened = True

    def _read(self) -> KeptFile | None:
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            return KeptFile(self.path)  # type: ignore[arg-type]
        return None

    def write(self) -> None:
        """Put the file with what is new in the place of the one that is there by now."""
        if self.directory is None or not self.new:
            return
        with contextlib.suppress(OSError):
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._replace(self._with_new())
            self.new = {}
            self._drop_others()

    def _with_new(self) -> list[bytes]:
        there = self._read()
        table, before = ({}, b"") if there is None else (there.table, there.entries)
        if there is None or len(before) + sum(map(len, self.new.values())) <= LIMIT:
            return joined(table, before, self.new)
        used = {key: there.find(key) for key in self.used}
        return joined({}, b"", {key: entry for key, entry in used.items() if entry is not None} | self.new)

    def _replace(self, parts: list[bytes]) -> None:
        handle, name = tempfile.mkstemp(dir=self.directory, prefix="written-")  # nobody else may write to it
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(parts)
            os.replace(name, self.path)  # type: ignore[arg-type]
        except BaseException:
            os.unlink(name)
            raise

    def _drop_others(self) -> None:
        assert self.directory is not None
        files = sorted(self.directory.glob("written-*.bin"), key=lambda one: one.stat().st_mtime, reverse=True)
        for file in files[FILES:]:
            file.unlink(missing_ok=True)


RECORD = 40
"""The number of bytes that say where an entry is found: its key, where it begins, its length, its digest."""

WORDS = 1 << 15
"""The number of bytes that entries have in common, of so many entries as go in there."""
PIECE = 1 << 11


def compressed(entries: dict[bytes, bytes]) -> bytes:
    """A file of entries that are alike: a digest of the table, two lengths, the table, common bytes, the entries."""
    alike = [entry for _, entry in sorted(entries.items())]
    words = b"".join([entry[-PIECE:] for entry in alike[:: max(len(alike) * PIECE // WORDS, 1)]])[:WORDS]
    table, parts, begin = [], [], 0
    for key, data in sorted(entries.items()):
        packer = zlib.compressobj(9, wbits=-15, zdict=words)
        part = packer.compress(data) + packer.flush()
        table.append(struct.pack("<16sII16s", key, begin, len(part), digest(part)))
        parts.append(part)
        begin += len(part)
    contents = b"".join(table) + words
    lengths = len(table).to_bytes(4, "little") + len(words).to_bytes(4, "little")
    return b"".join([digest(contents), lengths, contents, *parts])


class CompressedFile:
    """A file that ``compressed`` has written.

    Raises:
        OSError, ValueError: there is none, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            self.age = os.fstat(file.fileno()).st_mtime_ns
            memory = self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = HEADER + RECORD * int.from_bytes(memory[16:20], "little")
        self._start = end + int.from_bytes(memory[20:HEADER], "little")
        if digest(memory[HEADER : self._start]) != memory[:16]:
            raise ValueError("it is damaged")
        self._words = memory[end : self._start]
        self._table = {key: place for key, *place in struct.iter_unpack("<16sII16s", memory[HEADER:end])}

    def find(self, key: bytes) -> bytes | None:
        """The entry under a key; None if there is none that is whole."""
        place = self._table.get(key)
        if place is None:
            return None
        begin, length, expected = place
        part = self._memory[self._start + begin : self._start + begin + length]
        return zlib.decompressobj(-15, self._words).decompress(part) if digest(part) == expected else None


class Shipped:
    """The file that comes with the package: found in it is what was written for calls of any lengths.

    It is read where it was written by these versions, from these sources. See Note [Shipped classes] in
    ``dispatch/shape_class.py``.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @cached_property
    def _file(self) -> CompressedFile | None:
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            if self.path is not None:
                file = CompressedFile(self.path)
                return file if fits_here(file) else None
        return None

    def find(self, key: bytes) -> bytes | None:
        """The entry that is kept under a key."""
        return None if self._file is None else self._file.find(key)

    @property
    def is_there(self) -> bool:
        """True if there is a file for these versions and sources."""
        return self._file is not None


def about() -> bytes:
    """For which versions and sources something is written now."""
    found = {}
    for one in sources():
        data = Path(one.path).read_bytes()
        found[os.path.relpath(one.path, PACKAGE)] = len(data), digest(data)
    return marshal.dumps((versions(), found))


def fits_here(file: CompressedFile) -> bool:
    """Tell whether a file was written by these versions, from these sources; only those that are newer are read."""
    there, written = marshal.loads(file.find(ABOUT) or marshal.dumps((None, {})))
    if there != versions():
        return False
    count = 0
    for one in sources():
        known, status = written.get(os.path.relpath(one.path, PACKAGE)), one.stat()
        if known is None or known[0] != status.st_size:
            return False
        if status.st_mtime_ns > file.age and digest(Path(one.path).read_bytes()) != known[1]:
            return False
        count += 1
    return count == len(written)


def shipped_path() -> Path | None:
    """The path of the file that comes with the package, for this Python; None if it is not to be read."""
    named = os.environ.get(SHIPPED)
    if named is not None:
        return Path(named) if named else None
    return PACKAGE / "_src" / "tape" / f"shipped-{sys.implementation.cache_tag}.bin"


store = Keeper(default_directory())
shipped = Shipped(shipped_path())


def keep_in(directory: Path | None) -> None:
    """Keep things in a directory from here on; None: nowhere. What was new belongs to the one before."""
    global store
    store.write()
    store = Keeper(directory)


_process = os.getpid()


def _at_exit() -> None:
    if os.getpid() == _process:
        store.write()


atexit.register(_at_exit)


def defined(lines: Iterable[str], name: str, names: dict[str, Any]) -> Any:
    """The function ``name`` that some lines define, which refer to ``names``; its code is compiled once.

    It is not among ``names`` itself, so that it is freed when nobody refers to it.

    >>> defined(["def double(x):", "    return factor * x"], "double", {"factor": 2})(3)
    6
    """
    return function_of(code_of("\n".join(lines)), name, names)


def function_of(code: CodeType, name: str, names: dict[str, Any]) -> Any:
    """The function that compiled lines define, for other names than before, say."""
    exec(code, names)
    return names.pop(name)


@remembered("written code", nbytes=8 << 10)
def code_of(source: str) -> CodeType:
    """Compiled lines. See Note [Kept functions]."""
    key = digest(source.encode())
    disk = None if DISK_CACHE.off else store
    found = None if disk is None else disk.find(key)
    if found is None and not SHIPPED_CLASSES.off:
        found = shipped.find(key)
    if found is not None:
        return marshal.loads(found)
    code = compile(source, WRITTEN, "exec")
    if disk is not None:
        disk.keep(key, marshal.dumps(code))
    return code


class WrittenCode:
    """A function that was written for one, to be given to others: its code, and the names that mean the same."""

    __slots__ = ("name", "code", "names")

    def __init__(self, name: str, code: CodeType, names: dict[str, Any]) -> None:
        self.name, self.code, self.names = name, code, names

    def instantiate(self, names: dict[str, Any]) -> Callable:
        """Make the function, with names that mean something else for each."""
        return function_of(self.code, self.name, {**self.names, **names})


def written_once(name: str, key: tuple, source: Callable[[], str], names: dict[str, Any]) -> WrittenCode:
    """Code that is the same for all with this key: it takes longer to write the source again."""
    key = name, *key
    return WrittenCode(name, _codes.get(key) or _codes.keep(key, code_of(source())), names)


_codes = Cache("written code", nbytes=8 << 10)
