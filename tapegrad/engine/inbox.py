"""The nodes that wait for a thread: of several backward calls, put there by several threads."""

from __future__ import annotations

import threading
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Protocol

from tapegrad.engine.graph_task import GraphTask
from tapegrad.engine.input_buffer import InputBuffer
from tapegrad.tape.node import Node


class Run(Protocol):
    """A backward call whose nodes belong to several threads: see ``WorkersRun``."""

    task: GraphTask
    context: Any

    @property
    def finished(self) -> bool:
        """Whether the caller may go on."""

    def work(self, inbox: Inbox, entry: Entry | None) -> None:
        """Run the node of an entry, and those of this run that are the next in the same inbox."""


Entry = tuple[int, int, int, Node, InputBuffer, Run]


class Inbox:
    """The nodes that are ready to be run by one thread, put there by any. See Note [Workers]."""

    def __init__(self) -> None:
        self.closed = False
        self._entries: list[Entry] = []
        self._lock = threading.RLock()  # reentrant: a finalizer may run backward anywhere
        self._no_news = threading.Lock()  # no condition: see Note [Interrupts]
        self._no_news.acquire()
        self._tick = count().__next__

    def put(self, run: Run, node: Node, inputs: InputBuffer) -> None:
        """Leave a node here."""
        with self._lock:
            heappush(self._entries, (-run.task.depth, -node.sequence_nr, self._tick(), node, inputs, run))
            self.wake()

    def take(self, until: Run | None) -> Entry | None:
        """Wait for the most urgent entry; None when the run ``until`` is finished (or, without one, this closed)."""
        while not (self.closed if until is None else until.finished):
            with self._lock:
                if self._entries:
                    return heappop(self._entries)
            self._no_news.acquire()
        return None

    def take_next(self, run: Run) -> Entry | None:
        """The most urgent entry if it belongs to ``run``; does not wait."""
        with self._lock:
            if self._entries and self._entries[0][-1] is run:
                return heappop(self._entries)
        return None

    def wake(self) -> None:
        """Let the thread that waits here, or the next to do so, look again."""
        with self._lock:
            if self._no_news.locked():
                self._no_news.release()

    def close(self) -> None:
        """End the worker when it has done what it is at."""
        self.closed = True
        self.wake()

    def discard(self, run: Run) -> None:
        """Drop what waits here for a run that failed."""
        with self._lock:
            self._entries[:] = [entry for entry in self._entries if entry[-1] is not run]
            heapify(self._entries)
