"""Checks that need elements: made at once where those are at hand, and late where a call is captured or replayed.

Note [Late errors]
While a step is captured there are no elements, and when it is replayed nobody waits for them. So there a check is a
part of the program: a kernel finds the first element that is wrong, and what all checks of a program have found is one
small vector, one more result of it. To read it in each call would keep Python waiting, so what one call has found goes
into the next one, which hands it on. It is read when this thread reads elements of any tensor, waits for a device
(``synchronize``), or ends; and at the latest after twice ``CALLS`` calls. The error is PyTorch's, for the first thing
that was wrong, with the line that asked for the check (Note [Where]).

It comes when the call has been made: what that wrote stays written, computed as a GPU would have it (reads out of range
give nan, such writes are dropped, a singular system has infinite solutions), and so does what calls since have written.
Who wants to go on after such an error must have kept a copy of the state. Where a program is split, the error comes
there, before Python reads anything.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.data.values import Traced, materialized
from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.tiers.costs import cost_of_rounds
from tapegrad._src.execution.tiers.host_trace import HostFunction, Results
from tapegrad._src.tape.positions import Position, at, explain, here

INDEX = np.dtype(np.int64)

CHECKING = 8
"""In about so many calls NumPy makes a check."""

CALLS = 32
"""After so many calls of a program it is read what had been found so many calls ago: XLA is not that far behind."""


class Finding(NamedTuple):
    """The first element that is wrong.

    Attributes:
        number: the element, if it is an integer.
        element: which it is, counted in row-major order.
        ndim: how many dimensions there are of what is judged by itself: 0 if it was all in one.
    """

    number: int
    element: int
    ndim: int


Complaint = Callable[[Finding], Exception]
"""A function that makes the error of what was found. It must not hold tensors: it lives as long as the program."""


def first_bad(array: np.ndarray, bad: Callable, settings: tuple) -> Finding | None:
    """The first element of an array that is wrong; None if there is none.

    Args:
        array: the elements.
        bad: says of an array, of NumPy's or jax's, which are wrong, by what both have in common: operators and methods.
            It may give a pair: that, and the numbers to be named, if those are not the array's own.
        settings: its further arguments.

    >>> first_bad(np.array([0, 3, 5]), lambda x, high: x >= high, (4,))
    Finding(number=5, element=2, ndim=1)
    """
    given = bad(array, *settings)
    if given is np.False_:
        return None
    which, numbers = given if isinstance(given, tuple) else (given, array)
    if not which.any():
        return None
    index = int(which.argmax())
    whole = numbers.shape == which.shape and numbers.dtype.kind in "iub"
    return Finding(int(numbers.reshape(-1)[index]) if whole else 0, index, which.ndim)


def _finder(bad: Callable, settings: tuple, shape: tuple[int, ...], dtype: np.dtype) -> Kernel:
    """The kernel of such a check, for a shape. It gives [1 + the place, the number], or zeros if nothing is wrong."""

    def find(x: Any) -> Any:
        x = x.astype(jnp.int64) if x.dtype.kind in "iu" and x.dtype != np.uint64 else x
        given = bad(x, *settings)
        which, numbers = given if isinstance(given, tuple) else (given, x)
        indices = jnp.arange(which.size)
        index = jnp.where(which.reshape(-1), indices, which.size).min(initial=which.size)  # one reduction, not three
        whole = numbers.shape == which.shape and numbers.dtype.kind in "iub" and which.size
        number = numbers.reshape(-1)[jnp.minimum(index, which.size - 1)].astype(jnp.int64) if whole else jnp.int64(0)
        return jnp.where(index < which.size, jnp.stack([index.astype(jnp.int64) + 1, number]), 0)

    def look_for(x: np.ndarray) -> np.ndarray:
        finding = first_bad(x, bad, settings)
        if finding is None:
            return np.zeros(2, np.int64)
        number = (finding.number + (1 << 63)) % (1 << 64) - (1 << 63)  # as of XLA's 64 bits
        return np.array([finding.element + 1, number], np.int64)

    return kernel_of(find, look_for, "check", [(shape, dtype)], (2,))


def kernel_of(
    function: Callable, on_host: Callable, name: str, types: Sequence[tuple], shape: tuple[int, ...]
) -> Kernel:
    """The kernel of a function that the host computes by another, so that no captured call waits for a trace."""
    cost = cost_of_rounds(CHECKING, types)
    results: Results = [(shape, INDEX)], True
    written = HostFunction(on_host, cost, tuple([dtype for _, dtype in types]), results)
    return Kernel(function, name=name, wide=True, arguments=types, known=lambda: written)


def _dimensions(bad: Callable, settings: tuple, value: Any) -> int:
    """The ``ndim`` of what a check finds in a value like this."""
    given = bad(np.zeros(value.shape, value.dtype), *settings)
    return (given[0] if isinstance(given, tuple) else given).ndim


def check_later(value: Any, bad: Callable, settings: tuple, complaint: Complaint) -> None:
    """Make such a check a part of the call that is being captured."""
    try:
        kernel = kernel_for(_finder, bad, settings, value.shape, value.dtype)
        finding = kernel.call_for((value,)).record(value)
    except Traced:
        return
    capture, ndim = capturing.by, _dimensions(bad, settings, value)
    assert capture is not None
    capture.checks.append((finding, Check(complaint, ndim, here())))


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

    def error(self, index: int, number: int) -> Exception:
        """The error that is raised."""
        error = self.complaint(Finding(number, index, self.ndim))
        error.args = (explain(str(error), [at("in a compiled call,", self.asked)]), *error.args[1:])
        return error


def _joining(count: int) -> Kernel:
    def join(before: Any, *findings: Any) -> Any:
        return jnp.where((before != 0).any(), before, jnp.concatenate(findings))

    def joined(before: np.ndarray, *findings: np.ndarray) -> np.ndarray:
        return before.copy() if before.any() else np.concatenate(findings)

    return kernel_of(join, joined, "checks", [((2 * count,), INDEX), *[((2,), INDEX)] * count], (2 * count,))


def nothing(count: int) -> np.ndarray:
    """The result of so many checks that have found nothing."""
    return np.zeros(2 * count, np.int64)


def joined(before: Any, findings: Sequence[Any]) -> Any:
    """The results of several checks as one value; if they have found something in an earlier call, that."""
    values = (before, *findings)
    return kernel_for(_joining, len(findings)).call_for(values).record(*values)


class Findings:
    """The findings of a program's checks, call by call: the first thing that is wrong, until somebody has been told.

    Attributes:
        value: what has been found so far, as one value, or as one for each check.
        checks: the checks.
        calls: in how many calls since it was looked at; ``old`` is what had been found after some of them.
    """

    __slots__ = ("value", "checks", "calls", "old")

    def __init__(self, value: Any, checks: Sequence[Check]) -> None:
        self.value, self.checks, self.calls = value, checks, 0
        self.old: Any = None

    def expect(self, value: Any) -> None:
        """Have it looked at later, what this is by the end of a call.

        Raises:
            Exception: what was found, if that has not been looked at for long.
        """
        self.value = value
        self.calls += 1
        waiting = expected.findings
        if self.calls == 1:
            waiting.append(self)
            if len(waiting) > CALLS:
                waiting.pop(0).look()
        elif self.calls % CALLS == 0:
            old, self.old = self.old, value
            if old is not None:
                self._judge(old)  # it is there: to wait for the present one would keep Python from going ahead

    def look(self) -> None:
        """Wait, and look.

        Raises:
            Exception: what PyTorch raises for what is wrong.
        """
        self.calls, self.old = 0, None
        self._judge(self.value)

    def _judge(self, finding: Any) -> None:
        several = finding if isinstance(finding, tuple) else (finding,)
        array = np.concatenate([np.asarray(materialized(one)) for one in several])
        if not array.any():
            return
        self.old, self.value = None, nothing(len(self.checks))
        number = int(np.flatnonzero(array[::2])[0])
        raise self.checks[number].error(int(array[2 * number]) - 1, int(array[2 * number + 1]))


class _Expected(threading.local):
    """The findings that this thread has to look at, in the order of the calls."""

    def __init__(self) -> None:
        self.findings: list[Findings] = []


expected = _Expected()


def look() -> None:
    """Look at what was found.

    Raises:
        Exception: what PyTorch raises for the first thing that is wrong. What was found after it is kept.
    """
    findings = expected.findings
    while findings:
        findings.pop(0).look()


atexit.register(look)
