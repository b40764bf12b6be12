"""Arguments of calls as trees, of which objects that come anew are nodes; and which arguments are always new.

Note [New objects]
What calls have in common in an object that is no tensor is the object itself. Where each call brings another one (a
batch that is an object, an array of NumPy's), there would be a kind of calls for each, which keeps it alive, and none
would ever be replayed. So an instance of a dataclass, which has its fields and nothing else, is taken apart as a tuple
is; and where a third object of a class comes in the place of two others, its class is *opened*: from then on objects of
it are taken apart, too, if all they have is in a dictionary of attributes. Calls with other new objects (arrays of
NumPy's, iterators) are made as they stand, and nothing is kept of them. It is not so with modules, optimizers,
functions and the like, which are few and stay.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Collection, Iterator, Sequence
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from tapegrad._src.caches import Cache
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import BUILT_IN, LEAF, TreeSpec, children_of
from tapegrad.compiler.guards.objects import inside_of, is_pythons
from tapegrad.compiler.guards.trace_rules import PLAIN, is_namespace, is_searched, is_standard, is_trusted

MOST = 2
"""So many objects may come in turn before they are taken for new ones."""


def taken_apart(arguments: Any, opened: Collection[type] = ()) -> tuple[list, TreeSpec]:
    """The leaves of arguments, and the tree that they were in. ``opened``: the classes that are taken apart, too."""
    leaves: list[Any] = []
    return leaves, _take_apart(arguments, opened, leaves, {})


def _take_apart(thing: Any, opened: Collection[type], leaves: list, met: dict[int, Any]) -> TreeSpec:
    """The tree of a thing, whose leaves are added to others; ``met``: the containers and objects that have come, which
    calls may tell apart."""
    apart: Any = None
    if type(thing) not in _LEAVES:
        apart = children_of(thing)
        if apart is None and (attributes := _attributes(thing, opened)) is not None:
            apart = (id(type(thing)), *attributes), (*attributes.values(),)
    if apart is None:
        leaves.append(thing)
        return LEAF
    context, children = apart
    if not isinstance(thing, tuple):
        if id(thing) in met:
            return TreeSpec(type(thing), (AGAIN, met[id(thing)][0]), ())
        met[id(thing)] = len(met), thing
    return TreeSpec(type(thing), context, tuple([_take_apart(child, opened, leaves, met) for child in children]))


AGAIN = "again"
"""Begins the context of a container, or an object, that has come before, with its number."""


def comes_again(tree: TreeSpec) -> bool:
    """Tell whether something in a tree came before in it."""
    return (type(tree.context) is tuple and tree.context[:1] == (AGAIN,)) or any(map(comes_again, tree.below))


def is_object_node(tree: TreeSpec) -> bool:
    """Tell whether a node is an object that was taken apart into its attributes."""
    return type(tree.context) is tuple and tree.context[:1] == (id(tree.kind),)


_LEAVES = frozenset((*PLAIN, Tensor, np.ndarray))


def _attributes(thing: Any, opened: Collection[type]) -> dict[str, Any] | None:
    """The attributes into which an object is taken apart: its fields, or all; None if it stays whole."""
    if not (type(thing) in opened or is_plain_dataclass(thing)):
        return None
    inside = inside_of(thing)
    if inside is not None:
        return inside
    return {field.name: object.__getattribute__(thing, field.name) for field in dataclasses.fields(thing)}


def is_plain_dataclass(thing: Any) -> bool:
    """Tell whether an object is an instance of a dataclass of the user's, and has nothing but its fields."""
    cls = type(thing)
    if "__dataclass_fields__" not in vars(cls) or not all(map(is_users_own, cls.__mro__[:-1])):
        return False
    names, inside = {field.name for field in dataclasses.fields(cls)}, inside_of(thing)
    own = any({"__getattr__", "__getattribute__"} & vars(base).keys() for base in cls.__mro__[:-1])
    if inside is None:
        slots = {name for base in cls.__mro__[:-1] for name in vars(base).get("__slots__", ())}
        return not own and slots == names
    return not own and inside.keys() == names


