"""Shapes, strides and offsets: which elements of a storage a tensor shows, and in which order.

A geometry is a triple ``(shape, strides, offset)``, all in elements. The functions give that of a view, PyTorch's
choices for dimensions of length 1 and for empty tensors included; they know nothing of data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tapegrad._src.caches import tabulated
from tapegrad._src.execution.data.sizes import lies_further

Ints = tuple[int, ...]


class Geometry(NamedTuple):
    """The places of a tensor's elements in its storage: element ``(i, j, ...)`` at ``offset + i*strides[0] + ...``."""

    shape: Ints
    strides: Ints
    offset: int = 0


@tabulated(4096)
def contiguous_strides(shape: Ints) -> Ints:
    """The strides of a row-major tensor.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def is_contiguous(shape: Ints, strides: Ints) -> bool:
    """Tell whether elements lie in row-major order without gaps; strides of dimensions of length 1 don't matter."""
    if 0 in shape:
        return True
    step = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1:
            if stride != step:
                return False
            step *= length
    return True


def is_dense(shape: Ints, strides: Ints) -> bool:
    """Tell whether the elements fill a block of memory without gaps or overlap, in some order of the dimensions."""
    if 0 in shape:
        return True
    step, left = 1, [(s, n) for s, n in zip(strides, shape, strict=True) if n != 1]
    while left:  # by what is equal, for of lengths that are not known it is all that is
        found = next((place for place, (stride, _) in enumerate(left) if stride == step), None)
        if found is None:
            return False
        step *= left.pop(found)[1]
    return True


def overlaps_itself(shape: Ints, strides: Ints) -> bool:
    """Tell whether two places of a tensor are surely one element: a dimension that was expanded."""
    return all(shape) and any(stride == 0 and length != 1 for length, stride in zip(shape, strides, strict=True))


def extent(geometry: Geometry) -> int:
    """The number of elements that a storage must have for this geometry; 0 if it shows none."""
    shape, strides, offset = geometry
    if 0 in shape:
        return 0
    return 1 + offset + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))


# -- of views ----------------------------------------------------------------------------------------------------------


def permuted(geometry: Geometry, axes: Sequence[int]) -> Geometry:
    """With the dimensions in another order."""
    shape, strides, offset = geometry
    return Geometry(tuple(shape[axis] for axis in axes), tuple(strides[axis] for axis in axes), offset)


def transposed(geometry: Geometry, axis0: int, axis1: int) -> Geometry:
    """With two dimensions exchanged."""
    axes = list(range(len(geometry.shape)))
    if axes:
        axes[axis0], axes[axis1] = axes[axis1], axes[axis0]
    return permuted(geometry, axes)


def selected(geometry: Geometry, axis: int, index: int) -> Geometry:
    """One place of a dimension, which disappears."""
    shape, strides, offset = geometry
    return Geometry(
        shape[:axis] + shape[axis + 1 :], strides[:axis] + strides[axis + 1 :], offset + index * strides[axis]
    )


def sliced(geometry: Geometry, axis: int, start: int, length: int, step: int) -> Geometry:
    """Every ``step``-th place of a dimension from ``start``, ``length`` of them."""
    shape, strides, offset = geometry
    return Geometry(
        (*shape[:axis], length, *shape[axis + 1 :]),
        (*strides[:axis], strides[axis] * step, *strides[axis + 1 :]),
        offset + start * strides[axis],
    )


def squeezed(geometry: Geometry, axes: Sequence[int]) -> Geometry:
    """Without those of the given dimensions that have length 1."""
    shape, strides, offset = geometry
    kept = [axis for axis in range(len(shape)) if axis not in axes or shape[axis] != 1]
    return Geometry(tuple(shape[axis] for axis in kept), tuple(strides[axis] for axis in kept), offset)


def unsqueezed(geometry: Geometry, axis: int) -> Geometry:
    """With a dimension of length 1 put in."""
    shape, strides, offset = geometry
    step = shape[axis] * strides[axis] if axis < len(shape) else 1
    return Geometry((*shape[:axis], 1, *shape[axis:]), (*strides[:axis], step, *strides[axis:]), offset)


def expanded(geometry: Geometry, target: Ints) -> Geometry:
    """Broadcast to a shape: dimensions that are new, or were of length 1, have stride 0."""
    shape, strides, offset = geometry
    if not shape:
        return Geometry(tuple(target), (0,) * len(target), offset)
    added = len(target) - len(shape)
    result: list[int] = []
    for axis, length in reversed(list(enumerate(target))):
        own = axis - added
        if own >= 0 and shape[own] == length:
            result.append(strides[own])
        elif own < 0 and length == 1:
            result.append(target[axis + 1] * result[-1] if result else 1)
        else:
            result.append(0)
    return Geometry(tuple(target), tuple(reversed(result)), offset)


