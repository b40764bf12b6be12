"""Results of calls: taken apart into leaves, with all the containers and objects that calls make, and made again.

Note [Objects in results]
A call may return containers, and objects of the user's classes, that it has made. A replayed call makes them anew: an
object by ``object.__new__``, with the same attributes in its dictionary and in slots, for there is nothing else in it.
None of the class's own methods is called. That is the same only if nobody else has them: so the references to each are
counted, as the garbage collector does it, and must all come from inside of what is returned; and there is no weak one.
What was there before is no part of the tree but a leaf, and is returned as it is, if the guards see that the call would
find it again. Things that are found twice are made once.
"""

from __future__ import annotations

import abc
import enum
import gc
import types
import typing
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import LEAF, TreeSpec, children_of, unflatten
from tapegrad.compiler.capture.arguments import is_users_own
from tapegrad.compiler.capture.autograd_histories import begins
from tapegrad.compiler.capture.dynamic_number import DynamicNumber, plain
from tapegrad.compiler.guards.locations import Rebound
from tapegrad.compiler.guards.objects import inside_of
from tapegrad.compiler.guards.trace_rules import PLAIN

_STATELESS = (object, abc.ABC, typing.Generic, typing.Protocol)
"""Bases that add nothing to an object."""

_FILLED = (list, dict, OrderedDict, defaultdict, deque)
"""Containers that are made first, and filled then: they may have themselves in them."""


DEEPEST = 100
"""Results are taken apart so deep."""


class Again:
    """The kind of a node that was met before: its context is the how many-th node that was."""


class Attributes(NamedTuple):
    """The context of an object's node: the class, and the names of what is in slots and in its dictionary."""

    cls: int
    slots: tuple[types.MemberDescriptorType, ...]
    names: tuple


def is_plain_object(thing: Any) -> bool:
    """Tell whether an object is an instance of a class of the user's, and has nothing but its attributes."""
    bases = [base for base in type(thing).__mro__ if base not in _STATELESS]
    return bool(bases) and all(is_users_own(base) and "__del__" not in vars(base) for base in bases)


def _slots_of(thing: Any) -> Iterator[tuple[types.MemberDescriptorType, Any]]:
    """The slots of an object that are set, with what is in them."""
    for base in type(thing).__mro__:
        for one in vars(base).values():
            if type(one) is types.MemberDescriptorType:
                try:
                    yield one, one.__get__(thing)
                except (AttributeError, TypeError):  # it is not set, or is another class's
                    continue


def _parts_of(thing: Any) -> tuple[Any, Sequence] | None:
    """The context and the children of a container or an object; None for a leaf."""
    if type(thing) in _LEAVES:
        return None
    apart = children_of(thing)
    if apart is not None or not is_plain_object(thing):
        return apart
    slots, inside = dict(_slots_of(thing)), inside_of(thing) or {}
    return Attributes(id(type(thing)), tuple(slots), tuple(inside)), [*slots.values(), *inside.values()]


_LEAVES = frozenset((*PLAIN, Tensor, np.ndarray, DynamicNumber, types.FunctionType))


class Results:
    """The results of a call, and the items that it appends to lists, taken apart.

    Args:
        was_there: tells whether one of some things is known to have been there before.

    Attributes:
        obstacle: why it can't be made again; empty if it can.
    """

    def __init__(self, was_there: Callable[[list], bool]) -> None:
        self._was_there = was_there
        self._earlier: set[int] = set()
        self._nodes: list[Any] = []
        self._roots: Counter[int] = Counter()
        self.obstacle = ""

    def take(self, root: Any) -> tuple[list, TreeSpec]:
        """The leaves of a result, and how it is made of them."""
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()
        leaves: list[Any] = []
        first = len(self._nodes)
        tree = self._tree(root, leaves)
        self._roots[id(root)] += 1
        self._earlier |= {id(one) for one in self._nodes[first:] if type(one) is not tuple}
        return leaves, tree

    def _tree(self, thing: Any, leaves: list, depth: int = 0) -> TreeSpec:
        number = self._numbers.get(id(thing))
        if number is not None:
            if number in self._open:
                self.obstacle = "it returns what contains itself"
            return TreeSpec(Again, number, ())
        parts = _parts_of(thing) if depth < DEEPEST else None
        if parts is None or (type(parts[0]) is Attributes and self._was_there([thing])):
            leaves.append(thing)
            return LEAF
        context, children = parts
        if id(thing) in self._earlier:
            self.obstacle = "it returns, or appends, one container twice"
        if type(thing) in _FILLED and not all(map(self._is_constant, _keys_of(context))):
            self.obstacle = "it returns a dictionary with keys that are objects"
        number = self._numbers[id(thing)] = len(self._numbers)
        self._nodes.append(thing)
        filled = type(context) is Attributes or type(thing) in _FILLED
        self._open |= set() if filled else {number}
        below = tuple([self._tree(child, leaves, depth + 1) for child in children])
        self._open.discard(number)
        return TreeSpec(type(thing), context, below)

    def _is_constant(self, key: Any) -> bool:
        """Tell whether a key is the same for everybody."""
        return type(key) in _CONSTANT or (type(key) is tuple and all(map(self._is_constant, key))) or (
            isinstance(key, (type, enum.Enum)) or self._was_there([key])
        )

    def why_not(self) -> str:
        """Why what was taken apart can't be made again; empty if it can."""
        nodes, self._nodes = self._nodes, []
        if self._was_there(nodes):
            return "it returns a container that was there before"
        return self.obstacle or _kept_elsewhere(nodes, self._roots)


