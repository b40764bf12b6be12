"""Kernels that NumPy or XLA runs, and who decides.

Note [Tiers]
In a process whose only device is one CPU a kernel can be run in two ways: by XLA, or as the NumPy function that is
written from its jaxpr (Note [The NumPy backend] in ``numpy_backend/writer.py``). So a value there may be a NumPy array
as well as a jax array, and nobody above this room can tell. Which way is decided for each kernel and each combination
of shapes (``Tiered``), when it is called for the first time, by what it is likely to cost (Note [Costs] in
``costs.py``):

- *host*: a call on the host costs no more than one of XLA's, as with small arrays, and with what XLA is slow at.
- *cold*: XLA would be quicker, but has to compile first. The next calls are the host's. When they have lost, by what
  they are likely to cost, what compiling costs (``Cold.starts``), it is begun on a thread in the background
  (*compiling*); when the calls after that cost ``PATIENCE`` times as much, again by what is likely (``Cold.swaps``),
  the rest are XLA's.
- *xla*: one call on the host would take longer than compiling; or there is no way to write the kernel for the host.

Nothing of this is measured: who computes a call depends on the calls before it, and a program gives the same bits in
each run. So the figures of the cost model have to be right where they decide, and ``python -m benchmarks.tiers`` lays
them beside what is measured. If the compiler is not ready when a kernel is swapped, that call waits for it, or compiles
what has not been begun (``Due``): it never waits for what others have in the queue, and so never longer than it would
have taken to compile the kernel at first, and once for each kernel. What fails to be compiled is the host's from there.

``tiers("xla")`` has everything run by XLA, ``tiers("host")`` by NumPy what can be; ``"auto"`` decides as above. With
``use_deterministic_algorithms(True)`` nothing is ever cold: what is not the host's is XLA's from the first call on, so
that all calls of a kernel give the same bits, whatever was called before.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import numpy as np

from tapegrad._src.caches import EXECUTABLE, weigh
from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.execution.data.dtypes import canonical
from tapegrad._src.execution.data.values import DeferredValue
from tapegrad._src.execution.numpy_backend.operands import Unwritable
from tapegrad._src.execution.tiers.costs import NOTHING, Cost, is_worth_strips
from tapegrad._src.execution.tiers.entry import NUMPY, Nothing, entry_lines, is_concrete, quietly, quietly_with
from tapegrad._src.execution.tiers.host_trace import (
    HostFunction,
    Results,
    Trace,
    largest_of,
    separating,
    taking_numbers,
)
from tapegrad._src.execution.tiers.settings import (
    Due,
    Tier,
    awaiting_decisions,
    changing,
    compiler,
    counters,
    hosted,
    settings,
    unwritten,
)
from tapegrad._src.execution.tiers.stripped import Stripping
from tapegrad._src.execution.tiers.xla_copies import COPYING, Borrowed, borrowing, xla_readable
from tapegrad._src.tape.kept import defined
from tapegrad._src.warn import warn

PATIENCE = 1.0
"""The least time that calls of a kernel take on the host, as a multiple of what it takes to compile it meanwhile."""


class Tiered(Due):
    """A kernel for arguments of certain types, and the way in which it is run. See Note [Tiers].

    Args:
        kernel: its name, ``function`` (jitted), ``xla`` (the same, in 64-bit mode if that is needed), ``wide``, whether
            it ``is_new``, and ``forget``.
        examples: for each argument a pair (shape, NumPy dtype), or the type of a Python number.
        known: gives the ``HostFunction`` where it is known already, or None.
        checked: how many of the first arguments may, though seldom, be arrays of another type than their examples.

    Attributes:
        way: what an entry does on the present tier, one of the classes below.
        cost: what it is likely to cost, when that is known.
        body: the function that the host runs, in a context given by ``quietly``, when that is known.
    """

    __slots__ = ("kernel", "examples", "way", "cost", "body", "quietly", "_entry", "_traced", "_was_new", "_known",
                 "_left", "_checked", "_others", "_results", "_stripping", "__weakref__")  # fmt: skip

    def __init__(
        self, kernel: Any, examples: Sequence[Any], known: Callable | None = None, checked: int = 0
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel, self.examples, self._known = kernel, tuple(examples), known
        self._checked = [example for example in self.examples if example is not type(None)][:checked]
        self._others: dict[tuple, Callable] = {}
        self._results: Results | None = None
        self.quietly: Callable = quietly
        self.cost = NOTHING
        self._entry: Callable[[], Any] = lambda: None
        self.body: Callable | None = None
        self._traced: Any = None
        self._was_new = False
        self._left = False  # to XLA, for good
        self._stripping: Stripping | None = None
        self.way: Way = Undecided()

    @property
    def tier(self) -> Tier:
        """The present tier."""
        return self.way.tier

    def entry(self) -> Callable:
        """The function to call with arrays and numbers: made now, once. It holds this, and is not held by it."""
        names: dict[str, Any] = {"failed": self._failed}
        for i, (shape, dtype) in enumerate(self._checked):
            names |= {f"shape{i}": shape, f"dtype{i}": dtype}
        run = defined(entry_lines(self.examples, len(self._checked)), "run", names)
        self._entry = weakref.ref(run)
        self.reset()
        awaiting_decisions.add(self)
        return run

    def reset(self) -> None:
        """Decide anew, at the next call."""
        self._take(Undecided() if hosted() else ByXla())

    def _take(self, way: Way) -> None:
        """Change what the entry's names mean: in such an order that each step leaves something that works."""
        self.way, run = way, self._entry()
        if run is not None:
            for name, meaning in way.names(self).items():
                run.__globals__[name] = meaning
        if way.tier is Tier.XLA and hosted():
            weigh(self, EXECUTABLE)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def first(self, *values: Any) -> Any:
        """The first call with arrays decides."""
        if Borrowed in map(type, values):
            return self._of_borrowed(values)
        if not all(map(is_concrete, values)):
            return self.kernel.xla(*values)
        with changing:  # if it is decided, an interrupt has come before the entry knew
            self._take(self._decided() if self.tier is Tier.NEW else self.way)
        return self._entry()(*values)

    def mixed(self, *values: Any) -> Any:
        """A call with other things than NumPy's arrays: jax's are read where they lie, others are not for the host."""
        if Borrowed in map(type, values):
            return self._of_borrowed(values)
        if not all(map(is_concrete, values)):
            return self.by_xla(*values)
        if any((x.shape, x.dtype) != one for x, one in zip(values, self._checked, strict=False)):
            return by_shapes(self.kernel, self._others, *values)
        own = [_read(value) for value in values]
        same = all(map(operator.is_, own, values))  # numbers of other types, or nothing is the host's
        return self.by_xla(*values) if same else self._entry()(*own)

    def by_xla(self, *values: Any) -> Any:
        """A call of XLA's. See Note [Copies for XLA]."""
        if Borrowed in map(type, values):
            return self._of_borrowed(values)
        return self.kernel.xla(*[xla_readable(value) if type(value) is np.ndarray else value for value in values])

    def _of_borrowed(self, values: Sequence[Any]) -> Any:
        """A call with memory that others may write to afterwards."""
        borrowed = [value.view(np.ndarray) if type(value) is Borrowed else value for value in values]
        mine = [one for one, value in zip(borrowed, values, strict=True) if one is not value]
        copying = COPYING * sum([one.nbytes for one in mine])
        body = self.body
        if body is not None and self._is_better_off(copying) and all(map(is_concrete, borrowed)):
            arrays = [_read(one) for one in borrowed if one is not None]
            try:
                results = self.quietly(body, *arrays)
            except Exception as error:
                results = self._failed(error, *borrowed)
        else:
            with borrowing():
                results = self._entry()(*borrowed)

        def own(array: Any) -> Any:
            shares = type(array) is np.ndarray and any(np.may_share_memory(array, one) for one in mine)
            return array.copy() if shares else array

        return tuple(map(own, results)) if type(results) is tuple else own(results)

    def _is_better_off(self, copying: float) -> bool:
        """Tell whether NumPy is quicker than XLA, which is given a copy; that takes so many nanoseconds."""
        chosen = settings.tiers == "auto" and not settings.deterministic and self.tier in (Tier.COMPILING, Tier.XLA)
        return chosen and self.cost.host <= self.cost.xla + copying

    def postpone(self, calls: int) -> None:
        """Compile it so many calls later, if that has not begun: meanwhile what has them is compiled as a whole."""
        with changing:
            if isinstance(self.way, Cold):
                self.way.postpone(calls)

    def swapped(self, arrays: Sequence[Any]) -> Any:
        """A call of XLA's, as all that follow are; of the host's, if XLA can't compile it."""
        try:
            self.finish(self.kernel.name)
        finally:
            with changing:
                if self.tier is Tier.COMPILING and (self.compiled or self._error is not None):
                    self._take(ByXla() if self.compiled else ByHost())
        given = iter(arrays)
        return self._entry()(*[None if one is type(None) else next(given) for one in self.examples])

    def _compile(self) -> None:
        traced, self._traced = self._traced or self._trace(), None
        with jax.enable_x64(True) if self.kernel.wide else nullcontext():
            traced.lower().compile()
        counters["compiled"] += 1

    def _failed(self, error: Exception, *values: Any) -> Any:
        """Called while an error of a call on the host is handled: what is done instead.

        Raises:
            MemoryError: that error.
            Warning: that warning, where they are errors.
        """
        if isinstance(error, (MemoryError, Warning)):
            raise error
        if type(error) is RuntimeError and "cannot enter context" in str(error):
            with np.errstate(all="ignore"):
                return self.body(*[value for value in values if value is not None])  # type: ignore[misc]
        if isinstance(error, OverflowError):  # an integer that its dtype can't hold
            return self.by_xla(*values)
        with changing:
            first, self._left = not self._left, True
            self._take(ByXla())
        if first:
            counters["failures"] += 1
            warn(
                f"{self.kernel.name} could not be computed by NumPy and is left to XLA: {error!r}", RuntimeWarning
            )
        return self.by_xla(*values)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _decided(self) -> Way:
        """The way that a kernel begins with."""
        if self._left or (self.body is None and not self._is_written()):
            return ByXla()
        host, xla, compiling = self.cost
        if settings.tiers == "host" or host <= xla:
            if self._traced is not None and self._was_new:
                self.kernel.forget()
            self._traced = None
            return ByHost()
        return ByXla() if settings.deterministic or host > compiling or self.compiled else Cold(self.cost)

    def results(self) -> Results | None:
        """The results of the kernel; None if they are not known without tracing it again."""
        with changing:
            if self.tier is Tier.NEW and self._results is None:
                self._take(self._decided())
        return self._results

    def _is_written(self) -> bool:
        """Have the kernel written for the host, if that is not known; False if it can't be."""
        known, self._known = self._known, None
        try:
            written = (None if known is None else known()) or self._traced_and_written(known)
        except Exception as error:  # XLA raises it again, if it is the kernel's own
            unwritten[str(error) if isinstance(error, Unwritable) else f"{self.kernel.name}: {error!r}"] += 1
            self._left, self._traced = True, None
            return False
        self.cost, self._results = written.cost, written.results
        self.quietly = quietly_with(largest_of([*self.examples, *written.results[0]]))
        body = written.body
        if is_worth_strips(written.cost.host) and written.dtypes:
            body = self._stripping = Stripping(written, self._jaxpr, self._cut)
            if settings.deterministic:
                self._stripping.cut()
        self.body = separating(taking_numbers(body, written.dtypes, self.examples), self.examples)
        return True

    def _jaxpr(self) -> Any:
        """The jaxpr of the kernel, which was perhaps forgotten."""
        with changing:
            jaxpr = self._trace().jaxpr
            if self.tier is Tier.HOST:
                self._traced = None
                if self._was_new:
                    self.kernel.forget()
        return jaxpr

    def _cut(self, cost: Cost) -> None:
        """The host computes by strips from now on: perhaps it is the better tier after all."""
        with changing:
            self.cost = cost
            if self.tier in (Tier.COLD, Tier.COMPILING) and cost.host <= cost.xla and not self.compiled:
                self._take(ByHost())

    def _trace(self) -> Any:
        """The kernel, traced for these arguments."""
        with jax.core.eval_context(), jax.enable_x64(True) if self.kernel.wide else nullcontext():
            self._was_new = self.kernel.is_new
            self._traced = self.kernel.function.trace(*map(_stand_in, self.examples))
        return self._traced

    def _traced_and_written(self, entry: Any) -> HostFunction:
        traced = self._trace()
        written = Trace(traced.jaxpr, traced.out_info).written()
        if hasattr(entry, "keep"):  # Note [Kept functions] in ``tape/kept.py``
            entry.keep(written)
        return written


