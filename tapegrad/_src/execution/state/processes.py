"""Several processes of one program: which of them this is, and whether they do the same.

Note [Agreement]
Processes that hand XLA different programs get one another's numbers, and no error; or wait for one another for ever, or
are ended by the library that carries elements between them. So all calls of XLA whose arguments are split over several
processes go through ``Together``. Each is written down: a line with its name and shapes, a number over all lines so
far, and the place in the user's program. Before something is called that this process has not called yet, before
something is compiled and before a backward pass the processes compare both with one another (``agree``), with the
arrays that are written into the program, and the numbers without dimensions that it is given. Where a line differs, all
of them raise, and say which. That a known program was called in another order is found when they compare
again: ``every`` so many passes, which all count alike, or at each call if it is 1. Collectives leave a mark before each
call: who comes with another one than the first is told before elements are mixed, and the first while it waits.

Calls that wait for other processes are made by a thread of their own (``wait_for``): who called sees meanwhile whether
a peer has ended, has failed or waits for something else, and for how long this has lasted.

What all processes have whole (a loss, parameters that are copies) any of them may compute with by itself.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.sharding import Mesh, NamedSharding

from tapegrad._src.tape.positions import Position, here

_ADDRESS = re.compile(" at 0x[0-9a-f]+")
Ranks = tuple[int, ...]
KEPT = 256
"""The number of the last calls that are kept, to say where processes have parted."""


class Line(NamedTuple):
    """A call, a number of the program that is called, and the place in the user's program where that was done."""

    text: str
    program: int
    position: Position | None


class History:
    """The calls that processes have made together.

    Attributes:
        calls, sum, passes: how many calls there were, a number over all of them, and how many backward passes.
        recent: the last calls.
    """

    def __init__(self) -> None:
        self.calls = self.sum = self.passes = 0
        self.recent: deque[Line] = deque(maxlen=KEPT)

    def note(self, text: str, program: int = 0) -> None:
        """Write down what is about to be called, and a number that tells it from others of its name."""
        self.calls += 1
        self.sum = zlib.crc32(f"{text} {program}".encode(), self.sum)
        self.recent.append(Line(text, program, here()))


class Processes:
    """The processes that compute together.

    Attributes:
        rank: which of them this is.
        count: how many there are; 0 if they have not met.
        compare: compares lines with those of the processes whose ranks are given; None where there are no others.
        mark: raises if these have called something else so far, as far as that is known.
        wait_for: calls something for which these are needed, and raises if they don't come.
        of_first: gives what the first process gives it; None where there are no others.
        every: how many backward passes there are for each that is compared.
    """

    rank = count = 0
    of_first: Callable[[bytes], bytes] | None = None
    every = 100
    compare: Callable[[str, list[str], Ranks], None] | None = None
    mark: Callable[[Ranks], None] | None = None
    wait_for: Callable[[Callable[[], Any], Ranks], Any] | None = None

    def __init__(self) -> None:
        self._histories: dict[Ranks, History] = {}

    def begin(self, rank: int, count: int, peers: Any = None) -> None:
        """The processes have met, or have left one another."""
        self.rank, self.count = rank, count
        for name in ("compare", "mark", "wait_for", "of_first"):
            setattr(self, name, getattr(peers, name) if count > 1 else None)
        self._histories.clear()

    def history(self, ranks: Ranks) -> History:
        """The calls that this process has made together with others, which it names, too."""
        known = self._histories.get(ranks)
        return self._histories.setdefault(ranks, History()) if known is None else known

    def agree(self, what: str, values: Iterable[Any], lines: Callable[[], list[str]]) -> None:
        """Compare what is about to be done, if that spans several processes.

        Args:
            what: what it is called, in messages.
            values: what it is done with.
            lines: gives what it is, a line for each operator.

        Raises:
            RuntimeError: another process is about to do something else.
        """
        values = () if self.compare is None else tuple(values)
        first = next(filter(is_split, values), None)
        if first is not None:
            ranks = ranks_of(first)
            self.compare(what, [*lines(), *numbers_in(values, ranks)], ranks)  # type: ignore[misc]

    def agree_on_pass(self, values: Iterable[Any], lines: Callable[[], list[str]]) -> None:
        """``agree``, for a backward pass: the first one, and one of so many; the others leave a mark."""
        first = None if self.compare is None else next(filter(spans, values), None)
        if first is None:
            return
        ranks = ranks_of(first)
        history = self.history(ranks)
        history.passes += 1
        if (history.passes - 1) % self.every == 0:
            self.compare("a backward pass", lines(), ranks)  # type: ignore[misc]
        else:
            self.mark(ranks)  # type: ignore[misc]


