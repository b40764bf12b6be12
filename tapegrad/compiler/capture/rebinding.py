"""Places that a call rebinds: each call leaves a new tensor where the one before left its own.

Note [Rebound places]
`self.h = h.detach()`, `state["m"] = 0.9 * state["m"] + g`, `params[i] = params[i] - rate * g` put another tensor, which
the call has computed, in a place from which the next call takes it. That can be done again without Python: what the
program reads is taken from whatever the place holds now, and the place is given a new tensor. Whoever holds the old
one keeps it as it was.

It is only done where a call leaves behind what it found: a plain tensor, with nothing set on it, of the same spec, that
no other place holds, in a place that is just a name, an item, or an attribute in a dictionary, a cell or a slot. So the
guards don't compare what such a place holds with what it held (``Guards.release``), but see that it is of that kind.
A tensor with a history (the loss, after its backward pass) may be kept in such a place, too, but not computed with: it
must have the history that the call gives to it. Where tensors that were there before trade places, Python is run.

Python numbers that count (`self.step += 1`) are had in another way: Note [Dynamic numbers] in ``dynamic_number.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from tapegrad._src.execution.data.values import materialized, same
from tapegrad._src.tape.node import Edge
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.capture.autograd_histories import begins, is_used_up
from tapegrad.compiler.capture.capture import Capture, hooks_of
from tapegrad.compiler.capture.side_effects import SideEffects, new_tensor
from tapegrad.compiler.capture.sources import Unaccounted
from tapegrad.compiler.guards.guards import Guards
from tapegrad.compiler.guards.locations import Binding, Rebound
from tapegrad.compiler.guards.objects import KEPT


def rebound_by(capture: Capture, reached: Guards, arguments: Sequence[Any]) -> tuple[list[Rebound], str]:
    """The places that a call has rebound; none, and why, if it can't be done again without Python."""
    rebound, others = reached.rebound()
    olds = {id(one.old) for one in rebound}
    for one in rebound:
        why = _obstacle(capture, one, olds)
        if why:
            return [], f"it rebinds {one.binding} to {why}"
    pairs = {(id(one.old), id(one.new)) for one in rebound}
    if not len(pairs) == len(olds) == len({id(one.new) for one in rebound}):
        return [], "it rebinds places that shared a tensor and don't now, or the other way round"
    others |= set(map(id, arguments))
    shared = next((one for one in rebound if id(one.old) in others), None)
    if shared is not None:
        return [], f"it rebinds {shared.binding}, and reaches what it holds otherwise, too"
    return rebound, ""


def _obstacle(capture: Capture, one: Rebound, olds: Collection[int]) -> str:
    """Why a place can't be rebound without Python: what it is rebound to."""
    seen, new = capture.seen.get(id(one.old)), one.new
    if seen is None or not is_bare(one.old, graded=True) or seen.grad is not None or _is_written(capture, one.old):
        return "a new tensor, but had one that is in use elsewhere, or that was written to"
    if id(new) in capture.seen:
        return "a tensor that was there before"
    if any(one.tensor._grad is new for one in capture.seen.values()):
        return "a gradient"
    if new._spec is not seen.spec or (new._view is None) != (one.old._view is None):
        return f"{new._spec}, but it was {seen.spec}"
    if (new._edge is None) != (seen.edge is None):
        return "a tensor with a history, or from one with a history; detach() it"
    try:
        new_tensor(capture, new, "a new tensor")
    except Unaccounted as error:
        return f"what can't be made again: {error}"
    if new._edge is not None and not (is_used_up(new._edge, capture) and not begins(new._edge, olds)):
        return "a tensor with a history; detach() it"
    if seen.edge is not None and any(value is materialized(seen.value) for value in capture.inputs):
        return "a tensor with a history, and computes with that; detach() it"
    return ""


def _is_written(capture: Capture, tensor: Tensor) -> bool:
    """Tell whether the call has written to a tensor that was there before."""
    seen, storage = capture.seen[id(tensor)], tensor._storage
    written = storage is not None and storage.written
    value = storage.value if written else tensor._value  # type: ignore[union-attr]
    return not same(value, seen.value) or (seen.counter is not None and seen.counter.version != seen.version)


