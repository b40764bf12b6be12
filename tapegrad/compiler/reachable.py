"""What a function can reach in Python. See Note [Guards] in ``guards.py``.

Note [What is reachable]
Beginning with a function and its arguments, the search follows closures, defaults, the globals that code names, items
of containers, and attributes that are named anywhere in the code that was found; in the end it knows every place from
which that code could take something that was there before. Where it can't know, because an object is of a kind whose
state it can't see (an iterator, a generator of random numbers, a file), or because a function asks the world outside
(the time, the user), it says so, and the call is not replayed.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import functools
import math
import re
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.bindings.generator import Generator
from tapegrad.compiler.code import Mentions, mentions
from tapegrad.compiler.places import MISSING, Absent, AttributeSlot, Called, Cell, ClassOf, Code, Place
from tapegrad.compiler.trace_rules import (
    DYNAMIC,
    OF_TENSORS,
    PLAIN,
    is_machinery,
    is_namespace,
    is_ours,
    is_standard,
    is_trusted,
    names_of_machinery,
    stateful_names,
    suspect_function,
)
from tapegrad.tensor.tensor import Tensor

MOST = 20_000
"""How many objects are searched."""

LARGEST = 1 << 20
"""Arrays of NumPy of so many bytes at most are compared."""


def home_of(function: types.FunctionType) -> Any:
    """The module in whose file a function was written; None if that was in no file."""
    written = not function.__code__.co_filename.startswith("<")
    return function.__globals__.get("__name__") if written else None  # not ``__module__``, which decorators change


def is_users(thing: Any) -> bool:
    """Whether something that a library's function holds was written by the user: a function that it decorates."""
    if isinstance(thing, types.MethodType):
        thing = thing.__func__
    if isinstance(thing, types.FunctionType):
        module = home_of(thing)
    else:
        module = (thing if isinstance(thing, type) else type(thing)).__module__
    return not (is_trusted(module) or is_standard(module))


class Unsure(Exception):
    """What is reached can't be compared."""


_ATOMS = (
    *PLAIN, np.generic, np.dtype, np.ufunc, re.Pattern, decimal.Decimal, fractions.Fraction, datetime.date,
    datetime.time, datetime.timedelta, datetime.tzinfo, range, slice, types.EllipsisType, types.NotImplementedType,
    types.CodeType, types.GenericAlias, types.UnionType, types.MemberDescriptorType, types.GetSetDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType,
    type(threading.Lock()), type(threading.RLock()), type(MISSING), type(np.mean), np.finfo, np.iinfo,
    type(vars(Place)["container"]),
)  # fmt: skip
"""What has no state that could change, or none that matters."""

_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_BASES = (*_CONTAINERS, *PLAIN[:-1], BaseException, enum.Enum, types.SimpleNamespace, Tensor)
_WRAPPERS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (types.MethodType, ("__self__", "__func__")),
    (functools.partial, ("func", "args", "keywords")),
    (property, ("fget", "fset", "fdel")),
    ((staticmethod, classmethod), ("__func__",)),
    (functools.cached_property, ("func",)),
)
"""What only wraps others, and cannot be changed."""


_HARMLESS = ("typing", "abc", "_abc", "dataclasses")
"""Modules of which all objects, apart from those that are known otherwise, have no state."""

_BARE = ("builtins", "typing", "abc", "types", "enum", "dataclasses", "collections")
"""Modules whose classes call no methods but special ones of those that are derived from them."""

KINDS, _MAKING = frozenset({"type", "__class__"}), frozenset({"__init__", "__new__", "__init_subclass__"})

_TOLD = frozenset({"__getstate__", "__setstate__", "__repr__"})
"""Methods that are called for what is told of an object, which no step does with machinery."""