def ranks_of(array: Any) -> Ranks:
    """The processes over whose devices an array is spread."""
    return _ranks(array.sharding.mesh if isinstance(array.sharding, NamedSharding) else array.sharding)


@cache
def _ranks(devices: Any) -> Ranks:
    of = devices.devices.flat if isinstance(devices, Mesh) else devices.device_set
    return tuple(sorted({device.process_index for device in of}))


def spans(value: Any) -> bool:
    """Tell whether an array is sharded over devices of several processes.

    >>> spans(jax.numpy.ones(2)), spans(3)
    (False, False)
    """
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and not value.is_fully_addressable


def is_split(value: Any) -> bool:
    """Tell whether an array has elements that only other processes have."""
    return spans(value) and not value.is_fully_replicated


class Together:
    """A jitted function that several processes call together: see Note [Agreement].

    Args:
        function: as ``jax.jit`` made it.
        marks: whether each call leaves a mark: what it gives is read without anybody noticing.
    """

    def __init__(self, function: Any, marks: bool = False) -> None:
        self._function, self._marks = function, marks
        self._known: dict[tuple, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, *values: Any) -> Any:
        first = None if processes.wait_for is None else next(filter(is_split, values), None)
        if first is None:
            return self._function(*values)
        ranks, described = ranks_of(first), tuple(map(_described, values))
        text = f"{self._function.__name__}({', '.join(map(_shown, values, described))})"
        program = self._known.get((ranks, described))
        if program is None or processes.every == 1:
            program = self._known[ranks, described] = self._compare(text, values, ranks)
        processes.history(ranks).note(text, program)
        if self._marks:
            processes.mark(ranks)  # type: ignore[misc]
        return processes.wait_for(lambda: self._function(*values), ranks)  # type: ignore[misc]

    def _compare(self, text: str, values: tuple, ranks: Ranks) -> int:
        """Compare the program itself, as jax has traced it for the call, too, and give a number of it."""
        traced = self._function.trace(*values).jaxpr
        lines = [text, *_ADDRESS.sub("", str(traced)).splitlines(), *constants_in(traced), *numbers_in(values, ranks)]
        processes.compare("a program", lines, ranks)  # type: ignore[misc]
        return zlib.crc32("\n".join(lines[1:]).encode())


def constants_in(traced: ClosedJaxpr) -> list[str]:
    """A line for each array that is written into a program, or into one that it calls: those of two processes differ.

    >>> constants_in(jax.jit(lambda x: x + np.arange(3, dtype="float32")).trace(1.0).jaxpr)
    ['an array written into the program: float32[3], whose checksum is 30c8bc70']
    """
    constants: list[str] = []
    pending: list[ClosedJaxpr | Jaxpr] = [traced]
    while pending:
        program = pending.pop()
        for array in map(np.asarray, filter(_can_be_read, getattr(program, "consts", ()))):
            number = zlib.crc32(array.tobytes())
            constants.append(f"an array written into the program: {array.dtype}{[*array.shape]}, whose checksum is "
                         f"{number:08x}")  # fmt: skip
        for equation in program.eqns:
            given = (one if isinstance(one, (list, tuple)) else (one,) for one in equation.params.values())
            pending += [one for one in chain.from_iterable(given) if isinstance(one, (ClosedJaxpr, Jaxpr))]
    return constants


def _can_be_read(array: Any) -> bool:
    return isinstance(array, np.ndarray) or (isinstance(array, jax.Array) and array.is_fully_addressable)


def numbers_in(values: Iterable[Any], ranks: Ranks) -> list[str]:
    """A line for each number without dimensions among arrays, which is to be the same in all processes."""
    arrays = ((i, one) for i, one in enumerate(values) if isinstance(one, (jax.Array, np.ndarray)))
    numbers: list[tuple[int, Any]] = [(i, one) for i, one in arrays if not one.shape]
    held = [(i, one.addressable_shards[0].data if spans(one) else one) for i, one in numbers]
    if not held:
        return []
    read = lambda: [f"in{i} is {np.asarray(one)!r}" for i, one in held]
    return processes.wait_for(read, ranks)  # type: ignore[misc]


def _described(value: Any) -> str:
    """The kind that a program is compiled for: a shape, a dtype and a layout, or the type of a number."""
    if not isinstance(value, jax.Array):
        return type(value).__name__
    layout = getattr(value.sharding, "spec", "")
    return f"{value.dtype}{[*value.shape]}{layout or ''}"


def _shown(value: Any, described: str) -> str:
    """An argument in a line: of an array its kind, of a number its value."""
    return described if isinstance(value, jax.Array) else repr(value)


processes = Processes()
"""Those that this process has met."""
