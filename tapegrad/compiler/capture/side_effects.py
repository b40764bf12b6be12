"""Side effects of a captured call: all that is needed to leave them behind again without its Python.

Note [Accounts]
A captured call can be replayed if every array that goes into its program has a known source (``sources.py``), and every
result that somebody still holds is accounted for: it is returned, it is what a known tensor's memory holds now, a
leaf's gradient, or in a place that was rebound (``rebinding.py``). Results that are held elsewhere (a graph that is not
freed, an object that ``reachable.py`` can't see) can't be put there again without running Python, so such a call is
captured anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapegrad._src.execution.data.values import DeferredValue
from tapegrad._src.execution.programs.program_text import shown
from tapegrad._src.tape.node import Edge
from tapegrad._src.tensor.spec import Size, Spec
from tapegrad._src.tensor.tensor import Tensor, View, counter_of, share, storage_to_write, value_of, wrap
from tapegrad.compiler.capture.autograd_histories import is_used_up
from tapegrad.compiler.capture.capture import Capture, Seen
from tapegrad.compiler.capture.compiled_function import Histories
from tapegrad.compiler.capture.dynamic_number import DynamicNumber
from tapegrad.compiler.capture.joint_graph import MAY_BE_ASKED
from tapegrad.compiler.capture.results import is_value
from tapegrad.compiler.capture.sources import TensorSource, TensorSources, Unaccounted
from tapegrad.compiler.guards.locations import Rebound
from tapegrad.compiler.guards.written_guard import alike


class WrittenMemory(NamedTuple):
    """A memory that was written to, or the data of a tensor: a tensor that shows it, and the result that it has now.

    ``stored``: it was written to by way of the tensor's storage; if not, the tensor got a new value.
    """

    source: TensorSource
    slot: int
    stored: bool


class Counted(NamedTuple):
    """The number of writes that were counted with the counter of a tensor."""

    source: TensorSource
    writes: int


class NewTensor(NamedTuple):
    """A new tensor around a result, that was written to so many times since it was made; or a view of such a tensor.

    A view has a ``base``, an ``offset``, ``view_bits``, and was created under circumstances that autograd remembers.
    """

    slot: int
    spec: Spec
    writes: int
    base: NewTensor | None = None
    offset: int = 0
    view_bits: int = 0
    creation: str | None = None

    def tensor(self, values: dict[int, Any], edge: Edge | None = None) -> Tensor:
        """Such a tensor again."""
        slot, spec, writes, base, offset, view_bits, creation = self
        tensor = wrap(values[slot], spec, edge)
        if base is not None:
            shown = base.tensor(values)
            tensor._view = View(shown, creation, 0)
            share(tensor, shown, offset, view_bits)
        elif writes:
            storage = storage_to_write(tensor)
            storage.counter.version = writes
            if edge is not None:
                storage.comes_from(edge)
        return tensor

    @property
    def simple(self) -> bool:
        """True if it is a result as it is."""
        return self.base is None and not self.writes

    @property
    def slots(self) -> tuple[int, ...]:
        """The results that it is made of."""
        return (self.slot,) if self.base is None else (self.slot, self.base.slot)


class NewData(NamedTuple):
    """A tensor whose ``.data`` was set: it lies in new memory, which has this result."""

    source: TensorSource
    slot: int


class Flagged(NamedTuple):
    """A leaf that requires grad now, or no longer does."""

    source: TensorSource
    requires_grad: bool


class Graded(NamedTuple):
    """The new ``.grad`` of a leaf: a tensor, or None."""

    source: TensorSource
    new: NewTensor | None


class Returned(NamedTuple):
    """A leaf of what was returned.

    ``tag`` is ``"result"`` (``of`` is a ``NewTensor``, ``edge`` its place in a graph that is used up, ``output`` which
    output of which of the nodes that the call gives to its histories, ``Histories``),
    ``"tensor"`` (found by a ``TensorSource``), ``"again"`` (the same as leaf number ``of``),
    ``"dynamic"`` (a register of ``Numbers``), or ``"value"``.
    """

    tag: str
    of: Any
    edge: Edge | None = None
    output: tuple[int, int] | None = None


class Rebinding(NamedTuple):
    """A place that was rebound (``source`` names it), and the tensor that it has now: one of those returned, so to say.

    That is a new one (``"result"``), or the same as in another such place (``"again"``).
    """

    source: TensorSource
    now: Returned


class Drawn(NamedTuple):
    """The number of keys that were taken from a generator's stream; of one without keys, how what was taken is made."""

    stream: Any
    taken: Any


