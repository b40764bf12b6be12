"""Kernels that the host runs strip by strip. See Note [Strips] in ``numpy_backend/cutting.py``.

Note [When strips are made]
It takes some milliseconds to cut a kernel, and to write what computes a strip. So that is done for those alone of
which a call takes ``WORTH`` at least, and at their second call: the first one is of the whole function. Then its cost
is that by strips (both are in ``costs.py``), and if XLA was going to be the quicker one, it may be no longer. Where all
calls of a kernel are to be run in one way (``use_deterministic_algorithms``), strips are made before the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy import ascontiguousarray

from tapegrad._src.execution.numpy_backend.cutting import BEFORE, Cut, Cuts, Strip, StripArgument, cut, inlined
from tapegrad._src.execution.numpy_backend.putting import multiplies, putting
from tapegrad._src.execution.numpy_backend.writer import numbers_in, written_jaxpr
from tapegrad._src.execution.state.threads import blas_alone, helpers
from tapegrad._src.execution.tiers.costs import Cost, by_strips
from tapegrad._src.execution.tiers.entry import quiet_context
from tapegrad._src.execution.tiers.host_trace import HostFunction
from tapegrad._src.execution.tiers.settings import counters, unwritten

helpers.around = lambda serve: quiet_context().run(serve)


EACH, EACH_EQUATION = 100_000.0, 1_000.0
"""About how many nanoseconds a strip takes at least, and more for each equation, if it has smaller arrays than others.
"""


class StripCall(NamedTuple):
    """The computation of one strip: by what; the index in each argument that is cut, None for others, or an argument
    itself; and the index in each result."""

    function: Callable
    read: list[Any]
    put: list[Any]


class Stripped:
    """A function of the host, by strips: takes and gives what the whole one does.

    Args:
        function: what is known of the whole one.
        cuts: how it is cut; ``constants``: what the jaxpr takes besides arguments.
        converted: the numbers of the arguments that are given as what the jaxpr converts them to.

    Attributes:
        cost: what a call is likely to cost.
    """

    __slots__ = ("cost", "_whole", "_calls", "_sources", "_outputs", "_layout", "_constants", "_contiguous", "_around",
                 "_last", "_partial", "_single", "_helpless")  # fmt: skip

    def __init__(self, function: HostFunction, cuts: Cut, constants: Sequence[Any], converted: Collection[int]) -> None:
        self._whole, (results, self._single) = function.body, function.results
        first = next(iter(cuts.strips.values()))
        functions = {rows: _written(strip, converted) for rows, strip in cuts.strips.items()}
        self._around: Callable = blas_alone if any(map(multiplies, functions.values())) else nullcontext
        self._sources = [source.number for source in first.sources]
        self._constants = [np.asarray(one) for one in constants]
        self._contiguous = sorted({one.number for one in first.sources if one.number != BEFORE and any(one.cuts)})
        self._calls = strip_calls(cuts, first, functions)
        self._partial = first.partial
        given = [one for one in results if one is not None]
        partial = [(one.aval.shape, np.dtype(one.aval.dtype)) for one in _partial_results(first)]
        whole = [one for one, axes in zip(given, first.results, strict=True) if axes is not None]
        self._outputs = [*whole, *[((len(self._calls), *shape), dtype) for shape, dtype in partial]]
        self._last: Callable | None = None
        last = []
        if first.last is not None:
            jaxpr, taken = first.last
            numbers = [*range(-len(partial), 0), *taken]
            named = [one for one, number in zip(jaxpr.jaxpr.invars, numbers, strict=True) if number in converted]
            code = written_jaxpr(jaxpr, (True,) * len(jaxpr.jaxpr.outvars), None, named)
            self._last, last = code.body, [jaxpr]
            self._sources += taken
        self._layout = _layout(results, first.results)
        strips = [cuts.strips[rows].jaxpr for rows in cuts.rows] * (len(self._calls) // len(cuts.rows))
        self.cost = by_strips(function.cost, strips, last, whole, cuts.inner > 0)
        self._helpless = self.cost.host >= function.cost.host and not partial and self._around is nullcontext

    @property
    def multiplies(self) -> bool:
        """Tell whether strips call BLAS, whose sums are perhaps other ones for the whole."""
        return self._around is blas_alone

    def __call__(self, *arrays: Any) -> Any:
        """The results of the kernel."""
        given = [*arrays, *self._constants]
        if not all([given[index].flags.c_contiguous for index in self._contiguous]):
            return self._whole(*arrays)
        if self._helpless and not helpers.can_help():  # one thread gains nothing, and the bits are the same
            return self._whole(*arrays)
        calls, read = self._calls, [given[index] for index in self._sources]
        made = [np.empty(shape, dtype) for shape, dtype in self._outputs]

        def work(number: int) -> None:
            function, sources, indices = calls[number]
            given = zip(read, sources, strict=False)
            inputs = [x if at is None else ascontiguousarray(x[at]) if type(at) is tuple else at for x, at in given]
            function(*inputs, *[y[index] for y, index in zip(made, indices, strict=True)])

        with self._around():
            helpers.run(work, len(calls))
        return self._given(made, read)

    def _given(self, made: list[Any], read: list[Any]) -> Any:
        """The results, from what strips have made of them."""
        if self._last is not None:
            split = len(made) - len(self._partial)
            sums = [
                np.asarray(ufunc.reduce(one, 0, one.dtype) if ufunc is np.add else ufunc.reduce(one, 0))
                for ufunc, one in zip(self._partial, made[split:], strict=True)
            ]
            made = [*made[:split], *self._last(*sums, *read[len(self._calls[0].read) :])]
        results = [None if index is None else made[index] for index in self._layout]
        return results[0] if self._single else tuple(results)


def _written(strip: Strip, converted: Collection[int]) -> Callable:
    count = len(strip.jaxpr.jaxpr.outvars)
    given = zip(strip.jaxpr.jaxpr.invars, strip.sources, strict=True)
    named = [variable for variable, source in given if source.number in converted]
    return putting(written_jaxpr(strip.jaxpr, (True,) * count, None, named), count)


def _partial_results(strip: Strip) -> list[Any]:
    outvars = strip.jaxpr.jaxpr.outvars
    return list(outvars[len(outvars) - len(strip.partial) :])


def strip_calls(cuts: Cut, strip: Strip, functions: dict[int, Callable]) -> list[StripCall]:
    """The calls of all strips, in order."""
    starts = [sum(cuts.rows[:number]) for number in range(len(cuts.rows))]
    ranges = [slice(start, start + rows) for start, rows in zip(starts, cuts.rows, strict=True)]
    outer = [[slice(number, number + 1) for number in range(length)] for length in cuts.lengths[:-1]]
    calls = []
    for number, ranges_of_strip in enumerate(product(*outer, ranges)):
        function = functions[ranges_of_strip[-1].stop - ranges_of_strip[-1].start]
        read = [_source_index(source, ranges_of_strip) for source in strip.sources]
        put = [_index(where, ranges_of_strip) for where in strip.results if where is not None]
        calls.append(StripCall(function, read, [*put, *[(number, ...)] * len(strip.partial)]))
    return calls


def _source_index(source: StripArgument, ranges: Sequence[slice]) -> Any:
    """The index of a strip in what it reads, or the number of elements before it."""
    if source.number != BEFORE:
        return _index(source.cuts, ranges)
    cuts = zip(source.cuts, ranges, strict=True)
    return np.asarray(sum([range_.start * cut_at[1] for cut_at, range_ in cuts if cut_at is not None]), np.uint64)


def _index(where: Cuts, ranges: Sequence[slice]) -> tuple[slice, ...] | None:
    """The index of a strip in an array that is cut along dimensions; None if it is not."""
    slices: dict[int, slice] = {}
    for cut_at, range_ in zip(where, ranges, strict=True):
        if cut_at is not None:
            axis, each = cut_at
            before = slices[axis].start if axis in slices else 0
            slices[axis] = slice(before + range_.start * each, before + range_.stop * each)
    return tuple([slices.get(axis, slice(None)) for axis in range(max(slices) + 1)]) if slices else None


def _layout(results: Sequence[Any], cuts: Sequence[Any]) -> list[int | None]:
    """For each result, where it is among those that strips make, and behind them those that come last."""
    ahead = sum(axes is not None for axes in cuts)
    order = {True: iter(range(ahead)), False: iter(range(ahead, len(cuts)))}
    cut_results = iter(cuts)
    return [None if result is None else next(order[next(cut_results) is not None]) for result in results]


def stripped(function: HostFunction, closed: Any) -> Stripped | None:
    """A function of the host by strips; None if its jaxpr has none."""
    closed = inlined(closed)
    each = EACH + EACH_EQUATION * len(closed.jaxpr.eqns)
    cuts = cut(closed)
    if cuts is None or cuts.inner:
        cuts = cut(closed, max(int(function.cost.host / each), 1))
    if cuts is None:
        return None
    numbers, converted = numbers_in(closed.jaxpr), []
    for index, (variable, dtype) in enumerate(zip(closed.jaxpr.invars, function.dtypes, strict=True)):
        if variable in numbers and dtype == numbers[variable]:
            converted.append(index)
        elif dtype != variable.aval.dtype and not (variable.aval.weak_type and dtype.kind == variable.aval.dtype.kind):
            return None
    made = Stripped(function, cuts, closed.consts, converted)
    if made.multiplies and not cuts.inner and cuts.is_small:  # one thread gains nothing by these
        return None
    return made


class Stripping:
    """A function of the host that is cut at its second call.

    Args:
        function: what is known of it.
        trace: gives its jaxpr; ``changed`` is called when it has been cut, and costs something else.
    """

    __slots__ = ("function", "trace", "changed", "run")

    def __init__(self, function: HostFunction, trace: Callable[[], Any], changed: Callable[[Cost], None]) -> None:
        self.function, self.trace, self.changed = function, trace, changed
        self.run: Callable = self._first

    def __call__(self, *arrays: Any) -> Any:
        """The results of the kernel."""
        return self.run(*arrays)

    def _first(self, *arrays: Any) -> Any:
        self.run = self._second
        return self.function.body(*arrays)

    def _second(self, *arrays: Any) -> Any:
        self.cut()
        return self.run(*arrays)

    def cut(self) -> None:
        """Cut it, if that is possible; once."""
        if self.run not in (self._first, self._second):
            return
        try:
            made = stripped(self.function, self.trace())
        except Exception as error:  # the whole one is there
            unwritten[f"by strips: {error!r}"] += 1
            made = None
        self.run = self.function.body if made is None else made
        if made is not None:
            counters["stripped"] += 1
            self.changed(made.cost)
