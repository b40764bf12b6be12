"""What tensors are besides their elements: compared before a call is replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tapegrad.compile.capture import Seen
from tapegrad.tensor.tensor import Tensor


def hooks_of(tensor: Tensor) -> Iterator[Callable]:
    """The functions that are called when the gradient of a leaf is computed or has been accumulated."""
    if tensor._hooks is not None:
        yield from tensor._hooks.values()
    node = None if tensor._accumulator is None else tensor._accumulator()
    for slots in (tensor._leaf_hooks, None if node is None else node.hook_slots):
        if slots is not None:
            dicts = [*(hooks for _, hooks in slots.tensor_pre), *slots.post_accumulate, slots.pre or {}, slots.post or {}]
            yield from (hook for hooks in dicts for hook in hooks.values())


def _hook_ids(tensor: Tensor) -> tuple[int, ...]:
    if tensor._hooks is None and tensor._leaf_hooks is None and tensor._accumulator is None:
        return ()
    return tuple(map(id, hooks_of(tensor)))


class States:
    """What some tensors were when a call began."""

    __slots__ = ("_states", "ids")

    def __init__(self, seen: Iterable[Seen]) -> None:
        self._states = [
            (one.tensor, one.spec, one.storage, one.edge, one.offset, _hook_ids(one.tensor),
             None if one.grad is None else one.grad._spec)
            for one in seen
        ]  # fmt: skip
        self.ids = frozenset(id(state[0]) for state in self._states)

    def changed(self) -> str | None:
        """What has changed, in words; None if nothing has."""
        for tensor, spec, storage, edge, offset, hooks, grad in self._states:
            if tensor._spec is not spec:
                return f"a tensor that it uses was {spec} and is {tensor._spec}"
            present = tensor._grad
            if (None if present is None else present._spec) is not grad:
                return f"the gradient of a tensor of shape {list(spec.shape)} was {grad} and is {_spec_of(present)}"
            if tensor._storage is not storage and storage is not None or tensor._edge is not edge:
                return f"a tensor of shape {list(spec.shape)} lies in another memory, or has another history"
            if (tensor._offset, tensor._lens) != offset or _hook_ids(tensor) != hooks:
                return f"a tensor of shape {list(spec.shape)} shows other elements, or has other hooks"
        return None


def _spec_of(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor._spec