class SideEffects(NamedTuple):
    """All that a call leaves behind."""

    written: tuple[WrittenMemory, ...]
    counted: tuple[Counted, ...]
    graded: tuple[Graded, ...]
    rebound: tuple[Rebinding, ...]
    drawn: tuple[Drawn, ...]
    returned: tuple[Returned, ...]
    flagged: tuple[Flagged, ...] = ()
    finding: int | None = None
    """The result that is what checks have found."""
    kept: tuple[int, ...] = ()
    """The results that are kept for a backward pass."""
    data: tuple[NewData, ...] = ()
    read: tuple[int, ...] = ()
    """The results that are read when the program has been run."""

    @property
    def grades(self) -> bool:
        """True if gradients of leaves were replaced or written to."""
        sources = [*(one.source for one in self.written), *(one.source for one in self.counted)]
        return bool(self.graded) or any(source.grad for source in sources)

    def same(self, other: SideEffects) -> bool:
        """Tell whether the same is left behind, in the same places."""
        mine = (*self.written, *self.data, *self.counted, *self.graded, *self.flagged)
        its = (*other.written, *other.data, *other.counted, *other.graded, *other.flagged)
        return (
            len(mine) == len(its)
            and self.finding == other.finding
            and self.kept == other.kept
            and len(self.returned) == len(other.returned)
            and all(a[0].same(b[0]) and a[1:] == b[1:] for a, b in zip(mine, its, strict=True))
            and len(self.drawn) == len(other.drawn)
            and all(a[0] is b[0] and a[1] == b[1] for a, b in zip(self.drawn, other.drawn, strict=True))
            and all(_return_the_same(a, b) for a, b in zip(self.returned, other.returned, strict=True))
            and _rebind_the_same(self.rebound, other.rebound)
        )

    @property
    def slots(self) -> list[int]:
        """The results that are wanted, each once, in the order in which they are named first."""
        named = [*(one.slot for one in self.written), *(one.slot for one in self.data)]
        new = [one.new for one in self.graded if one.new is not None]
        new += [one.of for one in (*(one.now for one in self.rebound), *self.returned) if one.tag == "result"]
        finding = [] if self.finding is None else [self.finding]
        more = *finding, *self.kept, *self.read
        return list(dict.fromkeys([*named, *(slot for one in new for slot in one.slots), *more]))


def _rebind_the_same(ours: tuple[Rebinding, ...], others: tuple[Rebinding, ...]) -> bool:
    return len(ours) == len(others) and all(
        one.source.same(other.source) and _return_the_same(one.now, other.now)
        for one, other in zip(ours, others, strict=True)
    )


def _return_the_same(left: Returned, right: Returned) -> bool:
    if left.tag != right.tag:
        return False
    if left.tag == "value":
        sizes = type(left.of) is type(right.of) is Size
        return left.of is right.of or alike(left.of, right.of) or (sizes and left.of == right.of)
    if left.tag == "tensor":
        return left.of.same(right.of)
    return left.of == right.of and (left.edge is None) == (right.edge is None) and left.output == right.output


# -- how it is found out -----------------------------------------------------------------------------------------------


