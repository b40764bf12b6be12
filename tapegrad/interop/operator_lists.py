"""Functions on tensors as lists of operators, for control flow: found by a run on tracers, and run again on anything.

Note [Operator lists]
A step of a loop, or a branch, is run once on tracers, so that nothing is computed, while each operator that it calls is
written down with its settings and with where its arguments come from: from an argument, from another operator, or from
outside, as a parameter does. These last are *captured*, and become inputs of the operator that the loop is, with
gradients like any other. The list is all that is kept: equal lists are one operator, whatever function they came from.

So all that Python does in a step it does for every step alike. What it must not do then makes it *untraceable*: it
reads elements, writes to a tensor, draws random numbers, or calls a custom function. Each is noticed before it happens
(``Listening`` is asked: Note [Capturing] in ``execution/recording/capturing.py``), nothing has changed, and whoever
asked for the list runs the function as Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from tapegrad._src.bindings.state.attributes import detach
from tapegrad._src.dispatch.function_levels import live
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.modes import switched, thread, watching
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec, flatten
from tapegrad.interop.arrays import from_jax_array
from tapegrad.interop.tape_rules import outside_transforms
from tapegrad.ops.foreign import Foreign


class UntraceableError(Exception):
    """An error: Python does more in a function than to call operators."""


class Slot(NamedTuple):
    """The origin of a tensor: a number among arguments, captured tensors and results; perhaps without history."""

    kind: str
    number: int
    detached: bool = False


class ListedCall(NamedTuple):
    """One call of an operator; ``silent`` if it was not recorded. ``shown`` tells numbers apart that are equal, as 0
    and -0 are, or True and 1.
    """

    op: OperatorLike
    args: tuple
    settings: tuple
    silent: bool
    shown: str


_stop = Foreign(jax.lax.stop_gradient, "stop_gradient")


def stopped(tensor: Tensor) -> Tensor:
    """A tensor without history, for the tape and for jax, which in loops forgets at the second order what it was told
    of derivatives.
    """
    return _stop(detach(tensor), x64=True)


class OperatorList(NamedTuple):
    """The operators that a function on tensors calls: see Note [Operator lists]. Equal lists do the same."""

    lines: tuple[ListedCall, ...]
    outputs: tuple[Slot, ...]

    def run(self, arguments: Sequence[Tensor], captured: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The results for tensors."""
        places: dict[str, list] = {"argument": list(arguments), "captured": list(captured), "result": []}

        def read(slot: Any) -> Any:
            if not isinstance(slot, Slot):
                return slot
            tensor = places[slot.kind][slot.number]
            return stopped(tensor) if slot.detached else tensor

        for line in self.lines:
            out = line.op(*map(read, line.args), **dict(line.settings))
            results = out if isinstance(out, tuple) else (out,)
            places["result"].extend(map(stopped, results) if line.silent else results)
        return tuple(map(read, self.outputs))


class Like(NamedTuple):
    """The description of a tensor that stands for others."""

    shape: tuple[int, ...]
    dtype: Any
    requires_grad: bool

    @classmethod
    def of(cls, tensor: Tensor, skip: int = 0) -> Like:
        """The description of a tensor, or of its slices, which have fewer dimensions."""
        return cls(tuple(tensor.shape[skip:]), tensor.dtype, tensor.requires_grad)


class TracedFunction(NamedTuple):
    """A list of operators, the captured tensors, the structure of its results, and what these are like."""

    program: OperatorList
    captured: list[Tensor]
    structure: TreeSpec
    likes: list[Tensor]


class Listening:
    """A listener that is told of all that would make a function untraceable, and refuses it. A ``Capturer``."""

    reads_grad = False

    def __init__(self) -> None:
        self.checks: list[tuple[Any, Any]] = []

    def note(self, tensor: Any) -> None:
        """Refuse a write."""
        raise UntraceableError("it writes to a tensor")

    def note_constant(self, array: Any) -> None:
        """Allow an array that no tensor has."""

    def note_random(self, array: Any, stream: Any, before: Any, how: Any) -> None:
        """Refuse random numbers: the stream goes back."""
        stream.restore(before)
        raise UntraceableError("it draws random numbers")

    def withhold(self, storage: Any) -> bool:
        """Tell whether NumPy is to wait for a write; there is none."""
        return False

    def is_dynamic(self, number: Any) -> bool:
        """Tell whether a number is another one in each step; none is."""
        return False

    def read_late(self, value: Any, kind: type) -> Any:
        """Refuse a reading."""
        raise UntraceableError("it reads elements")

    def may_read(self, value: Any) -> bool:
        """Refuse a reading."""
        raise UntraceableError("it reads elements")

    def demand(self) -> None:
        """Refuse a reading."""
        raise UntraceableError("it reads elements")


