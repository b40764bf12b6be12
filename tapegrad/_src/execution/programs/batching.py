"""Programs that compute thousands of tiny things, run as a few wide ones.

Note [Batching]
A perceptron of 0-dimensional tensors has thousands of instructions, each of which computes one number. XLA takes
minutes to compile them as they are; and cut into pieces, it costs more to pass a number from one to the other than to
compute it. But most of them do the same to other numbers. So a program of which all results are tiny is *batched*:

- Values of one shape and dtype are the rows of one array, a *table*.
- Instructions that call the same kernel and do not wait for one another, because they are at the same *depth*, are a
  *group*. It is computed at once, by ``jax.vmap`` of the kernel, from rows of tables, and its results are rows again,
  one after the other.
- What XLA compiles knows nothing of the program but its kernels: a loop that goes through the groups, and for each a
  branch, with a copy of the kernel for this many rows. Which group is next, where it reads and where it writes is data.
  So compiling takes no longer for a longer program, and other programs of the same kernels can share what it gives.
  What a branch gives is written outside of it, for XLA would copy a table that goes through a branch. So all branches
  give the same number of rows; what stands behind the results of a group is written over by the next.

On accelerators the host would have to be asked at each branch, so there it is not done. Without it, a step of the
perceptron in ``benchmarks/workloads.py`` takes the calling thread twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.caches import EXECUTABLE, remembered
from tapegrad._src.execution.data.devices import jitted
from tapegrad._src.execution.data.values import NUMBERS, Aval, aval, quiet_numbers
from tapegrad._src.execution.kernels.kernel import kernel_for, scoped
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.tape.mechanisms import BATCHING

TINY = 16
"""The most elements of a result in programs that are batched."""

LONG_ENOUGH = 256
"""The least number of instructions of a program that is batched."""

WIDE_ENOUGH = 8
"""The least number of instructions in a group, on average, for batching to pay."""

WIDEST = 128
"""The most instructions in a group."""

MOST_BRANCHES = 64
"""The most kernels, for so many rows each, of a program that is batched: each is compiled."""

CHUNK = 32
"""So many rows at a time become arrays of their own."""


def is_fine(code: Sequence[tuple]) -> bool:
    """Tell whether a program is such that batching it pays, wherever it is run."""
    if len(code) < LONG_ENOUGH or BATCHING.off:
        return False
    calls = {instruction[0] for instruction in code}
    if any(known.size > TINY for call in calls for known in call.avals if known is not None):
        return False
    groups = {(depth, instruction[0]) for depth, instruction in zip(depths(code), code, strict=True)}
    return len(code) >= WIDE_ENOUGH * len(groups)


def depths(code: Sequence[tuple]) -> list[int]:
    """For each instruction how many others have to be run before it, one after the other."""
    depths_of_calls: list[int] = []
    of_slot: list[int] = []
    for call, *slots in code:
        depth = max([of_slot[slot] for slot in slots if slot >= 0], default=-1) + 1
        depths_of_calls.append(depth)
        of_slot += [depth] * call.count
    return depths_of_calls


class Branch(NamedTuple):
    """A kernel for so many rows.

    Attributes:
        call: the kernel, and the types of its arguments.
        sources: for each argument the number of the table its rows are in; below 0, ``~n`` for the ``n``-th of the
            inputs that are not in tables.
        targets: the tables that the results go to.
        width: how many rows.
    """

    call: Call
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    width: int

    def results(self, tables: tuple, rows: Any, start: Any, others: tuple) -> list[list]:
        """The results of one group, whose arguments' rows stand from ``start`` on, for each table."""
        arguments = []
        for source in self.sources:
            if source < 0:
                arguments.append(others[~source])
                continue
            here = lax.dynamic_slice_in_dim(rows, start, self.width)
            arguments.append(tables[source].at[here].get(mode="promise_in_bounds"))
            start = start + self.width
        results: list[list] = [[] for _ in tables]
        for target, result in zip(self.targets, self._mapped(arguments), strict=True):
            results[target].append(result)
        return results

    def _mapped(self, arguments: list) -> Sequence[Any]:
        axes = [None if source < 0 else 0 for source in self.sources]
        if 0 in axes:
            return jax.vmap(self.call.inline, axes)(*arguments)
        return [jnp.broadcast_to(result, (self.width, *result.shape)) for result in self.call.inline(*arguments)]