def side_effects_of(
    capture: Capture, sources: TensorSources, results: Sequence[Any], rebound: Sequence[Rebound] = (),
    finding: Any = None, histories: Histories | None = None, was_there: Callable[[list], bool] = lambda things: False,
) -> SideEffects:  # fmt: skip
    """The side effects of a captured call; ``finding`` is what its checks will have found, and ``was_there`` tells
    whether the call finds one of some objects.

    Raises:
        Unaccounted: there is something that can't be left behind again without Python.
    """
    written: dict[int, WrittenMemory] = {}
    counted: dict[int, Counted] = {}
    graded: list[Graded] = []
    data = [NewData(sources.of(one.tensor), slot) for one, slot in new_data(capture, sources).values()]
    for seen in capture.seen.values():
        if all(one.source.of is not seen.tensor for one in data):
            _analyse_writes(capture, seen, sources, written, counted)
        graded += _grade(capture, seen, sources)
    firsts: dict[int, int] = {}
    locations = {id(one.new): TensorSource(one.binding) for one in reversed(rebound)}
    returned = tuple(
        Returned("again", firsts[id(leaf)])
        if isinstance(leaf, Tensor) and firsts.setdefault(id(leaf), number) != number
        else Returned("value", leaf)
        if not isinstance(leaf, (Tensor, DynamicNumber)) and (is_value(leaf) or was_there([leaf]))
        else _return(capture, leaf, sources, locations, {} if histories is None else histories.joint.location)
        for number, leaf in enumerate(results)
    )
    drawn = tuple(_draw(*stream) for stream in capture.streams.values())
    effects = SideEffects(
        tuple(written.values()), tuple(counted.values()), tuple(graded), _rebindings(capture, rebound), drawn, returned,
        _flagged(capture, sources),
        None if finding is None else finding.slot, () if histories is None else histories.slots, tuple(data),
        () if capture.numbers is None else tuple(capture.numbers.results.values()),
    )  # fmt: skip
    _check_memories(capture, sources, written)
    return effects


def _flagged(capture: Capture, sources: TensorSources) -> tuple[Flagged, ...]:
    """The changes that ``requires_grad_`` has made."""
    flagged = (seen.tensor for seen in capture.seen.values() if seen.flagged)
    return tuple(Flagged(sources.of(tensor), tensor._spec.requires_grad) for tensor in flagged)


def _rebindings(capture: Capture, rebound: Sequence[Rebound]) -> tuple[Rebinding, ...]:
    firsts: dict[int, int] = {}
    return tuple(
        Rebinding(TensorSource(binding), Returned("again", firsts[id(new)]))
        if firsts.setdefault(id(new), number) != number
        else Rebinding(TensorSource(binding), Returned("result", new_tensor(capture, new, str(binding)), new._edge))
        for number, (binding, _, new) in enumerate(rebound)
    )


def _draw(stream: Any, before: Any, taken: Sequence[Any]) -> Drawn:
    if stream.root != (before[0] if stream.has_keys else before.seed):
        raise Unaccounted("it seeds a random generator")
    return Drawn(stream, stream.offset - before[1] if stream.has_keys else stream.recipes(taken))


def _slot(capture: Capture, value: Any) -> int | None:
    """Which result of the capture a value is."""
    return value.slot if type(value) is DeferredValue and value.program is capture else None


def new_data(capture: Capture, sources: TensorSources) -> dict[int, tuple[Seen, int]]:
    """The tensors whose ``.data`` was set, with the results that they have now; by identity."""
    replaced = {}
    for key, seen in capture.seen.items():
        tensor, storage = seen.tensor, seen.tensor._storage
        if storage is None or storage is seen.storage or tensor._spec is not seen.spec:
            continue
        if not (seen.before and sources.of(tensor).fixed):
            continue
        slot = _slot(capture, storage.value if storage.written else tensor._value)
        alone = all(member is tensor for member in storage.living())
        plain = (tensor._offset, tensor._view_bits) == seen.offset == (0, 0) and storage.strides is None
        counter = tensor._counter or storage.counter
        if slot is not None and alone and plain and counter.version == seen.version and not tensor._spec.window:
            replaced[key] = seen, slot
    return replaced


