"""Recording one call of a function, to run it again without Python.

Note [Captured calls]
While a call is captured *all* that is computed is recorded, also what depends on nothing deferred: reading the elements
of a tensor is refused, for Python could choose its way by them. Two kinds of things are noted on the way: the tensors
that were there before (those that the function can reach, and their gradients; arguments of operators; targets of
writes), each as it was before; and the generators from which random keys were taken. So where an input of the program
comes from is known in the end: from an argument, from the *state* (a tensor that was there before, read anew at each
call), from a generator, or from the program itself.

A tensor that the function reaches, is not given as an argument, and has not written to, may be read: a mask, say. Its
elements are the same in each call as long as it has the same array, which is compared (``tensor_guards.py``).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from tapegrad._src.execution.data.values import DeferredValue, Traced, materialized
from tapegrad._src.execution.kernels.deferred_checks import Check, Findings, joined, look, nothing
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.recording.program import Program, recording, run
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import next_sequence_nr
from tapegrad._src.tape.positions import here
from tapegrad._src.tensor.shared import give_back
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.guards.trace_rules import is_trusted


def hooks_of(tensor: Tensor) -> Iterator[Callable]:
    """The functions that are called when the gradient of a leaf is computed or has been accumulated, each once."""
    inside = tensor.__dict__
    if "_accumulator" in inside or "_hooks" in inside or "_leaf_hooks" in inside:
        yield from {id(hook): hook for hook in _hooks_of(tensor)}.values()


def _hooks_of(tensor: Tensor) -> Iterator[Callable]:
    """The same, some of them several times: a leaf and its accumulator share them."""
    if tensor._hooks is not None:
        yield from tensor._hooks.values()
    node = None if tensor._accumulator is None else tensor._accumulator()
    for slots in (tensor._leaf_hooks, None if node is None else node.hook_slots):
        if slots is not None:
            dicts = [*(hooks for _, hooks in slots.tensor_pre), *slots.post_accumulate, slots.pre, slots.post]
            yield from (hook for hooks in dicts if hooks is not None for hook in hooks.values())


def current_array(tensor: Tensor) -> Any:
    """The array that a tensor has; None if it is not known yet, or if NumPy may write to it."""
    storage = tensor._storage
    if storage is not None and storage.shared:
        return None
    value = tensor._value if storage is None or not storage.written else storage.value
    return value.array if type(value) is DeferredValue else value


class DataDependentError(RuntimeError):
    """An error: the function that is being compiled reads the elements of a tensor."""


class Seen:
    """A tensor, as it was when the call first met it.

    Attributes:
        tensor: the tensor.
        before: whether it is known to have been there before the call.
        spec, edge, grad, storage, offset: what it had; ``own`` is its value, ``data_version`` that of its storage.
        current: whether ``own`` is what its storage shows.
        value: the array that it had, of its own or in its storage.
        graded: the spec of its gradient.
        hooks: the functions that were called with its gradient.
        counter, version: what counts the writes to it, and how many there had been.
    """

    __slots__ = (
        "tensor", "before", "spec", "edge", "grad", "storage", "offset", "own", "current", "value", "data_version",
        "counter", "version", "hooks", "graded",
    )  # fmt: skip

    def __init__(self, tensor: Tensor, before: bool) -> None:
        self.tensor, self.before = tensor, before
        self.spec, self.edge, self.grad = tensor._spec, tensor._edge, tensor._grad
        self.offset, self.hooks = (tensor._offset, tensor._view_bits), tuple(hooks_of(tensor))
        self.graded = None if self.grad is None else self.grad._spec
        storage = self.storage = tensor._storage
        self.own = tensor._value
        written = storage is not None and storage.written
        self.value = storage.value if written else tensor._value  # type: ignore[union-attr]
        self.data_version = 0 if storage is None else storage.data_version
        self.current = self.own is not None and tensor._seen == self.data_version
        self.counter = None if storage is None else tensor._counter or storage.counter
        self.version = 0 if self.counter is None else self.counter.version

    def change(self) -> str | None:
        """The change of the tensor since then, its elements and its gradient aside."""
        tensor = self.tensor
        if tensor._spec is not self.spec and not self.flagged:
            return f"it was {self.spec} and is {tensor._spec}"
        if tensor._edge is not self.edge:
            return "it has another history"
        storage = tensor._storage
        unwritten = self.storage is None and storage is not None and not storage.written
        if not (storage is self.storage or unwritten) or (tensor._offset, tensor._view_bits) != self.offset:
            return "it lies in another memory"
        if tuple(hooks_of(tensor)) != self.hooks:
            return "it has other hooks"
        return None

    @property
    def flagged(self) -> bool:
        """True if it requires grad now, or no longer does, and is what it was otherwise."""
        spec, is_view = self.tensor._spec, self.tensor._view is not None
        return spec is not self.spec and not is_view and spec is self.spec.replace(requires_grad=spec.requires_grad)

    @property
    def written_first(self) -> bool:
        """True if it is written to for the first time, shares its memory with nobody, and is what it was otherwise."""
        tensor, storage = self.tensor, self.tensor._storage
        if storage is None or self.storage not in (None, storage) or not storage.written or tensor._view is not None:
            return False
        alone = all(member is tensor for member in storage.living())
        return alone and self.spec.plain and tensor._spec is self.spec.replace(plain=False)

    def restore(self) -> None:
        """Make the tensor what it was."""
        tensor, storage = self.tensor, self.storage
        tensor._spec, tensor._edge, tensor._value, tensor._storage = self.spec, self.edge, self.own, storage
        tensor._offset, tensor._view_bits = self.offset
        if tensor._grad is not self.grad:
            tensor._grad = self.grad
        if storage is not None and storage.written and not storage.shared and storage.value is not self.value:
            storage.value = self.value
            storage.writes += 1  # never back: who has read what was written must read again
        if self.counter is not None:
            self.counter.version = self.version


class Capture(Program):
    """The program of one call. See Note [Captured calls].

    Attributes:
        seen: the tensors that the call has met, by identity.
        keys: by the identity of a key, or of random numbers, from which stream it was taken, as the how many-th.
        stable: the identities of tensors whose elements may be read, and ``looked_at``: those of which they were.
        streams: for each stream its mark before, and how what was taken from it is made (None for keys).
        splits: whether elements may be read; ``split``: where they were.
        refused: the error that was raised because they were.
        traced: whether something belongs to a trace of jax's.
        checks: what checks will have found, each with the check. See Note [Late errors] in
            ``execution/kernels/deferred_checks.py``.
        late_checks: all of that as one value, or None, and the checks; ``before`` is what earlier calls have
            found: nothing.
        numbers: what is computed from dynamic numbers, and ``dynamic``: which inputs are registers of it.
        constants: by identity, the arrays of the host that the call has made tensors of.
        withholds: whether memory that NumPy sees may be written to when the program has been run.
        running: held while it is run, which uses up its inputs: other threads wait that want a result.
        started: the nodes that it makes have higher numbers; ``leads_out``: whether others were run.
        reads_grad: whether Python has looked at the gradient of a tensor, or set it.
        blame: what is told the frame where elements are read.
    """

    __slots__ = (
        "seen", "keys", "streams", "splits", "split", "refused", "traced", "checks", "late_checks", "before",
        "stable", "looked_at", "numbers", "dynamic", "running", "constants", "withholds",
        "started", "leads_out", "reads_grad", "blame", "_withheld", "_kept",
    )  # fmt: skip

    def __init__(self, splits: bool) -> None:
        super().__init__()
        self.seen: dict[int, Seen] = {}
        self.keys: dict[int, Any] = {}
        self.streams: dict[int, tuple[Any, Any, list]] = {}
        self.splits = splits
        self.split: Any = None
        self.refused: DataDependentError | None = None
        self.traced = False
        self.checks: list[tuple[Any, Check]] = []
        self.late_checks: tuple[Any, Sequence[Check]] = None, ()
        self.before: Any = None
        self.numbers: Any = None
        self.dynamic: dict[int, int] = {}
        self.running = threading.RLock()
        self.constants: dict[int, Any] = {}
        self.stable: frozenset[int] = frozenset()
        self.looked_at: list[Seen] = []
        self.withholds = False
        self.started, self.leads_out = next_sequence_nr(), False
        self.reads_grad = False
        self.blame: Callable[[FrameType], None] = lambda frame: None
        self._withheld: list[tuple[Any, Any]] = []
        self._kept: list[Any] = []

    def note(self, tensor: Tensor, before: bool = False) -> None:
        """Note a tensor, and its gradient, unless the call has made them."""
        if id(tensor) in self.seen or (self.split and self._made(tensor)):
            return
        seen = Seen(tensor, before)
        if not (type(seen.value) is DeferredValue and seen.value.program is self) and not tensor._spec.level:
            self.seen[id(tensor)] = seen
            if seen.grad is not None:
                self.note(seen.grad, before)

    def _made(self, tensor: Tensor) -> bool:
        """Tell whether the history of a tensor began in the call: who held it would keep its graph alive."""
        edge = tensor._edge
        return edge is not None and edge[0].sequence_nr >= self.started

    def note_constant(self, array: Any) -> None:
        """An array that is the same in each call."""
        self.constants[id(array)] = array

    def withhold(self, storage: Any) -> bool:
        """Tell whether a memory is written to only when the program has been run; it is remembered, with what NumPy
        sees."""
        if self.withholds:
            self._withheld.append((storage, storage.memory))
        return self.withholds

    def give_back(self, *, written: bool = True) -> None:
        """Let NumPy see what was written; ``written``: if it was."""
        try:
            for storage, buffer in self._withheld:
                give_back(storage, buffer, written=written)
        except BaseException:  # an interrupt: nothing is left behind that NumPy does not see
            for storage, buffer in self._withheld:
                give_back(storage, buffer, written=written)
            raise
        self._withheld.clear()

    def is_dynamic(self, number: Any) -> bool:
        """Tell whether a number is a dynamic one."""
        return type(number) is float and self.numbers is not None and self.numbers.has(number)

    def read_late(self, value: Any, number_type: type) -> Any:
        """The proxy of the only element of a result; None if it is to be read now. See Note [Late reads]."""
        own = type(value) is DeferredValue and value.program is self
        return self.numbers.read_late(value, number_type) if own and self.numbers.reads_late and _by_user() else None

    def operand(self, value: Any) -> int:
        """As of any program; that there was a tracer is noted, and dynamic numbers have slots of their own."""
        if type(value) is float and self.numbers is not None:
            register = self.numbers.input_for(value)
            if register is not None:
                return self._slot_of(register, value)
        try:
            return super().operand(value)
        except Traced:
            self.traced = True
            raise

    def _slot_of(self, register: int, number: float) -> int:
        key = "dynamic", register
        if key not in self.slots:
            self.dynamic[len(self.inputs)] = register
            self.inputs.append(number)
            self.slots[key] = -len(self.inputs)
        return self.slots[key]

    def forget_handles(self) -> None:
        """Forget the tensors that only we still hold: handles that were made in the call, on what was there before.

        And let parts of memories forget what they have read: they read it again, when somebody asks.
        """
        for key, seen in list(self.seen.items()):
            tensor = seen.tensor
            if tensor._spec.window and type(tensor._value) is DeferredValue and tensor._value.program is self:
                tensor._value, tensor._seen = None, -1
            del tensor
            if not seen.before and sys.getrefcount(seen.tensor) == 2:  # ours, getrefcount's
                del self.seen[key]

    def note_random(self, array: Any, stream: Any, before: Any, how: Any) -> None:
        """Note that a key, or numbers, were taken from a stream."""
        taken = self.streams.setdefault(id(stream), (stream, before, []))[2]
        taken.append(how)
        if array is not None:
            first = self.streams[id(stream)][1]
            self.keys[id(array)] = stream, stream.offset - first[1] if stream.has_keys else len(taken) - 1
            self._kept.append(array)

    def watch(self, plan: Any, args: tuple, results: tuple) -> None:
        """Note what an operator was given."""
        for arg in args:
            if isinstance(arg, Tensor):
                self.note(arg)

    def may_read(self, value: Any) -> bool:
        """Tell whether a value is that of a tensor which is the same in each call; it is noted."""
        if type(value) is DeferredValue and value.program is self:
            return False
        array = materialized(value)
        for seen in self.seen.values():
            if (
                id(seen.tensor) in self.stable
                and materialized(seen.value) is array
                and current_array(seen.tensor) is array
            ):
                self.looked_at.append(seen)
                return True
        return False

    def demand(self) -> None:
        """Refuse to give elements; where splitting is allowed, run what there is and go on without capturing."""
        location = here()
        if not self.splits:
            self.refused = DataDependentError(
                "what is being compiled reads the elements of a tensor"
                + ("" if location is None else f" at {location}")
                + ".\nWhile a step is compiled there are none yet: Python can't choose its way by them. Ways out: "
                "choose among tensors with torch.where; return the tensor and read it outside; or let the program be "
                "split here, with tapegrad.compile(..., fullgraph=False)"
            )
            raise self.refused
        self.split = self.split or location or "an unknown place"
        self.blame(sys._getframe())
        run(self)
        self.withholds = False
        self.give_back()
        self.expect_checks()
        look()

    def watch_nodes(self, gradient_ops: Any) -> Any:
        """The gradient type of a backward pass, with an eye on nodes that were there before the call."""
        return Outlook(gradient_ops, self)

    def join_checks(self) -> None:
        """Have one more result for what all checks find, at the end of the call."""
        if self.checks:
            values, checks = zip(*self.checks, strict=True)
            self.before = nothing(len(checks))
            self.late_checks = joined(self.before, values), checks
            self.checks.clear()

    def expect_checks(self) -> None:
        """Have what the checks have found looked at later; the program has been run."""
        if self.checks:
            values, checks = zip(*self.checks, strict=True)
            self.checks.clear()
            Findings(None, checks).expect(values)

    def evaluate(self, value: DeferredValue) -> Any:
        """As of any program, when nobody runs it; that may have computed it."""
        with self.running:
            return super().evaluate(value) if value.program is self else value.array

    def grown(self) -> None:
        """A captured program may be long."""

    def undo(self) -> None:
        """Make all that was there before what it was."""
        for seen in self.seen.values():
            seen.restore()
        self.give_back(written=False)
        for stream, before, _ in self.streams.values():
            stream.rewind(before)


def _by_user() -> bool:
    """Tell whether ``item()`` is called by code that is not ours, or that does with numbers what the user's does."""
    frame: FrameType | None = sys._getframe(2)
    module = ""
    while frame is not None and f"{module}.".startswith(
        ("tapegrad._src.bindings.", "tapegrad._src.functions.conversion.", ".")
    ):
        frame = frame.f_back
        module = "" if frame is None else str(frame.f_globals.get("__name__"))
    return not is_trusted(module)


