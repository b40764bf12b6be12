"""Keys of cache entries: what calls must have in common to be replayed alike, besides what they reach."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from types import FunctionType, MethodType
from typing import Any

from tapegrad._src.caches import Cache
from tapegrad._src.execution.data.devices import get_default_device
from tapegrad._src.execution.data.dtypes import get_default_dtype
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.compiler.capture.capture import hooks_of
from tapegrad.compiler.guards.locations import MISSING
from tapegrad.compiler.guards.objects import KEPT, inside_of
from tapegrad.compiler.guards.trace_rules import PLAIN
from tapegrad.compiler.replay.compiled_modules import is_update


@cache  # which has no frame of its own
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
    if type(function) is FunctionType:
        return None
    if is_update(function):
        groups = function.__self__.param_groups
        return tuple(getattr(p, "_grad", None) is None for group in groups for p in group["params"])
    training = getattr(function, "training", MISSING)
    return getattr(getattr(function, "__self__", None), "training", None) if training is MISSING else training


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
    return identity_of(leaf)


def identity_of(leaf: Any) -> Any:
    """The identity of an object, whose entry's guards hold it, so that no other one can have it; of methods, and of
    functions that are made anew where they are written, that of what they are made of."""
    if type(leaf) is MethodType:
        return MethodType, id(leaf.__self__), id(leaf.__func__)
    if type(leaf) is FunctionType and is_bare(leaf):
        return FunctionType, id(leaf.__code__), id(leaf.__globals__)
    return id(leaf)


def is_bare(function: FunctionType) -> bool:
    """Tell whether a function has nothing but its code, and globals."""
    return not (function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__)


def owner_among(leaves: Sequence[Any]) -> Any:
    """The first argument that is a module, or else an optimizer, which has what is compiled for it; or None."""
    inside = [(leaf, inside_of(leaf) or ()) for leaf in leaves if not isinstance(leaf, Tensor | type)]
    owners = [leaf for name in ("_parameters", "param_groups") for leaf, its in inside if name in its]
    return owners[0] if owners else None


DYNAMIC = {int: (int, "dynamic"), float: (float, "dynamic")}
"""The common part of calls in an argument that is another number in each: its type. See Note [Dynamic numbers]."""

PINNED = (), ()
"""Stands where the numbers of calls are parts of their keys."""


class Widths:
    """Which arguments are other numbers in each call.

    Calls whose numbers differ have different keys, at first; but as soon as one number has had two values, it
    is dynamic, unless Python has to know it.

    Attributes:
        seen: whether a call has shown that it runs nothing that is not known.
    """

    def __init__(self) -> None:
        self.seen = False
        self._known = Cache("kinds of compiled calls")

    def widened(self, key: tuple, leaves: Sequence[Any], tree: TreeSpec) -> tuple:
        """The key of a call whose own is new: with dynamic numbers left out."""
        numbers = [i for i, leaf in enumerate(leaves) if type(leaf) in DYNAMIC]
        if not numbers or not is_flat(tree):
            return key
        wide = self._wide(key, numbers, leaves)
        known: Any = self._known.get(wide) or self._known.keep(wide, (key[0], set()))
        if known is PINNED:
            return key
        first, dynamic = known
        dynamic |= {i for i in numbers if key[0][i] != first[i]}
        return self._wide(key, dynamic, leaves)

    def stay(self, key: tuple, leaves: Sequence[Any]) -> None:
        """Let the numbers in calls like this be parts of their keys."""
        numbers = [i for i, leaf in enumerate(leaves) if type(leaf) in DYNAMIC]
        self._known.replace(self._wide(key, numbers, leaves), PINNED)

    @staticmethod
    def _wide(key: tuple, positions: Collection[int], leaves: Sequence[Any]) -> tuple:
        keys = [DYNAMIC[type(leaves[i])] if i in positions else one for i, one in enumerate(key[0])]
        return tuple(keys), *key[1:]


def has_more(tensor: Tensor) -> bool:
    """Tell whether a tensor may have attributes that are not ours."""
    return type(tensor) is not Tensor or bool(tensor.__dict__.keys() - KEPT)
