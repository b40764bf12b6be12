"""Writing to a part of a tensor that strides name: what ``x[1:, ::2] = value`` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.dispatch.views import take_history
from tapegrad.functions.inplace import become, before_write, copy_, fill_, refuse_in_place
from tapegrad.functions.inplace_rules import refuse_shared_parts, refuse_shown_twice
from tapegrad.functions.memory import window_settings
from tapegrad.functions.naming import renamed
from tapegrad.ops import assignment, strided
from tapegrad.tape.modes import thread
from tapegrad.tensor.geometry import Geometry
from tapegrad.tensor.tensor import Tensor, shows_all, value_of, write


def write_part(self: Tensor, place: Geometry, value: Any, view: Callable[[], Tensor]) -> None:
    """Replace the elements that lie at a place in a tensor's memory, of which the tensor has all, by ``value``.

    It is one operator on the whole base: no view is made, but for the tensors (inference tensors, duals, views in
    another dtype) and the errors that are like those of a view.

    Args:
        self: the tensor.
        place: the part of it.
        value: a number, or a tensor that broadcasts.
        view: makes the view of the tensor that shows the part.
    """
    base = self if self._view is None else self._view.base
    if not _direct(self, base, value):
        overwrite(view(), value)
        return
    refuse_shown_twice(place)
    if base._storage is not None and isinstance(value, Tensor):
        refuse_shared_parts(self, (value,), place)
    spec, offset = base._spec, place.offset
    result = strided.copy_slices(before_write(base), value, offset, 0, **window_settings(base, place, spec.numel))
    write(base, value_of(result))
    if result._edge is not None:
        take_history(base, result._edge)


def overwrite(self: Tensor, value: Any) -> None:
    """Replace all elements by a number, or by those of a tensor that broadcasts."""
    if isinstance(value, Tensor) and (value.ndim or not self.ndim):
        copy_(self, value)
    elif isinstance(value, Tensor):
        fill_(self, value)
    else:
        refuse_in_place(self)
        become(self, renamed(assignment.fill(before_write(self), value), "FillBackward3"))


def _direct(self: Tensor, base: Tensor, value: Any) -> bool:
    """Whether a part of a tensor can be written as a part of its base, which nothing forbids."""
    spec, view, modes = base._spec, self._view, thread.modes
    if modes.grad and spec.requires_grad and base._edge is None:
        return False
    if spec.inference or spec.dual or (isinstance(value, Tensor) and value._spec.dual):
        return False
    if view is not None and (view.creation is not None or view.made is not None):
        return False
    storage = base._storage
    return storage is None or shows_all(base, storage)
