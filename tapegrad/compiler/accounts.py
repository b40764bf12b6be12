"""Giving an account of what a captured call leaves behind.

Note [Accounts]
A captured call can be replayed if every array that goes into its program has a known source (``sources.py``), and every
result that somebody still holds is accounted for: it is returned, it is what a known tensor's memory holds now, a
leaf's gradient, or in a place that was rebound (``rebinding.py``). Results that are held elsewhere (a graph that is not
freed, an object that the search can't see) can't be put there again without running Python, so such a call is captured
anew each time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapegrad.compiler.capture import Capture, Seen
from tapegrad.compiler.moving import Moving
from tapegrad.compiler.places import Rebound
from tapegrad.compiler.side_effects import (
    Counted,
    Drawn,
    Effects,
    Graded,
    NewTensor,
    Rebinding,
    Returned,
    WrittenMemory,
)
from tapegrad.compiler.sources import Ref, Refs, Unaccounted
from tapegrad.compiler.trace_rules import PLAIN
from tapegrad.dispatch.accumulation import AccumulateGrad
from tapegrad.dispatch.operator_node import OperatorNode
from tapegrad.execution.devices import device
from tapegrad.execution.dtypes import dtype
from tapegrad.execution.programs import shown
from tapegrad.execution.values import DeferredValue
from tapegrad.tape.node import Edge
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor, counter_of, value_of


def effects_of(
    capture: Capture, refs: Refs, results: Sequence[Any], rebound: Sequence[Rebound] = (), found: Any = None
) -> Effects:
    """What a captured call leaves behind; ``found`` is what its checks will have found.

    Raises:
        Unaccounted: there is something that can't be left behind again without Python.
    """
    written: dict[int, WrittenMemory] = {}
    counted: dict[int, Counted] = {}
    graded: list[Graded] = []
    for seen in capture.seen.values():
        _account_for_writes(capture, seen, refs, written, counted)
        graded += _grade(capture, seen, refs)
    firsts: dict[int, int] = {}
    rebindings = _rebindings(capture, rebound)
    places = {id(one.new): Ref(one.binding) for one in reversed(rebound)}
    returned = tuple(
        Returned("again", firsts[id(leaf)])
        if isinstance(leaf, Tensor) and firsts.setdefault(id(leaf), number) != number
        else _return(capture, leaf, refs, places)
        for number, leaf in enumerate(results)
    )
    drawn = tuple(_draw(*stream) for stream in capture.streams.values())
    effects = Effects(
        tuple(written.values()), tuple(counted.values()), tuple(graded), rebindings, drawn, returned,
        None if found is None else found.slot,
    )  # fmt: skip
    _check_memories(capture, refs, written)
    return effects


def _rebindings(capture: Capture, rebound: Sequence[Rebound]) -> tuple[Rebinding, ...]:
    firsts: dict[int, int] = {}
    return tuple(
        Rebinding(Ref(binding), Returned("again", firsts[id(new)]))
        if firsts.setdefault(id(new), number) != number
        else Rebinding(Ref(binding), Returned("result", made(capture, new, str(binding)), new._edge))
        for number, (binding, _, new) in enumerate(rebound)
    )


def _draw(stream: Any, root: int, offset: int) -> Drawn:
    if stream.root != root:
        raise Unaccounted("it seeds a random generator")
    return Drawn(stream, stream.offset - offset)


def _slot(capture: Capture, value: Any) -> int | None:
    """Which result of the capture a value is."""
    return value.slot if type(value) is DeferredValue and value.program is capture else None


def _account_for_writes(
    capture: Capture, seen: Seen, refs: Refs, written: dict[int, WrittenMemory], counted: dict[int, Counted]
) -> None:
    tensor, storage = seen.tensor, seen.tensor._storage
    if seen.edge is not None and not refs.of(tensor).rebound:
        raise Unaccounted(f"it uses a tensor of shape {list(tensor.shape)} that has a history")
    what = f"a tensor of shape {list(tensor.shape)} that was there before"
    if tensor._edge is not seen.edge:
        raise Unaccounted(f"{what} has another history now")
    if storage is None or not storage.written:
        _account_for_data(capture, seen, refs, written)
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
        written.setdefault(id(storage), WrittenMemory(refs.of(tensor), slot))
    if writes:
        counted.setdefault(id(counter), Counted(refs.of(tensor), writes))


def _account_for_data(capture: Capture, seen: Seen, refs: Refs, written: dict[int, WrittenMemory]) -> None:
    """As buffers get new elements of which no version tells: a tensor that shares its memory with nobody."""
    tensor = seen.tensor
    if tensor._value is seen.own:
        return
    slot = _slot(capture, tensor._value)
    if slot is None or not seen.before or tensor._storage is not None or seen.storage is not None:
        raise Unaccounted(f"the data of a tensor of shape {list(tensor.shape)} was replaced")
    written[id(tensor)] = WrittenMemory(refs.of(tensor), slot)


def _grade(capture: Capture, seen: Seen, refs: Refs) -> list[Graded]:
    grad, ref = seen.tensor._grad, refs.of(seen.tensor)
    if grad is seen.grad:
        return []
    if ref.grad:
        raise Unaccounted("a gradient of a gradient has changed")
    if grad is None:
        return [Graded(ref, None)]
    if grad._edge is not None:
        raise Unaccounted(f"the gradient of a tensor of shape {list(seen.tensor.shape)} has a history")
    return [Graded(ref, made(capture, grad, f"the gradient of a tensor of shape {list(seen.tensor.shape)}"))]


_OF_RESULTS = frozenset({"_storage", "_view", "_hooks", "_offset", "_view_bits", "_seen", "_lost_grad"})
"""What a plain result may have had set."""


def made(capture: Capture, tensor: Tensor, what: str) -> NewTensor:
    """How a new tensor was made.

    Raises:
        Unaccounted: there is more to it than its elements.
    """
    view = tensor._view
    if view is None:
        return _made_alone(capture, tensor, what, ())
    base = _made_alone(capture, view.base, f"the base of {what}", (tensor,))
    alone = _made_alone(capture, tensor, what, (view.base,))
    recorded = tensor._edge is not None or view.base._edge is not None or view.leaf or view.reinterpretation is not None
    if recorded or tensor._storage.written or base.writes:  # type: ignore[union-attr]
        raise Unaccounted(f"{what} is a view that was written to, or that has a history")
    return alone._replace(base=base, offset=tensor._offset, view_bits=tensor._view_bits, creation=view.creation)


def _made_alone(capture: Capture, tensor: Tensor, what: str, sharers: tuple[Tensor, ...]) -> NewTensor:
    """How a new tensor was made, whose memory only these others share."""
    slot, storage = _slot(capture, value_of(tensor)), tensor._storage
    if slot is None or type(tensor) is not Tensor or tensor._spec.window:
        raise Unaccounted(f"{what} is no plain result")
    if tensor._hooks is not None or tensor.__dict__.keys() - _OF_RESULTS:
        raise Unaccounted(f"something was set on {what}")
    members = [] if storage is None else list(storage.living())
    if any(member is not tensor and all(member is not other for other in sharers) for member in members):
        raise Unaccounted(f"others share the memory of {what}")
    return NewTensor(slot, tensor._spec.replace(plain=True), 0 if storage is None else counter_of(tensor).version)


def _check_memories(capture: Capture, refs: Refs, written: dict[int, WrittenMemory]) -> None:
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
        if other is not seen.tensor and (refs.of(other).moves or refs.of(seen.tensor).moves):
            raise Unaccounted(f"{refs.of(seen.tensor)} shares memory that is written to with {refs.of(other)}")


def _return(capture: Capture, leaf: Any, refs: Refs, places: dict[int, Ref]) -> Returned:
    if type(leaf) is Moving:
        return Returned("moving", leaf._register)
    if not isinstance(leaf, Tensor):
        if isinstance(leaf, (*PLAIN, Size, dtype, device)):
            return Returned("value", leaf)
        raise Unaccounted(f"it returns an object of type {type(leaf).__name__}")
    if id(leaf) in places:
        return Returned("tensor", places[id(leaf)])
    seen = capture.seen.get(id(leaf))
    if seen is not None:
        if seen.before:
            return Returned("tensor", _lasting(refs.of(leaf)))
        raise Unaccounted("it returns another handle on a tensor that was there before")
    for owner in capture.seen.values():
        if owner.tensor._grad is leaf:
            return Returned("tensor", Ref(_lasting(refs.of(owner.tensor)).of, True))
    return _return_result(capture, leaf)


def _lasting(ref: Ref) -> Ref:
    """A tensor that is returned: where it was, it must be in the end.

    Raises:
        Unaccounted: it was in a place that was rebound.
    """
    if ref.rebound:
        raise Unaccounted(f"it rebinds {ref} and returns what was there")
    return ref


def _return_result(capture: Capture, leaf: Tensor) -> Returned:
    result = made(capture, leaf, "a tensor that it returns")
    if leaf._edge is None and leaf._spec.requires_grad:
        raise Unaccounted("it returns a new leaf")
    if leaf._edge is not None and not is_used_up(leaf._edge, capture):
        raise Unaccounted("it returns a tensor with a history: its backward pass may still be asked for")
    return Returned("result", result, leaf._edge)


_OF_NODES = frozenset({"_numbers", "versions", "output_storages"})
"""What a node may have had set, and be used up."""


def is_used_up(edge: Edge, capture: Capture) -> bool:
    """Whether the graph at an edge has nothing of this call in it: what was saved for backward has been freed."""
    stack, known = [edge[0]], set()
    while stack:
        node = stack.pop()
        if id(node) in known:
            continue
        known.add(id(node))
        if isinstance(node, AccumulateGrad):
            seen = capture.seen.get(id(node.variable))
            if seen is None or not seen.before or node.hook_slots is not None:
                return False
            continue
        if not isinstance(node, OperatorNode) or node.hook_slots is not None or node.__dict__.keys() - _OF_NODES:
            return False
        if type(node.saved) is tuple and node.saved:
            return False
        stack += [following[0] for following in node.next_edges if following is not None]
    return True


def begins(edge: Edge, leaves: Collection[int]) -> bool:
    """Whether a history begins at one of some leaves, of which the identities are given."""
    stack, known = [edge[0]], set()
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad) and id(node.variable) in leaves:
            return True
        if id(node) not in known:
            known.add(id(node))
            stack += [following[0] for following in node.next_edges if following is not None]
    return False


def check_accounts(capture: Capture, effects: Effects, wanted: bytes) -> None:
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
