"""Writing to a part of a tensor that strides name: what ``x[1:, ::2] = value`` does."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.declarations import ARITHMETIC
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.state.memory import window_settings
from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.bindings.writes.in_place import become, before_write, captured_base, copy_, fill_, refuse_in_place
from tapegrad._src.bindings.writes.overlaps import refuse_overlap, refuse_shown_twice
from tapegrad._src.dispatch.call_cache import replay
from tapegrad._src.dispatch.function_levels import untransformed
from tapegrad._src.dispatch.view_history import take_history
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.array_functions.windows import put_in_place
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.data.values import NUMBERS
from tapegrad._src.execution.kernels.kernel import is_here
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import Geometry, expanded
from tapegrad._src.tensor.placing import window_on
from tapegrad._src.tensor.refusals import refuse_captured
from tapegrad._src.tensor.tensor import Tensor, donatable, shows_all, value_of, write, writing
from tapegrad.ops import assignment, strided


def write_part(self: Tensor, geometry: Geometry, value: Any) -> None:
    """Replace the elements that lie at a place in a tensor's memory, of which the tensor has all, by ``value``.

    It is one operator on the whole base; no view is made. ``can_write_part`` has to say whether that can be done.

    Args:
        self: the tensor.
        geometry: the part of it.
        value: a number, or a tensor that broadcasts.
    """
    base = self if self._view is None else self._view.base
    filling = not isinstance(value, Tensor) or not value.ndim
    if filling or value._storage is None or value._storage is not base._storage:
        refuse_shown_twice(geometry)
    elif (spot := _broadcast_over(geometry_of(value), geometry)) != geometry:
        refuse_shown_twice(geometry)
        refuse_overlap(geometry, self, spot, value)
    storage = base._storage
    if storage is not None and storage.shared and (elements := _elements(base, geometry, value)) is not None:
        write(window_on(base, geometry), elements)
        return
    with writing:
        if _is_put(base, geometry, value):
            write(base, base._storage.value)  # type: ignore[union-attr]
            return
        result = _with_part(base, geometry, value)
        if result._spec.level != base._spec.level:
            result = untransformed(result, base)
        if result._spec.level != base._spec.level:
            refuse_captured("copy_", base, result, ARITHMETIC)
        if base._spec.level and base._detached_from_outside and (captured := captured_base(base)) is not None:
            refuse_captured("copy_", captured, result, ARITHMETIC)
        write(base, value_of(result))
        if result._edge is not None:
            take_history(base, result._edge)


def _is_put(base: Tensor, geometry: Geometry, value: Any) -> bool:
    """Put a value where it belongs in a NumPy array that nobody else has, if nobody is to be told; or say no."""
    storage, source = base._storage, value_of(value) if isinstance(value, Tensor) else value
    if storage is None or type(storage.memory) is not np.ndarray or not (is_here(source) or type(source) in NUMBERS):
        return False
    elements = _elements(base, geometry, value)
    if elements is None or base._spec.numel != storage.memory.size or donatable(storage) is None:
        return False
    return put_in_place(storage.value, base._spec.layout, elements, *geometry)


def _elements(base: Tensor, geometry: Geometry, value: Any) -> np.ndarray | None:
    """The elements for a place in memory that NumPy sees; None if somebody is to be told, or the value has to be
    cast."""
    modes, dtype, recorded = thread.modes, base.dtype.numpy, base._spec.requires_grad
    if isinstance(value, Tensor):
        recorded = recorded or value._spec.requires_grad
        fits = value.dtype is base.dtype and value.device is base.device and not value._spec.level
    else:
        fits = (type(value) is float and dtype in (np.float32, np.float64) and abs(value) < 1e38) or (
            type(value) is int and dtype.kind in "fi" and dtype.itemsize > 2 and abs(value) < 1 << 24
        )
    if modes.intercepted or modes.results_watched or modes.saved_hooks or (recorded and modes.grad) or not fits:
        return None
    elements = to_host(value_of(value)) if isinstance(value, Tensor) else np.asarray(value, dtype)
    extra = elements.ndim - len(geometry.shape)
    return np.broadcast_to(elements.reshape(elements.shape[extra:]) if extra > 0 else elements, geometry.shape)


def _broadcast_over(spot: Geometry, geometry: Geometry) -> Geometry:
    """The geometry by which a value is read that is broadcast to a place; PyTorch drops its leading 1s first."""
    if spot.shape == geometry.shape:
        return spot
    ones = next((axis for axis, length in enumerate(spot.shape) if length != 1), len(spot.shape))
    return expanded(Geometry(spot.shape[ones:], spot.strides[ones:], spot.offset), geometry.shape)


def _with_part(base: Tensor, geometry: Geometry, value: Any) -> Tensor:
    """A base with a part of its memory replaced, put where the base lies if nobody could tell."""
    settings = window_settings(base, geometry, base._spec.numel)
    storage, modes = base._storage, thread.modes
    crosses = isinstance(value, Tensor) and value.device is not base.device
    seen = modes.intercepted or modes.results_watched or modes.saved_hooks or crosses
    source = value_of(value) if isinstance(value, Tensor) else value
    if storage is None or seen or not (is_here(source) or type(source) in NUMBERS) or donatable(storage) is None:
        return strided.copy_slices(before_write(base), value, geometry.offset, 0, **settings)
    put = partial(strided.copied_slices, storage, storage.value, source, geometry.offset, **settings)
    return replay(strided.copy_slices, (before_write(base), value, geometry.offset, 0), settings, put)


def overwrite(self: Tensor, value: Any) -> None:
    """Replace all elements by a number, or by those of a tensor that broadcasts."""
    if isinstance(value, Tensor) and (value.ndim or not self.ndim):
        copy_(self, value)
    elif isinstance(value, Tensor):
        fill_(self, value)
    else:
        refuse_in_place(self)
        node = "FillBackward3" if self.ndim else "torch::autograd::CopyBackwards"
        become(self, renamed(assignment.fill(before_write(self), value), node))


def can_write_part(self: Tensor, value: Any) -> bool:
    """Tell whether ``write_part`` can be used.

    It can't for inference tensors, duals, views in another dtype and those whose memory is no longer that of the base,
    nor where it is to be refused as the write to a view of the tensor would be.
    """
    base = self if self._view is None else self._view.base
    spec, view, modes = base._spec, self._view, thread.modes
    if modes.grad and (spec.requires_grad or self._spec.requires_grad) and base._edge is None:
        return False
    if spec.inference or spec.dual or self._spec.dual or (isinstance(value, Tensor) and value._spec.dual):
        return False
    if view is not None and (view.creation is not None or view.reinterpretation is not None or view.leaf):
        return False
    if isinstance(value, Tensor) and value._spec.requires_grad and base.dtype.category < FLOATING:
        return False
    storage = base._storage
    return storage is self._storage and (storage is None or shows_all(base, storage))
