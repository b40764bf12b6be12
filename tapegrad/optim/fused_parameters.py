"""Parameters of a group that are updated as one: see Note [Fused updates] in ``bindings/fused_update.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import is_, itemgetter
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.bindings.fused_update import (
    FlatBuffer,
    Number,
    can_be_row,
    can_join,
    have_own_memory,
    host_value_of,
    is_same_number,
    may_be_part,
    parts_made,
    row_tensor,
    spec_of,
)
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.array_functions.updates import IN_PLACE, PlacedUpdate, run_update
from tapegrad._src.functions.construction import tensor
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of, version_of

NUMBERS = frozenset(("step", "mu_product", "eta", "mu"))
"""Names of states that are one number."""

FEWEST = 2
"""Of fewer parameters each is updated alone."""


class Given(NamedTuple):
    """Parameters, their gradients, and their states."""

    params: list[Tensor]
    grads: list[Tensor]
    states: list[dict[str, Any]]

    def at(self, places: Sequence[int]) -> Given:
        """Those at some places."""
        params, grads, states = self
        return Given([params[i] for i in places], [grads[i] for i in places], [states[i] for i in places])


class Update(NamedTuple):
    """An update by one kernel.

    Attributes:
        rule, options, numbers: one of the rules in ``execution/array_functions/updates.py``, and what it takes.
        writes: as how many writes it counts, to the parameters and to each of the states.
    """

    rule: Callable
    options: tuple[bool, ...]
    numbers: tuple[float, ...]
    writes: tuple[int, ...]


class FusedParameters:
    """Parameters of one dtype that are updated as one.

    Args:
        given: the parameters.
        places: where they are in their group.

    Attributes:
        row: the parameters behind one another; ``rows``: so for each name the tensors of their states.
        numbers: for each name the numbers of their states.
        states: their states, as the optimizer keeps them.
    """

    __slots__ = ("row", "rows", "numbers", "states", "_places", "_all", "_taken")

    def __init__(self, given: Given, places: list[int], of: int) -> None:
        self._places, self.states, self._all = places, given.states, len(places) == of
        self.row = FlatBuffer(given.params)
        self._taken: set[Spec] = set()
        self._read_states()

    def _read_states(self) -> None:
        states = self.states
        tensors = {name: [state[name] for state in states] for name in states[0]}
        self.rows = {name: FlatBuffer(items) for name, items in tensors.items() if name not in NUMBERS}
        self.numbers = {name: Number(items) for name, items in tensors.items() if name in NUMBERS}

    def of(self, items: list[Any]) -> list[Any]:
        """Those of what belongs to each parameter of the group."""
        return items if self._all else [items[i] for i in self._places]

    def is_whole(self, grads: list[Tensor]) -> bool:
        """Tell whether parameters and states are as the last update left them, and the gradients can be added."""
        return self.takes(grads) and self.row.is_whole() and self._has_states()

    def takes(self, grads: list[Tensor]) -> bool:
        """Tell whether the gradients can be added."""
        return self._takes(set(map(spec_of, self.of(grads))))

    def _takes(self, specs: set[Spec]) -> bool:
        """Tell whether gradients of these specs can be added."""
        if not specs <= self._taken:
            dtype = self.row.tensors[0].dtype
            if any(spec.dtype is not dtype or not may_be_part(spec) for spec in specs):
                return False
            self._taken = specs
        return True

    def _has_states(self) -> bool:
        """Tell whether the states are as the last update left them."""
        kept: list[tuple[str, FlatBuffer | Number]] = [*self.rows.items(), *self.numbers.items()]
        if not kept:
            return not any(self.states)
        return set(map(len, self.states)) == {len(kept)} and all(
            all(map(is_, map(itemgetter(name), self.states), row.tensors)) and row.is_whole() for name, row in kept
        )

    def present_numbers(self) -> dict[str, float]:
        """The numbers of the states, by name."""
        return {name: number.item() for name, number in self.numbers.items()}

    def run(self, gradient: np.ndarray, update: Update, numbers: dict[str, float]) -> None:
        """Update by one kernel."""
        rows = [self.row, *self.rows.values()]
        arrays = [row.elements() for row in rows]
        results = run_update(update.rule, update.options, [arrays[0], gradient, *arrays[1:]], update.numbers)
        del arrays  # they are looked at no more
        results = results if type(results) is tuple else [results]
        for row, result, writes in zip(rows, results, update.writes, strict=True):
            row.give(result if type(result) is np.ndarray else to_host(result), writes)
        for name, number in self.numbers.items():
            number.give(numbers[name])

    def opened(self, grads: list[Tensor], update: Update, numbers: dict[str, float]) -> PlacedUpdate:
        """The update of one parameter in place, which the caller runs at once: it counts as having been made."""
        gradient = np.ascontiguousarray(host_value_of(self.of(grads)[0]))
        rows = [self.row, *self.rows.values()]
        written = [row.written(writes) for row, writes in zip(rows, update.writes, strict=True)]
        for name, number in self.numbers.items():
            number.give(numbers[name])
        return PlacedUpdate(update.rule, update.options, update.numbers, written, gradient)

    def update(self, gradient: np.ndarray, update: Callable[[Tensor, Tensor, dict[str, Any]], None]) -> None:
        """Update by a function of a tensor, its gradient and its state."""
        like = self.row.tensors[0]
        kept = {"": self.row, **self.rows}
        shown: dict[str, Any] = {name: row_tensor(row.elements(), like) for name, row in kept.items()}
        p = shown.pop("")
        for name, number in self.numbers.items():
            shown[name] = tensor(number.item(), dtype=number.tensors[0].dtype)
        update(p, row_tensor(gradient, like), shown)
        rows = {name: item for name, item in {"": p, **shown}.items() if name not in NUMBERS}
        results = {name: (to_host(value_of(item)), version_of(item)) for name, item in rows.items()}
        new = {name: parts_made(item, self.row.tensors) for name, item in shown.items() if name not in self}
        for name, number in self.numbers.items():
            number.give(shown[name].item())
        del p, shown, rows
        for name, row in kept.items():
            row.give(*results.pop(name))
        for name, parts in new.items():
            for state, part in zip(self.states, parts, strict=True):
                state[name] = part
        if new:
            self._read_states()

    def __contains__(self, name: str) -> bool:
        return name in self.rows or name in self.numbers


class Partition:
    """Which parameters of a group are updated as one, as long as they remain as they are.

    Args:
        given: the parameters that have gradients.
        fused: gives the update of some by one kernel, or None.

    Attributes:
        joined: those that are updated as one; ``large``: large ones, each updated in place.
    """

    def __init__(self, given: Given, fused: Callable[[FusedParameters], Update | None]) -> None:
        self._params, self._states = list(given.params), given.states
        self.joined, others = _parted(given)
        self.large, self._others = _large_of(given, others, fused)
        self._sizes = self._sizes_of(given)

    def is_of(self, given: Given) -> bool:
        """Tell whether these are the parameters, and nobody else has changed what the last update left."""
        params, states = given.params, given.states
        return (
            len(params) == len(self._params)
            and all(map(is_, params, self._params))
            and (all(map(is_, states, self._states)) or not (any(states) or any(self._states)))
            and all(joined.is_whole(given.grads) for joined in (*self.joined, *self.large))
            and self._sizes == self._sizes_of(given)
        )

    def _sizes_of(self, given: Given) -> list[int]:
        """The sizes of the states of those that are updated alone: some begin with their first update."""
        return [len(given.states[i]) for i in self._others]

    def others_of(self, given: Given) -> Given:
        """Those that are updated alone."""
        return given.at(self._others)


def _parted(given: Given) -> tuple[list[FusedParameters], list[int]]:
    """The parameters that can be updated as one, and the places of the others."""
    places: dict[Any, list[int]] = {}
    others: list[int] = []
    for i, (p, grad, state) in enumerate(zip(*given, strict=True)):
        if can_join(p) and can_join(grad) and grad.dtype is p.dtype and all(map(_can_join, state.values())):
            places.setdefault((p.dtype, *((name, item.dtype) for name, item in state.items())), []).append(i)
        else:
            others.append(i)
    joined = []
    for found in places.values():
        part = given.at(found)
        if len(found) >= FEWEST and _fit_one_buffer(part):
            joined.append(FusedParameters(part, found, len(given.params)))
        else:
            others += found
    return joined, others


def _can_join(item: Any) -> bool:
    return isinstance(item, Tensor) and can_join(item)


def _large_of(
    given: Given, places: list[int], fused: Callable[[FusedParameters], Update | None]
) -> tuple[list[FusedParameters], list[int]]:
    """The parameters among those at some places that can be updated in place, and the places of the others."""
    large, others = [], []
    owners = Counter(id(p._storage) for p in given.params if p._storage is not None)
    for i in places:
        p, grad, state = given.params[i], given.grads[i], given.states[i]
        tensors = [p, *(item for name, item in state.items() if name not in NUMBERS)]
        is_alone = owners[id(p._storage)] < 2 and have_own_memory(tensors)
        if is_alone and all(map(_can_be_row, (*tensors, grad))):
            joined = FusedParameters(given.at([i]), [i], len(given.params))
            update = fused(joined)
            if update is not None and update.rule in IN_PLACE and joined.takes(given.grads):
                large.append(joined)
                continue
        others.append(i)
    return large, others


def _can_be_row(item: Any) -> bool:
    return isinstance(item, Tensor) and can_be_row(item)


def _fit_one_buffer(given: Given) -> bool:
    """Tell whether their numbers are the same, and no two show the same memory."""
    first = given.states[0]
    tensors = [*given.params, *(state[name] for state in given.states for name in state)]
    return have_own_memory(tensors) and all(
        is_same_number(state[name], first[name]) for name in first if name in NUMBERS for state in given.states
    )