@remembered("batching loops", nbytes=4 * EXECUTABLE)
def machine(branches: tuple[Branch, ...], sizes: tuple[int, ...], avals: tuple[Aval, ...], wide: bool) -> Callable:
    """The loop through groups of these kinds, with tables of these sizes. See Note [Batching].

    ``machine(arrays, numbers, others, count, kinds, places, rows, wanted)`` gives, for each table, the rows that are
    wanted. It is given, for each table, the arrays and the numbers that are its first rows; the inputs that are not in
    tables; and for each of ``count`` groups its branch and where its rows stand among ``rows``.
    """
    lengths = [_longest(branches, target) for target in range(len(avals))]

    def body(branch: Branch) -> Callable:
        def updates(tables: tuple, *given: Any) -> tuple:
            results = branch.results(tables, *given)
            return tuple(map(_filled, avals, lengths, results))

        return updates

    def run(
        arrays: list, numbers: list, others: tuple, count: Any, branch_of: Any, offsets: Any, rows: Any, wanted: list
    ):
        def step(group: Any, tables: tuple) -> tuple:
            start = offsets[group]
            starts = lax.dynamic_slice_in_dim(rows, start, len(tables))
            updates = lax.switch(branch_of[group], bodies, tables, rows, start + len(tables), others)
            return tuple(map(lax.dynamic_update_slice_in_dim, tables, updates, starts, [0] * len(tables)))

        firsts = [[jnp.stack(one)] if one else [] for one in arrays]
        parts = [[*one, *([other] if len(other) else [])] for one, other in zip(firsts, numbers, strict=True)]
        tables = lax.fori_loop(0, count, step, tuple(map(_filled, avals, sizes, parts)))
        return [table.at[which].get(mode="promise_in_bounds") for table, which in zip(tables, wanted, strict=True)]

    bodies = [body(branch) for branch in branches]
    return _compiled(run, wide)


def _longest(branches: Sequence[Branch], target: int) -> int:
    """The most rows of a table that the groups of one of the branches write."""
    return max((branch.width * branch.targets.count(target) for branch in branches), default=0)


def _filled(known: Aval, size: int, parts: list) -> Any:
    """So many rows, of which the first are known."""
    rest = jnp.zeros((size - sum(map(len, parts)), *known.shape), known.dtype)
    return jnp.concatenate([*parts, rest])


def unpacking(wide: bool) -> Callable:
    """The function that makes arrays of the rows of a table, ``CHUNK`` of them, from one on."""

    def unpacked(rows: Any, first: Any) -> list:
        part = lax.dynamic_slice_in_dim(rows, first, CHUNK)
        return [lax.index_in_dim(part, i, keepdims=False) for i in range(CHUNK)]

    return _compiled(unpacked, wide)


def _compiled(run: Callable, wide: bool) -> Callable:
    return scoped(jitted(run)) if wide else jitted(run)


class _Table:
    """A table of values, which are its rows.

    Attributes:
        known: their shape and dtype.
        arrays, numbers: the inputs that are its first rows: arrays, and Python numbers behind them.
        rows: the row of each slot.
        size: how many rows there are.
    """

    def __init__(self, known: Aval) -> None:
        self.known = known
        self.arrays: dict[int, None] = {}
        self.numbers: dict[int, None] = {}
        self.rows: dict[int, int] = {}
        self.size = 0

    def begin(self) -> None:
        """Give the inputs their rows; all are known now."""
        for position in (*self.arrays, *self.numbers):
            self.rows[~position] = self.size
            self.size += 1

    def extend(self, slots: Sequence[int], width: int) -> None:
        """Put results at the end, in ``width`` rows."""
        self.rows.update(zip(slots, range(self.size, self.size + len(slots)), strict=True))
        self.size += width