class Outlook:
    """A gradient type that notes whether nodes are run that were there before a captured call."""

    plain = False

    def __init__(self, gradient_ops: Any, capture: Capture) -> None:
        self._gradient_ops, self._capture = gradient_ops, capture

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gradient_ops, name)

    def run(self, node: Any, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Run a node, and note whether it was there before; so was every leaf."""
        self._capture.leads_out |= node.sequence_nr < self._capture.started
        return self._gradient_ops.run(node, grads, needed)


def captured(capture: Capture, call: Callable[[], Any]) -> Any:
    """The result of ``call``, and in ``capture`` all that it computes on this thread. What was recorded before is run.

    In the end other modes than ours stay as the call left them, and the thread records another program. Nothing is
    called before that is so: an interrupt would come with the call, and find the thread capturing for good.
    """
    run(recording.program)
    modes, watchers, after = thread.modes, thread.result_watchers, Program()
    watching, inside = (*watchers, capture.watch), modes.replace(deferred=True, results_watched=True)
    try:
        thread.result_watchers, thread.modes, recording.program, capturing.by = watching, inside, capture, capture
        return call()
    finally:
        recording.program, capturing.by = after if recording.program is capture else recording.program, None
        thread.result_watchers, left = watchers, thread.modes
        thread.modes = modes
        thread.modes = left.replace(deferred=modes.deferred_enabled, results_watched=modes.results_watched)
