"""Several processes of one program: which of them this is, and whether they do the same.

Note [Agreement]
Processes that hand XLA different programs get one another's numbers, and no error; or wait for one another for ever, or
are ended by the library that carries elements between them. So all calls of XLA whose arguments are split over several
processes go through ``Together``. Each is written down: a line with its name and shapes, a number over all lines so
far, and the place in the user's program. Before something is called that this process has not called yet, before
something is compiled and before a backward pass the processes compare both with one another (``agree``). Where a line
differs, all of them raise, and say which. That a known program was called in another order is found when they compare
again: ``every`` so many passes, which all count alike, or at each call if it is 1.

Calls that wait for other processes are made by a thread of their own (``wait_for``): who called sees meanwhile whether
a peer has ended, has failed or waits for something else, and for how long this has lasted.

What all processes have whole (a loss, parameters that are copies) any of them may compute with by itself.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax

from tapegrad.tape.positions import Position, here

_ADDRESS = re.compile(" at 0x[0-9a-f]+")
KEPT = 256
"""How many of the last calls are kept, to say where processes have parted."""


class Line(NamedTuple):
    """A call, and the place in the user's program where it was made."""

    text: str
    place: Position | None


class Processes:
    """The processes that compute together.

    Attributes:
        rank: which of them this is.
        count: how many there are; 0 if they have not met.
        compare: compares lines with those of the others; None where there are no others.
        wait_for: calls something for which others are needed, and raises if they don't come.
        every: how many backward passes there are for each that is compared.
        calls, sum: how many calls there were, and a number over all of them.
        recent: the last of them.
    """

    rank = count = passes = calls = sum = 0
    every = 100
    compare: Callable[[str, list[str]], None] | None = None
    wait_for: Callable[[Callable[[], Any]], Any] | None = None

    def __init__(self) -> None:
        self.recent: deque[Line] = deque(maxlen=KEPT)

    def begin(self, rank: int, count: int, compare: Any, wait_for: Any) -> None:
        """The processes have met, or have left one another."""
        self.rank, self.count, self.passes, self.calls, self.sum = rank, count, 0, 0, 0
        self.compare, self.wait_for = (compare, wait_for) if count > 1 else (None, None)
        self.recent.clear()

    def note(self, text: str) -> None:
        """Write down what is about to be called."""
        self.calls += 1
        self.sum = zlib.crc32(text.encode(), self.sum)
        self.recent.append(Line(text, here()))

    def agree(self, what: str, values: Iterable[Any], lines: Callable[[], list[str]]) -> None:
        """Compare what is about to be done, if that spans several processes.

        Args:
            what: what it is called, in messages.
            values: what it is done with.
            lines: gives what it is, a line for each operator.

        Raises:
            RuntimeError: another process is about to do something else.
        """
        if self.compare is not None and any(map(is_split, values)):
            self.compare(what, lines())

    def agree_on_pass(self, values: Iterable[Any], lines: Callable[[], list[str]]) -> None:
        """``agree``, for a backward pass: the first one, and one of so many."""
        if self.compare is None or not any(map(spans, values)):
            return
        self.passes += 1
        if (self.passes - 1) % self.every == 0:
            self.compare("a backward pass", lines())


def spans(value: Any) -> bool:
    """Whether an array is spread over devices of several processes.

    >>> spans(jax.numpy.ones(2)), spans(3)
    (False, False)
    """
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and not value.is_fully_addressable


def is_split(value: Any) -> bool:
    """Whether an array has elements that only other processes have."""
    return spans(value) and not value.is_fully_replicated


class Together:
    """A jitted function that several processes call together: see Note [Agreement].

    Args:
        function: as ``jax.jit`` made it.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._known: set[tuple] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, *values: Any) -> Any:
        if processes.wait_for is None or not any(map(is_split, values)):
            return self._function(*values)
        kind = tuple(map(_kind, values))
        text = f"{self._function.__name__}({', '.join(map(str, kind))})"
        if kind not in self._known or processes.every == 1:
            self._compare(text, values)
            self._known.add(kind)
        processes.note(text)
        return processes.wait_for(lambda: self._function(*values))

    def _compare(self, text: str, values: tuple) -> None:
        """Compare the program itself, as jax has traced it; the same trace is used by the call then."""
        assert processes.compare is not None
        traced = _ADDRESS.sub("", str(self._function.trace(*values).jaxpr))
        processes.compare("a program", [text, *traced.splitlines()])


def _kind(value: Any) -> Any:
    """What a program is compiled for: a shape, a dtype and a layout, or the type of a number."""
    if not isinstance(value, jax.Array):
        return type(value).__name__
    layout = getattr(value.sharding, "spec", "")
    return f"{value.dtype}{[*value.shape]}{'' if not layout else layout}"


processes = Processes()
"""Those that this process has met."""
