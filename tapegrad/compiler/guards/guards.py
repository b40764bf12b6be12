"""The state that a compiled function depends on besides its arguments: what it reaches in Python, and whether that
changed.

Note [Guards]
Python is not run when a compiled call is replayed, so what Python would have read must be what it was. All places from
which it could have read something (``reachable.py``) are listed once, and compared at each call: by identity; numbers
and strings by value; arrays of NumPy by their elements.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterator
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.guards.locations import (
    MISSING,
    Absent,
    AttributeSlot,
    Bases,
    Binding,
    Cell,
    Code,
    Rebound,
    TupleSlot,
    can_be_made_anew,
    can_be_rebound,
    identity_of,
)
from tapegrad.compiler.guards.objects import DEFAULTS, contents_of
from tapegrad.compiler.guards.reachable import Reachable
from tapegrad.compiler.guards.reached import Reached
from tapegrad.compiler.guards.trace_rules import PLAIN
from tapegrad.compiler.guards.what_ran import CodeThatRan, WhatRan
from tapegrad.compiler.guards.written_guard import WrittenGuard, alike


class Guards:
    """The objects that were reached, and their state then. See Note [Guards].

    Attributes:
        tensors: the tensors that were reached.
        unsure: why it can't be told whether something has changed, or None.
        names: the names that code mentions.
        appended: the lists to which the call has only appended.
        reaches: whether the call read attributes that nobody names.

    >>> rates = {"lr": 0.1}
    >>> guards = Guards([(rates, "rates")])
    >>> guards.changed()
    >>> rates["lr"] = 0.2
    >>> guards.changed()
    "rates['lr'] was 0.1 and is 0.2"
    """

    __slots__ = (
        "tensors", "unsure", "names", "appended", "_reachable", "_locations", "_lists", "_sets", "_keys", "_names",
        "_sizes", "_arrays", "_tuples", "_in_tuples", "_kept", "_pinned", "_same", "reaches",
    )  # fmt: skip

    def __init__(self, roots: list[tuple[Any, str]], met: CodeThatRan | None = None) -> None:
        self._reachable: Reachable | None = Reachable(roots, met)
        self._take(self._reachable.all())

    def _take(self, reached: Reached) -> None:
        self.tensors: list[Tensor] = reached.tensors
        self.unsure, self.names, self.appended = reached.unsure, reached.names, reached.appended
        self._kept, self._pinned, self.reaches = reached.kept, reached.pinned, reached.reaches
        locations = [
            tuple(location[:4]) for location in reached.locations if type(location.container) not in _SEQUENCES
        ]
        self._locations: list[tuple] = [location for location in locations if type(location[0]) is not TupleSlot]
        self._in_tuples = [
            location for location in locations if type(location[0]) is TupleSlot
        ]  # the tuples are compared
        self._tuples = reached.tuples
        self._lists: list[tuple] = []
        self._sets: list[tuple] = []
        self._keys: list[tuple] = []
        self._names: list[tuple] = []
        self._sizes: list[tuple] = []
        self._arrays = [(array, contents, name) for array, name, contents in reached.arrays]
        for container, name, items in reached.containers:
            self._add(container, name, items)
        self._same: Callable[[], bool] | None = None

    @property
    def ends(self) -> bool:
        """False if so much can be reached that the search was given up."""
        return self._reachable is None or self._reachable.most is None

    @property
    def telling(self) -> bool:
        """True if something could be called that tells a proxy from a number."""
        return self._reachable is None or self._reachable.telling or self._reachable.hides

    def narrowed(self, ran: WhatRan) -> Guards:
        """The part of it that has to do with what has run."""
        assert self._reachable is not None
        part = object.__new__(Guards)
        part._reachable = None
        part._take(self._reachable.narrowed(ran))
        return part

    @property
    def arrays(self) -> bool:
        """True if an array of NumPy's was reached."""
        return bool(self._arrays)

    def _add(self, container: Any, name: str, items: tuple) -> None:
        if isinstance(container, (set, frozenset)):
            self._sets.append((container, items, name))
        elif type(container) in _SEQUENCES:
            self._lists.append((container, tuple(map(id, items)), items, name))
        elif name.startswith("the attributes of"):
            self._names.append((container, items, items[-1] if items else None, name))
        elif isinstance(container, dict):
            self._keys.append((container, tuple(map(id, items)), items, name))
        else:
            self._sizes.append((container, len(items), name))

    def holds(self, things: list[Any]) -> bool:
        """Tell whether one of some objects was reached."""
        return any(id(thing) in self._kept for thing in things)

    def rebound(self) -> tuple[list[Rebound], set[int]]:
        """The places that hold another tensor than they did, and the identities of the tensors that other places have.

        Such are also places that can't just be given another tensor.
        """
        by_location: dict[tuple, Rebound] = {}
        stay = set(self._pinned)
        for container, key, old, name in self.all_locations():
            if issubclass(type(old), Tensor):
                binding = Binding(container, key, name)
                new = binding.find()
                alone = all(self._tuples[one.was] == 1 for one in _tuples_around(container))
                if new is not old and issubclass(type(new), Tensor) and can_be_made_anew(container) and alone:
                    by_location[binding.identity] = Rebound(binding, old, new)
                else:
                    stay.add(id(old))
        return list(by_location.values()), stay

    def set_values(self) -> list[tuple[Binding, Any]]:
        """The places that have another flag, or another text, than they had, and what they have now."""
        changed = []
        for container, key, old, name in self._locations:
            if type(old) in FLAGS and can_be_rebound(container):
                binding = Binding(container, key, name)
                now = binding.find()
                if type(now) in FLAGS and now is not old and not alike(now, old):
                    changed.append((binding, now))
        return changed

    def flags_changed(self) -> set[tuple] | None:
        """The identities of these places; None, if more has changed."""
        identities = {binding.identity for binding, _ in self.set_values()}
        return identities if self.changed(identities) is None else None

    def release(self, rebound: list[Rebound]) -> None:
        """No longer compare these places, nor hold what was there."""
        self._same = None
        freed = {binding.identity for binding, _, _ in rebound}
        lists = {id(binding.container) for binding, _, _ in rebound}
        tuples = {id(one): one for binding, _, _ in rebound for one in _tuples_around(binding.container)}
        freed |= {identity_of(one.container, one.key) for one in tuples.values()}
        for old in {id(old) for _, old, _ in rebound}:
            self._kept.pop(old, None)
        for one in tuples.values():
            self._kept.pop(one.was, None)
        locations = [*self._locations, *(location for location in self._in_tuples if id(location[0]) in tuples)]
        self._in_tuples = [location for location in self._in_tuples if id(location[0]) not in tuples]
        for container, _, items, name in self._lists:
            if id(container) in lists:
                locations += _items_of(container, items, name)
                self._sizes.append((container, len(items), f"the items of {name}"))
        self._lists = [listed for listed in self._lists if id(listed[0]) not in lists]
        self._locations = [location for location in locations if identity_of(*location[:2]) not in freed]
        self.tensors = [tensor for tensor in self.tensors if id(tensor) in self._kept]

    def all_locations(self) -> Iterator[tuple]:
        """All places that are compared: container, key, what was there, name."""
        yield from self._locations
        yield from self._in_tuples
        for container, _, items, name in self._lists:
            yield from _items_of(container, items, name)

    def unchanged(self) -> bool:
        """Tell whether nothing has changed; quicker than to find out what."""
        if self._same is None:
            self._same = self._written()
        try:
            if self._same():
                return not (self._sets or self._arrays) or self._changed_inside() is None
        except (KeyError, IndexError, ValueError, AttributeError):
            return self.changed() is None
        return self.changed() is None

    def _written(self) -> Callable[[], bool]:
        guard = WrittenGuard()
        for container, key, expected, _ in self._locations:
            _compare(guard, container, key, expected)
        for container, size, _ in self._sizes:
            guard.expect_size(container, size)
        for container, keys, last, _ in self._names:  # what is new is the last
            guard.expect_size(container, len(keys))
            guard.terms.append(f"next(reversed({guard.name(container)}), None) is {guard.name(last)}")
        for container, _, items, _ in (*self._lists, *self._keys):
            guard.expect_items(container, items)
        return guard.function()

    def changed(self, but: Collection[tuple] = ()) -> str | None:
        """The changes, in words; None if nothing has changed, ``but`` what is in the places of these identities."""
        try:
            for container, key, expected, name in self._locations:
                if container[key] is not expected and not alike(container[key], expected):
                    if but and identity_of(container, key) in but:
                        continue
                    return _words(name, expected, container[key])
        except (KeyError, IndexError, AttributeError):
            return f"{name} is gone"
        for container, size, name in self._sizes:
            if len(container) != size:
                return f"{name} were {size} and are {len(container)}"
        for container, names, _, name in self._names:
            if tuple(container) != names:
                return f"{name} are others than they were, or in another order"
        for container, identities, items, name in self._lists:
            if tuple(map(id, container)) != identities and not _all_alike(container, items):
                return f"{name} has other items than it had"
        for container, identities, _keys, name in self._keys:
            if tuple(map(id, container)) != identities:
                return f"{name} has other keys than it had, or in another order"
        return self._changed_inside()

    def _changed_inside(self) -> str | None:
        """The same of sets, and of NumPy's arrays."""
        for container, elements, name in self._sets:
            if not _all_alike(container, elements):
                return f"{name} has other elements than it had"
        for array, contents, name in self._arrays:
            if contents_of(array) != contents:
                return f"{name}, an array of NumPy, has been written to"
        return None


