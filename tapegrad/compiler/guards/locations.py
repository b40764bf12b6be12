"""Places in Python's objects: where something was found, as a container and a key with which it is found again."""

from __future__ import annotations

import abc
import types
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

from tapegrad.compiler.guards.trace_rules import PLAIN

MISSING: Any = object()
"""Stands for what is not there."""


class Need(NamedTuple):
    """The name that must have been executed for a place to matter.

    ``tag`` is ``"run"`` (``code``), ``"chain"`` or ``"module"`` (``what`` is named in ``code``), ``"name"`` (in any
    code), or ``"any"`` (something was asked for by a name that is not known).
    """

    tag: str
    code: Any
    what: Any


class Location(NamedTuple):
    """The place where an object was found: ``container[key]``, and what it is called; no container if it can't change.

    ``need`` is what must have been executed for it to matter: a ``Need``, or None; ``follow``: whether what is there
    matters, besides which object it is.
    """

    container: Any
    key: Any
    value: Any
    name: str
    need: Any = None
    follow: bool = True


class Cell:
    """A closure's cell as a container."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def __setitem__(self, key: Any, value: Any) -> None:
        self.cell.cell_contents = value


class AttributeSlot:
    """An attribute that is kept in a slot as a container, whose key is its descriptor."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __getitem__(self, descriptor: Any) -> Any:
        try:
            return descriptor.__get__(self.owner)
        except AttributeError:
            return MISSING

    def __setitem__(self, descriptor: Any, value: Any) -> None:
        descriptor.__set__(self.owner, value)


class Absent:
    """A dictionary in which a key is missing: ``MISSING`` as long as it is."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getitem__(self, key: Any) -> Any:
        return self.inner.get(key, MISSING)


class DictItems:
    """The items of a dictionary whose class has a ``__getitem__`` of its own, as a container: it isn't asked."""

    __slots__ = ("inner",)

    def __init__(self, inner: dict) -> None:
        self.inner = inner

    def __getitem__(self, key: Any) -> Any:
        return dict.__getitem__(self.inner, key)


class ContextValue:
    """A context variable as a container of its value in this thread; ``MISSING`` if it has none."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    def __getitem__(self, key: Any) -> Any:
        return self.variable.get(MISSING)


class TypeOfReferent:
    """The class of what a weak reference refers to, as a container; that of None, when it is gone."""

    __slots__ = ("reference",)

    def __init__(self, reference: Any) -> None:
        self.reference = reference

    def __getitem__(self, key: Any) -> Any:
        return type(self.reference())


class Code:
    """The code of a function as a container."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __getitem__(self, key: Any) -> Any:
        return self.function.__code__


class Bases:
    """The bases of a class, as a container."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __getitem__(self, key: Any) -> Any:
        return self.cls.__mro__


class Registered:
    """The classes that were registered with abstract ones, as a container."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return abc.get_cache_token()


class ClassOf:
    """The class of an object as a container."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __getitem__(self, key: Any) -> Any:
        return type(self.thing)


class TupleSlot:
    """A tuple in a place as a container: another item makes another tuple, of as many items.

    Args:
        container, key: the place.
        things: the tuple that is there, of which only the identity, ``was``, is kept.
    """

    __slots__ = ("container", "key", "was", "_size")

    def __init__(self, container: Any, key: Any, things: tuple) -> None:
        self.container, self.key, self.was, self._size = container, key, id(things), len(things)

    def _items(self) -> tuple:
        items = self.container[self.key]
        if type(items) is not tuple or len(items) != self._size:
            raise KeyError(self.key)
        return items

    def __getitem__(self, index: int) -> Any:
        return self._items()[index]

    def __setitem__(self, index: int, thing: Any) -> None:
        items = self._items()
        self.container[self.key] = (*items[:index], thing, *items[index + 1 :])


class Binding:
    """A place that a call rebinds.

    Attributes:
        container, key, name: as of a ``Location``.
        identity: what it has in common with other names of the same place.
    """

    __slots__ = ("container", "key", "name", "identity")

    def __init__(self, container: Any, key: Any, name: str) -> None:
        self.container, self.key, self.name = container, key, name
        self.identity = identity_of(container, key)

    def find(self) -> Any:
        """The object that is there; ``MISSING`` if nothing is."""
        try:
            return self.container[self.key]
        except (KeyError, IndexError):
            return MISSING

    def bind(self, thing: Any) -> None:
        """Put something there."""
        self.container[self.key] = thing

    def __str__(self) -> str:
        return self.name


class Rebound(NamedTuple):
    """A place that a call has rebound, and the tensors that it had before and has now."""

    binding: Binding
    old: Any
    new: Any


def can_be_rebound(container: Any) -> bool:
    """Tell whether putting something else in its place is all that rebinding a place in this container does."""
    return type(container) in (dict, OrderedDict, defaultdict, list, Cell, AttributeSlot)


def can_be_made_anew(container: Any) -> bool:
    """Tell whether the same can be said of a tuple in this container, of which another one takes the place."""
    while type(container) is TupleSlot:
        container = container.container
    return can_be_rebound(container)


def identity_of(container: Any, key: Any) -> tuple:
    """A key that equal places share."""
    if isinstance(container, Cell):
        container = container.cell
    elif isinstance(container, AttributeSlot):
        container = container.owner
    elif isinstance(container, DictItems):
        container = container.inner
    elif isinstance(container, ContextValue):
        container = container.variable
    elif isinstance(container, TupleSlot):
        return *identity_of(container.container, container.key), key
    return id(container), (key if type(key) in PLAIN else id(key))
