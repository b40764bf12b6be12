"""Findings of a search for what a function can reach. See Note [What is reachable] in ``reachable.py``."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.guards.appended import AppendedTo
from tapegrad.compiler.guards.locations import Location
from tapegrad.compiler.guards.objects import is_a


class Visited(NamedTuple):
    """The findings about one object.

    Attributes:
        thing: the object; ``name``: what it is called.
        locations: where it keeps others.
        containers: what of it has a size, or keys, that matter: with a name, and what is in it.
        unsure: why it can't be known whether it changes, or None.
        code: the code of a function, which matters if it has run.
    """

    thing: Any
    name: str
    locations: list[Location]
    containers: list[tuple[Any, str, tuple]]
    unsure: str | None
    code: CodeType | None


class Reached:
    """Parts of what can be reached.

    Attributes:
        locations: where something was found that could be replaced.
        containers: those found, each with a name and what is in it: their sizes matter, too.
        arrays: the arrays of NumPy, which could be written to, with their elements.
        tensors: the tensors.
        pinned: the identities of tensors that are where they can't be replaced: in a tuple, for example.
        kept: all that was found: as long as it is held, identities mean something.
        unsure: why it can't be known whether something has changed, or None.
        names: the attributes that count.
        appended: the lists to which a call has only appended; of them nothing else counts.
        tuples: by identity, in how many places a tuple was found.
        reaches: whether attributes were read that nobody names.
    """

    def __init__(self) -> None:
        self.locations: list[Location] = []
        self.containers: list[tuple[Any, str, tuple]] = []
        self.arrays: list[tuple[np.ndarray, str, tuple]] = []
        self.tensors: list[Tensor] = []
        self.pinned: set[int] = set()
        self.kept: dict[int, Any] = {}
        self.unsure: str | None = None
        self.names: set[str] = set()
        self.appended: list[AppendedTo] = []
        self.tuples: collections.Counter[int] = collections.Counter()
        self.reaches = False

    def add(self, visit: Visited, locations: Iterable[Location]) -> list[Location]:
        """Add an object, with some of its places; these are given back."""
        thing, locations = visit.thing, list(locations)
        self.kept[id(thing)] = thing
        self.unsure = self.unsure or visit.unsure
        if is_a(thing, Tensor):
            self.tensors.append(thing)
        elif type(thing) is np.ndarray:
            self.arrays += [(thing, visit.name, contents) for _, _, contents in visit.containers]
            return []
        self.containers += visit.containers
        for location in locations:
            if type(location.value) is tuple:
                self.tuples[id(location.value)] += 1
            if location.container is not None:
                self.locations.append(location)
            elif is_a(location.value, Tensor):
                self.pinned.add(id(location.value))
        return locations
