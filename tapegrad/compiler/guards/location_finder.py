"""Locations in which objects keep others: for each kind of object a way to find them.

See Note [What is reachable] in ``reachable.py``.
"""

from __future__ import annotations

import abc
import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import gc
import logging
import math
import os
import re
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.guards.allowed import class_is_allowed, function_is_allowed, thing_is_allowed
from tapegrad.compiler.guards.code import Mentions, imported, mentions, resolved
from tapegrad.compiler.guards.locations import (
    MISSING,
    Absent,
    AttributeSlot,
    Bases,
    Cell,
    ClassOf,
    Code,
    ContextValue,
    DictItems,
    Location,
    Need,
    Registered,
    TupleSlot,
    TypeOfReferent,
    can_be_made_anew,
)
from tapegrad.compiler.guards.objects import (
    DEFAULTS,
    KEPT,
    contents_of,
    home_of,
    inside_of,
    is_a,
    is_held,
    is_pythons,
    is_users,
)
from tapegrad.compiler.guards.trace_rules import (
    DYNAMIC,
    PLAIN,
    is_machinery,
    is_namespace,
    is_searched,
    is_standard,
    is_trusted,
    names_of_machinery,
)
from tapegrad.compiler.guards.what_ran import CodeThatRan

LARGEST = 1 << 20
"""Arrays of NumPy of so many bytes at most are compared."""


class Unsure(Exception):
    """An error: something that is reached can't be compared."""