# -- one class for each tier -------------------------------------------------------------------------------------------


class Undecided:
    """Before the first call with arrays, which decides."""

    __slots__ = ()
    tier = Tier.NEW

    def names(self, tiered: Tiered) -> dict[str, Any]:
        """The meanings of the names in the entry. See Note [Entries] in ``entry.py``."""
        return {"other": tiered.first, "ndarray": Nothing}


class ByHost:
    """NumPy runs all calls."""

    __slots__ = ()
    tier = Tier.HOST

    def names(self, tiered: Tiered) -> dict[str, Any]:
        """As above."""
        return {"body": tiered.body, "other": tiered.mixed, "quietly": tiered.quietly, "ndarray": np.ndarray}


class ByXla:
    """XLA runs all calls."""

    __slots__ = ()
    tier = Tier.XLA

    def names(self, tiered: Tiered) -> dict[str, Any]:
        """As above."""
        return {"other": tiered.kernel.xla if only_device() is None else tiered.by_xla, "ndarray": Nothing}


class Cold:
    """NumPy runs the first calls of a kernel that XLA would be quicker with, and has to compile.

    Attributes:
        tier: whether that has begun.
        calls: how many calls there were.
        starts, swaps: after how many of them it is compiled, and is XLA's.
    """

    __slots__ = ("tier", "calls", "starts", "swaps")

    def __init__(self, cost: Cost) -> None:
        self.tier, self.calls = Tier.COLD, 0
        self.starts = math.ceil(cost.compile / (cost.host - cost.xla))
        self.swaps = self.starts + math.ceil(PATIENCE * cost.compile / cost.host)

    def names(self, tiered: Tiered) -> dict[str, Any]:
        """As above."""
        run = partial(self.run, tiered)
        return {"body": tiered.body, "other": tiered.mixed, "quietly": run, "ndarray": np.ndarray}

    def run(self, tiered: Tiered, body: Callable, *arrays: Any) -> Any:
        """The result of a call of the host's; the last one is XLA's."""
        self.calls += 1
        if self.calls >= self.starts:
            if self.calls > self.swaps:
                return tiered.swapped(arrays)
            if self.tier is Tier.COLD:
                self._compile_later(tiered)
        return tiered.quietly(body, *arrays)

    def _compile_later(self, tiered: Tiered) -> None:
        with changing:
            begins, self.tier = self.tier is Tier.COLD, Tier.COMPILING
        if begins and settings.background:
            compiler.add(tiered)

    def postpone(self, calls: int) -> None:
        """Compile it so many calls later, if that has not begun."""
        if self.tier is Tier.COLD:
            self.starts, self.swaps = self.starts + calls, self.swaps + calls


