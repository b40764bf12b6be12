"""What tensors are besides their elements: compared before a call is replayed."""

from __future__ import annotations

from collections.abc import Iterable

from tapegrad.compile.capture import Seen, hooks_of
from tapegrad.compile.search import KEPT
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
        if (tensor._offset, tensor._lens) != self.offset or _hook_ids(tensor) != self.hooks:
            return f"{what} shows other elements, or has other hooks"
        if tensor.__dict__.keys() - KEPT != self.attributes:
            return f"{what} has other attributes"
        return None

    @property
    def simple(self) -> bool:
        """Whether nothing is set on the tensor but what ``States.changed`` looks at."""
        return not self.spec.window and not self.hooks and not self.tensor.__dict__.keys() & {"_hooks", "_leaf_hooks"}


class States:
    """What some tensors were when a call began."""

    __slots__ = ("ids", "_others", "_simple")

    def __init__(self, seen: Iterable[Seen]) -> None:
        states = [State(one) for one in seen]
        self.ids = frozenset(id(state.tensor) for state in states)
        self._others = [state for state in states if not state.simple]
        self._simple = [
            (state.tensor, state.spec, state.storage, state.edge, state.grad, len(state.tensor.__dict__), state)
            for state in states
            if state.simple
        ]

    def changed(self) -> str | None:
        """What has changed, in words; None if nothing has."""
        for tensor, spec, storage, edge, grad, size, state in self._simple:
            inside = tensor.__dict__  # read at once: these are the attributes of many tensors, at each call
            present, maker = inside.get("_grad"), inside.get("_accumulator")
            if (
                tensor._spec is not spec
                or tensor._edge is not edge
                or inside.get("_storage") is not storage
                or (present if present is None else present._spec) is not grad
                or len(inside) != size
                or (maker is not None and maker() is not None)
            ):
                change = state.change()
                if change is not None:
                    return change
        return next((change for change in (state.change() for state in self._others) if change is not None), None)
