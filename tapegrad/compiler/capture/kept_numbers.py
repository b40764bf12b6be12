"""Proxies that a call has left somewhere, replaced by their numbers: Note [Dynamic numbers] in ``dynamic_number.py``.

Nobody may see a proxy when the call is over. Most are gone by then. Those that aren't are looked for by the garbage
collector, which knows who refers to what; what can't be changed, as tuples and sets can't be, is made anew, and who
refers to that is looked for in turn.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.compiler.capture.dynamic_number import DynamicNumber

DEPTH = 8
"""In so many tuples and the like inside of each other a number is found."""


def put_numbers(made: list[DynamicNumber], among: list) -> list[int]:
    """Put numbers in the place of proxies that are still referred to.

    Args:
        made: the proxies; the list is emptied.
        among: something of ours that may have some.

    Returns:
        the registers of those that were kept.
    """
    kept = [one for one in made if sys.getrefcount(one) > 3]  # the list's, ours, getrefcount's
    made.clear()
    if not kept:
        return []
    registers = [one._register for one in kept]
    replaced = {id(one): (one, one._value) for one in kept}
    kept.clear()
    for _ in range(DEPTH):
        replaced = _replace(replaced, among)
        if not replaced:
            break
    return registers


def _replace(replaced: dict[int, tuple[Any, Any]], among: list) -> dict[int, tuple[Any, Any]]:
    """Replace objects in whatever refers to them; those that can't be changed, with what is to take their place."""
    anew: dict[int, tuple[Any, Any]] = {}
    ours = {id(replaced), *(id(pair) for pair in replaced.values())}
    olds = [old for old, _ in replaced.values()]
    ours.add(id(olds))
    new = _Replacement(replaced)
    for holder in gc.get_referrers(*olds):
        if id(holder) in ours or isinstance(holder, types.FrameType):
            continue
        change = _CHANGES.get(type(holder))
        if change is None:
            _attributes(holder, new)
            change = next((_CHANGES[base] for base in _BASES if isinstance(holder, base)), None)
        made = None if change is None else change(holder, new)
        if made is not None:
            anew[id(holder)] = holder, made
    return anew


class _Replacement:
    """A replacement for an object."""

    def __init__(self, replaced: dict[int, tuple[Any, Any]]) -> None:
        self._replaced = replaced

    def has(self, thing: Any) -> bool:
        return id(thing) in self._replaced

    def of(self, thing: Any) -> Any:
        pair = self._replaced.get(id(thing))
        return thing if pair is None else pair[1]

    def all(self, things: Any) -> list:
        return [self.of(one) for one in things]


def _list(holder: Any, new: _Replacement) -> None:
    for i, one in enumerate(holder):
        if new.has(one):
            holder[i] = new.of(one)


def _dict(holder: dict, new: _Replacement) -> None:
    if any(map(new.has, holder)):
        items = [(new.of(key), new.of(value)) for key, value in holder.items()]
        dict.clear(holder)
        dict.update(holder, items)
    else:
        for key, value in list(holder.items()):
            if new.has(value):
                dict.__setitem__(holder, key, new.of(value))


def _ordered(holder: collections.OrderedDict, new: _Replacement) -> None:
    items = [(new.of(key), new.of(value)) for key, value in holder.items()]
    holder.clear()
    holder.update(items)


def _set(holder: set, new: _Replacement) -> None:
    for one in [one for one in holder if new.has(one)]:
        holder.discard(one)
        holder.add(new.of(one))


def _cell(holder: types.CellType, new: _Replacement) -> None:
    holder.cell_contents = new.of(holder.cell_contents)


def _function(holder: types.FunctionType, new: _Replacement) -> None:
    holder.__defaults__, holder.__kwdefaults__ = new.of(holder.__defaults__), new.of(holder.__kwdefaults__)


def _partial(holder: functools.partial, new: _Replacement) -> None:
    state: Any = holder.__reduce__()[2]
    function, args, keywords, inside = state
    named = {key: new.of(one) for key, one in keywords.items()}
    holder.__setstate__((new.of(function), tuple(new.all(args)), named, inside))  # type: ignore[attr-defined]


def _tuple(holder: tuple, new: _Replacement) -> tuple:
    return tuple.__new__(type(holder), new.all(holder))


def _frozenset(holder: frozenset, new: _Replacement) -> frozenset:
    return type(holder)(new.all(holder))


def _slice(holder: slice, new: _Replacement) -> slice:
    return slice(*new.all((holder.start, holder.stop, holder.step)))


def _method(holder: types.MethodType, new: _Replacement) -> Any:
    return getattr(new.of(holder.__self__), holder.__name__, holder)


def _error(holder: BaseException, new: _Replacement) -> None:
    holder.args = tuple(new.all(new.of(holder.args)))


def _attributes(holder: Any, new: _Replacement) -> None:
    """The contents of an object's attributes, in a dictionary or in slots."""
    inside = getattr(holder, "__dict__", None)
    if isinstance(inside, dict):
        _dict(inside, new)
    for base in type(holder).__mro__:
        for descriptor in vars(base).values():
            if isinstance(descriptor, types.MemberDescriptorType):
                try:
                    value = descriptor.__get__(holder)
                    if new.has(value):
                        descriptor.__set__(holder, new.of(value))
                except (AttributeError, TypeError):
                    continue


_CHANGES: dict[type, Callable[[Any, _Replacement], Any]] = {
    list: _list, collections.deque: _list, dict: _dict, collections.OrderedDict: _ordered, set: _set,
    types.CellType: _cell, types.FunctionType: _function, functools.partial: _partial, tuple: _tuple,
    frozenset: _frozenset, slice: _slice, types.MethodType: _method,
    BaseException: _error,
}  # fmt: skip
"""By classes of objects: what replaces something in one; what is to take its place, if it can't be changed."""

_BASES: Sequence[type] = (collections.OrderedDict, dict, list, tuple, set, frozenset, collections.deque, BaseException)
"""Classes from which others may be derived; these have attributes, too."""