class Instances:
    """Stands for what the instances of a class have from it."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls


_CACHED_IN_ORDER = "functools", "_lru_list_elem"  # what it has, the cache refers to itself
_ATOMS = (
    *PLAIN, np.generic, np.dtype, np.ufunc, re.Pattern, decimal.Decimal, fractions.Fraction, datetime.date,
    datetime.time, datetime.timedelta, datetime.tzinfo, range, slice, types.EllipsisType, types.NotImplementedType,
    types.CodeType, types.GenericAlias, types.UnionType, types.MemberDescriptorType, types.GetSetDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    type(threading.Lock()), type(threading.RLock()), type(MISSING), type(np.mean), np.finfo, np.iinfo,
    type(vars(Location)["container"]),
)  # fmt: skip
"""Types without a state that could change, or without one that matters."""

_CACHED = type(functools.lru_cache(maxsize=1)(lambda: None))
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_BASES = (*_CONTAINERS, *PLAIN[:-1], BaseException, enum.Enum, types.SimpleNamespace, Tensor)
_WRAPPERS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (types.MethodType, ("__self__", "__func__")),
    (functools.partial, ("func", "args", "keywords")),
    (property, ("fget", "fset", "fdel")),
    ((staticmethod, classmethod), ("__func__",)),
    (functools.cached_property, ("func",)),
)
"""Types that only wrap others, and cannot be changed."""


_HARMLESS = ("typing", "abc", "_abc", "dataclasses")
"""Modules of which all objects, apart from those that are known otherwise, have no state."""

_BARE = ("builtins", "typing", "abc", "types", "enum", "dataclasses", "collections")
"""Modules whose classes call no methods but special ones of those that are derived from them."""

TYPE_NAMES, _MAKING = frozenset({"type", "__class__"}), frozenset({"__init__", "__new__", "__init_subclass__"})

_TOLD = frozenset({"__getstate__", "__setstate__", "__repr__"})
"""Methods that are called for what is told of an object, which no step does with machinery."""


class LocationFinder:
    """A finder of what objects keep; it learns what attributes are named, and finds those.

    Args:
        met: the code that calls have run, which alone counts; None: all of it does.

    Attributes:
        names: the attributes that are named; ``asking``: by what others may be asked for.
        by_names: whether what was found since ``begin`` depends on these.
        containers: those found since then whose sizes, keys or items matter.
    """

    def __init__(self, met: CodeThatRan | None) -> None:
        self.met = met
        self.names: set[str] = set()
        self.asking: set[str] = set()
        self.by_names = False
        self.containers: list[tuple[Any, str, tuple]] = []
        self._at = Location(None, None, None, "")
        self._of_classes: dict[type, Instances] = {}
        self._inside: dict[type, Any] = {}  # what classes have: ``__dict__`` of one is another object each time

    @property
    def known(self) -> tuple[int, int]:
        """By how much more is known than before: what was found by names is looked for anew then."""
        return len(self.names), len(self.asking)

    def begin(self, at: Location) -> None:
        """Look at the object in a location."""
        self._at, self.by_names, self.containers = at, False, []

    def locations(self, thing: Any, name: str) -> Iterator[Location]:
        """The places in an object where it keeps others, as far as they matter."""
        cls = type(thing)
        if is_a(thing, Tensor):
            yield from self._attributes(thing, name)
        elif cls in (dict, list, tuple, set, frozenset, collections.deque, collections.OrderedDict,
                      collections.defaultdict, collections.Counter, types.MappingProxyType):  # fmt: skip
            yield from self._items(thing, name)
        elif is_a(thing, types.FunctionType):
            yield from self._of_function(thing, name)
        elif is_a(thing, types.ModuleType):
            yield from self._of_module(thing, name)
        elif is_a(thing, type):
            yield from self._of_class(thing, name)
        elif cls is Instances:
            self.by_names = True
            makes = "type" in self.asking or "__class__" in self.names
            yield from self._of_class(thing.cls, name, made=makes)
        elif cls is np.ndarray:
            self._note_array(thing, name)
        elif is_a(thing, weakref.ref):
            yield from self._of_referent(thing, name)
        elif is_a(thing, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if is_a(thing, types.BuiltinFunctionType) and not function_is_allowed(thing):
                raise Unsure(f"it can call {name}, of which nobody knows whether it does the same each time")
            if not is_a(thing.__self__, types.ModuleType):
                yield Location(None, None, thing.__self__, name)
        else:
            yield from self._of_instance(thing, name)

    def _of_referent(self, reference: weakref.ref, name: str) -> Iterator[Location]:
        """The object that a weak reference refers to, without holding it: nobody may keep alive what the user lets
        go."""
        referent = reference()
        cls, inside = type(referent), inside_of(referent)
        if referent is not None and (type(inside) is not dict or is_a(referent, Tensor) or not is_users(cls)):
            raise Unsure(f"{name} is a weak reference to a {cls.__qualname__}, which nobody may hold")
        yield Location(TypeOfReferent(reference), None, cls, f"what {name} refers to", None, False)
        if referent is not None:
            yield Location(None, None, inside, f"the attributes of what {name} refers to")
            yield Location(None, None, self._instances(cls), cls.__qualname__)

    def _keep(self, container: Any, name: str) -> None:
        """Note a container whose size, keys or items matter."""
        self.containers.append((container, name, tuple(container)))

    # -- containers

    def _items(self, thing: Any, name: str) -> Iterator[Location]:
        fixed = None if is_a(thing, (tuple, frozenset)) else thing
        if fixed is not None:
            self._keep(thing, name)
        if is_a(thing, (set, frozenset)):
            yield from (Location(None, None, value, f"an element of {name}") for value in thing)
        elif is_a(thing, (dict, types.MappingProxyType)):
            kept: Any = thing
            if is_a(thing, dict) and type(thing).__getitem__ is not dict.__getitem__:
                kept = DictItems(thing)
            for key, value in list(dict.items(thing) if is_a(thing, dict) else thing.items()):
                yield Location(kept, key, value, f"{name}[{key!r}]" if is_a(key, PLAIN) else f"an item of {name}")
                yield Location(None, None, key, f"a key of {name}")
            if is_a(thing, collections.defaultdict):
                yield Location(None, None, thing.default_factory, name)
        else:
            box = self._tuple_slot(thing) if type(thing) is tuple else fixed
            for index, value in enumerate(thing):
                yield Location(box, index, value, f"{name}[{index}]")

    def _tuple_slot(self, thing: tuple) -> TupleSlot | None:
        """The tuple that is being looked at as a container, if it has tensors, and may be replaced where it is."""
        at = self._at
        if not (at.value is thing and can_be_made_anew(at.container)):
            return None
        return TupleSlot(at.container, at.key, thing) if any(is_a(one, (Tensor, tuple)) for one in thing) else None

    def _note_array(self, array: np.ndarray, name: str) -> None:
        if array.dtype.hasobject or array.nbytes > LARGEST:
            raise Unsure(f"{name} is an array of NumPy that is too large to compare at each call; make it a tensor")
        self.containers.append((array, name, contents_of(array)))

    # -- code

    def _of_function(self, function: types.FunctionType, name: str) -> Iterator[Location]:
        module = home_of(function)
        if is_trusted(module):
            yield from (location for location in self._of_closure(function) if is_users(location.value))
            return
        if is_standard(module):
            yield from (location for location in self._of_closure(function) if is_held(location.value))
            return
        code = function.__code__
        said = mentions(code) if self.met is None else self.met.said_with_inner(code)
        if is_machinery(module):
            yield from self._of_machinery(function, said)
            return
        self._mention(said, function.__globals__, ours=is_searched(module))
        if not is_searched(module):
            self._keep(function.__dict__, f"the attributes of {name}")
        yield from self._named(function.__dict__, name)
        run = Need("run", code, None)
        yield from self.of_itself(function, name)
        yield from (location._replace(need=run) for location in self._of_closure(function))
        yield from self._of_chains(function, said, known=is_searched(module))
        for one in said.modules:
            for submodule in imported(one, function.__globals__):
                yield Location(sys.modules, submodule, sys.modules[submodule], submodule, Need("module", code, one))

    @staticmethod
    def of_itself(function: types.FunctionType, name: str) -> Iterator[Location]:
        """The code of a function, and the defaults of its arguments."""
        run = Need("run", function.__code__, None)
        yield Location(Code(function), None, function.__code__, name, run)
        for descriptor in DEFAULTS:
            there = descriptor.__get__(function)
            yield Location(AttributeSlot(function), descriptor, there, f"a default of {name}", run)

    def _mention(self, said: Mentions, names: dict, ours: bool) -> None:
        """Note what attributes code names, and whether it may ask for others."""
        self.names |= said.names | ({"__match_args__"} if said.patterns else set())
        for chain in said.chains:
            self.names.update(resolved(chain, names).rest)
        words = {word for chain in said.chains for word in chain} | said.names
        asks = said.patterns or not DYNAMIC.isdisjoint(words) or "format" in words or "format_map" in words
        self.asking |= {"asks"} if asks else set()
        self.by_names = self.by_names or bool(said.texts)
        if self.is_dynamic or ours:
            self.names |= {text for text in said.texts if text.isidentifier()}

    def _of_chains(self, function: types.FunctionType, said: Mentions, known: bool) -> Iterator[Location]:
        """The globals that code names, and what it names of modules; ``known``: what it calls is allowed."""
        code = function.__code__
        for chain in sorted(said.chains):
            steps, value, rest = resolved(chain, function.__globals__)
            used = chain in said.globals or bool(rest) or type(value) is not types.ModuleType
            for inside, key, there in steps:
                judged = known and (is_a(value, types.BuiltinFunctionType) or value is type)  # ours tells no numbers
                follow = used and there is value and not judged
                box = Absent(inside) if there is MISSING else inside
                yield Location(box, key, there, ".".join(chain), Need("chain", code, chain), follow)

    def _of_machinery(self, function: types.FunctionType, said: Mentions) -> Iterator[Location]:
        """The objects that a function of machinery names; of its globals, only hooks, what more machinery keeps, and
        ``math``."""
        named = said.names | {name for chain in said.chains for name in chain[1:]}
        self.names |= names_of_machinery(named | said.texts)
        run = Need("run", function.__code__, None)
        yield from (location._replace(need=run) for location in self._of_closure(function) if is_users(location.value))
        for variable in sorted({chain[0] for chain in said.chains} & function.__globals__.keys()):
            value = function.__globals__[variable]
            more = is_a(value, types.ModuleType) and is_machinery(value.__name__)
            if more or value is math or type(value) is collections.OrderedDict:
                yield Location(function.__globals__, variable, value, variable, run)

    @staticmethod
    def _of_closure(function: types.FunctionType) -> Iterator[Location]:
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            box = Cell(cell)
            yield Location(box, None, box[None], variable)

    def _of_module(self, module: types.ModuleType, name: str) -> Iterator[Location]:
        """The names that are used of a module that is used as a whole: not only to take something from it."""
        self.by_names = True
        inside, library = vars(module), is_trusted(module.__name__) or is_standard(module.__name__)
        ours = is_searched(module.__name__) or is_machinery(module.__name__)
        if (self.is_dynamic and not ours) or not (library or ours):
            self._keep(inside, f"the attributes of {name}")
        kept = (dict, type) if is_machinery(module.__name__) else object
        for key, value in list(inside.items()):
            named = key in self.names and not ((ours or library) and key.startswith("__"))
            if is_a(value, kept) and (named or key == "__getattr__"):
                yield Location(inside, key, value, f"{name}.{key}", Need("name", None, key))
            elif self.is_dynamic and not (ours or key.startswith("__")):
                yield Location(inside, key, value, f"{name}.{key}", Need("any", None, key), not library)

    # -- objects

    @property
    def is_dynamic(self) -> bool:
        if self.met is not None:
            return self.met.reaches
        return bool(self.asking - {"type"}) or not DYNAMIC.isdisjoint(self.names)

    def _named(self, inside: Any, name: str, every: bool = False) -> Iterator[Location]:
        self.by_names = self.by_names or not (every or not inside)
        for key in list(inside):
            if every or key in self.names or self.is_dynamic:
                yield Location(inside, key, inside[key], f"{name}.{key}", None if every else Need("name", None, key))

    def _attributes(self, thing: Any, name: str) -> Iterator[Location]:
        """The attributes of an object that are named, its class among them."""
        inside = inside_of(thing)
        if is_a(inside, dict):
            if is_a(thing, Tensor):
                self.by_names = self.by_names or not inside.keys() <= KEPT
                for key in inside:
                    if key not in KEPT and key in self.names:
                        yield Location(inside, key, inside[key], f"{name}.{key}", Need("name", None, key))
            else:
                self._keep(inside, f"the attributes of {name}")
                every = any("_items_are_attributes" in vars(base) for base in type(thing).__mro__)
                every = every or is_a(thing, enum.Enum)
                yield from self._named(inside, name, every)
        cls = type(thing)
        if cls is not Tensor:
            yield Location(ClassOf(thing), None, cls, f"the class of {name}", None, False)
        yield Location(None, None, self._instances(cls), cls.__qualname__)

    def _instances(self, cls: type) -> Instances:
        return self._of_classes.setdefault(cls, Instances(cls))

    def _of_class(self, cls: type, name: str, made: bool = True) -> Iterator[Location]:
        """The attributes of a class that are named, or that others may call: all of it, if a library knows it as one of
        its own.

        ``made``: new instances may be made of it.
        """
        self.by_names = True
        known = any(base.__module__ not in _BARE and not is_users(base) for base in cls.__mro__)
        if is_a(cls, abc.ABCMeta):
            yield Location(Registered(), None, abc.get_cache_token(), "the registered classes", None, False)
        if is_users(cls):
            yield Location(Bases(cls), None, cls.__mro__, f"the bases of {name}", None, False)
        for base in cls.__mro__:
            if base is Tensor:
                yield from self._of_tensors()
            if is_trusted(base.__module__) or is_standard(base.__module__):
                if base is cls and not class_is_allowed(cls):
                    raise Unsure(f"it can use {name}, a class of {cls.__module__}")
                continue
            yield from self._of_base(base, name, made, known)
        if issubclass(cls, enum.Enum):
            for key in ("_member_map_", "_value2member_map_"):
                yield Location(None, None, getattr(cls, key, None), f"the members of {name}")
        if not (is_trusted(type(cls).__module__) or is_standard(type(cls).__module__)):
            yield Location(None, None, type(cls), f"the class of {name}")

    def _of_base(self, base: type, name: str, made: bool, known: bool) -> Iterator[Location]:
        inside = self._inside.get(base)
        if inside is None:
            inside = self._inside[base] = base.__dict__
        self._keep(inside, f"the attributes of {name}")
        for key, value in list(inside.items()):
            code = is_a(value, (types.FunctionType, staticmethod, classmethod, property))
            unasked = (key in _MAKING and not made) or (key in _TOLD and is_machinery(base.__module__))
            named, special = key in self.names, key.startswith("__")
            if code and unasked and not named:
                continue
            if code and (known or special):
                yield Location(inside, key, value, f"{name}.{key}")
            elif named or (self.is_dynamic and not special):
                yield Location(inside, key, value, f"{name}.{key}", Need("name", None, key))

    def _of_tensors(self) -> Iterator[Location]:
        """The functions that tensors have, as long as nobody replaces them."""
        inside = vars(Tensor)
        for key in sorted(self.names & inside.keys()):
            yield Location(inside, key, inside[key], f"torch.Tensor.{key}", Need("name", None, key), False)

    def _of_instance(self, thing: Any, name: str) -> Iterator[Location]:
        for classes, parts in _WRAPPERS:
            if is_a(thing, classes):
                yield from (Location(None, None, getattr(thing, part, None), name) for part in parts)
                return
        cls = type(thing)
        if is_a(thing, enum.Enum):
            yield from self._attributes(thing, name)
            return
        if is_a(thing, (np.ufunc, type(np.mean))) and not thing_is_allowed(thing):
            raise Unsure(f"it can call {name}, of which nobody knows whether it does the same each time")
        if cls in _ATOMS or is_a(thing, (np.generic, np.dtype, datetime.tzinfo)):
            return
        if (cls.__module__, cls.__name__) == _CACHED_IN_ORDER:
            return
        module = cls.__module__
        if is_trusted(module) and not module.startswith("numpy"):
            yield from self._of_ours(thing, name)
            if is_a(thing, _CONTAINERS):
                yield from self._items(thing, name)
        elif is_namespace(cls) or cls is logging.Logger:  # whose methods are judged when they are called
            yield from self._attributes(thing, name)
        elif thing is os.environ and type(data := inside_of(thing).get("_data")) is dict:
            yield from self._items(data, name)
        elif cls is contextvars.ContextVar:
            yield Location(ContextValue(thing), None, thing.get(MISSING), f"the value of {thing.name}")
        elif cls is _CACHED:
            if is_users(thing.__wrapped__):
                yield from self._of_cached(thing, name)
        elif is_trusted(module) or is_standard(module):
            if not (cls in _ATOMS or module in _HARMLESS):
                raise Unsure(f"{name} is of {module}.{cls.__qualname__}, whose state can't be compared")
        else:
            yield from self._of_users(thing, name)

    def _of_ours(self, thing: Any, name: str) -> Iterator[Location]:
        """An object of tapegrad's or jax's: it may keep a function of the user's; distributions keep tensors."""
        inside = inside_of(thing)
        if is_a(inside, dict) and type(thing).__module__.startswith("tapegrad.distributions."):
            self._keep(inside, f"the attributes of {name}")
            yield from self._named(inside, name, every=True)
            return
        for part in ("function", "__wrapped__"):
            if is_a(inside, dict) and part in inside:
                yield Location(None, None, inside[part], name)

    def _of_cached(self, thing: Any, name: str) -> Iterator[Location]:
        """The function that ``lru_cache`` was given, and the results that are kept, which it gives without running."""
        for part in gc.get_referents(thing):
            if part is not thing.__dict__ and not is_a(part, type):
                yield Location(None, None, part, f"what {name} keeps" if type(part) is dict else name)

    def _of_users(self, thing: Any, name: str) -> Iterator[Location]:
        for base in type(thing).__mro__:
            library = is_trusted(base.__module__) or is_standard(base.__module__)
            bare = base in (object, *_BASES) or base.__module__ in ("typing", "abc", "collections", "collections.abc")
            if not bare and (library or not is_pythons(base)):
                raise Unsure(f"{name} is an instance of {base.__module__}.{base.__qualname__}, "
                             "whose state can't be compared")  # fmt: skip
            for descriptor in vars(base).values():
                if is_a(descriptor, types.MemberDescriptorType) and not library:
                    box = AttributeSlot(thing)
                    yield Location(box, descriptor, box[descriptor], f"{name}.{descriptor.__name__}")
        yield from self._attributes(thing, name)
        if is_a(thing, _CONTAINERS):
            yield from self._items(thing, name)
