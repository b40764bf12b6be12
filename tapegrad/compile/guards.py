"""What a compiled function depends on besides its arguments: what it reaches in Python, and whether that has changed.

Note [Guards]
Python is not run when a compiled call is replayed, so what Python would have read must be what it was. All places from
which it could have read something (``search.py``) are listed once, and compared at each call: by identity; numbers and
strings by value; arrays of NumPy by their elements.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from tapegrad.compile.search import Search
from tapegrad.compile.trust import PLAIN
from tapegrad.tensor.tensor import Tensor


class Guards:
    """What was reached, and what it was. See Note [Guards].

    Attributes:
        tensors: the tensors that were reached.
        unsure: why it can't be told whether something has changed, or None.

    >>> rates = {"lr": 0.1}
    >>> guards = Guards([(rates, "rates")])
    >>> guards.changed()
    >>> rates["lr"] = 0.2
    >>> guards.changed()
    "rates['lr'] was 0.1 and is 0.2"
    """

    __slots__ = ("tensors", "unsure", "_places", "_lists", "_sets", "_keys", "_sizes", "_arrays", "_kept")

    def __init__(self, roots: list[tuple[Any, str]]) -> None:
        search = Search(roots)
        self.tensors: list[Tensor] = search.tensors
        self.unsure = search.unsure
        self._kept = search.kept
        self._places = [tuple(place) for place in search.places if type(place.container) not in _SEQUENCES]
        self._lists: list[tuple] = []
        self._sets: list[tuple] = []
        self._keys: list[tuple] = []
        self._sizes: list[tuple] = []
        self._arrays = [(array, _contents(array), name) for array, name in search.arrays]
        for container, name in search.containers:
            self._add(container, name)

    def _add(self, container: Any, name: str) -> None:
        if isinstance(container, set):
            self._sets.append((container, frozenset(container), name))
        elif type(container) in _SEQUENCES:
            items = tuple(container)
            self._lists.append((container, tuple(map(id, items)), items, name))
        elif isinstance(container, dict) and not name.startswith("the attributes of"):
            self._keys.append((container, tuple(map(id, container)), tuple(container), name))
        else:
            self._sizes.append((container, len(container), name))

    def holds(self, things: list[Any]) -> bool:
        """Whether one of some objects was reached."""
        return any(id(thing) in self._kept for thing in things)

    def changed(self) -> str | None:
        """What has changed, in words; None if nothing has."""
        try:
            for container, key, expected, name in self._places:
                if container[key] is not expected and not alike(container[key], expected):
                    return f"{name} was {_shown(expected)} and is {_shown(container[key])}"
        except (KeyError, IndexError, AttributeError):
            return f"{name} is gone"
        for container, size, name in self._sizes:
            if len(container) != size:
                return f"{name} were {size} and are {len(container)}"
        for container, identities, items, name in self._lists:
            if tuple(map(id, container)) != identities and not _all_alike(container, items):
                return f"{name} has other items than it had"
        for container, identities, _keys, name in self._keys:
            if tuple(map(id, container)) != identities:
                return f"{name} has other keys than it had, or in another order"
        for container, elements, name in self._sets:
            if container != elements:
                return f"{name} has other elements than it had"
        for array, contents, name in self._arrays:
            if _contents(array) != contents:
                return f"{name}, an array of NumPy, has been written to"
        return None


_SEQUENCES = (list, collections.deque)


def alike(left: Any, right: Any) -> bool:
    """Whether two Python values can be taken for one another: numbers and strings that are the same in every bit.

    >>> alike(1.5, 3 / 2), alike(0.0, -0.0), alike(1, True), alike([], [])
    (True, False, False, False)
    """
    return type(left) is type(right) and type(left) in PLAIN and (left is right or repr(left) == repr(right))


def _all_alike(container: Any, items: tuple) -> bool:
    return len(container) == len(items) and all(
        one is other or alike(one, other) for one, other in zip(container, items, strict=True)
    )


def _contents(array: np.ndarray) -> tuple:
    return array.shape, array.strides, array.dtype, array.tobytes()


def _shown(value: Any) -> str:
    return repr(value) if type(value) in PLAIN else f"another {type(value).__name__}"
