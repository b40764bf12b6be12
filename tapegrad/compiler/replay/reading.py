"""Reading the inputs of a program that is replayed.

Note [Who holds what is written over]
What a step writes anew may be written into the old memory (Note [Memory that is given away] in
``execution/programs/step_executable.py``). That nobody else holds it is known from the reference count of its array:
handles in jax's or NumPy's world on the same buffer XLA knows of itself. If somebody does, or another thread could be
reading, it is copied. So it is where a place is rebound (``rebinding.py``), and somebody else holds the tensor that was
there.

Note [What lies on the host]
XLA copies an array of NumPy's in each call: what a program only reads, and what is there a second time, is given to it
as the array of jax's that is kept as long as that lives (``xla_copy``). What is written over is an array of NumPy's at
the first replay only, where calls were made at once before. If nobody else has it, the copy takes its place before the
program runs, one after the other: else all of them would be there twice, when the program needs memory most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any
from weakref import ref

from numpy import ndarray

from tapegrad._src.execution.array_functions.copies import copied, taken_over
from tapegrad._src.execution.data.values import DeferredValue
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.execution.tiers.xla_copies import xla_copy
from tapegrad._src.tape.modes import alone
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, materialize, value_of
from tapegrad.compiler.capture.side_effects import SideEffects
from tapegrad.compiler.capture.sources import Input, TensorSource


class Reading:
    """Reads the inputs of a program; how each of them is read is decided once.

    Args:
        inputs: where they come from.
        executable: the program, which says what is written over.
        effects: what a call leaves behind.
    """

    def __init__(self, inputs: Sequence[Input], executable: StepExecutable, effects: SideEffects) -> None:
        self._constants = [of if tag in ("number", "constant") else None for tag, of in inputs]
        self._memories: list[tuple[int, Storage]] = []
        self._tensors: list[tuple[int, Tensor]] = []
        self._written: list[tuple[int, Storage]] = []
        self._rebound: list[tuple[int, Any, Any, int]] = []
        self._others: list[tuple[int, Any, Any]] = []
        self._donated: list[tuple[int, TensorSource]] = []
        self._numbers: list[tuple[int, Any, int]] = []
        self._drawn = [one for one in effects.drawn if one.taken and not one.stream.has_keys]
        self._alters = bool(executable.donated)
        self._on_host: dict[int, Callable[[], Any]] = {}
        self._replaced = executable.donated
        elsewhere = [one.source.of for one in effects.data]  # in another memory each time
        for position, (tag, of) in enumerate(inputs):
            donated = position in executable.donated
            if tag == "key" and of[0].has_keys:
                self._others.append((position, _key, of))
            elif tag == "key":
                self._numbers.append((position, *of))
            elif tag in ("number", "constant", "dynamic", "finding"):
                continue
            elif donated and of.rebound:
                self._rebound.append((position, of.of.container, of.of.key, _locations(of, effects)))
            elif any(of.of is one for one in elsewhere):
                self._others.append((position, _value_of, of))
            elif of.fixed and (tag == "storage" or not (of.of._spec.plain or of.of._spec.window)):
                (self._written if donated else self._memories).append((position, of.of._storage))
            elif tag == "tensor" and of.fixed and of.of._spec.plain and not donated:
                self._tensors.append((position, of.of))
            else:
                self._others.append((position, _storage_of if tag == "storage" else _value_of, of))
                self._donated += [(position, of)] if donated else []

    def read(self, arguments: Sequence[Any]) -> list[Any]:
        """The inputs of a call: those that are written over are nobody else's."""
        inputs, lonely = self._constants.copy(), not self._alters or alone()
        for position, storage in self._memories:
            value = storage.value
            inputs[position] = self._for_xla(position, _materialized(storage)) if type(value) in _CHANGED else value
        for position, tensor in self._tensors:
            value = tensor._value
            inputs[position] = self._for_xla(position, _value(tensor)) if type(value) in _CHANGED else value
        for position, storage in self._written:
            value = storage.value
            if type(value) in _CHANGED or getrefcount(value) > 3 or not lonely:  # memory, ours, its own
                value = None
                value = _own(storage, lonely)
            inputs[position] = value
        for position, container, key, locations in self._rebound:
            tensor = container[key]
            value = tensor._value
            if type(value) is DeferredValue:
                value = None
                value = _value(tensor)
            if getrefcount(value) > 3 or getrefcount(tensor) > locations + 2 or not lonely:
                value = copied(value)
            inputs[position] = value
        for position, read, of in self._others:
            value = read(of, arguments)
            inputs[position] = self._for_xla(position, value) if type(value) is ndarray else value
        if self._drawn:
            self._draw(inputs)
        for position, source in self._donated:
            _keep(inputs, position, source, arguments, lonely)
        return inputs

    def _for_xla(self, position: int, value: Any) -> Any:
        """The value that XLA is given for one: see Note [What lies on the host]."""
        before = self._on_host.get(position)
        if before is not None and before() is value:
            return xla_copy(value)  # asked each time: who writes to an array has its copy for XLA forgotten
        if type(value) is ndarray and position not in self._replaced:
            self._on_host[position] = ref(value)
        return value

    def _draw(self, inputs: list[Any]) -> None:
        """Draw anew what the step has drawn, in its order; also what the program does not need."""
        made = {id(stream): stream.made_again(taken) for stream, taken in self._drawn}
        for position, stream, number in self._numbers:
            inputs[position] = made[id(stream)][number]


