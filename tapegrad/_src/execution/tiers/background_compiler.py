"""The compiler in the background: a thread on which XLA compiles what calls of NumPy's will be replaced by."""

from __future__ import annotations

import atexit
import threading
from queue import SimpleQueue
from typing import Any

from tapegrad._src.execution.tiers.settings import changing, counters
from tapegrad._src.tape.modes import help_only
from tapegrad._src.warn import warn


class Due:
    """Something that is compiled once: in the background, or by the call that needs it, if that comes first.

    Attributes:
        compiled: whether that is done, and has not failed.
    """

    __slots__ = ("compiled", "_error", "_compiling")

    def __init__(self) -> None:
        self.compiled, self._compiling = False, threading.RLock()
        self._error: Exception | None = None

    def compile(self) -> None:
        """Compile it, unless that was tried before: an error is kept for ``finish``."""
        with self._compiling:
            if self.compiled or self._error is not None:
                return
            try:
                self._compile()
            except Exception as error:
                self._error = error
            else:
                self.compiled = True

    def finish(self, name: str) -> bool:
        """Return when it is compiled. If it can't be, warn of that, under this name, and say False."""
        self.compile()
        if self._error is not None:
            gave_up(name, self._error)
        return self.compiled

    def _compile(self) -> None:
        raise NotImplementedError


class Compiler:
    """A thread that compiles what is due, one thing after the other. It is started when there is something."""

    def __init__(self) -> None:
        self._due: SimpleQueue[Any] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def add(self, due: Any) -> None:
        """Have something compiled: its ``compile`` is called."""
        self._due.put(due)
        with changing:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="tapegrad-compiler", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        help_only()
        while not self._ended:
            due = self._due.get()
            if due is not None and not self._ended:
                try:
                    due.compile()
                except Exception as error:  # warnings may be errors: told as those of threads are, and gone on
                    how = type(error), error, error.__traceback__, self._thread
                    threading.excepthook(threading.ExceptHookArgs(how))
            if isinstance(due, threading.Event):
                due.set()
            del due

    def wait(self) -> None:
        """Return when all that is due has been compiled.

        >>> compiler.wait()
        """
        if self._thread is not None and self._thread.is_alive():
            done = _Mark()
            self._due.put(done)
            done.wait()

    def end(self) -> None:
        """Let the thread finish what it does, and nothing else: at the end of the process."""
        self._ended = True
        if self._thread is not None:
            self._due.put(None)
            self._thread.join()


class _Mark(threading.Event):
    def compile(self) -> None:
        """There is nothing to be done but to say so."""


def gave_up(name: str, error: Exception) -> None:
    """Warn that something that NumPy has computed so far can't be compiled."""
    counters["failures"] += 1
    text = f"{name} could not be compiled and is left to NumPy: {error!r}"
    warn(text, RuntimeWarning)


compiler = Compiler()
atexit.register(compiler.end)
