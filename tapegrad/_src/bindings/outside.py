"""Tensors of a function transform whose memory, which is that of tensors outside, is shown in another way there."""

from __future__ import annotations

from typing import NamedTuple

from tapegrad._src.bindings.viewing import view_of
from tapegrad._src.dispatch.function_levels import handle, live
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.lifted import Level, Lifted, mapping
from tapegrad._src.tensor.tensor import Tensor, count_write, value_of
from tapegrad.ops.shape import permute


class OutsideTensor(NamedTuple):
    """The tensor with which a tensor of the innermost level shares its memory outside it.

    Attributes:
        tensor: what was lifted, or a view of it.
        level: the level.
        dim: which dimension holds the examples; None if there are none.
    """

    tensor: Tensor
    level: Level
    dim: int | None


def outside_of(tensor: Tensor, own: bool = False) -> OutsideTensor | None:
    """The tensor with which one shares its memory outside the innermost level; None if it is nothing there.

    ``own``: what has been computed at the level has a tensor of its own outside, which counts, too.
    """
    if not tensor._spec.level or tensor._detached_from_outside:
        return None
    value, storage = value_of(tensor), tensor._storage
    whole = value if storage is None else storage.value
    if not (isinstance(value, Lifted) and isinstance(whole, Lifted) and value.level in thread.levels[-1:]):
        return None
    dim = 0 if value.batched else None
    if tensor._view is not None:
        return OutsideTensor(value.tensor, value.level, dim) if value.is_part_of(whole) else None
    if value is not whole:
        return None
    if value.origin is None:
        return OutsideTensor(value.tensor, value.level, dim) if own else None
    leaf, batch_dim = value.placed or (value.origin, dim)
    return OutsideTensor(live(leaf), value.level, batch_dim)


def count_outside(outside: OutsideTensor) -> None:
    """Count a write to a tensor outside, and to what that shares its memory with further out."""
    with outside.level.outside():
        count_write(outside.tensor)
        further = outside_of(outside.tensor)
        if further is not None:
            count_outside(further)


def stays_where_it_is(tensor: Tensor) -> bool:
    """Tell whether a tensor is an example at the innermost level, which can't be put elsewhere without the others.

    As in PyTorch, that is done to views of the examples, one by one, and only counts as writes to all of them.
    """
    level = thread.levels[-1] if thread.levels else None
    if level is None or level not in mapping(tensor):
        return False
    outside = outside_of(tensor)
    if outside is not None:
        _count_each(outside)
    return True


def _count_each(outside: OutsideTensor) -> None:
    """``count_outside`` for each example, of each level that maps."""
    for _ in range(outside.level.size):  # type: ignore[arg-type]
        with outside.level.outside():
            further = outside_of(outside.tensor)
            if further is None or further.dim is None:
                count_write(outside.tensor)
            else:
                _count_each(further)


def lift_again(tensor: Tensor, outside: OutsideTensor) -> Tensor:
    """Let a tensor show again what the tensor outside shows by now, whose memory it shares."""
    leaf, level, dim = outside
    is_view = tensor._view is not None
    with level.outside():
        front = leaf if not dim else view_of(leaf, permute, axes=(dim, *(i for i in range(leaf.ndim) if i != dim)))
        below = front if is_view else handle(front)
    value = Lifted(below, level, dim is not None, None if is_view else front, (leaf, dim) if dim else None)
    tensor._value, spec = value, value.spec
    if is_view:
        tensor._seen = tensor._storage.data_version  # type: ignore[union-attr]
        tensor._spec = tensor._spec.replace(shape=spec.shape, strides=spec.strides)
    else:
        tensor._storage = tensor._counter = None
        tensor._offset, tensor._spec = 0, spec
    return tensor
