"""Proxies in the places of dynamic numbers, for the time of a call: Note [Dynamic numbers] in ``dynamic_number.py``."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from weakref import WeakSet

from tapegrad._src.bindings.declaration.handing import overriding
from tapegrad.compiler.capture.dynamic_number import NUMBERS, DynamicNumber, asked
from tapegrad.compiler.capture.numbers import NumberOperand, Numbers
from tapegrad.compiler.guards.guards import Guards
from tapegrad.compiler.guards.locations import MISSING, Binding, can_be_rebound, identity_of
from tapegrad.compiler.guards.written_guard import alike


def _by_name(function: Callable) -> Callable:
    """A function of ``math`` that writes down what it is given."""

    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = next((arg for arg in args if type(arg) is DynamicNumber), None)
        if proxy is None or kwargs:
            return function(*asked(args), **asked(kwargs)) if args else function(**kwargs)
        return proxy._numbers.compute(function, *args)

    return call


_OF_MATH = {
    id(value): _by_name(value) for key, value in vars(math).items()
    if isinstance(value, types.BuiltinFunctionType) and key not in ("fsum", "prod", "dist", "sumprod")
}  # fmt: skip
"""Replacements of functions of ``math``, by their identities."""


class _Math(types.ModuleType):
    """Takes the place of ``math``, and has what that has: somebody may replace a function in it."""

    def __getattribute__(self, name: str) -> Any:
        value = getattr(math, name)
        return _OF_MATH.get(id(value), value)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(math, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(math, name)


_MATH = _Math("math")


class Proxies:
    """Puts proxies in the places of dynamic numbers, for the time of a call.

    Args:
        reached: the places that the call can read.
        dynamic: the identities of those whose numbers are dynamic.
        numbers: what will write down what is computed from them.
    """

    def __init__(self, reached: Guards, dynamic: Collection[tuple], numbers: Numbers) -> None:
        self.numbers = numbers
        self._restored: list[tuple[Binding, Any]] = []
        self._starts: dict[tuple, DynamicNumber] = {}
        self._bindings: dict[tuple, Binding] = {}
        for container, key, value, name in list(reached.all_locations()):
            if not can_be_rebound(container) or container is vars(math):
                continue
            binding = Binding(container, key, name)
            if value is math or id(value) in _OF_MATH:
                self._restored.append((binding, value))
                binding.bind(_MATH if value is math else _OF_MATH[id(value)])
            elif type(value) in NUMBERS and type(binding.find()) in NUMBERS:
                self._bindings[binding.identity] = binding
                if binding.identity in dynamic and binding.identity not in self._starts:
                    started = self._starts[binding.identity] = numbers.begin(binding, binding.find())
                    binding.bind(started)

    def take_away(self) -> None:
        """Put numbers back, and note what the call has left where. What it has kept elsewhere: ``kept_numbers.py``."""
        self.numbers.open = False
        for identity, binding in self._bindings.items():
            now = binding.find()
            started = self._starts.get(identity)
            if now is not started and (type(now) is DynamicNumber or (started is not None and type(now) in NUMBERS)):
                self.numbers.written.append((binding, NumberOperand.of_value(now)))
            if started is not None and type(now) not in (*NUMBERS, DynamicNumber):
                self.numbers.read[started._register] = f"the end of the call, where {binding} has no number"
            if type(now) is DynamicNumber and not now._late:  # others are put there when they are known
                binding.bind(now._value)
        for binding, value in reversed(self._restored):
            if binding.find() is not MISSING:
                binding.bind(value)


@contextmanager
def proxying(reached: Guards, dynamic: Collection[tuple], numbers: Numbers) -> Iterator[None]:
    """Have proxies in the places of dynamic numbers, in a block. Arguments may have them already."""
    if not (dynamic or numbers.origins or numbers.reads_late):
        yield
        return
    with _beginning:  # of two threads that share places one finds numbers in them
        alone = not any(call.open for call in _calls)
        _calls.add(numbers)
    overriding.admit(contexts=1)
    try:
        standing = Proxies(reached, dynamic if alone else (), numbers)
        try:
            yield
        finally:
            standing.take_away()
    finally:
        numbers.open = False
        _calls.discard(numbers)
        overriding.admit(contexts=-1)


_beginning = Lock()
_calls: WeakSet[Numbers] = WeakSet()
"""The calls that are captured now with proxies; one that an interrupt has left here goes with its numbers."""


def can_tell(reached: Guards) -> bool:
    """Tell whether code may tell proxies from numbers: by types and identities, in functions of C, or in jax's."""
    return reached.telling or any(_is_of_jax(value) for _, _, value, _ in reached.all_locations())


def _is_of_jax(value: Any) -> bool:
    holder = value if issubclass(type(value), (types.ModuleType, types.FunctionType, type)) else type(value)
    is_module = issubclass(type(holder), types.ModuleType)  # also what another thread has put in the place of ``math``
    name = holder.__name__ if is_module else holder.__module__
    return isinstance(name, str) and name.partition(".")[0] in ("jax", "jaxlib")


def changed_numbers(reached: Guards) -> set[tuple]:
    """The identities of places that have other numbers than they had."""
    changed = set()
    for container, key, old, _ in reached.all_locations():
        if type(old) in NUMBERS and can_be_rebound(container):
            try:
                now = container[key]
            except (KeyError, IndexError):
                continue
            if type(now) in NUMBERS and not alike(now, old):
                changed.add(identity_of(container, key))
    return changed