class Reachable:
    """All that can be reached from some objects. See Note [What is reachable].

    Attributes:
        places: where something was found that could be replaced.
        containers: those found, each with a name: their sizes matter, too.
        arrays: the arrays of NumPy, which could be written to.
        tensors: the tensors.
        pinned: the identities of tensors that are where they can't be replaced: in a tuple, for example.
        kept: all that was found: as long as it is held, identities mean something.
        unsure: why it can't be known whether something has changed, or None.
    """

    def __init__(self, roots: list[tuple[Any, str]]) -> None:
        self.names: set[str] = set()
        self.unsure: str | None = None
        while True:
            known = len(self.names)
            self._begin()
            try:
                self._follow(list(roots))
            except Unsure as error:
                self.unsure = str(error)
                return
            if len(self.names) == known:
                break
        mentioned = sorted(self.names & OF_TENSORS)
        if mentioned:
            self.unsure = f"it mentions {mentioned[0]} of tensors"

    def _begin(self) -> None:
        self.places: list[Place] = []
        self.containers: list[tuple[Any, str]] = []
        self.arrays: list[tuple[np.ndarray, str]] = []
        self.tensors: list[Tensor] = []
        self.pinned: set[int] = set()
        self.kept: dict[int, Any] = {}
        self._classes: set[type] = set()
        self._inside: dict[type, Any] = {}  # what classes have: ``__dict__`` of one is another object each time

    def _follow(self, waiting: list[tuple[Any, str]]) -> None:
        while waiting:
            thing, name = waiting.pop()
            if (isinstance(thing, PLAIN) and type(thing) in PLAIN) or id(thing) in self.kept:
                continue
            self.kept[id(thing)] = thing
            if len(self.kept) > MOST:
                raise Unsure(f"it reaches more than {MOST} objects")
            for place in self._places(thing, name):
                if place.container is not None:
                    self.places.append(place)
                elif isinstance(place.value, Tensor):
                    self.pinned.add(id(place.value))
                waiting.append((place.value, place.name))

    def _places(self, thing: Any, name: str) -> Iterator[Place]:
        """The places in an object where it keeps others, as far as they matter."""
        kind = type(thing)
        if isinstance(thing, Tensor):
            self.tensors.append(thing)
            yield from self._attributes(thing, name)
        elif kind in (dict, list, tuple, set, frozenset, collections.deque, collections.OrderedDict,
                      collections.defaultdict, collections.Counter, types.MappingProxyType):  # fmt: skip
            yield from self._items(thing, name)
        elif isinstance(thing, types.FunctionType):
            yield from self._of_function(thing, name)
        elif isinstance(thing, types.ModuleType):
            yield from self._of_module(thing, name)
        elif isinstance(thing, type):
            yield from self._of_class(thing, name)
        elif kind is np.ndarray:
            self._note_array(thing, name)
        elif isinstance(thing, weakref.ref):
            yield Place(Called(thing), None, thing(), name)
        elif isinstance(thing, types.BuiltinFunctionType):
            self._judge(thing, name, thing.__module__)
            if not isinstance(thing.__self__, types.ModuleType):
                yield Place(None, None, thing.__self__, name)
        else:
            yield from self._of_instance(thing, name)

    # -- containers

    def _items(self, thing: Any, name: str) -> Iterator[Place]:
        fixed = None if isinstance(thing, (tuple, frozenset)) else thing
        if isinstance(thing, (set, frozenset)):
            if fixed is not None:
                self.containers.append((thing, name))
            yield from (Place(None, None, value, f"an element of {name}") for value in thing)
            return
        if fixed is not None:
            self.containers.append((thing, name))
        if isinstance(thing, (dict, types.MappingProxyType)):
            for key, value in list(thing.items()):
                yield Place(fixed, key, value, f"{name}[{key!r}]" if isinstance(key, PLAIN) else f"an item of {name}")
                yield Place(None, None, key, f"a key of {name}")
            if isinstance(thing, collections.defaultdict):
                yield Place(None, None, thing.default_factory, name)
        else:
            for index, value in enumerate(thing):
                yield Place(fixed, index, value, f"{name}[{index}]")

    def _note_array(self, array: np.ndarray, name: str) -> None:
        if array.dtype.hasobject or array.nbytes > LARGEST:
            raise Unsure(f"{name} is an array of NumPy that is too large to compare at each call; make it a tensor")
        self.arrays.append((array, name))

    # -- code

    def _of_function(self, function: types.FunctionType, name: str) -> Iterator[Place]:
        module = home_of(function)
        if is_trusted(module) or is_standard(module):
            self._judge(function, name, module)
            yield from (place for place in self._of_closure(function) if is_users(place.value))
            return
        code = function.__code__
        said = mentions(code)
        if is_machinery(module):
            yield from self._of_machinery(function, said)
            return
        self.names |= said.names
        yield Place(Code(function), None, code, name)
        yield from self._of_closure(function)
        for descriptor in DEFAULTS:
            yield Place(AttributeSlot(function), descriptor, descriptor.__get__(function), f"a default of {name}")
        yield from self._named(function.__dict__, name)
        for variable in sorted(said.globals):
            if not (is_ours(module) and function.__globals__.get(variable) is warnings):
                yield from self._global(function, variable)
        for imported in said.modules:
            yield Place(None, None, sys.modules.get(imported), imported)

    def _of_machinery(self, function: types.FunctionType, said: Mentions) -> Iterator[Place]:
        """What a function of machinery names; of its globals, only hooks, what more machinery keeps, and ``math``."""
        self.names |= names_of_machinery(said.names)
        yield from (place for place in self._of_closure(function) if is_users(place.value))
        for variable in sorted(said.globals & function.__globals__.keys()):
            value = function.__globals__[variable]
            more = isinstance(value, types.ModuleType) and is_machinery(value.__name__)
            if more or value is math or type(value) is collections.OrderedDict:
                yield Place(function.__globals__, variable, value, variable)

    @staticmethod
    def _of_closure(function: types.FunctionType) -> Iterator[Place]:
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            box = Cell(cell)
            yield Place(box, None, box[None], variable)

    @staticmethod
    def _global(function: types.FunctionType, variable: str) -> Iterator[Place]:
        names = function.__globals__
        if variable in names:
            yield Place(names, variable, names[variable], variable)
            return
        yield Place(Absent(names), variable, MISSING, variable)
        builtins = names.get("__builtins__", {})
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        if variable in builtins:
            yield Place(builtins, variable, builtins[variable], variable)

    def _of_module(self, module: types.ModuleType, name: str) -> Iterator[Place]:
        if is_trusted(module.__name__):
            stateful = stateful_names(module.__name__, self.names)
            if stateful:
                raise Unsure(f"it mentions {sorted(stateful)[0]} of {module.__name__.partition('.')[0]}")
            return
        inside = vars(module)
        kept = (dict, type) if is_machinery(module.__name__) else object
        names = {key for key in self.names & inside.keys() if not (is_ours(module.__name__) and key.startswith("__"))}
        for key in sorted(key for key in names if isinstance(inside[key], kept)):
            yield Place(inside, key, inside[key], f"{name}.{key}")

    @staticmethod
    def _judge(function: Any, name: str, module: Any) -> None:
        if suspect_function(function, module):
            raise Unsure(f"it can call {name}, of which nobody knows whether it does the same each time")

    # -- objects

    @property
    def _dynamic(self) -> bool:
        return not DYNAMIC.isdisjoint(self.names)

    def _named(self, inside: Any, name: str, every: bool = False) -> Iterator[Place]:
        keys = list(inside) if every or self._dynamic else [key for key in inside if key in self.names]
        yield from (Place(inside, key, inside[key], f"{name}.{key}") for key in keys)

    def _attributes(self, thing: Any, name: str) -> Iterator[Place]:
        """The attributes of an object that are named, its class among them."""
        inside = getattr(thing, "__dict__", None)
        if isinstance(inside, dict):
            if isinstance(thing, Tensor):
                inside_names = [key for key in inside if key not in KEPT and key in self.names]
                yield from (Place(inside, key, inside[key], f"{name}.{key}") for key in inside_names)
            else:
                self.containers.append((inside, f"the attributes of {name}"))
                yield from self._named(inside, name, every=getattr(type(thing), "_items_are_attributes", False))
        cls = type(thing)
        if cls is not Tensor:
            self.places.append(Place(ClassOf(thing), None, cls, f"the class of {name}"))
            if cls not in self._classes:
                self._classes.add(cls)
                yield from self._of_class(cls, cls.__qualname__, made=not KINDS.isdisjoint(self.names))

    def _of_class(self, cls: type, name: str, made: bool = True) -> Iterator[Place]:
        """What a class has that is named, or that others may call: all of it, if a library knows it as one of its own.

        ``made``: new instances may be made of it.
        """
        known = any(base.__module__ not in _BARE and not is_users(base) for base in cls.__mro__)
        for base in cls.__mro__:
            if is_trusted(base.__module__) or is_standard(base.__module__):
                if base in cls.__mro__[:1]:
                    self._judge_class(base, name)
                continue
            inside = self._inside.get(base)
            if inside is None:
                inside = self._inside[base] = base.__dict__
                self.containers.append((inside, f"the attributes of {name}"))
            for key, value in list(inside.items()):
                code = isinstance(value, (types.FunctionType, staticmethod, classmethod, property))
                unasked = (key in _MAKING and not made) or (key in _TOLD and is_machinery(base.__module__))
                if code and unasked and key not in self.names:
                    continue
                called = code and (known or key.startswith("__"))
                if called or key in self.names or (self._dynamic and not key.startswith("__")):
                    yield Place(inside, key, value, f"{name}.{key}")
        if not (is_trusted(type(cls).__module__) or is_standard(type(cls).__module__)):
            yield Place(None, None, type(cls), f"the class of {name}")

    def _judge_class(self, cls: type, name: str) -> None:
        if is_namespace(cls) or (is_trusted(cls.__module__) and not cls.__module__.startswith("numpy.random")):
            return
        if suspect_function(cls, cls.__module__):
            raise Unsure(f"it can use {name}, a class of {cls.__module__}")

    def _of_instance(self, thing: Any, name: str) -> Iterator[Place]:
        for kinds, parts in _WRAPPERS:
            if isinstance(thing, kinds):
                yield from (Place(None, None, getattr(thing, part, None), name) for part in parts)
                return
        kind = type(thing)
        if isinstance(thing, enum.Enum):
            yield Place(None, None, thing.value, f"{name}.value")
            return
        if kind in _ATOMS or isinstance(thing, np.generic | np.dtype | datetime.tzinfo):
            return
        module = kind.__module__
        if is_trusted(module) and not module.startswith("numpy"):
            yield from self._of_ours(thing, name)
            if isinstance(thing, _CONTAINERS):
                yield from self._items(thing, name)
        elif is_namespace(kind):
            yield from self._attributes(thing, name)
        elif kind is _CACHED and not is_users(thing.__wrapped__):
            return
        elif is_trusted(module) or is_standard(module):
            if not (kind in _ATOMS or module in _HARMLESS):
                raise Unsure(f"{name} is of {module}.{kind.__qualname__}, whose state can't be compared")
        else:
            yield from self._of_users(thing, name)

    def _of_ours(self, thing: Any, name: str) -> Iterator[Place]:
        """An object of tapegrad's or jax's: it may keep a function of the user's."""
        stateful = stateful_names("tapegrad", self.names)
        if stateful and isinstance(thing, Generator):
            raise Unsure(f"it mentions {sorted(stateful)[0]}, and reaches a generator")
        inside = getattr(thing, "__dict__", None)
        for part in ("function", "__wrapped__"):
            if isinstance(inside, dict) and part in inside:
                yield Place(None, None, inside[part], name)

    def _of_users(self, thing: Any, name: str) -> Iterator[Place]:
        for base in type(thing).__mro__:
            library = is_trusted(base.__module__) or is_standard(base.__module__)
            if library and base not in (object, *_BASES) and base.__module__ not in ("typing", "abc", "collections"):
                raise Unsure(f"{name} is an instance of {base.__module__}.{base.__qualname__}, "
                             "whose state can't be compared")  # fmt: skip
            for descriptor in vars(base).values():
                if isinstance(descriptor, types.MemberDescriptorType) and not library:
                    box = AttributeSlot(thing)
                    yield Place(box, descriptor, box[descriptor], f"{name}.{descriptor.__name__}")
        yield from self._attributes(thing, name)
        if isinstance(thing, _CONTAINERS):
            yield from self._items(thing, name)


_CACHED = type(functools.lru_cache(maxsize=1)(lambda: None))
DEFAULTS: tuple[Any, ...] = types.FunctionType.__defaults__, types.FunctionType.__kwdefaults__
"""The slots in which functions have the defaults of their arguments."""

KEPT = frozenset(name for name in vars(Tensor) if name.startswith("_"))
"""The attributes that are ours of tensors."""