class _Schedule(NamedTuple):
    """The arguments of the loop of a schedule.

    Attributes:
        kinds, places: for each group its branch, and where its part of ``rows`` begins.
        rows: for each group where it writes to each table, and the rows that its arguments are in.
    """

    branch_of: list[int]
    offsets: list[int]
    rows: list[int]


class _TableLayout:
    """The places of a program's values: which are rows of which table, and which inputs are not.

    Attributes:
        tables: the tables, by what their rows are.
        others: the inputs that are in no table.
    """

    def __init__(self, code: Sequence[tuple], inputs: Sequence[Any]) -> None:
        self.tables: dict[Aval, _Table] = {}
        self.others: dict[int, None] = {}
        self._inputs = inputs
        self._results = [known for call, *_ in code for known in call.avals if known is not None]
        self._operands: dict[Call, tuple[Aval | None, ...]] = {}

    def operands(self, call: Call, slots: Sequence[int]) -> tuple[Aval | None, ...]:
        """For each argument of a call what the rows of its table are; None for what is in none."""
        avals = self._operands.get(call)
        if avals is None:
            known = [self._aval_of(slot) for slot in slots]
            avals = self._operands[call] = tuple(self._with_numbers(call, slots, known))
            for one in (*avals, *call.avals):
                if one is not None:
                    self.tables.setdefault(one, _Table(one))
        for slot, known_as in zip(slots, avals, strict=True):
            if slot < 0:
                self._lay_out_input(~slot, known_as)
        return avals

    def _lay_out_input(self, position: int, known: Aval | None) -> None:
        if known is None:
            self.others[position] = None
        elif type(self._inputs[position]) in NUMBERS:
            self.tables[known].numbers[position] = None
        else:
            self.tables[known].arrays[position] = None

    def _aval_of(self, slot: int) -> Aval | None:
        if slot >= 0:
            return self._results[slot]
        value = self._inputs[~slot]
        if type(value) in NUMBERS or not isinstance(value.dtype, np.dtype) or value.size > TINY:
            return None
        return aval(value.shape, value.dtype)

    def _with_numbers(self, call: Call, slots: Sequence[int], known: list[Aval | None]) -> list[Aval | None]:
        """The same, with Python numbers as rows, too, if ``call`` gives the same for them as arrays."""
        numbers = _numbers_as({one.dtype for one in known if one is not None}, call.kernel.wide)
        values = [None if slot >= 0 else self._inputs[~slot] for slot in slots]
        changed = [numbers.get(type(value), one) for value, one in zip(values, known, strict=True)]
        examples = [value if one is None else one for value, one in zip(values, changed, strict=True)]
        same = changed == known or call.kernel.results_for(examples)[0] != call.avals
        return known if same else changed


def _numbers_as(dtypes: set[np.dtype], wide: bool) -> dict[type, Aval]:
    """The dtypes of Python numbers, for jax, among arrays of these dtypes; without those for which that is not simple.

    Such are half floats: what is computed with them is computed in float32, and numbers are not rounded before.
    """
    floating = {dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize > 2}
    integer = np.dtype("int64" if wide else "int32")
    avals: dict[type, Aval] = {}
    if dtypes <= floating | {integer}:
        avals[int] = aval((), integer)
    if len(dtypes) == 1 and floating:
        avals[float] = aval((), *floating)
    return avals


def batched(code: Sequence[tuple], wanted: Sequence[int], inputs: Sequence[Any]) -> Batched | None:
    """A program, batched; None if it has too many different kernels.

    Args:
        code: the instructions.
        wanted: the slots of the results that are wanted.
        inputs: the inputs of one run; those of others are of the same types.
    """
    layout = _TableLayout(code, inputs)
    groups = _groups(code, layout)
    for table in layout.tables.values():
        table.begin()
    branches, schedule = _schedule(groups, layout)
    return Batched(layout, branches, schedule, wanted) if len(branches) <= MOST_BRANCHES else None


