"""The nodes that wait for a thread: of several backward calls, put there by several threads."""

from __future__ import annotations

import threading
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from tapegrad._src.engine.graph_task import InputBuffer
from tapegrad._src.tape.node import Node

Entry = tuple[int, int, int, Node, InputBuffer, Any]
"""The urgency of a node, the node, what has arrived for it, and the ``WorkersRun`` that it belongs to."""


class Inbox:
    """The nodes that are ready to be run by one thread, put there by any. See Note [Workers]."""

    def __init__(self) -> None:
        self.closed = False
        self._entries: list[Entry] = []
        self._lock = threading.RLock()  # reentrant: a finalizer may run backward anywhere
        self._no_news = threading.Lock()  # no condition: see Note [Interrupts]
        self._no_news.acquire()
        self._tick = count().__next__

    def put(self, run: Any, node: Node, inputs: InputBuffer) -> None:
        """Leave a node here."""
        with self._lock:
            heappush(self._entries, (-run.task.depth, -node.sequence_nr, self._tick(), node, inputs, run))
            self.wake()

    def take(self, until: Any) -> Entry | None:
        """Wait for the most urgent entry; None when the run ``until`` is finished (or, without one, this closed)."""
        while not (self.closed if until is None else until.finished):
            with self._lock:
                if self._entries:
                    return heappop(self._entries)
            self._no_news.acquire()
        return None

    def take_next(self, run: Any) -> Entry | None:
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

    def discard(self, run: Any) -> None:
        """Drop what waits here for a run that failed."""
        with self._lock:
            self._entries[:] = [entry for entry in self._entries if entry[-1] is not run]
            heapify(self._entries)
