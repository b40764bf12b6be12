"""A table of bytes by which processes tell one another things besides arrays, and which the first of them keeps.

It carries addresses, barriers and objects; arrays travel by XLA. Whoever waits for one waits so long and no longer.
"""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import struct
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tapegrad.errors import message

__all__ = ["Store", "TCPStore"]

_LENGTH = struct.Struct("!Q")
LONGEST = 1 << 30
"""Bytes of the longest entry."""

MARKS = 4096
"""The number of numbers of which a table keeps the value, for those who come to them later."""


class _Entries:
    """The entries, and those who wait for one."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self.here: set[str] = set()
        self.marks: dict[str, dict[int, int]] = {}
        self.parted: set[str] = set()
        self.changed = threading.Condition()

    def do(self, what: str, key: str, value: Any, seconds: float) -> Any:
        with self.changed:
            if what == "set":
                self.entries[key] = value
                self.changed.notify_all()
            elif what == "add":
                self.entries[key] = str(int(self.entries.get(key, b"0")) + value).encode()
                self.changed.notify_all()
                return int(self.entries[key])
            elif what == "exchange":
                return self._exchanged(key, value, seconds)
            elif what == "mark":
                return self._agrees(key, *value)
            elif what == "all":
                return [[name, entry] for name, entry in self.entries.items() if name.startswith(key)]
            elif what == "delete":
                return self.entries.pop(key, None) is not None
            elif what == "get":
                self.changed.wait_for(lambda: key in self.entries, seconds)
                return self.entries.get(key)
        return None

    def has_ended(self, rank: str) -> None:
        """Note that a process is gone, if it has not said why."""
        with self.changed:
            self.entries.setdefault(f"state/{rank}", b"has ended")
            self.entries[f"gone/{rank}"] = b""
            self.here.discard(rank)
            self.changed.notify_all()

    def has_come(self, rank: str) -> None:
        """Note that a process is here."""
        with self.changed:
            self.here.add(rank)

    def wait_until_deserted(self) -> None:
        """Wait until no process is here."""
        with self.changed:
            self.changed.wait_for(lambda: not self.here)

    def _agrees(self, key: str, number: int, value: int) -> bool:
        """Tell whether all values for a number were this one, and all before alike."""
        marks = self.marks.setdefault(key, {})
        if marks.setdefault(number, value) != value:
            self.parted.add(key)
        if len(marks) > MARKS:
            del marks[next(iter(marks))]
        return key not in self.parted

    def _exchanged(self, key: str, given: list[Any], seconds: float) -> list[Any] | None:
        """The values that all ranks have put under a key; None if one has not in time, or has ended."""
        rank, ranks, data, old = given
        if data is not None:
            self.entries[f"{key}/{rank}"] = data
            self.entries.pop(f"{old}/{rank}", None)
            self.changed.notify_all()
        missing = lambda: [one for one in ranks if f"{key}/{one}" not in self.entries]
        self.changed.wait_for(lambda: all(f"state/{one}" in self.entries for one in missing()), seconds)
        return None if missing() else [self.entries[f"{key}/{one}"] for one in ranks]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    table: _Entries


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server: Any = self.server
        rank = None
        with contextlib.suppress(OSError, EOFError, TypeError, ValueError, KeyError):  # no client of ours
            while True:
                what, key, value, seconds = _receive(self.request)
                if what == "hello":
                    rank = key
                    server.table.has_come(rank)
                _send(self.request, server.table.do(what, key, value, seconds))
        if rank is not None:
            server.table.has_ended(rank)


class Store:
    """A table of bytes that processes share: here that is a ``TCPStore``."""


class TCPStore(Store):
    """A table of bytes that processes share, kept by one of them, or beside it.

    Args:
        host_name, port: where the one that keeps it is; port 0 lets it choose one, which is ``port`` then.
        world_size: accepted.
        is_master: whether it is this process that keeps it.
        timeout: how long to wait for the one that keeps it, and for entries.

    >>> store = TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2)
    (b'value', 2)
    >>> store.close()
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True,
    ) -> None:  # fmt: skip
        self.host, self.port, self.timeout = host_name, port, timeout
        self._lock = threading.Lock()
        self._server: _Server | None = None
        if is_master:
            self._server = _Server((host_name, port), _Handler)
            self._server.table = _Entries()
            self.port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._socket = self._connected()

    def _connected(self) -> socket.socket:
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                return socket.create_connection((self.host, self.port), timeout=1.0)
            except OSError as error:
                if time.monotonic() > end:
                    hint = "is rank 0 running, with the same MASTER_ADDR and MASTER_PORT?"
                    raise TimeoutError(
                        message(f"nobody answers at {self.host}:{self.port}", got=error, hint=hint)
                    ) from None
            threading.Event().wait(0.05)

    def _ask(self, what: str, key: str, value: Any = None, seconds: float = 0.0) -> Any:
        with self._lock:
            try:
                self._socket.settimeout(seconds + 10.0)
                _send(self._socket, (what, key, value, seconds))
                return _receive(self._socket)
            except (OSError, EOFError) as error:
                raise ConnectionError(message("the first process does not answer any more: it has ended, or is stuck",
                                              got=repr(error))) from None  # fmt: skip

    def set(self, key: str, value: str | bytes) -> None:
        """Put an entry into the table."""
        self._ask("set", key, value.encode() if isinstance(value, str) else bytes(value))

    def get(self, key: str, timeout: timedelta | None = None) -> bytes:
        """An entry, when it is there.

        Raises:
            TimeoutError: it was not put there in time.
        """
        seconds = (timeout or self.timeout).total_seconds()
        found = self._ask("get", key, None, seconds)
        if found is None:
            raise TimeoutError(message(f"wait timeout after {seconds:g} s for '{key}'", hint="a process has ended, is "
                                       "stuck, or does something else"))  # fmt: skip
        return found

    def has(self, key: str, seconds: float = 0.0) -> bool:
        """Tell whether there is such an entry, within so many seconds."""
        return self._ask("get", key, None, seconds) is not None

    def add(self, key: str, amount: int) -> int:
        """Add to a number in the table, which is 0 at first, and give the sum.

        Args:
            key: its name.
            amount: what is added.
        """
        return self._ask("add", key, amount)

    def announce(self, rank: int) -> None:
        """Say which process this is: when it ends, there is an entry ``state/RANK``."""
        self._ask("hello", str(rank))

    def entries(self, beginning: str) -> dict[str, bytes]:
        """All entries whose keys begin so."""
        return dict(self._ask("all", beginning))

    def exchange(
        self, key: str, rank: int, ranks: Sequence[int], data: bytes | None, old: str, seconds: float
    ) -> list[bytes] | None:
        """The values that all ranks put under a key, of which this one is to be there, too.

        Args:
            key: the key, the same in all processes.
            rank, ranks: this process, and all.
            data: what this one has; None if that is there already.
            old: a key under which it has put something that all have read.
            seconds: how long to wait.

        Returns:
            what they have, in the order of ``ranks``; None if not all have come, in time, or ever.
        """
        return self._ask("exchange", key, [rank, [*ranks], data, old], seconds)

    def mark(self, key: str, number: int, value: int) -> bool:
        """Say what this process has for a number, and hear whether all who have come to one before it had the same.

        Args:
            key: what is numbered.
            number, value: what is kept for the others; the last thousands of them.
        """
        return self._ask("mark", key, [number, value])

    def delete_key(self, key: str) -> bool:
        """Take an entry out, and say whether there was one."""
        return self._ask("delete", key)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until there are entries under these keys."""
        for key in keys:
            self.get(key, timeout)

    def wait_until_deserted(self) -> None:
        """Wait until no process is connected that has said which one it is."""
        if self._server is not None:
            self._server.table.wait_until_deserted()

    def close(self) -> None:
        """Leave; the table is gone when the one who keeps it does."""
        self._socket.close()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def free_port(host: str) -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind((host, 0))
        return free.getsockname()[1]


def _send(connection: socket.socket, said: Any) -> None:
    """Send a list or a value: JSON, in which bytes are told by their numbers' text, behind its length."""
    data = json.dumps(said, default=_from_bytes).encode()
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _receive(connection: socket.socket) -> Any:
    """Receive what was sent. Nothing but texts, numbers, bytes and lists can be made by whoever reaches the port."""
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
    if length > LONGEST:
        raise EOFError(f"{length} bytes")
    try:
        return json.loads(_read(connection, length), object_hook=_to_bytes)
    except ValueError as error:
        raise EOFError(str(error)) from None


def _from_bytes(value: Any) -> dict[str, str]:
    return {"bytes": b64encode(value).decode()}


def _to_bytes(value: dict[str, Any]) -> bytes:
    return b64decode(value["bytes"], validate=True)


def _read(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(count - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