_NOTHING = {"_grad": None, "_tangent": None, "_counter": None, "_retains": False, "_detached_from_outside": False}
"""The state of a tensor that nothing was done to."""


def is_bare(tensor: Any, graded: bool = False) -> bool:
    """Tell whether nothing is set on a tensor; ``graded``: it may have a gradient."""
    if type(tensor) is not Tensor:
        return False
    inside = tensor.__dict__
    if not inside:
        return True
    names = [name for name in _NOTHING if not (graded and name == "_grad")]
    set_on = inside.keys() - KEPT or any(inside.get(name, _NOTHING[name]) is not _NOTHING[name] for name in names)
    return not (set_on or any(True for _ in hooks_of(tensor)))


class Holdings:
    """The tensors that the places that a call rebinds must hold for the next one to be replayed: those that the last
    one left.

    Args:
        effects: what the calls leave behind; the last one has just done so.
        fixed: the identities of tensors that are the same in each call.
    """

    def __init__(self, effects: SideEffects, fixed: Collection[int]) -> None:
        bindings: list[Binding] = [one.source.of for one in effects.rebound]
        self._fixed = fixed
        pairs = list(zip(bindings, (one.now for one in effects.rebound), strict=True))
        self._again = [(here, bindings[now.of]) for here, now in pairs if now.tag == "again"]
        self._left = [(here, _Left.of(here.find())) for here, now in pairs if now.tag != "again"]
        self._plain = [(here.container, here.key, left.spec) for here, left in self._left]
        self._simple = not self._again and not any(left.edge or left.view for _, left in self._left)

    def unchanged(self, arguments: Sequence[Any]) -> bool:
        """Tell whether they hold that, as far as it can be seen quickly."""
        if not self._left:
            return True
        olds = set(map(id, arguments))
        try:
            for container, key, spec in self._plain:
                tensor = container[key]
                if type(tensor) is not Tensor or tensor._spec is not spec or tensor._edge or tensor.__dict__:
                    return False
                olds.add(id(tensor))
        except (KeyError, IndexError):
            return False
        are_different = len(olds) == len(self._plain) + len(arguments)
        return self._simple and are_different and olds.isdisjoint(self._fixed)

    def changed(self, arguments: Sequence[Any]) -> str | None:
        """The things they hold instead, in words, if they have changed."""
        held = []
        for here, left in self._left:
            tensor = here.find()
            held.append(id(tensor))
            change = left.change(tensor)
            if change is not None:
                return f"{here} {change}"
        for here, first in self._again:
            if here.find() is not first.find():
                return f"{here} is not what {first} is"
        olds = set(held)
        if len(olds) < len(held) or not (olds.isdisjoint(map(id, arguments)) and olds.isdisjoint(self._fixed)):
            return "a place that it rebinds holds what it reaches otherwise, too"
        return None


class _Left(NamedTuple):
    """The state of a tensor that a call leaves in a place."""

    spec: Spec
    edge: Edge | None
    view: bool

    @classmethod
    def of(cls, tensor: Tensor) -> _Left:
        """The state of a tensor."""
        return cls(tensor._spec, tensor._edge, tensor._view is not None)

    def change(self, tensor: Any) -> str | None:
        """The difference of another tensor, in words."""
        if type(tensor) is not Tensor or tensor._spec is not self.spec:
            what = tensor._spec if type(tensor) is Tensor else f"of type {type(tensor).__name__}"
            return f"was {self.spec} and is {what}"
        if (tensor._view is not None) != self.view or not is_bare(tensor):
            return "has something set on it, or is a view"
        return None if _go_alike(tensor._edge, self.edge) else "has another history"


def _go_alike(edge: Edge | None, other: Edge | None) -> bool:
    """Tell whether one history can be taken for another: that of a result of each call, which is used up."""
    if edge is None or other is None:
        return edge is other
    return edge[0].next_edges is other[0].next_edges and edge[0].hook_slots is None
