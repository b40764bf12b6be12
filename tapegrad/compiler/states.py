"""What tensors are besides their elements: compared before a call is replayed."""

from __future__ import annotations

from collections.abc import Iterable

from tapegrad.compiler.capture import Seen, hooks_of
from tapegrad.compiler.reachable import KEPT
from tapegrad.tensor.tensor import Tensor


def _hook_ids(tensor: Tensor) -> tuple[int, ...]:
    return tuple(map(id, hooks_of(tensor)))


class State:
    """What a tensor was when a call began."""

    __slots__ = ("tensor", "spec", "storage", "edge", "offset", "hooks", "grad", "attributes")

    def __init__(self, seen: Seen) -> None:
        tensor = self.tensor = seen.tensor
        self.spec, self.edge, self.offset = seen.spec, seen.edge, seen.offset
        self.storage, self.hooks = tensor._storage, _hook_ids(tensor)
        self.attributes = tensor.__dict__.keys() - KEPT
        self.grad = None if seen.grad is None else seen.grad._spec

    def change(self) -> str | None:
        """What is not what it was, in words."""
        tensor, grad = self.tensor, self.tensor._grad
        spec = None if grad is None else grad._spec
        what = f"a tensor of shape {list(tensor.shape)}"
        if tensor._spec is not self.spec:
            return f"{what} was {self.spec} and is {tensor._spec}"
        if spec is not self.grad:
            return f"the gradient of {what} was {self.grad} and is {spec}"
        if tensor._storage is not self.storage or tensor._edge is not self.edge:
            return f"{what} lies in another memory, or has another history"
        if (tensor._offset, tensor._view_bits) != self.offset or _hook_ids(tensor) != self.hooks:
            return f"{what} shows other elements, or has other hooks"
        if tensor.__dict__.keys() - KEPT != self.attributes:
            return f"{what} has other attributes"
        return None

    @property
    def simple(self) -> bool:
        """Whether nothing is set on the tensor but what ``States.unchanged`` looks at."""
        inside = self.tensor.__dict__
        special = self.spec.window or self.edge is not None or self.hooks or self.attributes
        graded = "_grad" in inside and "_accumulator" not in inside
        return not (special or graded or inside.keys() & {"_hooks", "_leaf_hooks"})


class States:
    """What some tensors were when a call began."""

    __slots__ = ("ids", "_states", "_simple", "_graded", "_others")

    def __init__(self, seen: Iterable[Seen]) -> None:
        states = self._states = [State(one) for one in seen]
        self.ids = frozenset(id(state.tensor) for state in states)
        self._others = [state for state in states if not state.simple]
        self._simple: list[tuple] = []
        self._graded: list[tuple] = []
        for tensor, state in ((state.tensor, state) for state in states if state.simple):
            inside = tensor.__dict__
            if "_accumulator" in inside:  # it is, or was, a leaf of a graph
                inside.setdefault("_grad", None)
                self._graded.append((inside, state.grad))
            self._simple.append((tensor, state.spec, state.storage, inside, len(inside)))

    def unchanged(self) -> bool:
        """Whether nothing has changed; quicker than to find out what."""
        for tensor, spec, storage, inside, size in self._simple:  # attributes are added, but never taken away
            if tensor._spec is not spec or tensor._storage is not storage or len(inside) != size or tensor._edge:
                return self.changed() is None
        for inside, spec in self._graded:
            grad, node = inside["_grad"], inside["_accumulator"]()
            if (grad if grad is None else grad._spec) is not spec or (node is not None and node.hook_slots is not None):
                return self.changed() is None
        return all(state.change() is None for state in self._others)

    def changed(self) -> str | None:
        """What has changed, in words; None if nothing has."""
        return next((change for change in (state.change() for state in self._states) if change is not None), None)
