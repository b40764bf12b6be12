"""Comparisons of many things at once, as one expression that is written for them.

What a call depends on is compared at each replay, when a step of XLA's has just swept the caches: straight-line code
touches the least memory.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from tapegrad._src.tape.kept import defined
from tapegrad.compiler.guards.trace_rules import PLAIN


class WrittenGuard:
    """Terms of Python, and names for the objects in them.

    >>> guard = WrittenGuard()
    >>> items = [1, 2]
    >>> guard.terms.append(f"len({guard.name(items)}) == 2")
    >>> same = guard.function()
    >>> same(), items.pop(), same()
    (True, 2, False)
    """

    def __init__(self) -> None:
        self.terms: list[str] = []
        self._names: dict[int, tuple[str, Any]] = {}

    def name(self, thing: Any) -> str:
        """The name of an object in the expression."""
        return self._names.setdefault(id(thing), (f"o{len(self._names)}", thing))[0]

    def expect(self, actual: str, expected: Any) -> None:
        """Expect that what is found is an object, or alike."""
        if expected is None:
            self.terms.append(f"{actual} is None")
        elif type(expected) in PLAIN:
            self.terms.append(f"((found := {actual}) is {self.name(expected)} or alike(found, {self.name(expected)}))")
        else:
            self.terms.append(f"{actual} is {self.name(expected)}")

    def expect_size(self, container: Any, size: int) -> None:
        """A container must be so long."""
        self.terms.append(f"len({self.name(container)}) == {size}")

    def expect_items(self, container: Any, items: tuple) -> None:
        """A container must have these very items."""
        self.expect_size(container, len(items))
        if items:
            self.terms.append(f"all(map(is_, {self.name(container)}, {self.name(items)}))")

    def function(self) -> Callable[[], bool]:
        """Tell whether all of it is so."""
        held = dict(self._names.values())
        head = f"def same({', '.join(f'{one}={one}' for one in held)}):"
        lines = [head, f"    return {' and '.join(dict.fromkeys(self.terms)) or True}"]
        return defined(lines, "same", {"is_": is_, "alike": alike, **held})


def alike(left: Any, right: Any) -> bool:
    """Tell whether two Python values can be taken for one another: numbers and strings that are the same in every bit.

    >>> alike(1.5, 3 / 2), alike(0.0, -0.0), alike(1, True), alike([], [])
    (True, False, False, False)
    """
    return type(left) is type(right) and type(left) in PLAIN and (left is right or repr(left) == repr(right))