class Batched:
    """A program that is batched: where its values are, and what runs it."""

    def __init__(
        self, layout: _TableLayout, branches: list[Branch], schedule: _Schedule, wanted: Sequence[int]
    ) -> None:
        tables = list(layout.tables.values())
        self._schedule = [np.int32(len(schedule.branch_of)), *map(_int_array, schedule)]
        self._wanted = [[slot for slot in wanted if slot in table.rows] for table in tables]
        self._which = [_indices(table, slots) for table, slots in zip(tables, self._wanted, strict=True)]
        self._arrays = [list(table.arrays) for table in tables]
        self._numbers = [(list(table.numbers), table.known.dtype) for table in tables]
        self._others = list(layout.others)
        sizes = tuple(_rounded(table.size + _longest(branches, i)) for i, table in enumerate(tables))
        wide = any(branch.call.kernel.wide for branch in branches)
        self._machine = machine(tuple(branches), sizes, tuple(layout.tables), wide)
        self._unpack = kernel_for(unpacking, wide)

    def run(self, inputs: Sequence[Any]) -> dict[int, Any]:
        """The results that are wanted, by slot."""
        arrays = [[inputs[i] for i in positions] for positions in self._arrays]
        with quiet_numbers():
            numbers = [np.array([inputs[i] for i in positions], dtype) for positions, dtype in self._numbers]
        others = tuple(inputs[i] for i in self._others)
        wanted = self._machine(arrays, numbers, others, *self._schedule, self._which)
        results: dict[int, Any] = {}
        for slots, rows in zip(self._wanted, wanted, strict=True):
            for first in range(0, len(slots), CHUNK):
                results.update(zip(slots[first : first + CHUNK], self._unpack(rows, first), strict=False))
        return results


def _groups(code: Sequence[tuple], layout: _TableLayout) -> list[list[tuple]]:
    """The instructions, each behind the slot of its first result, in groups, in an order in which they can be run."""
    groups: dict[tuple, list[tuple]] = {}
    first = 0
    for depth, instruction in zip(depths(code), code, strict=True):
        call, *slots = instruction
        known = layout.operands(call, slots)
        others = tuple(slot for slot, one in zip(slots, known, strict=True) if one is None)
        groups.setdefault((depth, call, others), []).append((first, *instruction))
        first += call.count
    ordered = [members for _, members in sorted(groups.items(), key=lambda item: item[0][0])]
    return [members[first : first + WIDEST] for members in ordered for first in range(0, len(members), WIDEST)]


def _schedule(groups: list[list[tuple]], layout: _TableLayout) -> tuple[list[Branch], _Schedule]:
    """The branches that there are, and the order in which they run."""
    numbers = {known: number for number, known in enumerate(layout.tables)}
    others = {position: number for number, position in enumerate(layout.others)}
    branches: dict[Branch, int] = {}
    branch_of, offsets, rows = schedule = _Schedule([], [], [])
    for members in groups:
        _, call, *slots = members[0]
        width = _rounded(len(members))
        known = layout.operands(call, slots)
        sources = tuple(
            ~others[~slot] if one is None else numbers[one] for slot, one in zip(slots, known, strict=True)
        )
        targets = [one for one in call.avals if one is not None]
        branch = Branch(call, sources, tuple(numbers[one] for one in targets), width)
        branch_of.append(branches.setdefault(branch, len(branches)))
        offsets.append(len(rows))
        rows += [table.size for table in layout.tables.values()]
        padding = [0] * (width - len(members))
        for argument, one in enumerate(known, 2):
            if one is not None:
                of_slot = layout.tables[one].rows
                rows += [of_slot[member[argument]] for member in members]
                rows += padding
        for result, one in enumerate(targets):
            layout.tables[one].extend([member[0] + result for member in members], width)
    return list(branches), schedule


def _rounded(count: int, least: int = 8) -> int:
    """The next power of two: so that programs of about the same length share what is compiled."""
    return max(least, 1 << max(count - 1, 0).bit_length())


def _indices(table: _Table, slots: Sequence[int]) -> Any:
    """The rows of some slots; so many that they are whole chunks."""
    return _int_array([table.rows[slot] for slot in slots], CHUNK)


def _int_array(numbers: list[int], least: int = 8) -> Any:
    """An array of integers, with zeros behind them."""
    return jnp.asarray(np.array(numbers + [0] * (_rounded(len(numbers), least) - len(numbers)), np.int32))
