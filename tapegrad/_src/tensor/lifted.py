"""Levels: what tensors are inside function transforms (``func.grad``, ``func.vmap``, ...), one within the other.

Note [Levels]
A function transform runs the user's function at a *level* of its own. What is true of a tensor there (that it requires
grad, that it is dual, that it is one example of a batch) is true at this level alone: the tensor is *lifted*, and has
its own place in the graph and its own tangent. Its value is no array but a ``Lifted``: a tensor of the level outside.
The memory of what was lifted (the ``origin``) is that of outside: its views inside are views outside, and writes are
made there at once; all else that is computed lies in memory of the level, and nobody writes to its tensor outside. So
to compute with values at a level is to call operators on tensors one level further out
(``dispatch/function_levels.py``), where they are recorded if that level records, and so on, until the values are
arrays. This is how transforms nest in any order without getting into each other's way, and how gradients flow through
to what a transformed function captured.

At a ``vmap`` level the tensor outside has one more dimension in front, if it is ``batched``; inside, nobody sees that.

A level is *over* when its transform returns. What is still left of it then (a tensor that the function hid somewhere,
the graph that ``vjp`` keeps) counts as what it was lifted from.

Note [Histories further out]
What a tensor's value is lifted from has its own history, which is part of the value. A tensor that is detached at a
level is so at all: it is *severed*, what it reads is without history (``Lifted.detached_from_outside``), though it
shares its memory with tensors whose value has one. These keep theirs if a write is not recorded, because it is made
through the severed one or in ``no_grad`` (``Lifted.continuing``). As in PyTorch, ``no_grad`` at a level is so further
out too.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tapegrad._src.doors import Door
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.dual import set_tangent
from tapegrad._src.tensor.level_messages import (
    ESCAPED,
    NO_HOOKS,
    NO_ITEM,
    NO_MEMORY,
    NO_RANDOM,
    NOT_DIFFERENT,
    NOT_THE_SAME,
    RANDOM_IN_BATCH,
)
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor, edge_of, sharing_handle, value_of, wrap

TOGETHER = "batch"
"""In place of what random operators do: it is for a batch of gradients or tangents that a level is there."""


class Level:
    """A function transform that is running. See Note [Levels]. A context manager, that is entered once.

    Args:
        size: of a ``vmap``, how many examples there are; None for the transforms that differentiate.
        randomness: of a ``vmap``, what random operators do: ``"error"``, ``"different"`` or ``"same"``; ``TOGETHER``,
            an error too, of a level of any kind that is none of ``func``'s transforms.
        modes: changes of modes inside; grad mode is always on where a level differentiates.

    Attributes:
        depth: how many levels there are, with this one.
        alive: whether it isn't over yet.
        tangents_lost: where the memory of captured tensors may be written to without their tangents, which they lose:
            the storages that were; see ``refuse_lost``. None where that is refused.
    """

    __slots__ = (
        "size", "randomness", "depth", "alive", "changes", "levels", "modes", "duals", "disabled", "tangents_lost",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, size: int | None = None, randomness: str = "error", **modes: Any) -> None:
        self.size, self.randomness = size, randomness
        self.changes = modes if size is not None else {"grad": True, "inference": False, **modes}
        self.alive = False
        self.tangents_lost: list[Any] | None = None

    @property
    def maps(self) -> bool:
        """True if it is a ``vmap``."""
        return self.size is not None

    @property
    def transforms(self) -> bool:
        """True if it is one of the transforms of ``func``."""
        return self.randomness != TOGETHER

    @property
    def leaves_out(self) -> bool:
        """True if what has nothing to do with the tensors of the level is done further out, not here."""
        return self.maps or not self.transforms

    def __enter__(self) -> Level:
        records = not self.maps and "forward_level" not in self.changes
        if records and thread.modes.saved_hooks:
            raise RuntimeError(NO_HOOKS)
        self.modes, self.levels, self.duals = thread.modes, thread.levels, thread.duals
        self.disabled = thread.saved_hooks_disabled
        self.depth = len(self.levels) + 1
        thread.levels = (*self.levels, self)
        thread.modes = self.modes.replace(**{"level": self.depth, "forward_level": -1, **self.changes})
        thread.duals = []
        if records:
            thread.saved_hooks_disabled = NO_HOOKS
        self.alive = True
        return self

    def __exit__(self, *exception: object) -> None:
        thread.modes, thread.levels, thread.duals = self.modes, self.levels, self.duals
        thread.saved_hooks_disabled = self.disabled
        self.alive = False

    def outside(self) -> Outside:
        """For a block that runs one level further out. Only the innermost level can be left."""
        return Outside(self)

    def reading(self) -> Any:
        """For a block that reads what tensors of the level were lifted from: outside, if this is the innermost."""
        return Outside(self) if self in thread.levels[-1:] else nullcontext()

    def modes_outside(self) -> Modes:
        """The modes one level further out.

        Grad mode is a matter of each level, and so are hooks on saved tensors, but a ``vmap`` has none of its own.
        """
        grad, hooks = thread.modes.grad_enabled, thread.modes.saved_hooks
        if self.maps:
            return self.modes.replace(grad=grad, saved_hooks=hooks)
        return self.modes.replace(grad=grad and self.modes.grad_enabled)


class Outside:
    """Runs a block one level further out, and comes back."""

    __slots__ = ("level", "inside")

    def __init__(self, level: Level) -> None:
        self.level = level

    def __enter__(self) -> None:
        level = self.level
        self.inside = thread.modes, thread.levels, thread.duals, thread.saved_hooks_disabled
        thread.modes, thread.levels, thread.duals = level.modes_outside(), level.levels, level.duals
        thread.saved_hooks_disabled = level.disabled

    def __exit__(self, *exception: object) -> None:
        thread.modes, thread.levels, thread.duals, thread.saved_hooks_disabled = self.inside


class Lifted(Opaque):
    """The value of a tensor at a level: a tensor of the level outside. See Note [Levels].

    Attributes:
        tensor: the one outside, which nobody writes to.
        level: where it has been lifted to.
        batched: whether the first dimension of ``tensor`` is the one that the level maps over.
        origin: what was lifted and shares its memory with ``tensor``: who writes over this value writes there, and who
            reads it finds the history that came of writes there, from wherever.
        placed: what is mapped over, and its dimension of the examples, if ``tensor`` has that in front and it has not.
        shape, dtype: what is seen at the level; the dtype as NumPy's.
        spec: of a tensor that has this value, and nothing else.
    """

    __slots__ = ("_tensor", "level", "batched", "origin", "placed", "shape", "dtype", "spec")

    nbytes = 0
    """Nothing of it can be written over."""

    def __init__(
        self, tensor: Tensor, level: Level, batched: bool, origin: Tensor | None = None,
        placed: tuple[Tensor, int] | None = None,
    ) -> None:  # fmt: skip
        self._tensor, self.level, self.batched, self.origin, self.placed = tensor, level, batched, origin, placed
        outside = tensor._spec
        self.shape = tuple(outside.shape[1:] if batched else outside.shape)
        self.dtype = outside.dtype.numpy
        strides = outside.strides
        if strides is not None:
            strides = named_strides(self.shape, strides[1:] if batched else strides)
        self.spec = Spec.of(self.shape, outside.dtype, outside.device, level=level.depth, strides=strides)

    @property
    def tensor(self) -> Tensor:
        origin, tensor = self.origin, self._tensor
        if origin is None or origin._spec.plain:
            return tensor
        with self.level.reading():
            edge = edge_of(origin) or tensor._edge
            if edge is not tensor._edge or origin._spec.dual is not tensor._spec.dual:
                self._tensor = tensor = sharing_handle(origin, edge)
                if origin._spec.dual:
                    set_tangent(tensor, origin._tangent)
        return tensor

    @property
    def below(self) -> Any:
        with self.level.reading():
            return value_of(self.tensor)

    def run(self, function: Any, values: tuple) -> Any:
        return lifted_runner.content(function.__wrapped__, values, self.level)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.batched:
            raise RuntimeError(NO_ITEM if self.level.alive else ESCAPED)
        return np.asarray(value_of(self.tensor), dtype)

    def detached_from_outside(self) -> Any:
        """This value without history or tangent further out; itself if it has none."""
        spec = self.tensor._spec
        with self.level.reading():
            inner = value_of(self.tensor)
            below = inner.detached_from_outside() if isinstance(inner, Lifted) else inner
        if below is inner and not (spec.requires_grad or spec.dual):
            return self
        with self.level.reading():
            tensor = sharing_handle(self.tensor, None, requires_grad=False)
        tensor._value, tensor._detached_from_outside = below, tensor._detached_from_outside or below is not inner
        if not tensor._spec.plain and tensor._detached_from_outside:
            tensor._spec = tensor._spec.replace(window=True)
        return Lifted(tensor, self.level, self.batched)

    def written_over(self, before: Any, writer: Tensor) -> Any:
        """This value where ``writer`` puts it in place of another: what that was lifted from is written to at once."""
        origin = before.origin if isinstance(before, Lifted) and self.level.alive else None
        if origin is None or self.batched is not before.batched or self.level not in thread.levels:
            return self.continuing(before)
        return self._written_to(origin, before, writer)

    def written_through(self, writer: Tensor, before: Any) -> Lifted | None:
        """The value of a whole memory after this one is written to the part that ``writer`` shows.

        None if the part is no view further out: then there is nothing to write through.
        """
        part = writer._value
        if writer._detached_from_outside or not (isinstance(part, Lifted) and part.is_part_of(before)):
            return None
        if self.batched is not part.batched or self.level not in thread.levels:
            return None
        return self._written_to(part.tensor, before, writer)

    def _written_to(self, target: Tensor, before: Lifted, writer: Tensor) -> Lifted:
        assert before.origin is not None
        if thread.levels[-1] is not self.level:  # a vmap is written from that leaves it out
            with thread.levels[-1].outside():
                return self._written_to(target, before, writer)
        with self.level.outside():
            whole = write_outside.content(before.origin, target, self.tensor, writer)
        return Lifted(whole, self.level, before.batched, before.origin, before.placed)

    def is_part_of(self, whole: Any) -> bool:
        """Tell whether this is a view further out of what was lifted, and so shows what is written there."""
        origin = whole.origin if isinstance(whole, Lifted) else None
        tensor = self._tensor
        apart = tensor._view is not None or tensor._counter is not None  # a part that counts its own writes
        return origin is not None and apart and tensor._storage is origin._storage

    def continuing(self, before: Any) -> Any:
        """This value with the history of the one that it is written over, where the write was not recorded."""
        if not isinstance(before, Lifted) or (before.level, before.batched) != (self.level, self.batched):
            return self
        new, old = self.tensor, before.tensor
        with self.level.reading():
            inner, outer = value_of(new), value_of(old)
            below = inner.continuing(outer) if isinstance(inner, Lifted) else inner
        recorded = new._spec.requires_grad or not old._spec.requires_grad
        if below is inner and recorded and (new._spec.dual or not old._spec.dual):
            return self
        spec = new._spec.fresh.replace(requires_grad=not recorded or new._spec.requires_grad, dual=False)
        tensor = wrap(below, spec, (new if recorded else old)._edge)
        if old._spec.dual or new._spec.dual:
            tensor._tangent, tensor._spec = (new if new._spec.dual else old)._tangent, spec.replace(dual=True)
            self.level.duals.append(weakref.ref(tensor))
        return Lifted(tensor, self.level, self.batched)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def unsafe_buffer_pointer(self) -> int:
        """Refused, as by PyTorch."""
        raise RuntimeError(NO_MEMORY)


lifted_runner: Door[Callable[[Callable, tuple, Level], Any]] = Door(
    "lifted_runner", filled_by="dispatch/function_levels.py"
)
"""Runs a kernel on lifted values."""


write_outside: Door[Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = Door(
    "write_outside", filled_by="bindings/writes/in_place.py"
)
"""Gives what was lifted, or a view of it, another value, that is written at the level through some tensor."""


def origin_of(tensor: Tensor) -> tuple[Tensor, Level] | None:
    """The tensor that is written to outside if one of the innermost level is written to, and that level."""
    value = value_of(tensor) if tensor._storage is None else tensor._storage.value
    if isinstance(value, Lifted) and value.origin is not None and value.level in thread.levels[-1:]:
        return value.origin, value.level
    return None


def level_of(tensor: Tensor) -> Level | None:
    """The level that a tensor lives at; None for one that is not lifted."""
    if not tensor._spec.level:
        return None
    value = value_of(tensor)
    return value.level if isinstance(value, Lifted) else None


def raised(value: Lifted, requires_grad: bool = False) -> Tensor:
    """A leaf at a level."""
    return wrap(value, value.spec.replace(requires_grad=True) if requires_grad else value.spec)


def fresh(value: Any, spec: Spec) -> Tensor:
    """A new leaf around a value that no operator made; in inference mode an inference tensor.

    It lives at the innermost level that differentiates, or where it is to require grad.
    """
    if thread.modes.level:
        return fresh_at(thread.levels[-1], value, spec)
    return wrap(value, spec.replace(inference=True) if thread.modes.inference else spec)


def fresh_at(level: Level, value: Any, spec: Spec) -> Tensor:
    """``fresh`` where transforms are running."""
    if level.maps and not spec.requires_grad:
        with level.outside():
            return fresh(value, spec)
    with level.outside():
        below = fresh(value, spec.replace(requires_grad=False))
    return raised(Lifted(below, level, False), spec.requires_grad)


def fresh_examples(value: Any, spec: Spec, levels: Sequence[Level]) -> Tensor:
    """``fresh``, where the value has a dimension in front for each of some levels that map, the outermost first.

    ``spec`` describes one example.
    """
    if not levels:
        return fresh(value, spec)
    whole = Spec.of(value.shape, spec.dtype, spec.device, inference=thread.modes.inference)
    tensor = wrap(value, whole)
    for level in thread.levels:
        if level in levels or not level.maps:
            tensor = raised(Lifted(tensor, level, level in levels))
    tensor._spec = tensor._spec.replace(requires_grad=spec.requires_grad, strides=spec.strides)
    return tensor


def mapping(tensor: Tensor) -> tuple[Level, ...]:
    """The levels that a tensor is an example at, the outermost first. Raises RuntimeError: one of them is over."""
    found: list[Level] = []
    while tensor._spec.level:
        value = value_of(tensor)
        if not isinstance(value, Lifted):
            break
        if value.batched and not value.level.alive:
            raise RuntimeError(ESCAPED)
        found += [value.level] * value.batched
        tensor = value.tensor
    return tuple(reversed(found))


def sizes_of(levels: Sequence[Level]) -> tuple[int, ...]:
    """The number of examples that each of some levels has."""
    return tuple([level.size for level in levels])  # type: ignore[misc]


def mapped_over(*specs: Spec) -> int:
    """The number of dimensions, over which ``vmap`` maps, that come before those of the results of a call."""
    depth = max([spec.level for spec in specs], default=0)
    return sum([level.maps for level in thread.levels[:depth]])


def drawn_apart(*parameters: Tensor, target: Tensor | None = None) -> tuple[Level, ...]:
    """The levels at which each example gets random numbers of its own, the outermost first.

    Args:
        parameters: tensors that the distribution depends on.
        target: what will be overwritten with the random numbers, if anything.

    Raises:
        RuntimeError: PyTorch's messages, where a level says ``randomness="error"``, or what it says can't be done.
    """
    given = {level for tensor in parameters for level in mapping(tensor)}
    held = () if target is None else mapping(target)
    apart: list[Level] = []
    for level in reversed(thread.levels):
        if not level.maps:
            continue
        if level.randomness in ("error", TOGETHER):
            raise RuntimeError(NO_RANDOM if level.randomness == "error" else RANDOM_IN_BATCH)
        if level.randomness == "same":
            if level in given:
                raise RuntimeError(NOT_THE_SAME)
            held = () if level in held else held  # what is drawn for all examples is no example further out
            continue
        if target is not None and level not in held:
            raise RuntimeError(NOT_DIFFERENT)
        apart.append(level)
    return tuple(reversed(apart))


def all_elements(tensor: Tensor) -> Any:
    """The array that has the elements of a tensor; of one example of a ``vmap``, those of all examples."""
    return array_of(value_of(tensor))
