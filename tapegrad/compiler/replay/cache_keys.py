"""Keys of cache entries: what calls must have in common to be replayed alike, besides what they reach.

Note [Calls that are recognized]
To find the key of a call takes longer than to replay it: its arguments are taken apart, and each is named. So each
entry keeps what such a call looks like (``Likeness``); the next call is compared with the entry of the last one first.
What does not look alike may have the same key nevertheless.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from tapegrad._src.caches import Cache
from tapegrad._src.execution.data.devices import get_default_device
from tapegrad._src.execution.data.dtypes import get_default_dtype
from tapegrad._src.execution.data.values import is_tracer
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.compiler.capture.arguments import taken_apart
from tapegrad.compiler.capture.capture import hooks_of
from tapegrad.compiler.guards.reachable import KEPT
from tapegrad.compiler.guards.trace_rules import PLAIN
from tapegrad.compiler.guards.written_guard import alike
from tapegrad.compiler.replay.compiled_modules import is_update


@cache
def are_ordinary(modes: Modes) -> bool:
    """Tell whether nobody looks at what is computed, nor has it computed in another way."""
    seen = modes.intercepted or modes.watched or modes.saved_hooks or modes.results_watched or modes.recording
    return not (seen or modes.level or modes.forward_level >= 0 or modes.forked)


def ambient() -> tuple:
    """The modes and settings that are switched on."""
    return thread.modes, get_default_dtype(), get_default_device()


def state_of(function: Any) -> Any:
    """State that comes and goes: whether a module is in training mode; which parameters an optimizer has gradients
    of."""
    if is_update(function):
        groups = function.__self__.param_groups
        return tuple(getattr(p, "_grad", None) is None for group in groups for p in group["params"])
    return getattr(function, "training", getattr(getattr(function, "__self__", None), "training", None))


def cache_key(function: Any, leaves: Sequence[Any], tree: TreeSpec) -> tuple:
    """The key that calls of a function must share."""
    firsts: dict[int, int] = {}
    again = tuple(firsts.setdefault(id(leaf), i) for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor))
    shape = (tree.below[0].num_leaves, *tree.below[1].context) if is_flat(tree) else repr(tree)
    return tuple(map(key_of, leaves)), again, shape, ambient(), state_of(function)


def is_flat(tree: TreeSpec) -> bool:
    """Tell whether no argument is a container."""
    return all(child.kind is None for group in tree.below for child in group.below)


def key_of(leaf: Any) -> Any:
    """The key that calls must share in an argument."""
    if isinstance(leaf, Tensor):
        grad, named = leaf._grad, tuple(leaf.__dict__.keys() - KEPT)
        hooks = tuple(map(id, hooks_of(leaf)))
        return type(leaf), leaf._spec, leaf._edge is None, None if grad is None else grad._spec, named, hooks
    if type(leaf) in PLAIN:
        return type(leaf), repr(leaf)
    return id(leaf)  # that entry's guards hold it, so that no other object can have its identity


MOVES = {int: (int, "moves"), float: (float, "moves")}
"""The common part of calls in an argument that is another number in each: its type. See Note [Numbers that move]."""


class Widths:
    """Which arguments are other numbers in each call.

    Calls whose numbers differ have different keys, at first; but as soon as one number has had two values, it
    moves, unless Python has to know it.

    Attributes:
        seen: whether a call has shown that it runs nothing that is not known.
    """

    def __init__(self) -> None:
        self.seen = False
        self._known = Cache("kinds of compiled calls")
        self._pinned = Cache("kinds of compiled calls")

    def widened(self, key: tuple, leaves: Sequence[Any], tree: TreeSpec) -> tuple:
        """The key of a call whose own is new: with numbers left out that move."""
        numbers = [i for i, leaf in enumerate(leaves) if type(leaf) in MOVES]
        if not numbers or not is_flat(tree):
            return key
        wide = self._wide(key, numbers, leaves)
        if self._pinned.get(wide):
            return key
        first, moving = self._known.get(wide) or self._known.keep(wide, (key[0], set()))
        moving |= {i for i in numbers if key[0][i] != first[i]}
        return self._wide(key, moving, leaves)

    def stay(self, key: tuple, leaves: Sequence[Any]) -> None:
        """Let the numbers in calls like this be parts of their keys."""
        self._pinned.keep(self._wide(key, [i for i, leaf in enumerate(leaves) if type(leaf) in MOVES], leaves), True)

    @staticmethod
    def _wide(key: tuple, positions: Collection[int], leaves: Sequence[Any]) -> tuple:
        keys = [MOVES[type(leaves[i])] if i in positions else one for i, one in enumerate(key[0])]
        return tuple(keys), *key[1:]


def has_plain_keys(tree: TreeSpec) -> bool:
    """Tell whether the keys of all dictionaries are strings: ``1``, ``1.0`` and ``True`` are equal, but not alike."""
    if tree.kind is dict and any(type(key) is not str for key in tree.context):
        return False
    return tree.kind not in (OrderedDict, defaultdict) and all(map(has_plain_keys, tree.below))


class Likeness:
    """The look of a call whose arguments have nothing unusual. See Note [Calls that are recognized].

    Args:
        leaves: its arguments.
        keys: what calls have in common in each, as ``key_of`` has it.
        tree: how they are put together.
    """

    __slots__ = ("_names", "_tree", "_count", "_ambient", "_tensors", "_moving", "_others")

    def __init__(self, leaves: Sequence[Any], keys: Sequence[Any], tree: TreeSpec) -> None:
        self._names, self._tree = tuple(tree.below[1].context), None if is_flat(tree) else tree
        self._count, self._ambient = len(leaves), ambient()
        are_tensors = [isinstance(leaf, Tensor) for leaf in leaves]
        self._tensors = [(i, keys[i][1], keys[i][3], keys[i][2]) for i, tensor in enumerate(are_tensors) if tensor]
        moving = [i for i, key in enumerate(keys) if key in MOVES.values()]
        self._moving = [(i, type(leaves[i])) for i in moving]
        self._others = [(i, leaves[i]) for i, tensor in enumerate(are_tensors) if not tensor and i not in moving]

    @classmethod
    def of(cls, leaves: Sequence[Any], key: tuple, tree: TreeSpec) -> Likeness | None:
        """The look of a call with this key; None if there is more to its arguments than can be seen quickly."""
        keys, again = key[:2]
        if not has_plain_keys(tree):
            return None
        for leaf, of in zip(leaves, keys, strict=True):
            if isinstance(leaf, Tensor) and (of[0] is not Tensor or of[1].level or of[4] or of[5]):
                return None
        tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        return cls(leaves, keys, tree) if list(again) == tensors else None

    def leaves(self, args: tuple, kwargs: dict[str, Any]) -> Sequence[Any] | None:
        """The arguments of a call, if it looks like this."""
        leaves = self._taken_apart(args, kwargs)
        if leaves is None or len(leaves) != self._count or ambient() != self._ambient:
            return None
        for i, spec, graded, is_leaf in self._tensors:
            leaf = leaves[i]
            if type(leaf) is not Tensor or leaf._spec is not spec or (leaf._edge is None) is not is_leaf:
                return None
            inside = leaf.__dict__
            if inside:
                grad = leaf._grad
                if (grad if grad is None else grad._spec) is not graded:
                    return None
                if not inside.keys() <= KEPT or any(True for _ in hooks_of(leaf)):
                    return None
            elif graded is not None:
                return None
            if is_tracer(leaf._value if spec.plain else leaf._storage.memory):  # type: ignore[union-attr]
                return None
        for i, value in self._others:
            if leaves[i] is not value and not alike(leaves[i], value):
                return None
        if self._moving and any(type(leaves[i]) is not of for i, of in self._moving):
            return None
        tensors = leaves if len(self._tensors) == len(leaves) else [leaves[one[0]] for one in self._tensors]
        return leaves if len(set(map(id, tensors))) == len(tensors) else None

    def _taken_apart(self, args: tuple, kwargs: dict[str, Any]) -> Sequence[Any] | None:
        if self._tree is not None:
            leaves, tree = taken_apart((args, kwargs))
            return leaves if tree == self._tree else None
        if not (kwargs or self._names):
            return args
        return (*args, *kwargs.values()) if tuple(kwargs) == self._names else None


def has_more(tensor: Tensor) -> bool:
    """Tell whether a tensor may have attributes that are not ours."""
    return type(tensor) is not Tensor or bool(tensor.__dict__.keys() - KEPT)
