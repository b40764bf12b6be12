"""Arguments of calls as trees, of which plain dataclasses are nodes; and which arguments are always new.

Note [New objects]
What calls have in common in an object that is no tensor is the object itself. Where each call brings another one (a
batch that is an object, an array of NumPy's), there would be a kind of calls for each, which keeps it alive, and none
would ever be replayed. So an instance of a dataclass, which has its fields and nothing else, is taken apart as a tuple
is; and where a third object of a class comes in the place of two others, calls like that are made as they stand, and
nothing is kept of them. It is not so with modules, optimizers, functions and the like, which are few and stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tapegrad._src.caches import Cache
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import BUILT_IN, LEAF, TreeSpec, flatten
from tapegrad.compiler.guards.reachable import inside_of, is_pythons
from tapegrad.compiler.guards.trace_rules import PLAIN, is_namespace, is_searched, is_standard, is_trusted

MOST = 2
"""So many objects may come in turn before they are taken for new ones."""


def taken_apart(arguments: tuple) -> tuple[list, TreeSpec]:
    """The leaves of arguments, and the tree that they were in."""
    leaves, tree = flatten(arguments)
    if not any(type(leaf) not in _LEAVES and is_plain_dataclass(leaf) for leaf in leaves):
        return leaves, tree
    grown: list[Any] = []
    return grown, _grow(tree, iter(leaves), grown)


def is_dataclass_node(tree: TreeSpec) -> bool:
    """Tell whether a node is an instance of a dataclass that was taken apart."""
    return type(tree.context) is tuple and tree.context[:1] == (id(tree.kind),)


_LEAVES = frozenset((*PLAIN, Tensor, np.ndarray))


def _grow(tree: TreeSpec, leaves: Iterator, grown: list) -> TreeSpec:
    if tree.kind is not None:
        return tree._replace(below=tuple(_grow(child, leaves, grown) for child in tree.below))
    leaf = next(leaves)
    if type(leaf) in _LEAVES or not is_plain_dataclass(leaf):
        grown.append(leaf)
        return LEAF
    names = [field.name for field in dataclasses.fields(leaf)]
    below, inner = taken_apart(tuple(object.__getattribute__(leaf, name) for name in names))
    grown += below
    return TreeSpec(type(leaf), (id(type(leaf)), *names), inner.below)


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
    if issubclass(cls, (np.ndarray, np.generic)) or is_namespace(cls):
        return True
    if cls in PLAIN or issubclass(cls, (Tensor, type)) or any("__call__" in vars(base) for base in cls.__mro__):
        return False
    return all(map(is_users_own, cls.__mro__[:-1]))


class Newcomers:
    """Which arguments are other objects in each call. See Note [New objects]."""

    def __init__(self) -> None:
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
