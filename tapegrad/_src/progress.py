"""Progress, where people wait: a bar of tqdm's, if that is installed and somebody looks.

Note [Who looks]
Somebody looks if the main thread waits, and standard error is a terminal, or the program runs in a notebook that can
show bars (which needs ipywidgets). What is over within a moment shows nothing. Everywhere else all of this is quiet;
``TQDM_DISABLE=1`` in the environment makes it so in any case.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

Item = TypeVar("Item")

MOMENT, REFRESH = 1.0, 0.25
"""Seconds that pass before anything is shown, and between two changes of it."""


def bars() -> Any:
    """The maker of bars, or None: see Note [Who looks]."""
    if threading.current_thread() is not threading.main_thread() or os.environ.get("TQDM_DISABLE", "0") != "0":
        return None
    kind = "tqdm.notebook" if in_notebook() else "tqdm.std" if on_terminal() else None
    if kind is None or find_spec("tqdm") is None:
        return None
    __import__(kind)
    bar, size = sys.modules[kind].tqdm, assumed_size()
    return partial(bar, **size) if size else bar


def assumed_size() -> dict[str, int]:
    """The size that tqdm is given for a terminal that gives its size as 0, where it would show nothing: 80 by 24."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # there is none, it is closed, or no terminal
        return {}
    return {} if columns and lines else {"ncols": (columns or 80) - 1, "nrows": (lines or 24) - 1}


def on_terminal() -> bool:
    """Tell whether standard error is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def in_notebook() -> bool:
    """Tell whether the program runs in a notebook that can show bars."""
    return "ipykernel.zmqshell" in sys.modules and find_spec("ipywidgets") is not None


def progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """The items, with a bar if somebody looks.

    Args:
        items: what is gone through.
        what: what it is that takes so long.
        total: how many there are, if ``items`` doesn't know.

    >>> list(progress(range(3), "counting"))
    [0, 1, 2]
    """
    bar = bars()
    return items if bar is None else bar(items, desc=what, total=total, delay=MOMENT, leave=False)


class waiting:
    """Context manager around something that doesn't tell how far it is: what it is, and for how long already.

    >>> with waiting("compiling"):
    ...     pass
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> waiting:
        bar = bars()
        if bar is not None:
            self._thread = threading.Thread(target=self._show, args=(bar,), daemon=True, name="tapegrad-progress")
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self, bar: Any) -> None:
        if self._over.wait(MOMENT):
            return
        with bar(desc=self.what, bar_format="{desc}: {elapsed}", leave=False) as shown:
            shown.start_t -= MOMENT
            while not self._over.wait(REFRESH):
                shown.refresh()
