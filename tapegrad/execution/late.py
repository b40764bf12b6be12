"""Checks that need elements: made at once where those are at hand, and late where a call is captured or replayed.

Note [Late errors]
While a step is captured there are no elements, and when it is replayed nobody waits for them. So there a check is a
part of the program: a kernel finds the first element that is wrong, and what all checks of a program have found is one
small vector, one more result of it. It is read when this thread reads elements of any tensor, waits for a device
(``synchronize``), or ends; and at the latest at the end of the call after the next, which by then need not be waited
for. The error is PyTorch's, with the line that asked for the check (Note [Where]).

It comes when the call has been made: what that wrote stays written, computed as a GPU would have it (reads out of range
give nan, such writes are dropped, a singular system has infinite solutions), and so does what calls since have written.
Who wants to go on after such an error must have kept a copy of the state. Where a program is split, the error comes
there, before Python reads anything.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad.execution.kernel import Kernel
from tapegrad.execution.pending import Traced, recording, settled
from tapegrad.tape.positions import Position, at, explain, here

CALLS = 2
"""So many calls may be made before what the first of them has found is read."""


class Finding(NamedTuple):
    """The first element that is wrong.

    Attributes:
        number: the element, if it is an integer.
        place: which it is, counted in row-major order.
        ndim: how many dimensions there are of what is judged by itself: 0 if it was all in one.
    """

    number: int
    place: int
    ndim: int


Complaint = Callable[[Finding], Exception]
"""What makes the error of what was found. It must not hold tensors: it lives as long as the program."""


def found_in(array: np.ndarray, bad: Callable, settings: tuple) -> Finding | None:
    """The first element of an array that is wrong; None if there is none.

    Args:
        array: the elements.
        bad: says of an array, of NumPy's or jax's, which are wrong, by what both have in common: operators and methods.
            It may give a pair: that, and the numbers to be named, if those are not the array's own.
        settings: its further arguments.

    >>> found_in(np.array([0, 3, 5]), lambda x, high: x >= high, (4,))
    Finding(number=5, place=2, ndim=1)
    """
    given = bad(array, *settings)
    which, numbers = given if isinstance(given, tuple) else (given, array)
    if not which.any():
        return None
    place = int(which.argmax())
    whole = numbers.shape == which.shape and numbers.dtype.kind in "iub"
    return Finding(int(numbers.reshape(-1)[place]) if whole else 0, place, which.ndim)


@lru_cache(maxsize=1024)
def _finder(bad: Callable, settings: tuple) -> Kernel:
    """The kernel of such a check. It gives [1 + the place, the number], or [0, a number] if nothing is wrong."""

    def find(x: Any) -> Any:
        x = x.astype(jnp.int64) if x.dtype.kind in "iu" and x.dtype != np.uint64 else x
        given = bad(x, *settings)
        which, numbers = given if isinstance(given, tuple) else (given, x)
        place = jnp.argmax(which)
        whole = numbers.shape == which.shape and numbers.dtype.kind in "iub"
        number = numbers.reshape(-1)[place].astype(jnp.int64) if whole else jnp.int64(0)
        return jnp.stack([jnp.where(which.any(), place.astype(jnp.int64) + 1, 0), number])

    return Kernel(find, name="check", wide=True)


def _dimensions(bad: Callable, settings: tuple, value: Any) -> int:
    """The ``ndim`` of what a check finds in a value like this."""
    given = bad(np.zeros(value.shape, value.dtype), *settings)
    return (given[0] if isinstance(given, tuple) else given).ndim


def check_later(value: Any, bad: Callable, settings: tuple, complaint: Complaint) -> None:
    """Make such a check a part of the call that is being captured."""
    try:
        finding = _finder(bad, settings).call_for((value,)).record(value)
    except Traced:
        return
    ndim = _dimensions(bad, settings, value)
    recording.program.checks.append((finding, Check(complaint, ndim, here())))  # type: ignore[attr-defined]


class Check(NamedTuple):
    """A check of a captured call.

    Attributes:
        complaint: makes its error.
        ndim: of its ``Finding``.
        asked: where it was asked for.
    """

    complaint: Complaint
    ndim: int
    asked: Position | None

    def error(self, place: int, number: int) -> Exception:
        """What is raised."""
        error = self.complaint(Finding(number, place, self.ndim))
        error.args = (explain(str(error), [at("in a compiled call,", self.asked)]), *error.args[1:])
        return error


@lru_cache(maxsize=64)
def _joining(count: int) -> Kernel:
    return Kernel(lambda *found: jnp.concatenate(found), name="checks", wide=True)


def joined(findings: Sequence[Any]) -> Any:
    """What several checks have found as one value."""
    return _joining(len(findings)).call_for(findings).record(*findings)


class _Expected(threading.local):
    """What checks of this thread's calls have found, or will: for each call values, and the checks.

    Attributes:
        calls: the calls, the first one first.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Sequence[Any], Sequence[Check]]] = []


expected = _Expected()


def expect(found: Sequence[Any], checks: Sequence[Check]) -> None:
    """Have what the checks of a call find looked at later."""
    expected.calls.append((found, checks))


def look(keep: int = 0) -> None:
    """Look at what was found in all calls but the last few.

    Raises:
        Exception: what PyTorch raises for the first thing that is wrong. What was found after it is kept.
    """
    calls = expected.calls
    while len(calls) > keep:
        found, checks = calls.pop(0)
        for (place, number), check in zip(_read(found), checks, strict=True):
            if place:
                raise check.error(place - 1, number)


def _read(found: Sequence[Any]) -> list[list[int]]:
    arrays = [np.asarray(settled(value)) for value in found]
    return (arrays[0] if len(arrays) == 1 else np.concatenate(arrays)).reshape(-1, 2).tolist()


atexit.register(look)
