"""The other processes of a group: what they say to one another, and what becomes of those who wait for them.

See Note [Agreement] in ``execution/state/processes.py``. All of it goes through the ``TCPStore``, which knows at once
when a process ends: the others are told then, by name. Who waits for long says for what, so that processes which wait
for different things find out; who gives up says so, too.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, NoReturn

import jax

from tapegrad._src.execution.state.processes import Line, Ranks, processes
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.positions import here
from tapegrad.distributed.store import TCPStore
from tapegrad.errors import message

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "Peers"]

SLICE = 0.25
"""Seconds after which who waits looks what the others do."""

SETTLES = 1.0
"""Seconds after which who waits says for what, and after which one that has ended can't be about to answer."""

ALIKE = "let all ranks run the same operators on the same shapes, in the same order"


class DistError(RuntimeError):
    """An error between processes."""


class DistBackendError(DistError):
    """Another process has ended, or does something else."""


class DistNetworkError(DistError):
    """A process can't be reached."""


class DistStoreError(DistError):
    """The table of entries that processes share can't be used."""


class Peers:
    """The processes that have met.

    Args:
        store: what they share.
        rank, count: which of them this is, and how many there are.
        timeout: how long to wait for one.
    """

    def __init__(self, store: TCPStore, rank: int, count: int, timeout: timedelta) -> None:
        self.store, self.rank, self.count, self.timeout = store, rank, count, timeout
        self.rounds: dict[str, int] = {}
        self.failed: str | None = None
        self._caller = _Caller()
        store.announce(rank)

    def gathered(
        self, data: bytes, timeout: timedelta | None = None, ranks: Ranks | None = None, name: str = "all",
        what: str = "objects of all processes",
    ) -> list[bytes]:  # fmt: skip
        """The objects that the processes give, in the order of ranks.

        Args:
            data: what this one gives.
            timeout: how long to wait.
            ranks: the processes; all of them by default.
            name: what they are called together.
            what: for what it waits then, in words.

        Raises:
            TimeoutError: one has not come in time.
            DistBackendError: one has ended, or waits for something else.
        """
        self._refuse_failed()
        ranks = tuple(range(self.count)) if ranks is None else ranks
        name = f"{name} {_named(ranks)}"
        number = self.rounds[name] = self.rounds.get(name, 0) + 1
        watch = _Watch(self, timeout or self.timeout, ranks)
        given: bytes | None = data
        while True:
            # who has read a round has read all before the last one
            old = f"{name}/{number - 2}"
            found = self.store.exchange(f"{name}/{number}", self.rank, ranks, given, old, SLICE)
            if found is not None:
                watch.end()
                return found
            given = None
            watch.look(what, what)

    def of_first(self, data: bytes) -> bytes:
        """The object that the first process gives."""
        own = data if self.rank == 0 else b""
        return self.gathered(own, name="first", what="what the first process has, a seed")[0]

    def awaited(self, key: str, rank: int) -> bytes:
        """The value that another process has put under a key, which is taken away.

        Raises:
            TimeoutError: it has not come in time.
            DistBackendError: the process has ended.
        """
        self._refuse_failed()
        watch = _Watch(self, self.timeout, (self.rank, rank))
        while True:
            found = self.store.entries(key).get(key)
            if found is not None:
                self.store.delete_key(key)
                return found
            if not self.store.has(key, SLICE):
                watch.look(f"what rank {rank} sends", patience=SETTLES)

    def compare(self, what: str, lines: list[str], ranks: Ranks) -> None:
        """See Note [Agreement]. The lines themselves are sent only where they differ."""
        digest = hashlib.blake2b("\n".join([what, *lines]).encode(), digest_size=16).digest()
        before = processes.history(ranks)
        next_call = what if what != "a program" else lines[0]
        own = f"{before.calls} {before.sum} ".encode() + digest
        if len({*self.gathered(own, None, ranks, "compared", next_call)}) == 1:
            return
        self._tell_where([what, *lines], ranks, next_call)

    def mark(self, ranks: Ranks) -> None:
        """See Note [Agreement]: nobody is waited for, unless the processes have parted."""
        self._refuse_failed()
        history = processes.history(ranks)
        if not self.store.mark(_named(ranks), history.calls, history.sum):
            self._tell_where(["nothing new"], ranks, "what the others have called, for it was something else")

    def _tell_where(self, lines: list[str], ranks: Ranks, next_call: str) -> NoReturn:
        """Raise an error that says where processes have parted, or are about to."""
        all_of_it = json.dumps({"lines": lines, **told(ranks), "place": str(here())}).encode()
        texts = [json.loads(text) for text in self.gathered(all_of_it, None, ranks, "texts", next_call)]
        self.failed = _parted(texts, ranks) or _about_to_part(texts, ranks)
        raise DistBackendError(self.failed)

    def wait_for(self, call: Callable[[], Any], ranks: Ranks) -> Any:
        """Call what needs the other processes.

        Raises:
            TimeoutError: they have not come in time.
            DistBackendError: one has ended, or waits for something else.
        """
        self._refuse_failed()
        done = self._caller.start(call)
        watch: _Watch | None = None
        try:
            while not done.ended(SLICE):
                watch = watch or _Watch(self, self.timeout, ranks)
                watch.look(_last_line(ranks), patience=SETTLES)
        except KeyboardInterrupt:
            self.give_up(f"was interrupted while it waited for the others in {_last_line(ranks)}")
            raise
        if watch is not None:
            watch.end()
        return self._result(done)

    def _result(self, done: _Call) -> Any:
        if done.error is None:
            return done.result
        if "Gloo" in str(done.error):
            self.fail(f"the connection to another process has broken{self._why()}", done.error)
        raise done.error

    def _why(self) -> str:
        """Which process has ended, as far as that is known soon."""
        end = time.monotonic() + SETTLES
        while time.monotonic() < end:
            states = self.states()
            if states:
                return ": " + "; ".join(f"rank {rank} {said}" for rank, said in states.items())
            time.sleep(SLICE / 5)
        return ""

    def states(self) -> dict[int, str]:
        """The states of the others."""
        found = {int(key.rpartition("/")[2]): said.decode() for key, said in self.store.entries("state/").items()}
        return {rank: said for rank, said in sorted(found.items()) if rank != self.rank}

    def give_up(self, why: str) -> None:
        """Let the others know that this process does not go on with them."""
        self.failed = why
        with suppress(OSError):  # nobody may be there to hear it
            self.store.set(f"state/{self.rank}", why)

    def fail(self, text: str, cause: BaseException | None = None, kind: type[Exception] = DistBackendError) -> NoReturn:
        """Raise an error, and let the others know."""
        self.give_up(f"has given up: {text}")
        raise kind(message(text, hint="the processes can't go on together: end them, and start again")) from cause

    def _refuse_failed(self) -> None:
        if self.failed is not None:
            raise DistBackendError(f"this process can't go on with the others: {self.failed}")

    def leave(self) -> None:
        """Leave the others."""
        if self.failed is None:
            self.store.set(f"state/{self.rank}", "has left")
        self._settle(time.monotonic() + SETTLES * 5)
        if self.count > 1:
            jax.distributed.shutdown()

    def _settle(self, end: float) -> None:
        """Wait for a thread of ours that still waits for others inside XLA: it must not come back while Python ends.

        It comes back when another process ends. Where all that are left wait so, the first of them ends.
        """
        while time.monotonic() < end and not self._caller.is_free(SLICE):
            self.store.set(f"stuck/{self.rank}", "")
            found = (self.store.entries(of) for of in ("stuck/", "gone/"))
            stuck, gone = ({int(key.rpartition("/")[2]) for key in keys} for keys in found)
            left = {*range(self.count)} - gone
            if left <= stuck and self.rank == min(left) and len(left) > 1:
                break


