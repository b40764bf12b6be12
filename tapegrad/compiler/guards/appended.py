"""Lists that a call does nothing with but append to: what is appended is left behind as what is returned is.

Note [Appended items]
`losses.append(loss.item())`: the list is another one after each call, but nobody has looked. That a call has only
appended to a list is read from the instructions that were executed: each that names the place where the list is (a
global, a variable of a closure, an attribute, or an item of a dictionary that has such a name) takes nothing from it
but its ``append``. And it must be found in that place alone. Then what is in the list is not compared, nor which list
it is; a replayed call appends to the one that is there.
"""

from __future__ import annotations

import collections
import dis
from collections.abc import Callable, Collection, Iterable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from tapegrad._src.caches import tabulated
from tapegrad.compiler.guards.code import SILENT
from tapegrad.compiler.guards.locations import Binding, Cell, Location, can_be_rebound

LISTS = (list, collections.deque)
"""Classes of what is appended to."""

APPEND, ITEM, OTHERWISE = "append", "item", "otherwise"
"""The ways in which an instruction uses what it names: its ``append``; that of an item of it; anything else."""

_NAMING = frozenset({
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF", "LOAD_CLASSDEREF", "STORE_GLOBAL",
    "STORE_NAME", "STORE_ATTR", "STORE_DEREF", "LOAD_SUPER_ATTR", "LOAD_FROM_DICT_OR_DEREF",
    "LOAD_FROM_DICT_OR_GLOBALS",
})  # fmt: skip


class AppendedTo(NamedTuple):
    """A list to which something was appended.

    Attributes:
        binding: the place in which it is.
        things: the list.
        before: what it had.
    """

    binding: Binding
    things: Any
    before: tuple

    @property
    def items(self) -> list[Any] | None:
        """The items that were appended; None if the list has changed otherwise."""
        now, count = list(self.things), len(self.before)
        if len(now) < count or any(one is not other for one, other in zip(now, self.before, strict=False)):
            return None
        return now[count:]

    def replace(self, new: Callable[[Any], Any]) -> None:
        """Replace what was appended by what a function gives for it."""
        for number in range(len(self.before), len(self.things)):
            self.things[number] = new(self.things[number])


@tabulated(4096)
def _named(code: CodeType) -> tuple[tuple[int, str, str], ...]:
    """The instructions of code that name something: where, what, and what they take from it."""
    return tuple(_naming(code))


def _naming(code: CodeType) -> Iterator[tuple[int, str, str]]:
    there = [one for one in dis.get_instructions(code) if one.opname not in SILENT]
    for number, one in enumerate(there):
        if one.opname in _NAMING:
            yield one.offset, one.argval, _taken(there[number + 1 : number + 4])


def _taken(following: list[dis.Instruction]) -> str:
    if _appends(following[:1]):
        return APPEND
    constant, item = [one.opname for one in following[:2]] if len(following) > 2 else ("", "")
    return ITEM if constant == "LOAD_CONST" and item == "BINARY_SUBSCR" and _appends(following[2:]) else OTHERWISE


def _appends(one: list[dis.Instruction]) -> bool:
    return bool(one) and one[0].opname in ("LOAD_ATTR", "LOAD_METHOD") and one[0].argval == "append"


def uses_of_names(codes: Iterable[tuple[CodeType, Collection[int] | None]]) -> dict[str, set[str]]:
    """The uses of what some code names, by names; of code with offsets, by the instructions there only."""
    uses: dict[str, set[str]] = {}
    for code, offsets in codes:
        for offset, name, taken in _named(code):
            if offsets is None or offset in offsets:
                uses.setdefault(name, set()).add(taken)
    return uses


def appended_to(
    lists: Collection[tuple[Any, tuple]], locations: Collection[Location], uses: dict[str, set[str]]
) -> list[AppendedTo]:
    """The lists to which a call has done nothing but append.

    Args:
        lists: lists with what they had.
        locations: all places that matter.
        uses: what was taken from what was named.
    """
    where: dict[int, list[Location]] = {id(things): [] for things, _ in lists}
    for location in locations:
        if id(location.value) in where or (type(location.value) is dict and id(location.value) not in where):
            where.setdefault(id(location.value), []).append(location)
    appended: list[AppendedTo] = []
    for things, before in lists:
        mine = where[id(things)]
        if len(mine) == 1 and _is_named(mine[0], where, uses):
            appended.append(AppendedTo(Binding(*mine[0][:2], mine[0].name), things, before))
    return appended


def _is_named(location: Location, where: dict[int, list[Location]], uses: dict[str, set[str]]) -> bool:
    """Tell whether what is in a place is had by its name, or as an item of what is, and only appended to."""
    if not can_be_rebound(location.container):
        return False
    if location.need is not None:
        return uses.get(_name_of(location)) == {APPEND}
    above = where.get(id(location.container), []) if type(location.container) is dict else []
    return len(above) == 1 and above[0].need is not None and uses.get(_name_of(above[0])) == {ITEM}


def _name_of(location: Location) -> str:
    """The name by which code has what is in a place: that of a variable, or of an attribute."""
    return location.name if type(location.container) is Cell else str(location.key)
