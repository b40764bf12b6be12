"""Places in Python's objects: where something was found, as a container and a key with which it is found again."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

MISSING: Any = object()
"""Stands for what is not there."""


class Place(NamedTuple):
    """Where an object was found: ``container[key]``, and what it is called; no container if it can't change."""

    container: Any
    key: Any
    value: Any
    name: str


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


class Attribute:
    """An attribute that is kept in a slot as a container, whose key is its descriptor."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __getitem__(self, descriptor: Any) -> Any:
        try:
            return descriptor.__get__(self.owner)
        except AttributeError:
            return MISSING


class Absent:
    """A dictionary in which a key is missing: ``MISSING`` as long as it is."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getitem__(self, key: Any) -> Any:
        return self.inner.get(key, MISSING)


class Called:
    """What a weak reference refers to, as a container."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __getitem__(self, key: Any) -> Any:
        return self.function()


class Code:
    """The code of a function as a container."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __getitem__(self, key: Any) -> Any:
        return self.function.__code__


class Kind:
    """The class of an object as a container."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __getitem__(self, key: Any) -> Any:
        return type(self.thing)
