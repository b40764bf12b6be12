"""The time at which kernels run: at once, or later, in programs. See Note [Deferred programs] in ``program.py``.

Note [Garbage while recording]
A tape is made of small objects, which live until backward has run. Python's collector looks for cycles among new
objects each time that there are some hundred more; what survives makes it look at *all* objects before long, which
takes longer than the program. So while operators are recorded it looks after every ``MANY`` new objects only; so it is
while a compiled step is captured, which would take twice as long.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.recording.program import recording, run_recorded
from tapegrad._src.execution.recording.recording_policy import OTHER_LENGTHS, WASTED
from tapegrad._src.tape.modes import set_default_modes, thread
from tapegrad.errors import message

EXECUTIONS = ("immediate", "deferred")

MANY = 200_000
"""After how many new objects garbage is collected in deferred mode. See Note [Garbage while recording]."""


class _Patience:
    """Raises the collector's threshold as long as anybody is recording, and restores what was there before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = (0, 0, 0)

    def begin(self) -> None:
        """Somebody starts recording."""
        with self._lock:
            self._users += 1
            before = gc.get_threshold()
            if self._users == 1 and 0 < before[0] < MANY:
                self._before = before
                gc.set_threshold(MANY, *before[1:])

    def end(self) -> None:
        """Somebody ends it."""
        with self._lock:
            self._users -= 1
            if not self._users and self._before[0]:
                if gc.get_threshold()[0] == MANY:  # else it is the user's again
                    gc.set_threshold(*self._before)
                self._before = (0, 0, 0)


patience = _Patience()


def set_execution(how: str) -> None:
    """Say when operators are computed: ``"immediate"``, at each call, or ``"deferred"``, many at once, when needed.

    It holds for this thread and for threads that are started from here on.

    Args:
        how: one of the two.

    Raises:
        ValueError: neither of the two.

    >>> torch.set_execution("deferred")
    >>> x = torch.ones(3) * 2 + 1
    >>> torch.get_execution(), x
    ('deferred', tensor([3., 3., 3.]))
    >>> torch.set_execution("immediate")
    """
    if how not in EXECUTIONS:
        raise ValueError(message("no such execution", expected=" or ".join(map(repr, EXECUTIONS)), got=repr(how)))
    run_recorded()
    if thread.modes.deferred_enabled != (how == "deferred"):
        (patience.begin if how == "deferred" else patience.end)()
    thread.modes = thread.modes.replace(deferred=how == "deferred")
    set_default_modes(deferred=how == "deferred")


def get_execution() -> str:
    """The way in which this thread's operators are computed: ``"immediate"`` or ``"deferred"``."""
    return EXECUTIONS[thread.modes.deferred_enabled]


def is_recording() -> bool:
    """Tell whether calls that are made now are recorded, not computed."""
    return thread.modes.deferred and not recording.program.suspended


def computes_now() -> bool:
    """Tell whether a call of deferred mode is computed as it comes, and counted: Note [What is worth recording]."""
    program = recording.program
    if not program.suspended:
        return False
    program.suspended -= 1
    return True


def note_other_lengths() -> None:
    """A call is recorded that differs from one before in lengths alone: what comes now is less likely to come back."""
    program = recording.program
    if capturing.by is None and 0 < program.limit <= WASTED:
        program.limit -= OTHER_LENGTHS


@contextmanager
def deferred() -> Iterator[None]:
    """Operators of this block are recorded, and computed many at once: when a value is read, and at the latest here.

    >>> with torch.deferred():
    ...     x = torch.ones(3) * 2
    ...     y = x + 1
    >>> y
    tensor([3., 3., 3.])
    """
    before = thread.modes.deferred_enabled
    thread.modes = thread.modes.replace(deferred=True)
    patience.begin()
    try:
        yield
    finally:
        patience.end()
        thread.modes = thread.modes.replace(deferred=before)
        run_recorded()
