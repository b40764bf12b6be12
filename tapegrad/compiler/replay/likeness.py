"""The look of calls: which entry one belongs to, seen without its key.

Note [Calls that are recognized]
To find the key of a call takes longer than to replay it: its arguments are taken apart, and each is named. So each
entry keeps what such a call looks like, as a function that is written for it; the next call is compared with the
entries of the last ones first. What does not look alike may have the same key nevertheless.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

from tapegrad._src.execution.data.values import is_tracer
from tapegrad._src.tape.kept import defined
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.compiler.capture.arguments import NEW, comes_again, is_object_node, taken_apart
from tapegrad.compiler.capture.capture import hooks_of
from tapegrad.compiler.guards.objects import KEPT, inside_of
from tapegrad.compiler.guards.written_guard import alike
from tapegrad.compiler.replay.cache_keys import DYNAMIC, ambient, identity_of


class Likeness:
    """The look of a call whose arguments have nothing unusual. See Note [Calls that are recognized].

    Args:
        leaves: its arguments.
        key: what such calls have in common.
        tree: how the arguments are put together.

    Attributes:
        leaves: gives the arguments of a call, or None if it does not look like this.
        modes, state: the modes and settings of such calls, and the state of the function (``state_of``).
    """

    __slots__ = ("leaves", "modes", "state")

    def __init__(self, leaves: Sequence[Any], key: tuple, tree: TreeSpec) -> None:
        self.modes, self.state = ambient(), key[-1]
        self.leaves: Callable[[tuple, dict[str, Any]], Sequence[Any] | None] = _Writer(leaves, key[0], tree).function

    @classmethod
    def of(cls, leaves: Sequence[Any], key: tuple, tree: TreeSpec) -> Likeness | None:
        """The look of a call with this key; None if there is more to its arguments than can be seen quickly."""
        keys, again = key[:2]
        if not has_plain_keys(tree) or comes_again(tree) or hides_containers(tree):
            return None
        for leaf, of in zip(leaves, keys, strict=True):
            if isinstance(leaf, Tensor) and (of[0] is not Tensor or of[1].level or of[4] or of[5]):
                return None
        tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        return cls(leaves, key, tree) if list(again) == tensors else None


def has_plain_keys(tree: TreeSpec) -> bool:
    """Tell whether the keys of all dictionaries are strings: ``1``, ``1.0`` and ``True`` are equal, but not alike."""
    if tree.kind is dict and any(type(key) is not str for key in tree.context):
        return False
    return tree.kind not in (OrderedDict, defaultdict) and all(map(has_plain_keys, tree.below))


def has_dictionary(tree: TreeSpec) -> bool:
    """Tell whether a node is an object whose attributes are in a dictionary."""
    return is_object_node(tree) and not vars(tree.kind).get("__slots__")


def hides_containers(tree: TreeSpec) -> bool:
    """Tell whether there are containers in one that the written function has taken apart by others: it could not say
    whether they are the same as elsewhere."""
    seen = tree.kind in (None, tuple, list, dict) or has_dictionary(tree)
    return any(hides_containers(child) or not (seen or child.kind is None) for child in tree.below)


class _Writer:
    """Writes the function that takes arguments apart, as long as they look like those of one call.

    Attributes:
        function: gives the leaves, or None.
    """

    def __init__(self, leaves: Sequence[Any], keys: Sequence[Any], tree: TreeSpec) -> None:
        self._names: dict[str, Any] = {"Tensor": Tensor, "is_tracer": is_tracer, "alike": alike, "others": _others}
        self._numbers = itertools.count()
        self._lines: list[str] = []
        self._containers: list[str] = []
        args, kwargs = tree.below
        self._check(f"len(args) != {len(args.below)}")
        if kwargs.below:
            self._check(f"tuple(kwargs) != {self._name(tuple(kwargs.context))}")
        else:
            self._check("kwargs")
        self._unpack(kwargs, "kwargs.values()", self._unpack(args, "args", 0))
        for i, (leaf, key) in enumerate(zip(leaves, keys, strict=True)):
            for test in self._tests(f"x{i}", leaf, key):
                self._check(test)
        self._check_distinct([f"x{i}" for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)])
        self._check_distinct(self._containers)
        flat = not kwargs.below and all(child.kind is None for child in args.below)
        given = "args" if flat else self._tuple(0, len(leaves))
        lines = ["def leaves(args, kwargs):", *(f"    {line}" for line in self._lines), f"    return {given}"]
        self.function = defined(lines, "leaves", self._names)

    def _name(self, thing: Any) -> str:
        name = f"c{next(self._numbers)}"
        self._names[name] = thing
        return name

    def _check_distinct(self, names: list[str]) -> None:
        """Check that objects are not the same."""
        if len(names) == 2:
            self._check(" is ".join(names))
        elif len(names) > 2:
            self._check(f"len({{{', '.join(f'id({one})' for one in names)}}}) != {len(names)}")

    def _check(self, unlike: str) -> None:
        self._lines.append(f"if {unlike}: return None")

    @staticmethod
    def _tuple(start: int, end: int) -> str:
        return "(" + "".join(f"x{i}, " for i in range(start, end)) + ")"

    def _unpack(self, node: TreeSpec, text: str, start: int) -> int:
        """Give the children of a node names, and take them apart; the number of the next leaf."""
        if not node.below:
            return start
        names, inner, at = [], [], start
        for child in node.below:
            names.append(f"x{at}" if child.kind is None else f"t{next(self._numbers)}")
            inner += [] if child.kind is None else [(child, names[-1], at)]
            at += child.num_leaves
        self._lines.append(f"{', '.join(names)}, = {text}")
        for child, name, first in inner:
            self._take_apart(child, name, first)
        return at

    def _take_apart(self, node: TreeSpec, name: str, start: int) -> None:
        node_type = node.kind
        assert node_type is not None
        if not issubclass(node_type, tuple):
            self._containers.append(name)
        if node_type is tuple or node_type is list:
            self._check(f"type({name}) is not {node_type.__name__} or len({name}) != {len(node.below)}")
            self._unpack(node, name, start)
        elif node_type is dict:
            self._check(f"type({name}) is not dict or tuple({name}) != {self._name(tuple(node.context))}")
            self._unpack(node, f"{name}.values()", start)
        elif has_dictionary(node):
            fields = node.context[1:]
            self._check(f"type({name}) is not {self._name(node_type)}")
            self._lines.append(f"{name} = {self._name(inside_of)}({name})")
            self._check(f"{name} is None or tuple({name}) != {self._name(fields)}")
            self._unpack(node, "".join(f"{name}[{one!r}], " for one in fields), start)
        else:
            leaves, spec = f"t{next(self._numbers)}", f"t{next(self._numbers)}"
            self._lines.append(f"{leaves}, {spec} = {self._name(taken_apart)}({name})")
            self._check(f"{spec} != {self._name(node)}")
            if node.num_leaves:
                self._lines.append(f"{self._tuple(start, start + node.num_leaves)[1:-1]} = {leaves}")

    def _tests(self, name: str, leaf: Any, key: Any) -> Iterator[str]:
        """The tests by which a leaf is told from that of another call."""
        if isinstance(leaf, Tensor):
            spec, graded = self._name(key[1]), self._name(key[3])
            history = "is None" if not key[2] else "is not None"
            value = f"{name}._value" if key[1].plain else f"{name}._storage.memory"
            yield f"type({name}) is not Tensor or {name}._spec is not {spec} or {name}._edge {history}"
            yield f"{name}.__dict__ and others({name}, {graded})" if key[3] is None else f"others({name}, {graded})"
            yield f"is_tracer({value})"
        elif key in DYNAMIC.values():
            yield f"type({name}) is not {self._name(key[0])}"
        elif type(key) is tuple and key[1:] == (NEW,):
            of_function = isinstance(key[0], CodeType)
            type_name = self._name(FunctionType if of_function else key[0])
            yield f"type({name}) is not {type_name}"
            if of_function:
                yield f"{name}.__code__ is not {self._name(key[0])}"
        elif type(key) is tuple and key[0] in (FunctionType, MethodType):
            yield f"{self._name(identity_of)}({name}) != {self._name(key)}"
        else:
            value = self._name(leaf)
            yield f"{name} is not {value} and not alike({name}, {value})"


def _others(tensor: Tensor, graded: Any) -> bool:
    """Tell whether a tensor has attributes, hooks, or a gradient of another kind than this."""
    grad = tensor._grad
    if (grad if grad is None else grad._spec) is not graded:
        return True
    return not tensor.__dict__.keys() <= KEPT or any(True for _ in hooks_of(tensor))