class ListWriter:
    """Writes down what operators a function calls: an interceptor (Note [Watchers] in ``tape/modes.py``)."""

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        self.kept: list[Any] = []  # so that no identity comes twice
        self.known: dict[int, tuple[Slot, Tensor]] = {}
        self.values: dict[int, tuple[Slot, Tensor]] = {}
        self.captured: list[Tensor] = []
        self.stand_ins: list[Tensor] = []
        self.lines: list[ListedCall] = []
        self.count = 0
        for number, tensor in enumerate(arguments):
            self.note(Slot("argument", number), tensor)

    def note(self, slot: Slot, tensor: Tensor) -> None:
        """Remember where a tensor comes from, by itself and by its value, which its handles share."""
        self.kept += tensor, tensor._value
        self.known[id(tensor)] = slot, tensor
        if tensor._value is not None:
            self.values.setdefault(id(tensor._value), (slot, tensor))

    def slot_of(self, tensor: Tensor) -> Slot:
        """The slot of a tensor; one from outside is captured."""
        if id(tensor) in self.known:
            return self.known[id(tensor)][0]
        slot, origin = self.values.get(id(tensor._value), (None, None))
        if slot is None or origin is None:
            return self.capture(tensor)
        if tensor._edge is not origin._edge and tensor._edge is not None:
            raise UntraceableError("it computes with a tensor that no operator made")
        return slot._replace(detached=slot.detached or tensor._edge is not origin._edge or not tensor.requires_grad)

    def capture(self, tensor: Tensor) -> Slot:
        """Make a tensor from outside one of the inputs."""
        tensor = live(tensor)
        slot = Slot("captured", len(self.captured))
        self.captured.append(tensor)
        self.stand_ins.append(standing_for(Like.of(tensor)))
        self.kept.append(tensor)
        self.known[id(tensor)] = slot, tensor
        return slot

    def read(self, slot: Slot, tensor: Tensor) -> Tensor:
        """The tensor to compute with, which is traced: a stand-in for one from outside."""
        return self.stand_ins[slot.number] if slot.kind == "captured" else tensor

    def __call__(self, op: OperatorLike, args: tuple, settings: dict) -> Any:
        slots = [self.slot_of(arg) if isinstance(arg, Tensor) else arg for arg in args]
        given = [self.read(slot, arg) if isinstance(slot, Slot) else arg for slot, arg in zip(slots, args, strict=True)]
        out = op(*given, **settings)
        numbers = [slot for slot in slots if not isinstance(slot, Slot)]
        shown = repr((numbers, settings)) if numbers or settings else ""
        self.lines.append(ListedCall(op, tuple(slots), tuple(settings.items()), not thread.modes.grad, shown))
        for result in out if isinstance(out, tuple) else (out,):
            self.note(Slot("result", self.count), result)
            self.count += 1
        return out


def standing_for(like: Like) -> Tensor:
    """A traced tensor like another one."""
    with jax.enable_x64(True):
        stand_in = from_jax_array(jax.lax.full(like.shape, 0, like.dtype.numpy))
    return stand_in.requires_grad_() if like.requires_grad else stand_in


def refuse_custom(*args: Any) -> Any:
    """Refuse a custom function, whose derivative is no operator's."""
    raise UntraceableError("it calls a custom function")


def traced(function: Callable, likes: Sequence[Like]) -> TracedFunction:
    """The operator list of a function of tensors, whose arguments are like these.

    Raises:
        UntraceableError: it does more than to call operators; nothing of it has been done.
    """
    found: list = []

    def run() -> Any:
        arguments = [standing_for(like) for like in likes]
        writer = ListWriter(arguments)
        with watching(interceptor=writer, function_watcher=refuse_custom):
            results, structure = flatten(function(*arguments))
        refuse_numbers(results)
        outputs = tuple(map(writer.slot_of, results))
        found[:] = OperatorList(tuple(writer.lines), outputs), writer.captured, structure, results
        return jax.numpy.zeros(())

    before, interceptors = capturing.by, thread.interceptors
    capturing.by = Listening()
    try:
        with outside_transforms(), switched(deferred=False, intercepted=False):
            thread.interceptors = ()
            jax.eval_shape(run)
    finally:
        capturing.by, thread.interceptors = before, interceptors
    hash(found[0])
    return TracedFunction(*found)


def refuse_numbers(results: Sequence[Any]) -> None:
    """Refuse results that are no tensors."""
    if not all(isinstance(result, Tensor) for result in results):
        raise UntraceableError("it returns what is no tensor")


def traced_or_none(function: Callable, likes: Sequence[Like]) -> TracedFunction | None:
    """The operator list of a function of tensors; None if it does more than to call operators, or doesn't succeed."""
    try:
        return traced(function, likes)
    except Exception:  # whoever runs it as Python does gets the error, if it is one
        return None


def is_plain(tensors: Sequence[Tensor]) -> bool:
    """Tell whether tensors belong to no function transform and have no tangents."""
    return not thread.modes.level and not any(tensor._spec.dual or tensor._spec.level for tensor in tensors)


def is_fit(tensors: Sequence[Tensor]) -> bool:
    """Tell whether tensors can be given to an operator made of a list: they are plain, have elements on one device, and
    nobody else decides what is saved of them.
    """
    modes, devices = thread.modes, {tensor.device for tensor in tensors}
    alone = not (modes.saved_hooks or modes.detecting or modes.intercepted or modes.function_modes)
    return alone and is_plain(tensors) and len(devices) == 1 and next(iter(devices)).type != "meta"
