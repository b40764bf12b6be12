"""Assignments to a part of a tensor, ``x[1:, 0] = value``, reached without a detour.

Note [Parts that are written again]
Most of the way through ``__setitem__`` finds out what an index means, whether the value fits, and who is to be told of
the write. For indices of integers and slices all that is decided by the modes, the specs and the slices; integers only
move the place. So an assignment that has gone the long way twice does, for calls of the same kind, only what is left.
If it is not recorded, it puts the value where it belongs in an array of NumPy's that nobody else has. What is looked at
each time is whether the tensor shows such memory, and whether the value shows the same memory, too. If it shows just
the place that is written, as in ``x[0] += 1``, whose view was written a moment ago, the elements are there already, and
the write is only counted. Otherwise the place is known, and ``write_part`` does what it does on the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.bindings.viewing import is_ordinary
from tapegrad._src.bindings.writes.cached import is_simple, is_usual
from tapegrad._src.bindings.writes.parts import can_write_part, write_part
from tapegrad._src.dispatch.call_cache import NEVER
from tapegrad._src.dispatch.call_keys import WRITE, Counts
from tapegrad._src.execution.array_functions.windows import put_in_place
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.mechanisms import WRITE_CACHE
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.geometry import Geometry, overlaps_itself, selected, sliced
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, donatable, shows_all, value_of, write, writing
from tapegrad.ops.operator import function_calls

LARGEST = {float: 1e38, int: 1 << 24}
"""Numbers below are converted to any dtype of their kind, of four bytes or more, in one way only."""

ENDS = frozenset((int, type(None)))
"""Types of the ends and steps of slices that are a part of the kind of a call."""

_counts = Counts()


class Part(NamedTuple):
    """The place of a part that an index names, in tensors of one spec.

    Attributes:
        shape, strides, start: of the part, for integers that are 0.
        steps: for each integer of the index how long its dimension is, and how far apart two of its places are.
        number: for a number, the dtype that it is converted to.
        recorded: whether such a write may be recorded.
        direct: whether ``write_part`` takes the value as it is.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    steps: tuple[tuple[int, int], ...]
    number: np.dtype | None
    recorded: bool
    direct: bool

    def offset(self, numbers: tuple[int, ...]) -> int | None:
        """The distance of the part from the beginning of a tensor; None if an integer is out of range."""
        offset = self.start
        for number, (length, step) in zip(numbers, self.steps, strict=True):
            if not -length <= number < length:
                return None
            offset += number % length * step
        return offset


def assigning(whole: Callable[..., None]) -> Callable[..., None]:
    """``__setitem__`` by the shortest way. See Note [Parts that are written again].

    Args:
        whole: the method as it is, which goes the long way.
    """

    @wraps(whole)
    def method(self: Tensor, index: Any, value: Any) -> None:
        numbers, form = ((index,), int) if type(index) is int else taken_apart(index)
        if numbers is None:
            return whole(self, index, value)
        key = (WRITE, thread.modes, self._spec, form, value._spec if isinstance(value, Tensor) else type(value))
        part = function_calls.recent.get(key) or function_calls.get(key)
        if part and _is_written(self, part, numbers, value):
            return None
        whole(self, index, value)
        if part is None and _counts.came(key):
            function_calls.keep(key, part_of(*key[1:3], index, key[4]) or NEVER)
        return None

    return method


def taken_apart(index: Any) -> tuple[tuple[int, ...] | None, Any]:
    """The integers of an index, and the rest of it; None of what has other items than integers and slices.

    >>> taken_apart((1, slice(None, 2), 3))
    ((1, 3), (0, (None, 2, None), 0))
    """
    items = index if type(index) is tuple else (index,)
    form: list[Any] = []
    for item in items:
        if type(item) is int:
            form.append(0)
        elif type(item) is slice and ENDS.issuperset((type(item.start), type(item.stop), type(item.step))):
            form.append((item.start, item.stop, item.step))
        else:
            return None, None
    return tuple([item for item in items if type(item) is int]), tuple(form)


def part_of(modes: Modes, spec: Spec, index: Any, value: Any) -> Part | None:
    """The part that an index, which fits, names of tensors of a spec, if a value may be put there as it is; else None.

    Args:
        value: its spec, or the type of a number.
    """
    if WRITE_CACHE.off or not is_usual(modes) or modes.deferred or modes.autocast:
        return None
    if not is_simple(spec) or spec.device.sharded:
        return None
    if isinstance(value, Spec):
        fits = is_simple(value) and value.dtype is spec.dtype and value.device is spec.device
        recorded = spec.requires_grad or value.requires_grad
    else:
        categories = {float: "f", int: "fi"}.get(value, "")
        fits = spec.dtype.numpy.kind in categories and spec.dtype.itemsize > 2
        recorded = spec.requires_grad
    if not fits:
        return None
    whole = window = Geometry(tuple(spec.shape), spec.layout, 0)
    steps, axis = [], 0
    for item in index if type(index) is tuple else (index,):
        if type(item) is int:
            steps.append((window.shape[axis], window.strides[axis]))
            window = selected(window, axis, 0)
        else:
            lengths = range(*item.indices(window.shape[axis]))
            window = sliced(window, axis, lengths.start, len(lengths), lengths.step)
            axis += 1
    number, recorded = None if isinstance(value, Spec) else spec.dtype.numpy, recorded and modes.grad
    direct = window != whole or bool(steps)  # all of a tensor is no part of it: the history is that of ``copy_``
    if direct and isinstance(value, Spec) and value.ndim:
        # where a gradient passes, the steps of broadcasting have nodes
        direct = value.shape == window.shape if recorded else value.ndim <= len(window.shape)
    return None if overlaps_itself(*window[:2]) else Part(*window, tuple(steps), number, recorded, direct)


def _is_written(tensor: Tensor, part: Part, numbers: tuple[int, ...], value: Any) -> bool:
    """Put a value where it belongs by a short way; or say that there is none."""
    offset = part.offset(numbers)
    if offset is None or (part.number is not None and not -LARGEST[type(value)] < value < LARGEST[type(value)]):
        return False
    offset += tensor._offset
    if not part.recorded and _is_put(tensor, part, offset, value):
        return True
    if not part.direct or not can_write_part(tensor, value):
        return False
    if part.number is not None and part.number.kind == "f":
        value = float(value)
    write_part(tensor, Geometry(part.shape, part.strides, offset), value)
    return True


def _is_put(tensor: Tensor, part: Part, offset: int, value: Any) -> bool:
    """Put a value where it belongs if nobody else has the memory and nobody is to be told; or say no."""
    storage, view = tensor._storage, tensor._view
    if type(storage) is not Storage or type(storage.memory) is not np.ndarray or capturing.by is not None:
        return False
    base = tensor if view is None else view.base
    if not (view is None or (is_ordinary(tensor, view) and not view.leaf)) or not shows_all(base, storage):
        return False
    if part.number is not None:
        elements = np.asarray(value, part.number)
    elif value._storage is storage:
        geometry = value._spec.shape, value._spec.layout, value._offset, value._view_bits
        if geometry != (part.shape, part.strides, offset, 0):
            return False
        with writing:
            write(base, storage.memory)
        return True
    else:
        elements = value_of(value)
        if type(elements) is not np.ndarray:
            return False
    with writing:
        if donatable(storage) is None:
            return False
        if not put_in_place(storage.memory, base._spec.layout, elements, part.shape, part.strides, offset):
            return False
        write(base, storage.memory)
    return True