def _kept_elsewhere(nodes: list, roots: Counter[int]) -> str:
    """The first container, or object, to which there are other references than those from nodes, and so many to
    ``roots``; the list is emptied."""
    nodes += list(filter(_is_dict, map(inside_of, nodes)))  # no name may hold one of them
    counts = roots + Counter(id(part) for one in nodes for part in gc.get_referents(one))
    every = [*nodes, object()]
    nodes.clear()
    references = [getrefcount(one) for one in every]
    ours = references.pop()
    for one, count in zip(every, references, strict=False):
        if type(one) is not tuple and (count - ours != counts[id(one)] or weakref.getweakrefcount(one)):
            return f"it returns a {type(one).__name__} that is kept elsewhere, too"
    return ""


def _is_dict(thing: Any) -> bool:
    return type(thing) is dict


_CONSTANT = frozenset((*PLAIN, dtype, device))


def _keys_of(context: Any) -> list:
    """The keys in what is known of a dictionary."""
    if type(context) is not list:
        return []
    return context[1] if len(context) == 2 and type(context[1]) is list else context


def is_value(leaf: Any) -> bool:
    """Tell whether a leaf is the same for everybody, or can only be the same one."""
    return type(leaf) in _CONSTANT or isinstance(leaf, _VALUES)


_VALUES = (
    Size, np.generic, np.dtype, type, enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
    types.EllipsisType,
)  # fmt: skip


def put_together(leaves: Sequence[Any], tree: TreeSpec) -> Any:
    """The results that were taken apart as this tree, made anew of leaves."""
    return _made(tree, iter(leaves), [])


def _made(tree: TreeSpec, leaves: Iterator, nodes: list[Any]) -> Any:
    cls, context = tree.kind, tree.context
    if cls is None:
        return next(leaves)
    if cls is Again:
        return nodes[context]
    number = len(nodes)
    made: Any = None
    if type(context) is Attributes:
        made = object.__new__(cls)
    elif cls in _FILLED:
        made = defaultdict(context[0]) if cls is defaultdict else deque(maxlen=context) if cls is deque else cls()
    nodes.append(made)
    below = [_made(child, leaves, nodes) for child in tree.below]
    if made is None:
        made = nodes[number] = unflatten(below, tree._replace(below=(LEAF,) * len(below)))
    elif type(context) is Attributes:
        for slot, value in zip(context.slots, below, strict=False):
            slot.__set__(made, value)
        if context.names:
            inside_of(made).update(zip(context.names, below[len(context.slots) :], strict=True))
    elif cls is list or cls is deque:
        made.extend(below)
    else:
        made.update(zip(_keys_of(context), below, strict=True))
    return made


def plain_items(tree: Any, met: dict[int, Any] | None = None, depth: int = 0) -> Any:
    """A result with numbers in place of proxies; lists, dictionaries and objects in it stay the same."""
    met = {} if met is None else met
    if id(tree) in met:
        return met[id(tree)]
    parts = _parts_of(tree) if depth < DEEPEST else None
    if parts is None:
        return plain(tree)
    met[id(tree)] = tree
    context, children = parts
    new = [plain_items(child, met, depth + 1) for child in children]
    changed = {i: one for i, one in enumerate(new) if one is not children[i]}
    if not changed:
        return tree
    if type(context) is Attributes:
        for i, one in changed.items():
            if i < len(context.slots):
                context.slots[i].__set__(tree, one)
            else:
                inside_of(tree)[context.names[i - len(context.slots)]] = one
    elif type(tree) in _FILLED:
        keys = _keys_of(context) if isinstance(tree, dict) else range(len(new))
        for i, one in changed.items():
            tree[keys[i]] = one
    else:
        spec = TreeSpec(type(tree), context, (LEAF,) * len(new))
        met[id(tree)] = unflatten(new, spec)
    return met[id(tree)]


def histories_lost(given: Sequence[Any], rebound: list[Rebound]) -> list[str]:
    """Why a call can't be replayed that returns the history of a tensor of which another one takes the place."""
    olds = {id(one.old) for one in rebound}
    edges = (leaf._edge for leaf in given if isinstance(leaf, Tensor) and leaf._edge is not None)
    if olds and any(begins(edge, olds) for edge in edges):
        return ["it returns a tensor whose history begins in a place that it rebinds; return detach() of it"]
    return []
