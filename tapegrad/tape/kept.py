"""What was written for calls, kept on disk for the next process.

Note [Kept functions]
To trace a kernel and to write it for the host takes a millisecond or two, a hundred times what it takes to run it once,
and a program does so anew in each process. So what came of it, a function of Python's and its constants, is kept: under
a digest of all that it follows from (the operator, specs, settings; what is asked for in a program's name in
``dispatch/keys.py``), in a file that is named after the versions of Python, NumPy, jax and this package, and after the
size and age of its sources. What is decided for a call, and which functions run it, is the same whether it is found or
made: only the work is saved, so the results have the same bits.

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
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

LIMIT = 16 << 20
"""How many bytes a file holds."""

FILES = 4
"""How many files there are in a directory: those that were used least recently go."""

SOURCES = ("ops", "dispatch", "execution", "tape", "tensor")
"""The rooms on whose sources it depends what is written."""

VARIABLE = "TAPEGRAD_CACHE_DIR"
"""The variable of the environment that names the directory; nothing is kept where it is empty."""

HEADER = 24
"""A digest and a length stand before the table of contents."""


def digest(data: bytes) -> bytes:
    """What is looked for, and compared: sixteen bytes.

    >>> len(digest(b"multiply"))
    16
    """
    return blake2b(data, digest_size=16).digest()


def platform_caches() -> Path:
    """Where programs of this user keep what can be made again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def default_directory() -> Path | None:
    """Where things are kept unless somebody says otherwise; None if nowhere."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    with contextlib.suppress(RuntimeError):  # a user without a home
        return platform_caches() / "tapegrad"
    return None


def sources() -> Iterator[str]:
    """How large and how old the package's sources are."""
    package = Path(__file__).resolve().parent.parent
    due = [str(package / room) for room in SOURCES]
    while due:
        with os.scandir(due.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    yield f"{entry.path}:{status.st_size}:{status.st_mtime_ns}"
                elif entry.is_dir() and entry.name != "__pycache__":
                    due.append(entry.path)


def file_name() -> str:
    """The name of the file for these versions and sources."""
    packages = [sys.modules.get(name) for name in ("tapegrad", "jax", "jaxlib", "numpy", "ml_dtypes")]
    versions = [sys.version, platform.machine(), *[getattr(package, "__version__", None) for package in packages]]
    return f"written-{digest(repr([versions, list(sources())]).encode()).hex()}.bin"


Table = dict[bytes, tuple[int, int, bytes]]
"""Where entries begin, their lengths and digests, by key."""


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
    """What is kept: found by key in the file of a directory, and what is new, which is written at the end.

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
        """What is kept under a key."""
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


store = Keeper(default_directory())


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