Way = Undecided | ByHost | Cold | ByXla


# -- kernels for any shapes --------------------------------------------------------------------------------------------

MOST_SHAPES = 256
"""For how many combinations of shapes it is remembered how a kernel is run."""


def by_shapes(kernel: Any, entries: dict[tuple, Callable], *values: Any) -> Any:
    """Run a kernel that is called with arrays of any shapes; how, is remembered in ``entries``."""
    if not all(map(is_concrete, values)) or only_device() is None:
        if DeferredValue in map(type, values):
            raise TypeError("a value is not known yet")  # XLA says so, too, and takes a millisecond for it
        return kernel.xla(*values)
    key = tuple([(x.shape, x.dtype) if hasattr(x, "dtype") else type(x) for x in values])
    run = entries.get(key)
    if run is None:
        if len(entries) >= MOST_SHAPES:
            entries.clear()
        run = entries[key] = Tiered(kernel, key).entry()
    return run(*values)


def _read(value: Any) -> Any:
    """The value as the host reads it: an array of NumPy's, or a number."""
    is_number = type(value) in NUMPY and type(value) is not np.ndarray
    return value if is_number else canonical(np.asarray(value))


def _stand_in(example: Any) -> Any:
    if isinstance(example, type):
        return None if example is type(None) else example(1)
    return jax.ShapeDtypeStruct(*example)