def _analyse_writes(
    capture: Capture, seen: Seen, sources: TensorSources, written: dict[int, WrittenMemory], counted: dict[int, Counted]
) -> None:
    tensor, storage = seen.tensor, seen.tensor._storage
    if seen.edge is not None and not (seen.before or sources.of(tensor).rebound or _is_handle(capture, seen)):
        raise Unaccounted(f"it uses a tensor of shape {list(tensor.shape)} that has a history")
    what = f"a tensor of shape {list(tensor.shape)} that was there before"
    if tensor._edge is not seen.edge:
        raise Unaccounted(f"{what} has another history now")
    if storage is None or not storage.written:
        _analyse_data(capture, seen, sources, written)
        return
    if seen.storage is not None and storage is not seen.storage:
        raise Unaccounted(f"the memory of {what} was replaced")
    counter = tensor._counter or storage.counter
    writes = counter.version - seen.version
    slot = _slot(capture, storage.value)
    if slot is None and (storage.value is not seen.value or writes):
        raise Unaccounted(f"something was written to {what} that no operator computed")
    if slot is not None and not seen.before:
        raise Unaccounted("it writes to a memory of which is not known who else sees it")
    if slot is not None:
        written.setdefault(id(storage), WrittenMemory(sources.of(tensor), slot, True))
    if writes:
        counted.setdefault(id(counter), Counted(sources.of(tensor), writes))


def _is_handle(capture: Capture, seen: Seen) -> bool:
    """Tell whether a tensor stands for a leaf that was there before, as at levels of function transforms."""
    leaf = getattr(seen.edge[0], "variable", None)  # type: ignore[index]
    known = capture.seen.get(id(leaf))
    return known is not None and known.before and known.edge is None and known.value is seen.value


def _analyse_data(capture: Capture, seen: Seen, sources: TensorSources, written: dict[int, WrittenMemory]) -> None:
    """As buffers get new elements of which no version tells: a tensor that shares its memory with nobody."""
    tensor = seen.tensor
    if tensor._value is seen.own:
        return
    slot = _slot(capture, tensor._value)
    if slot is None or not seen.before or tensor._storage is not None or seen.storage is not None:
        raise Unaccounted(f"the data of a tensor of shape {list(tensor.shape)} was replaced")
    written[id(tensor)] = WrittenMemory(sources.of(tensor), slot, False)


def _grade(capture: Capture, seen: Seen, sources: TensorSources) -> list[Graded]:
    grad, source = seen.tensor._grad, sources.of(seen.tensor)
    if grad is seen.grad:
        return []
    if source.grad:
        raise Unaccounted("a gradient of a gradient has changed")
    if grad is None:
        return [Graded(source, None)]
    if grad._edge is not None:
        raise Unaccounted(f"the gradient of a tensor of shape {list(seen.tensor.shape)} has a history")
    return [Graded(source, new_tensor(capture, grad, f"the gradient of a tensor of shape {list(seen.tensor.shape)}"))]


_OF_RESULTS = frozenset({"_storage", "_view", "_hooks", "_offset", "_view_bits", "_seen", "_lost_grad"})
"""The attributes that a plain result may have had set."""


def new_tensor(capture: Capture, tensor: Tensor, what: str) -> NewTensor:
    """A description of how a new tensor was made.

    Raises:
        Unaccounted: there is more to it than its elements.
    """
    view = tensor._view
    if view is None:
        return _new_alone(capture, tensor, what, ())
    base = _new_alone(capture, view.base, f"the base of {what}", (tensor,))
    alone = _new_alone(capture, tensor, what, (view.base,))
    recorded = tensor._edge is not None or view.base._edge is not None or view.leaf or view.reinterpretation is not None
    if recorded or tensor._storage.written or base.writes:  # type: ignore[union-attr]
        raise Unaccounted(f"{what} is a view that was written to, or that has a history")
    return alone._replace(base=base, offset=tensor._offset, view_bits=tensor._view_bits, creation=view.creation)


