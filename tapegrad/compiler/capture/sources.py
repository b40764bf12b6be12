"""Sources: where a tensor, or an array, is found again at the next call (an argument, itself, somebody's gradient)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.array_functions.host import is_kept
from tapegrad._src.execution.data.values import NUMBERS, materialized
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.capture.capture import Capture, Seen
from tapegrad.compiler.guards.locations import Binding, Rebound
from tapegrad.compiler.guards.written_guard import alike


class Unaccounted(Exception):
    """Why a captured call can't be replayed."""


class TensorSource(NamedTuple):
    """Which tensor is meant: argument number ``of``, the tensor ``of``, or what is in a place that is rebound at each
    call (a ``Binding``); or the ``.grad`` of that.
    """

    of: Any
    grad: bool = False

    def find(self, arguments: Sequence[Any]) -> Tensor:
        """The tensor that is meant in a call with these arguments."""
        of = self.of
        if type(of) is int:
            of = arguments[of]
        elif type(of) is Binding:
            of = of.find()
        return of._grad if self.grad else of

    def same(self, other: TensorSource) -> bool:
        """Tell whether the same is meant."""
        if self.grad != other.grad or type(self.of) is not type(other.of):
            return False
        if type(self.of) is Binding:
            return self.of.identity == other.of.identity
        return self.of == other.of if type(self.of) is int else self.of is other.of

    @property
    def varies(self) -> bool:
        """True if it may be another tensor in another call."""
        return self.grad or type(self.of) is int or type(self.of) is Binding

    @property
    def fixed(self) -> bool:
        """True if it is the same tensor in each call."""
        return not self.varies

    @property
    def rebound(self) -> bool:
        """True if it is another tensor in each call, for the call rebinds its place."""
        return type(self.of) is Binding and not self.grad

    def __str__(self) -> str:
        what = f"argument {self.of}" if type(self.of) is int else str(self.of)
        what = f"a tensor of shape {list(self.of.shape)}" if isinstance(self.of, Tensor) else what
        return f"the gradient of {what}" if self.grad else what


class TensorSources:
    """The sources of the tensors that a call has met: where they are found again.

    Args:
        capture: the call.
        arguments: its arguments.
        reached: the tensors that the function reaches.
        rebound: the places that the call has rebound.

    Raises:
        Unaccounted: there are two ways to find one, which may not lead to the same tensor the next time.
    """

    def __init__(
        self, capture: Capture, arguments: Sequence[Any], reached: Sequence[Tensor], rebound: Sequence[Rebound]
    ) -> None:
        self._sources: dict[int, TensorSource] = {id(one.old): TensorSource(one.binding) for one in reversed(rebound)}
        self._olds = {one.binding.identity: one.old for one in rebound}
        self._grads: dict[tuple[int, bool], Tensor] = {}
        known = {id(tensor) for tensor in (*arguments, *reached)}
        for number, leaf in enumerate(arguments):
            if isinstance(leaf, Tensor):
                self._sources.setdefault(id(leaf), TensorSource(number))
        grads: list[tuple[Tensor, TensorSource]] = []
        for seen in capture.seen.values():
            source = self._sources.get(id(seen.tensor), TensorSource(seen.tensor))
            if seen.grad is not None and seen.before:
                grads.append((seen.grad, TensorSource(source.of, True)))
        for grad, source in grads:
            if id(grad) in known:
                raise Unaccounted(f"{source} is reached otherwise, too")
            self._sources.setdefault(id(grad), source)
            self._grads[id(source.of), type(source.of) is int] = grad

    def of(self, tensor: Tensor) -> TensorSource:
        """The source of a tensor."""
        return self._sources.get(id(tensor)) or TensorSource(tensor)

    def meant(self, source: TensorSource, arguments: Sequence[Any]) -> Tensor:
        """The tensor that was meant when the call began; a ``.grad``, or a place, may have another by now."""
        if source.rebound:
            return self._olds[source.of.identity]
        return self._grads[id(source.of), type(source.of) is int] if source.grad else source.find(arguments)


class Input(NamedTuple):
    """The origin of an input of a program.

    ``tag`` is ``"tensor"`` or ``"storage"`` (the value of a tensor, or that of its memory; ``of`` says which),
    ``"key"`` (``of`` is a stream of random keys, or numbers, and the how many-th is meant), ``"dynamic"`` (a
    register of ``Numbers``), ``"finding"`` (what checks have found before), ``"number"`` or ``"constant"``.
    """

    tag: str
    of: Any

    @property
    def grades(self) -> bool:
        """True if it is the gradient of a tensor."""
        return self.tag in ("tensor", "storage") and self.of.grad

    def same(self, other: Input) -> bool:
        """Tell whether it is the same source, with the same value if it is a constant or a number."""
        if self.tag != other.tag:
            return False
        if self.tag in ("tensor", "storage"):
            return self.of.same(other.of)
        if self.tag in ("dynamic", "finding"):
            return self.of == other.of
        if self.tag == "constant":
            return _equal(self.of, other.of)
        if self.tag == "key":
            return self.of[0] is other.of[0] and self.of[1] == other.of[1]
        return alike(self.of, other.of)

    def __str__(self) -> str:
        if self.tag == "number":
            return repr(self.of)
        words = {"key": "a random key", "constant": "an array with certain elements", "dynamic": "a dynamic number"}
        return words.get(self.tag) or str(self.of)


def _equal(left: Any, right: Any) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return left is right or (left.nbytes <= 1 << 20 and np.asarray(left).tobytes() == np.asarray(right).tobytes())


def inputs_of(capture: Capture, sources: TensorSources) -> list[Input]:
    """The origins of the inputs of a captured program.

    Raises:
        Unaccounted: that is not known of one, or could be said in two ways.
    """
    owners: dict[int, list[tuple[Input, Seen]]] = {}
    for seen in capture.seen.values():
        if seen.before:
            for one, value in _offers(seen, sources):
                owners.setdefault(id(materialized(value)), []).append((one, seen))
    return [
        Input("dynamic", capture.dynamic[position])
        if position in capture.dynamic
        else _input(capture, value, owners.get(id(value), []))
        for position, value in enumerate(capture.inputs)
    ]


def _offers(seen: Seen, sources: TensorSources) -> list[tuple[Input, Any]]:
    """The values that a tensor had."""
    source = sources.of(seen.tensor)
    if not seen.spec.window:
        return [(Input("tensor", source), seen.value)]
    offers = [(Input("storage", source), seen.value)]
    return [*offers, (Input("tensor", source), seen.own)] if seen.current else offers


def _input(capture: Capture, value: Any, owners: list[tuple[Input, Seen]]) -> Input:
    if isinstance(value, NUMBERS):
        return Input("number", value)
    if value is capture.before:
        return Input("finding", len(value))
    if id(value) in capture.keys:
        return Input("key", capture.keys[id(value)])
    constant = id(value) in capture.constants or is_kept(value)
    if not owners:
        if constant:
            return Input("constant", value)
        raise Unaccounted(
            f"it reads an array of shape {list(value.shape)} that belongs to no tensor which it is known to use"
        )
    (first, seen), *others = owners
    unclear = constant or any(other.storage is None or other.storage is not seen.storage for _, other in others)
    if unclear or (others and any(one.of.varies for one, _ in owners)):
        raise Unaccounted(f"{first} shares its elements with something else, so that it is not clear which is meant")
    return first