def told(ranks: Ranks, pending: str | None = None) -> dict[str, Any]:
    """The calls that this process has made, and is about to make, as others may see them."""
    history = processes.history(ranks)
    lines = [*history.recent, *([] if pending is None else [Line(pending, 0, here())])]
    return {"calls": history.calls + (pending is not None), "sum": history.sum,
            "recent": [[line.text, str(line.position), line.program] for line in lines]}  # fmt: skip


def _named(ranks: Ranks) -> str:
    return ",".join(map(str, ranks))


def _last_line(ranks: Ranks) -> str:
    recent = processes.history(ranks).recent
    return recent[-1].text if recent else "an element"


def _about_to_part(texts: list[dict[str, Any]], ranks: Ranks) -> str:
    """The place where the calls that processes are about to make differ, in words."""
    columns = [text["lines"] for text in texts]
    number, other = _first_difference(columns, (0, 0))
    mine, theirs = (f"{_line(columns[i], number)} at {texts[i]['place']}" for i in (0, other))
    what = f"line {number} of {columns[0][0]}" if number else "once"
    return message(f"the processes are about to compute different programs: they part at {what}",
                   expected=f"rank {ranks[0]}: {mine}", got=f"rank {ranks[other]}: {theirs}", hint=ALIKE)  # fmt: skip