def diagonal(geometry: Geometry, offset: int, axis0: int, axis1: int) -> Geometry:
    """The diagonal of two dimensions, as the last one."""
    shape, strides, start = geometry
    rows, columns = (shape[axis0] + min(offset, 0), shape[axis1] - max(offset, 0))
    length = max(min(rows, columns), 0)
    if length:
        start += offset * strides[axis1] if offset >= 0 else -offset * strides[axis0]
    kept = [axis for axis in range(len(shape)) if axis not in (axis0, axis1)]
    return Geometry(
        (*(shape[axis] for axis in kept), length),
        (*(strides[axis] for axis in kept), strides[axis0] + strides[axis1]),
        start,
    )


def unfolded(geometry: Geometry, axis: int, size: int, step: int) -> Geometry:
    """Windows of ``size`` places of a dimension, every ``step`` places; the window is the last dimension."""
    shape, strides, offset = geometry
    if not shape:
        return Geometry((size,), (1,), offset)
    count = (shape[axis] - size) // step + 1
    return Geometry(
        (*shape[:axis], count, *shape[axis + 1 :], size),
        (*strides[:axis], strides[axis] * step, *strides[axis + 1 :], strides[axis]),
        offset,
    )


def viewed(geometry: Geometry, target: Ints) -> Geometry | None:
    """The same elements in another shape, or None if strides can't express that.

    >>> viewed(Geometry((2, 3), (3, 1)), (3, 2))
    Geometry(shape=(3, 2), strides=(2, 1), offset=0)
    >>> viewed(Geometry((3, 2), (1, 3)), (6,)) is None
    True
    """
    shape, strides, offset = geometry
    if 0 in shape:
        same = shape == target
        return Geometry(target, strides if same else contiguous_strides(target), offset)
    if not shape:
        return Geometry(target, (1,) * len(target), offset)
    result: list[int] = []
    lengths = list(target)
    for count, step in reversed(_blocks(shape, strides)):  # from the innermost: use up the target's dimensions
        taken = 1
        while lengths and (lies_further(count, taken) or lengths[-1] == 1):
            length = lengths.pop()
            result.append(taken * step)
            taken *= length
        if taken != count:
            return None
    return Geometry(target, tuple(reversed(result)), offset) if not lengths else None


def _blocks(shape: Ints, strides: Ints) -> list[tuple[int, int]]:
    """Runs of dimensions that lie in memory as one: how many elements each has, and the stride of the last of them."""
    blocks = [(shape[-1], strides[-1])]
    for length, stride in zip(reversed(shape[:-1]), reversed(strides[:-1]), strict=True):
        count, step = blocks[-1]
        if length == 1 or stride == count * step:
            blocks[-1] = (count * length, step)
        else:
            blocks.append((length, stride))
    return blocks[::-1]


# -- of results --------------------------------------------------------------------------------------------------------


def elementwise_strides(shape: Ints, operands: Sequence[tuple[Ints, Ints]]) -> Ints:
    """The strides that PyTorch gives to a new result of an elementwise operator.

    Operands that lie in memory alike hand their order down; of several, the first that has an opinion about two
    dimensions decides. A dimension that is broadcast (numbers are, in all of theirs) has none.

    Args:
        shape: of the result.
        operands: shape and strides of each tensor, and of each number that is wrapped in one: ``((), ())``.

    >>> elementwise_strides((2, 3), [((2, 3), (1, 2)), ((3,), (1,))])
    (1, 2)
    """
    if len(shape) < 2:
        return (1,) * len(shape)
    if all(own == shape for own, _ in operands):
        if all(is_contiguous(own, strides) for own, strides in operands):
            return contiguous_strides(shape)
        if len(shape) == 4 and all(is_channels_last(own, strides) for own, strides in operands):
            return channels_last_strides(shape)
        if len({strides for _, strides in operands}) == 1 and all(is_dense(*operand) for operand in operands):
            return operands[0][1]
    order = memory_order(shape, [_broadcast_strides(shape, *operand) for operand in operands])
    if order == tuple(reversed(range(len(shape)))):
        return contiguous_strides(shape)
    return _laid_out(shape, order, least=0)


def picked_strides(shape: Ints, strides: Ints, places: Sequence[tuple[Ints, Ints] | None], common: Ints) -> Ints:
    """The strides that PyTorch gives to what index tensors pick, which it reads as an elementwise operator does.

    Args:
        shape, strides: of the tensor that is indexed.
        places: for each of its first dimensions, the shape and the strides of the tensor that indexes it, or None.
        common: the shape to which these are broadcast. Where they stand apart, its dimensions come first.

    >>> picked_strides((2, 3), (1, 2), [None, ((4,), (1,))], (4,))
    (4, 1)
    """
    axes = [axis for axis, place in enumerate(places) if place is not None]
    together = axes[-1] - axes[0] == len(axes) - 1
    before = tuple(range(axes[0])) if together else ()
    after = tuple(axis for axis in range(len(shape)) if axis not in (*axes, *before))
    whole = (*(shape[axis] for axis in before), *common, *(shape[axis] for axis in after))
    own = (*(strides[axis] for axis in before), *(0,) * len(common), *(strides[axis] for axis in after))
    padded = (*(1,) * len(before), *common, *(1,) * len(after))
    picks = [viewed(Geometry(common, _broadcast_strides(common, *place), 0), padded) for place in places if place]
    return elementwise_strides(whole, [(whole, own), *((padded, pick.strides) for pick in picks if pick)])