def is_users_own(cls: type) -> bool:
    """Tell whether a class is the user's, and written in Python."""
    module = cls.__module__
    return is_pythons(cls) and not (is_trusted(module) or is_standard(module) or is_searched(module))


def can_be_opened(cls: type) -> bool:
    """Tell whether all that objects of a class have is in their dictionaries of attributes, and found there."""
    bases = cls.__mro__[:-1]
    slots = any(vars(base).get("__slots__") for base in bases)
    asked = any({"__getattribute__", "__del__"} & vars(base).keys() for base in bases if not is_namespace(base))
    return _is_written(cls) and cls.__dictoffset__ != 0 and not (slots or asked) and type(cls) in (type, abc.ABCMeta)


def _is_written(cls: type) -> bool:
    """Tell whether a class and its bases are written in Python, and not ours, nor of the standard library but for
    namespaces and bases of containers."""
    return all([
        is_namespace(base) or (
            is_pythons(base) and not is_trusted(base.__module__)
            and (base.__module__ in _BARE or not is_standard(base.__module__))
        )
        for base in cls.__mro__[:-1]
    ])  # fmt: skip


_BARE = ("collections", "collections.abc", "typing", "abc")
"""Modules of which classes may be bases of opened ones."""


def classes_in(tree: TreeSpec) -> Iterator[type]:
    """The user's classes that were taken apart."""
    if tree.kind not in (None, *BUILT_IN):
        yield tree.kind  # type: ignore[misc]
    for child in tree.below:
        yield from classes_in(child)


def may_come_new(leaf: Any) -> bool:
    """Tell whether an argument is of a class of which each call may bring another instance, or a function made anew."""
    cls = type(leaf)
    if cls is FunctionType:
        return leaf.__closure__ is not None
    if cls is MethodType or cls is BuiltinMethodType:
        return isinstance(leaf.__self__, Tensor) or may_come_new(leaf.__self__)
    if issubclass(cls, (np.ndarray, np.generic)):
        return True
    if cls in PLAIN or issubclass(cls, (Tensor, type)) or any("__call__" in vars(base) for base in cls.__mro__):
        return False
    return _is_written(cls)


class Newcomers:
    """Which arguments are other objects in each call. See Note [New objects].

    Attributes:
        opened: the classes of which objects are taken apart.
    """

    def __init__(self) -> None:
        self.opened: set[type] = set()
        self._known = Cache("kinds of compiled calls")

    def widened(self, key: tuple, leaves: Sequence[Any]) -> tuple[tuple, list[tuple]]:
        """The key of a call, without objects that are always new; and keys that are no longer of use."""
        new = [i for i, leaf in enumerate(leaves) if may_come_new(leaf)]
        if not new:
            return key, []
        alike = tuple((_type_of(leaves[i]), NEW) if i in new else one for i, one in enumerate(key[0]))
        wide = alike, *key[1:]
        known: list[Any] = self._known.get(wide) or self._known.keep(wide, [])
        if NEW in known:
            return wide, []
        if key not in known:
            known.append(key)
        if len(known) <= MOST:
            return key, []
        dropped = known.copy()
        known[:] = [NEW]
        self.opened |= {type(leaves[i]) for i in new if can_be_opened(type(leaves[i]))}
        return wide, dropped


def _type_of(leaf: Any) -> Any:
    """The kind that objects share that may be others in each call: their class, or the code of functions."""
    return leaf.__code__ if type(leaf) is FunctionType else type(leaf)


NEW = "another one in each call"
"""Stands for an object in a key."""


def new_in(key: tuple) -> str | None:
    """Which argument of calls with a key is always new, in words."""
    for number, one in enumerate(key[0]):
        if type(one) is tuple and one[1:] == (NEW,):
            name = getattr(one[0], "co_qualname", None) or one[0].__qualname__
            return f"argument {number} is another {name} in each call; pass tensors, or a dataclass of them"
    return None