class _Watch:
    """A look at others while this process waits for them."""

    def __init__(self, peers: Peers, timeout: timedelta, ranks: Ranks) -> None:
        self.peers, self.ranks, self.seconds = peers, ranks, timeout.total_seconds()
        self.began = time.monotonic()
        self.place, self.said = f"waits {_named(ranks)}/", False

    def look(self, what: str, pending: str | None = None, patience: float = 0.0) -> None:
        """Raise if there is no use in waiting on.

        Args:
            what: for what it waits.
            pending: what it is about to call, if that is not among its calls yet.
            patience: seconds that one may take that has ended: its last messages may be on their way.
        """
        waited = time.monotonic() - self.began
        states = {rank: said for rank, said in self.peers.states().items() if rank in self.ranks}
        if states and waited > patience:
            said = "; ".join(f"rank {rank} {why}" for rank, why in states.items())
            self.peers.fail(f"this process waits for {what}, but {said}")
        if waited > SETTLES and not self.said:
            self.said = True
            self.peers.store.set(f"{self.place}{self.peers.rank}", json.dumps(told(self.ranks, pending)))
        if self.said:
            self._compare()
        if waited > self.seconds:
            self.peers.fail(f"wait timeout after {self.seconds:g} s for {what}: a process has ended, is stuck, or does "
                            "something else", kind=TimeoutError)  # fmt: skip

    def _compare(self) -> None:
        """Raise if another one waits, too, and has come there in another way."""
        waiting = self.peers.store.entries(self.place)
        texts = {int(key.rpartition("/")[2]): json.loads(said) for key, said in waiting.items()}
        parted = _parted([text for _, text in sorted(texts.items())], sorted(texts), so_far=True)
        if parted is not None:
            self.peers.fail(parted)

    def end(self) -> None:
        """There is no need to wait any more."""
        if self.said:
            self.peers.store.delete_key(f"{self.place}{self.peers.rank}")


def _parted(texts: list[dict[str, Any]], ranks: Sequence[int], so_far: bool = False) -> str | None:
    """The place where the calls of processes part, in words; None if they don't.

    Args:
        texts: what is ``told`` of each.
        ranks: whose they are.
        so_far: whether one may have called less than others so far.
    """
    if not so_far and len({(text["calls"], text["sum"]) for text in texts}) < 2:
        return None
    first = max(text["calls"] - len(text["recent"]) for text in texts)
    columns = [text["recent"][first - text["calls"] + len(text["recent"]) :] for text in texts]
    if so_far:
        columns = [column[: min(map(len, columns))] for column in columns]
    found = _first_difference([[(call, program) for call, _, program in column] for column in columns], None)
    if found is None:
        return None if so_far else "the processes have computed different programs, longer ago than is kept"
    number, other = found
    mine, theirs = (" at ".join(_line(columns[i], number, ["nothing more"])[:2]) for i in (0, other))
    return message(f"the processes have computed different programs: they part at call {first + number + 1}",
                   expected=f"rank {ranks[0]}: {mine}", got=f"rank {ranks[other]}: {theirs}", hint=ALIKE)  # fmt: skip


def _line(column: list, number: int, missing: Any = "nothing more") -> Any:
    return column[number] if number < len(column) else missing


def _first_difference(columns: list[list], default: Any) -> Any:
    """The first line at which columns differ, and which of them differs from the first."""
    for number in range(max(map(len, columns))):
        lines = [_line(column, number) for column in columns]
        other = next((i for i, line in enumerate(lines) if line != lines[0]), None)
        if other is not None:
            return number, other
    return default


class _Call:
    """Something that another thread calls."""

    __slots__ = ("call", "error", "modes", "result", "wide", "_lock")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.result: Any = None
        self.error: BaseException | None = None
        self.modes, self.wide = thread.modes, jax.config.jax_enable_x64  # type: ignore[attr-defined]
        self._lock = threading.Lock()
        self._lock.acquire()

    def run(self) -> None:
        try:
            thread.modes = self.modes
            with jax.enable_x64(self.wide):
                self.result = self.call()
        except BaseException as error:
            self.error = error
        finally:
            del self.call
            self._lock.release()

    def ended(self, seconds: float) -> bool:
        """Tell whether it has ended, within so many seconds."""
        found = self._lock.acquire(timeout=seconds)
        if found:
            self._lock.release()
        return found


class _Caller:
    """A thread that makes calls, one after the other, in which it may be stuck."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: _Call | None = None

    def start(self, call: Callable[[], Any]) -> _Call:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="calls on all processes")
            self._thread.start()
        made = self._last = _Call(call)
        self._calls.put(made)
        return made

    def is_free(self, seconds: float) -> bool:
        """Tell whether the last call has ended, within so many seconds."""
        return self._last is None or self._last.ended(seconds)

    def _run(self) -> None:
        while True:
            self._calls.get().run()
