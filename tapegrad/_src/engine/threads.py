"""Threads, as the engine knows them, and how one works on behalf of another.

Note [Reentrant]
A backward call inside a hook or a node is an ``execute`` on the stack of the one that runs the hook: it has a
``GraphTask`` of its own, runs to its end before the outer one goes on, and what it raises comes out of the hook. Python
bounds the stack of a thread, so the call that finds ``NESTED_PER_THREAD`` others below it on its thread is run by a
*stand-in*, a thread with a fresh stack, while the caller waits. Stand-ins are kept for the next time.

Note [Working on behalf]
Whoever runs nodes for another thread (a stand-in; a worker, see Note [Workers]) takes over its ``ThreadContext`` for
the time: what is switched on in that thread (``tape/modes.py``), its context variables, and the backward calls in
progress. So hooks see the modes of the caller wherever they run, and the nesting of backward calls is that of the
program.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

from tapegrad._src.engine.graph_task import GraphTask
from tapegrad._src.engine.inbox import Inbox
from tapegrad._src.tape.modes import adopt, thread, thread_state
from tapegrad._src.tape.node import Node

NESTED_PER_THREAD = 20
"""The depth of backward calls nested on one stack: a call takes 10 to 20 frames, of the 1000 that Python allows it."""

STAND_INS_KEPT = 8
"""The number of idle stand-ins that wait for the next time."""


class EngineThread(threading.local):
    """The state that one engine has of each thread.

    Attributes:
        tasks: the backward calls in progress for which this thread works, outermost first.
        base: how many of them are not on this thread's own stack.
        inbox: the ready nodes that other threads leave for this one; None until it first needs one.
    """

    base = 0
    inbox: Inbox | None = None

    def __init__(self) -> None:
        self.tasks: list[GraphTask] = []


class ThreadContext:
    """The state that a thread takes over from the one that it works for. See Note [Working on behalf]."""

    __slots__ = ("here", "state", "context", "tasks")

    def __init__(self, here: EngineThread) -> None:
        self.here, self.state, self.context, self.tasks = here, thread_state(), copy_context(), tuple(here.tasks)

    def run(self, inbox: Inbox | None, job: Callable[[], Any]) -> Any:
        """Call ``job`` as if the thread that this was taken from did, with ``inbox`` as the one to be served."""
        return self.context.copy().run(self._adopted, inbox, job)

    def _adopted(self, inbox: Inbox | None, job: Callable[[], Any]) -> Any:
        here = self.here
        own = here.tasks, here.base, here.inbox
        depth_of_stack = len(here.tasks) - here.base
        here.tasks, here.base, here.inbox = list(self.tasks), len(self.tasks) - depth_of_stack, inbox
        try:
            with adopt(self.state):
                return job()
        finally:
            here.tasks, here.base, here.inbox = own


class ReentrantThread:
    """A thread that takes one job at a time, each with a fresh stack."""

    idle: list[ReentrantThread] = []

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Outcome] = SimpleQueue()
        threading.Thread(target=self._work, name="tapegrad-stand-in", daemon=True).start()

    @staticmethod
    def begin(outcome: Outcome) -> None:
        """Have it done by a stand-in that is idle, or else by a new one."""
        try:
            stand_in = ReentrantThread.idle.pop()
        except IndexError:
            stand_in = ReentrantThread()
        stand_in.jobs.put(outcome)

    def _work(self) -> None:
        stays = True
        while stays:
            outcome = self.jobs.get()
            outcome.run()
            done = outcome.done
            del outcome  # what it holds belongs to the caller
            stays = len(ReentrantThread.idle) < STAND_INS_KEPT
            if stays:
                ReentrantThread.idle.append(self)
            done.release()


class Outcome:
    """A job that another thread does, and what came of it.

    Note [Interrupts]
    Python raises an interrupt after any call that the main thread makes, also between a call and the ``try`` below it,
    and within the methods of ``threading.Event`` and ``Condition``, which then fail to let go of their own lock. What
    must be undone is therefore done inside the ``try``, and threads wait for plain locks.
    """

    __slots__ = ("todo", "done", "result", "error")

    def __init__(self, job: Callable[[], Any]) -> None:
        self.todo = [job]
        """The job, until it is begun or given up: whoever pops it decides."""
        self.done = threading.Lock()
        """Held until the job has been done."""
        self.result: Any = None
        self.error: BaseException | None = None
        self.done.acquire()

    def run(self) -> None:
        """Do the job, on whatever thread this is."""
        try:
            job = self.todo.pop()
        except IndexError:  # given up
            return
        try:
            self.result = job()
        except BaseException as error:  # it is the caller's, also an interrupt
            self.error = error

    def wait(self, begin: Callable[[Outcome], None]) -> Any:
        """The result of the job, when ``begin(self)`` has had it done; raises what it raised.

        An interrupt that comes meanwhile is raised when the job is done, for that works on the caller's graph (or at
        once if the job has not been begun, which then it never is); a second one at once. See Note [Interrupts].
        """
        try:
            begin(self)
            self._join()
        except BaseException:
            if not self._give_up():
                self._join()
            raise
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        return self.result

    def _join(self) -> None:
        with self.done:
            pass

    def _give_up(self) -> bool:
        try:
            self.todo.pop()
        except IndexError:
            return False
        return True


def report(node: Node | None, error: BaseException) -> None:
    """Tell those who watch for it that a node, or one of its hooks, has raised."""
    for watcher in thread.failure_watchers:
        watcher(node, error)


def run_on_stand_in(here: EngineThread, job: Callable[[], Any]) -> Any:
    """Run ``job`` on another thread on behalf of this one, which waits. See Note [Reentrant]."""
    context, inbox = ThreadContext(here), here.inbox
    return Outcome(lambda: context.run(inbox, job)).wait(ReentrantThread.begin)


os.register_at_fork(after_in_child=ReentrantThread.idle.clear)  # threads do not survive a fork
