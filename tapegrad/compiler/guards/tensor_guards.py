"""The state of tensors besides their elements: compared before a call is replayed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from tapegrad._src.execution.data.values import materialized
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.capture.capture import Seen, current_array, hooks_of
from tapegrad.compiler.guards.objects import KEPT
from tapegrad.compiler.guards.written_guard import WrittenGuard


def _hook_ids(tensor: Tensor) -> tuple[int, ...]:
    return tuple(map(id, hooks_of(tensor)))


def graded(tensor: Tensor) -> Any:
    """The spec of a tensor's gradient; None without one."""
    return None if tensor._grad is None else tensor._grad._spec


ANY = object()
"""In place of the spec of a gradient, or of a memory: it makes no difference."""


class TensorGuard:
    """The state of a tensor when a call began.

    Args:
        seen: the tensor.
        grades: whether its gradient makes a difference; ``stays``: whether its memory does.
    """

    __slots__ = ("tensor", "spec", "storage", "edge", "offset", "hooks", "grad", "attributes")

    def __init__(self, seen: Seen, grades: bool, stays: bool) -> None:
        tensor = self.tensor = seen.tensor
        self.spec, self.edge, self.offset = seen.spec, seen.edge, seen.offset
        self.storage, self.hooks = tensor._storage if stays else ANY, _hook_ids(tensor)
        self.attributes = tensor.__dict__.keys() - KEPT
        self.grad: Any = seen.graded if grades else ANY

    def change(self) -> str | None:
        """The difference from then, in words."""
        tensor = self.tensor
        what = f"a tensor of shape {list(tensor.shape)}"
        if tensor._spec is not self.spec:
            return f"{what} was {self.spec} and is {tensor._spec}"
        if self.is_regraded:
            return f"the gradient of {what} was {self.grad} and is {graded(tensor)}"
        if (self.storage is not ANY and tensor._storage is not self.storage) or tensor._edge is not self.edge:
            return f"{what} lies in another memory, or has another history"
        if (tensor._offset, tensor._view_bits) != self.offset or _hook_ids(tensor) != self.hooks:
            return f"{what} shows other elements, or has other hooks"
        if tensor.__dict__.keys() - KEPT != self.attributes:
            return f"{what} has other attributes"
        return None

    @property
    def is_regraded(self) -> bool:
        """True if it has a gradient and had none, or had one and has none, or has one of another kind."""
        return self.grad is not ANY and graded(self.tensor) is not self.grad

    @property
    def simple(self) -> bool:
        """True if nothing is set on the tensor but what ``TensorGuards.unchanged`` looks at."""
        inside = self.tensor.__dict__
        special = self.spec.window or self.edge is not None or self.hooks or self.attributes
        lone = "_grad" in inside and "_accumulator" not in inside
        return not (special or lone or inside.keys() & {"_hooks", "_leaf_hooks"})


class TensorGuards:
    """The states of some tensors when a call began.

    Args:
        seen: the tensors, as they were.
        grades: whether their gradients make a difference.
        looked_at: those of which the call has read elements: they must have the same ones.
        elsewhere: the identities of those that lie in another memory after each call.
    """

    __slots__ = ("ids", "_guards", "_simple", "_graded", "_others", "_arrays", "_same")

    def __init__(
        self, seen: Iterable[Seen], looked_at: Iterable[Seen] = (), grades: bool = True,
        elsewhere: Collection[int] = (),
    ) -> None:  # fmt: skip
        self._arrays = [(one.tensor, materialized(one.value)) for one in looked_at]
        guards = self._guards = [TensorGuard(one, grades, id(one.tensor) not in elsewhere) for one in seen]
        self.ids = frozenset(id(guard.tensor) for guard in guards)
        self._others = [guard for guard in guards if not guard.simple]
        self._simple: list[tuple] = []
        self._graded: list[tuple] = []
        self._same: Callable[[], bool] | None = None
        for tensor, guard in ((guard.tensor, guard) for guard in guards if guard.simple):
            inside = tensor.__dict__
            if "_accumulator" in inside:  # it is, or was, a leaf of a graph
                inside.setdefault("_grad", None)
                self._graded.append((inside, guard.grad))
            self._simple.append((tensor, guard.spec, guard.storage, inside, len(inside)))

    def unchanged(self) -> bool:
        """Tell whether nothing has changed; quicker than to find out what."""
        if self._same is None:
            self._same = self._written()
        if not self._same():
            return self.changed() is None
        return all(guard.change() is None for guard in self._others) and not self.rewritten()

    def _written(self) -> Callable[[], bool]:
        written = WrittenGuard()
        expect, name, terms = written.expect, written.name, written.terms
        for tensor, spec, storage, inside, size in self._simple:  # attributes are added, but never taken away
            expect(f"{name(tensor)}._spec", spec)
            if storage is not ANY:
                expect(f"{name(tensor)}._storage", storage)
            expect(f"{name(tensor)}._edge", None)
            written.expect_size(inside, size)
        for inside, spec in self._graded:
            grad, node = f"{name(inside)}['_grad']", f"(node := {name(inside)}['_accumulator']())"
            if spec is not ANY:
                expect(grad if spec is None else f"{grad} is not None and {grad}._spec", spec)
            terms.append(f"({node} is None or node.hook_slots is None)")
        return written.function()

    def regraded(self) -> bool:
        """Tell whether gradients have come or gone."""
        return any(guard.is_regraded for guard in self._guards)

    def rewritten(self) -> bool:
        """Tell whether elements that were read are others."""
        return any(current_array(tensor) is not array for tensor, array in self._arrays)

    def changed(self) -> str | None:
        """The changes, in words; None if nothing has changed."""
        if self.rewritten():
            return "a tensor of which it reads elements has been written to"
        return next((change for change in (guard.change() for guard in self._guards) if change is not None), None)