_CHANGED = (DeferredValue, ndarray)
"""Types of values for which XLA is given something else."""


def _locations(source: TensorSource, effects: SideEffects) -> int:
    """The number of places that are rebound that share the tensor of one."""
    mine = next(i for i, one in enumerate(effects.rebound) if one.source.same(source))
    return 1 + sum(one.now.tag == "again" and one.now.of == mine for one in effects.rebound)


def _key(taken: tuple[Any, int], arguments: Sequence[Any]) -> Any:
    stream, number = taken
    return stream.key_at(stream.offset + number)


def _value(tensor: Any) -> Any:
    if type(value_of(tensor)) is DeferredValue:
        materialize(tensor)
    value = value_of(tensor)
    return value.materialize() if type(value) is DeferredValue else value


def _materialized(storage: Storage) -> Any:
    value = storage.value
    if type(value) is DeferredValue:
        storage.value = value = value.materialize()
    return value


def _value_of(source: TensorSource, arguments: Sequence[Any]) -> Any:
    return _value(source.find(arguments))


def _storage_of(source: TensorSource, arguments: Sequence[Any]) -> Any:
    return _materialized(source.find(arguments)._storage)  # type: ignore[arg-type]


def _own(storage: Storage, lonely: bool) -> Any:
    """The array of a memory; a copy, if others hold it, and in its place, if it is one of NumPy's."""
    value = _materialized(storage)
    held = getrefcount(value) - _stale(storage, value)
    if held > 3 or not lonely:
        return copied(value)
    if type(value) is ndarray:
        storage.value = value = taken_over(value)
    return value


def _keep(inputs: list[Any], position: int, source: TensorSource, arguments: Sequence[Any], lonely: bool) -> None:
    """Put a copy in place of an array that is to be written over and that others hold, too."""
    held = getrefcount(inputs[position])
    if held > 3:  # memory, ours, its own
        storage = source.find(arguments)._storage
        held -= 0 if storage is None else _stale(storage, inputs[position])
    if held > 3 or not lonely:
        inputs[position] = copied(inputs[position])


def _stale(storage: Storage, array: Any) -> int:
    """The number of tensors that hold an array that they will not read any more, for their memory has it, too."""
    return sum(member._value is array and not member._spec.plain for member in storage.living())