def _compare(guard: WrittenGuard, container: Any, key: Any, expected: Any) -> None:
    """A place must hold what it held."""
    container_type, name = type(container), guard.name
    if container_type is Absent and expected is MISSING:
        guard.terms.append(f"{name(key)} not in {name(container.inner)}")
    elif container_type is Cell:
        guard.expect(f"{name(container.cell)}.cell_contents", expected)
    elif container_type is Bases:
        guard.expect(f"{name(container.cls)}.__mro__", expected)
    elif container_type is Code:
        guard.expect(f"{name(container.function)}.__code__", expected)
    elif container_type is AttributeSlot and key in DEFAULTS:
        guard.expect(f"{name(container.owner)}.{key.__name__}", expected)
    else:
        guard.expect(f"{name(container)}[{name(key)}]", expected)


FLAGS = (bool, str, bytes, type(None))
"""The types of what a call may set to the same each time."""

_SEQUENCES = (list, collections.deque)


def _tuples_around(container: Any) -> Iterator[TupleSlot]:
    """The tuples that are made anew if something in a container is."""
    while type(container) is TupleSlot:
        yield container
        container = container.container


def _items_of(container: Any, items: tuple, name: str) -> Iterator[tuple]:
    """A sequence's items as places."""
    return ((container, index, item, f"{name}[{index}]") for index, item in enumerate(items))


def _all_alike(container: Any, items: tuple) -> bool:
    return len(container) == len(items) and all(
        one is other or alike(one, other) for one, other in zip(container, items, strict=True)
    )


def _words(name: str, was: Any, now: Any) -> str:
    if type(was) is type(now) and type(was) not in PLAIN:
        return f"{name} is another {type(was).__name__} than it was"
    was, now = (repr(value) if type(value) in PLAIN else f"a {type(value).__name__}" for value in (was, now))
    return f"{name} was {was} and is {now}"