def preserved_strides(shape: Ints, strides: Ints) -> Ints:
    """The strides of a copy that keeps the order of the dimensions in memory: of ``clone()``, ``empty_like()``, ...

    >>> preserved_strides((2, 3), (1, 2)), preserved_strides((2, 3), (1, 4)), preserved_strides((2, 3), (0, 1))
    ((1, 2), (1, 2), (3, 1))
    """
    return strides if is_dense(shape, strides) else _laid_out(shape, memory_order(shape, [strides]), least=1)


def _broadcast_strides(shape: Ints, own: Ints, strides: Ints) -> Ints:
    """The strides of an operand in the dimensions of the result: 0 where it is broadcast."""
    added = len(shape) - len(own)
    steps = (
        0 if length == 1 and shape[added + axis] != 1 else stride
        for axis, (length, stride) in enumerate(zip(own, strides, strict=True))
    )
    return (*(0,) * added, *steps)


def memory_order(shape: Ints, operands: Sequence[Ints]) -> Ints:
    """The dimensions in the order in which a result should lie in memory, the innermost first.

    The comparison is no order (a dimension that is broadcast has none), so the result depends on the way it is sorted:
    by insertion, from the last dimension on.
    """
    order = list(reversed(range(len(shape))))
    for place in range(1, len(order)):
        for before in reversed(range(place)):
            verdict = _lies_outside(shape, operands, order[before], order[place])
            if verdict > 0:
                order[before], order[place] = order[place], order[before]
                place = before  # where the dimension that sinks is now
            elif verdict < 0:
                break
    return tuple(order)


def _lies_outside(shape: Ints, operands: Sequence[Ints], axis: int, other: int) -> int:
    """1 if dimension ``axis`` should lie outside ``other``, -1 if inside, 0 if no operand knows."""
    for strides in operands:
        one, two = strides[axis], strides[other]
        if not (one and two):
            continue
        if one != two:
            return 1 if lies_further(one, two) else -1
        if lies_further(shape[axis], shape[other]):
            return 1
    return 0


def _laid_out(shape: Ints, order: Ints, least: int) -> Ints:
    """Strides of a block of memory with its dimensions in an order, innermost first; empty ones count ``least``."""
    strides, step = [0] * len(shape), 1
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], least)
    return tuple(strides)


CHANNELS_LAST = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}
"""Dimensions of images and volumes whose channels are innermost, the innermost first."""


def channels_last_strides(shape: Ints) -> Ints:
    """The strides of a batch of images (or of volumes) whose channels lie innermost.

    >>> channels_last_strides((2, 3, 4, 5))
    (60, 1, 15, 3)
    """
    return _laid_out(shape, CHANNELS_LAST[len(shape)], least=0)


def is_channels_last(shape: Ints, strides: Ints) -> bool:
    """Tell whether a batch of images (or of volumes) fills a block of memory with its channels innermost.

    >>> is_channels_last((2, 3, 4, 5), (60, 1, 15, 3)), is_channels_last((2, 3), (3, 1))
    (True, False)
    """
    order = CHANNELS_LAST.get(len(shape), ())
    step = 1
    for axis in order:  # an empty one has to have the strides too, other than with ``is_contiguous``
        if shape[axis] != 1 and strides[axis] != step:
            return False
        step *= shape[axis]
    return bool(order)


def seems_channels_last(shape: Ints, strides: Ints) -> bool:
    """Tell whether a tensor counts as one of images whose channels lie innermost: by its strides, whatever gaps there
    are.

    >>> seems_channels_last((2, 3, 4, 5), (120, 2, 30, 6)), seems_channels_last((2, 3, 4, 5), (60, 20, 5, 1))
    (True, False)
    """
    order = CHANNELS_LAST.get(len(shape))
    if order is None or not strides[1] or 0 in shape:
        return False
    least = 0
    for axis in order:
        if strides[axis] < least or (axis == 0 and least == strides[1]):
            return False
        least = strides[axis] * shape[axis]
    return True


def may_overlap(shape: Ints, strides: Ints) -> bool:
    """Tell whether several elements may lie in one place; False only if it is sure that none do.

    >>> may_overlap((2, 3), (1, 2)), may_overlap((3, 3), (1, 1))
    (False, True)
    """
    if is_dense(shape, strides):
        return False
    reach = 0
    for stride, length in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride <= reach:
            return True
        reach += stride * (length - 1)
    return False
