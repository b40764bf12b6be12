"""Threads that run the nodes of other devices.

Note [Workers]
``node.worker`` says which thread runs a node: None is the thread that called backward, any other key a *worker*, a
thread that lives as long as the process and serves all backward calls. A call none of whose nodes has a key
knows nothing of this: it is run by the loop in ``engine.py``. Otherwise it is a ``WorkersRun``:

- Each thread has an ``Inbox`` of nodes that are ready for it, the most urgent first: the deeper backward call, then the
  node made later. Whoever delivers a node's last gradient puts it into the inbox of its thread.
- The caller serves its own inbox until the call is finished. It takes what is there, also nodes of other
  calls: a worker that waits for the end of a nested call must go on serving, or two such workers could wait for
  one another for ever.
- ``dependencies``, ``not_ready`` and the counts of a call are changed under its lock. Nodes and hooks run without it.
- The first error stops the call: nodes that wait are dropped, and the caller raises it when none runs any more.
- Hooks see the modes of the caller (Note [Working on behalf]). Each thread has its own copy of the ``GraphTask``
  record, which differs in ``node`` only.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import partial
from typing import Any

from tapegrad._src.engine.graph_task import GraphTask, InputBuffer
from tapegrad._src.engine.inbox import Entry, Inbox
from tapegrad._src.engine.threads import EngineThread, ThreadContext, report
from tapegrad._src.tape.node import Edge, Node


class WorkersRun:
    """One backward call whose nodes belong to several threads. See Note [Workers].

    Attributes:
        task: its dependencies, waiting inputs and captures.
        step: runs one node with its hooks: ``step(task, node, inputs)`` returns a gradient for each edge.
        home: the inbox of the thread that made the call.
        pending: how many nodes wait in an inbox or run; ``running``: how many of them run.
        error: what was raised first.
    """

    def __init__(self, here: EngineThread, task: GraphTask, step: Callable[[GraphTask, Node, list], Sequence]) -> None:
        if here.inbox is None:
            here.inbox = Inbox()
        self.task, self.step, self.home, self.context = task, step, here.inbox, ThreadContext(here)
        self.pending = self.running = 0
        self.error: BaseException | None = None
        self._lock = threading.RLock()

    @property
    def finished(self) -> bool:
        """True if the caller may go on."""
        return not self.pending or (self.error is not None and not self.running)

    def run(self, root: Node) -> None:
        """Run everything, from the calling thread; raises what a node or a hook raised on any thread."""
        try:
            self._post(root, InputBuffer())
            serve(self.home, until=self)
        except BaseException:  # an interrupt while this thread was waiting: what nodes raise is kept in ``error``
            self.error = _stopped
            raise
        finally:
            self.home.discard(self)
        error = self.error
        if error is not None:
            self.error = _stopped
            try:
                raise error
            finally:
                del error  # its traceback holds this frame

    def work(self, inbox: Inbox, entry: Entry | None) -> None:
        """Run the node of an entry, and those of this run that are the next in the same inbox."""
        here = self.context.here
        task = here.tasks[-1] = copy(self.task)
        while entry is not None:
            if self._begin():
                self._run_node(task, entry[3], entry[4])
            entry = inbox.take_next(self)

    def _run_node(self, task: GraphTask, node: Node, inputs: InputBuffer) -> None:
        task.node = node
        try:
            grads = self.step(task, node, inputs)
            with self._lock:
                self._deliver(node.next_edges, grads)
        except BaseException as error:  # it is the caller's
            self._fail(node, error)
        finally:
            self._end()

    def _begin(self) -> bool:
        with self._lock:
            if self.error is not None:
                self.pending -= 1
                return False
            self.running += 1
            return True

    def _end(self) -> None:
        with self._lock:
            self.running -= 1
            self.pending -= 1
            finished = self.finished
        if finished:
            self.home.wake()

    def _fail(self, node: Node, error: BaseException) -> None:
        with self._lock:
            first = self.error is None
            if first:
                self.error = error
        if first:
            report(node, error)

    def _deliver(self, edges: Sequence[Edge | None], grads: Sequence) -> None:
        task = self.task
        dependencies, not_ready, exec_info = task.dependencies, task.not_ready, task.exec_info
        add, add_into = task.gradient_ops.add, task.add_into
        for edge, grad in zip(edges, grads, strict=True):
            if edge is None:
                continue
            node, input_nr = edge
            inputs = not_ready.get(node)
            if inputs is None:
                inputs = not_ready[node] = InputBuffer((None,) * node.input_slots)
            inputs.accumulate(input_nr, grad, add, add_into)
            dependencies[node] -= 1
            if not dependencies[node]:
                del not_ready[node]
                if self.error is None and (not exec_info or node in exec_info):
                    self._post(node, inputs)

    def _post(self, node: Node, inputs: InputBuffer) -> None:
        self.pending += 1
        inbox = self.home if node.worker is None else inbox_of(node.worker)
        inbox.put(self, node, inputs)


_stopped = RuntimeError("this backward call has failed")
"""Stands for the error of a call once that has been raised."""


def serve(inbox: Inbox, until: WorkersRun | None = None) -> None:
    """Run what comes into an inbox, until a run is finished (None: for ever)."""
    while (entry := inbox.take(until)) is not None:
        run = entry[-1]
        run.context.run(inbox, partial(run.work, inbox, entry))
        del run, entry  # a thread that waits must not keep a graph alive


class Worker:
    """A thread that serves an inbox for ever."""

    by_key: dict[Hashable, Worker] = {}

    def __init__(self, key: Any) -> None:
        self.inbox = Inbox()
        self.thread = threading.Thread(target=serve, args=(self.inbox,), name=f"tapegrad-worker-{key}", daemon=True)
        self.thread.start()


_starting = threading.RLock()


def inbox_of(key: Any) -> Inbox:
    """The inbox of a worker, which is started when it is first asked for."""
    worker = Worker.by_key.get(key)
    if worker is None:
        with _starting:
            worker = Worker.by_key.get(key)
            if worker is None:
                worker = Worker.by_key[key] = Worker(key)
    return worker.inbox


def stop_workers(limit: float = 10.0) -> None:
    """End the workers when the process ends, waiting ``limit`` seconds for what an interrupted call left running."""
    workers = list(Worker.by_key.values())
    Worker.by_key.clear()
    for worker in workers:
        worker.inbox.close()
    deadline = time.monotonic() + limit
    for worker in workers:
        worker.thread.join(max(0.0, deadline - time.monotonic()))


atexit.register(stop_workers)
os.register_at_fork(after_in_child=Worker.by_key.clear)  # threads do not survive a fork