def _new_alone(capture: Capture, tensor: Tensor, what: str, sharers: tuple[Tensor, ...]) -> NewTensor:
    """A description of how a new tensor was made, whose memory only these others share."""
    slot, storage = _slot(capture, value_of(tensor)), tensor._storage
    if slot is None or type(tensor) is not Tensor or tensor._spec.window:
        raise Unaccounted(f"{what} is no plain result")
    if tensor._hooks is not None or tensor.__dict__.keys() - _OF_RESULTS:
        raise Unaccounted(f"something was set on {what}")
    members = [] if storage is None else list(storage.living())
    if any(member is not tensor and all(member is not other for other in sharers) for member in members):
        raise Unaccounted(f"others share the memory of {what}")
    if storage is not None and not (sharers or storage.written) and tuple(storage.value.shape) == tuple(tensor.shape):
        storage.value = value_of(tensor)  # not what it is an alias of, of which nobody is left
    return NewTensor(slot, tensor._spec.replace(plain=True), 0 if storage is None else counter_of(tensor).version)


def _check_memories(capture: Capture, sources: TensorSources, written: dict[int, WrittenMemory]) -> None:
    """An argument, or a gradient, must not lie in a memory that is written to by another name.

    Raises:
        Unaccounted: one does.
    """
    owners: dict[int, Tensor] = {}
    for seen in capture.seen.values():
        storage = seen.tensor._storage
        if storage is None or not storage.written or id(storage) not in written:
            continue
        other = owners.setdefault(id(storage), seen.tensor)
        if other is not seen.tensor and (sources.of(other).varies or sources.of(seen.tensor).varies):
            raise Unaccounted(f"{sources.of(seen.tensor)} shares memory that is written to with {sources.of(other)}")


def _return(
    capture: Capture, leaf: Any, sources: TensorSources, locations: dict[int, TensorSource],
    outputs: dict[int, tuple[int, int]],
) -> Returned:  # fmt: skip
    if type(leaf) is DynamicNumber:
        return Returned("dynamic", leaf._register)
    if not isinstance(leaf, Tensor):
        raise Unaccounted(f"it returns an object of type {type(leaf).__name__}")
    if id(leaf) in locations:
        return Returned("tensor", locations[id(leaf)])
    seen = capture.seen.get(id(leaf))
    if seen is not None:
        if seen.before:
            return Returned("tensor", _lasting(sources.of(leaf)))
        raise Unaccounted("it returns another handle on a tensor that was there before")
    for owner in capture.seen.values():
        if owner.tensor._grad is leaf:
            return Returned("tensor", TensorSource(_lasting(sources.of(owner.tensor)).of, True))
    if id(leaf) in outputs:
        return Returned("result", new_tensor(capture, leaf, "a tensor that it returns"), None, outputs[id(leaf)])
    return _return_result(capture, leaf)


def _lasting(source: TensorSource) -> TensorSource:
    """A tensor that is returned: where it was, it must be in the end.

    Raises:
        Unaccounted: it was in a place that was rebound.
    """
    if source.rebound:
        raise Unaccounted(f"it rebinds {source} and returns what was there")
    return source


def _return_result(capture: Capture, leaf: Tensor) -> Returned:
    result = new_tensor(capture, leaf, "a tensor that it returns")
    if leaf._edge is None and leaf._spec.requires_grad:
        raise Unaccounted("it returns a new leaf")
    if leaf._edge is not None and not is_used_up(leaf._edge, capture):
        raise Unaccounted(MAY_BE_ASKED)
    return Returned("result", result, leaf._edge)


def check_outputs(capture: Capture, effects: SideEffects, wanted: bytes) -> None:
    """Every result that somebody holds must be accounted for.

    Raises:
        Unaccounted: one is not.
    """
    accounted = set(effects.slots)
    kept = [slot for slot, held in enumerate(wanted) if held and slot not in accounted]
    if kept:
        raise Unaccounted(f"a result of {_maker(capture, kept[0])} is kept outside of it")


def _maker(capture: Capture, slot: int) -> str:
    first = 0
    for instruction in capture.code:
        first += instruction[0].count
        if slot < first:
            return shown(instruction)
    return "an instruction"
