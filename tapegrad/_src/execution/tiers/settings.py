"""The settings of the whole process that say who runs kernels, what is counted of it, and the thread that compiles."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple

from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.tape.mechanisms import BACKGROUND_COMPILING, NUMPY_BACKEND
from tapegrad._src.tape.modes import help_only
from tapegrad._src.tape.showing import shown_in_html
from tapegrad._src.warn import warn
from tapegrad.errors import message

NAMES = ("auto", "host", "xla")


class Tier(Enum):
    """The ways in which a kernel is run. See Note [Tiers] in ``tiered_kernel.py``."""

    NEW = "new"
    HOST = "host"
    COLD = "cold"
    COMPILING = "compiling"
    XLA = "xla"


class Settings:
    """The settings of the whole process.

    Attributes:
        tiers: one of ``NAMES``.
        deterministic: whether all calls of a kernel are run the same way.
        background: whether XLA compiles on a thread of its own; the call that finds it due waits for it, if not.
    """

    tiers = "auto"
    deterministic = False
    background = True


settings = Settings()
awaiting_decisions: weakref.WeakSet[Any] = weakref.WeakSet()
"""Kernels that have to decide anew how they are run when another way is chosen."""
changing = threading.RLock()
"""Held while it is changed how a kernel is run."""


def hosted() -> bool:
    """Tell whether values may be NumPy arrays here."""
    return settings.tiers != "xla" and only_device() is not None


def in_background() -> bool:
    """Tell whether XLA compiles on another thread, while kernels are run one by one."""
    return hosted() and settings.background and not settings.deterministic


class Switched:
    """The result of ``tiers(name)``: as a context manager it restores what was chosen before."""

    def __init__(self, before: str) -> None:
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        tiers(self._before)


def tiers(name: str | None = None) -> Any:
    """Say how kernels are run on a CPU, from here on and in all threads; without a name: what was said.

    Args:
        name: ``"xla"``: all by XLA, as on other devices. ``"host"``: by NumPy whatever can be. ``"auto"``: small calls
            by NumPy, so many of the first large ones, too, that XLA has compiled them meanwhile, and then by that;
            how many is known before, so that each run of a program gives the same bits. Between NumPy and XLA the last
            digit of a result may differ.

    Returns:
        The name, if none was given; else something that restores what was said before, at the end of a ``with``.

    Raises:
        ValueError: no such name.

    >>> with torch.execution.tiers("xla"):
    ...     torch.execution.tiers()
    'xla'
    """
    if name is None:
        return settings.tiers
    if name not in NAMES:
        raise ValueError(message("no such tiers", expected=" or ".join(map(repr, NAMES)), got=repr(name)))
    before, settings.tiers = settings.tiers, name
    if before != name:
        _decide_anew()
    return Switched(before)


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Have XLA compile on the thread that calls, in a block."""
    before, settings.background = settings.background, False
    try:
        yield
    finally:
        settings.background = before


NUMPY_BACKEND.switch, BACKGROUND_COMPILING.switch = partial(tiers, "xla"), compiling_at_once


def be_deterministic(deterministic: bool) -> None:
    """Have all calls of a kernel run in one way, or no longer."""
    if settings.deterministic != deterministic:
        settings.deterministic = deterministic
        _decide_anew()


def _decide_anew() -> None:
    with changing:
        for tiered in list(awaiting_decisions):
            tiered.reset()


counters: Counter[str] = Counter()
unwritten: Counter[str] = Counter()
"""Why kernels could not be written for the host, and how many."""


class TierStats(NamedTuple):
    """The ways in which kernels are run. See Note [Tiers].

    Attributes:
        host, cold, compiling, xla: how many kernels are on which tier, counted once for each combination of shapes.
        compiled: how many kernels and programs were compiled after calls of NumPy's.
        failures: how many were given to another tier because theirs failed.
        stripped: how many kernels NumPy runs strip by strip.
        unwritten: why kernels are XLA's that could not be written for the host, and how many.
    """

    host: int
    cold: int
    compiling: int
    xla: int
    compiled: int
    failures: int
    stripped: int
    unwritten: dict[str, int]

    def _repr_html_(self) -> str:
        return shown_in_html(self)


def tier_stats() -> TierStats:
    """The ways in which kernels are run at present."""
    with changing:
        counts = Counter(tiered.tier for tiered in list(awaiting_decisions))
    return TierStats(
        counts[Tier.HOST], counts[Tier.COLD], counts[Tier.COMPILING], counts[Tier.XLA], counters["compiled"],
        counters["failures"], counters["stripped"], dict(unwritten),
    )  # fmt: skip


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
