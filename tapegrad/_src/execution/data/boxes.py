"""Boxes: windows on a memory that are slices of it, once it has the right number of dimensions.

Note [Boxes]
Most windows are a *box* of the array that they look at: ``x[:, 3]`` of a matrix is one column of it. Of others the
strides say how to *fold* the row of elements so that they are: a window of stride 5 is a column of the row folded to
``(-1, 5)``. A box is read and written by slices, which are much cheaper than index arrays, and can be written in place.
How to fold is a matter of shapes and strides (``Folding``); whether the window then is a box (or runs over an edge)
depends on the offset too. So ``box_form`` is asked where the offset is known, outside kernels; inside, the offset is
traced, so that ``x[:, 0]`` and ``x[:, 1]`` share a kernel.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.caches import tabulated
from tapegrad._src.execution.data.row_layout import Ints, fills, from_row, inverse, memory_lengths, memory_order, row
from tapegrad._src.execution.data.sizes import is_symbolic

OWN, FOLDED, NO_BOX = "own", "folded", ""
"""The kinds of windows: a box of the array itself, of its row folded in another way, or neither."""

SPARSEST = 8
"""The most elements that a box may pass over for each that it shows. A long diagonal is better read by index arrays."""


class Folding(NamedTuple):
    """A way to fold a row so that a window on it may be a box; dimensions of the fold, the outermost first.

    Attributes:
        lengths: the shape to fold to.
        counts, steps: how many places of each dimension the window has, and how far apart.
        axes: the dimensions of the window in the same order; those of length 1 or stride 0 are missing.
    """

    lengths: Ints
    counts: Ints
    steps: Ints
    axes: Ints

    @property
    def spans(self) -> Ints:
        """The number of places of each dimension that the window covers."""
        return tuple((count - 1) * step + 1 for count, step in zip(self.counts, self.steps, strict=True))

    @property
    def whole(self) -> bool:
        """True if the window is all of the row."""
        return self.counts == self.lengths

    def starts(self, offset: Any) -> list[Any]:
        """The place in each dimension where a window begins that begins at ``offset``, traced or not, in the row."""
        starts = []
        for length in reversed(self.lengths[1:]):
            here, offset = divided(offset, length)
            starts.append(here)
        return [*([offset] if self.lengths else []), *starts[::-1]]

    def holds(self, offset: int) -> bool:
        """Tell whether a window that begins at ``offset`` runs over no edge."""
        spaces = zip(self.starts(offset), self.spans, self.lengths, strict=True)
        return all(start + span <= length for start, span, length in spaces)

    def checked(self) -> Folding | None:
        """This folding, if a window has room in it and is not too sparse."""
        fits = all(span <= length for span, length in zip(self.spans, self.lengths, strict=True))
        return self if fits and math.prod(self.spans) <= SPARSEST * math.prod(self.counts) else None


def divided(offset: Any, length: int) -> tuple[Any, Any]:
    """Rest and quotient of an offset, which is never negative."""
    if isinstance(offset, int):
        return offset % length, offset // length
    offset = jnp.asarray(offset)
    by = jnp.asarray(length, offset.dtype)
    return lax.rem(offset, by), lax.div(offset, by)


def changing_axes(shape: Ints, strides: Ints) -> list[int]:
    """The dimensions of a window along which something changes, the outermost in memory first."""
    return sorted((i for i in range(len(shape)) if shape[i] > 1 and strides[i]), key=lambda i: (-strides[i], i))


def folding(size: int, shape: Ints, strides: Ints) -> Folding | None:
    """The fold of a row of ``size`` elements for windows of this shape and strides; None if that is impossible.

    >>> folding(30, (6,), (5,))
    Folding(lengths=(6, 5), counts=(6, 1), steps=(1, 1), axes=(0,))
    >>> folding(6, (3, 3), (1, 1)) is None
    True
    """
    if is_symbolic((size, *shape, *strides)):
        return None
    lengths, steps, unit = [], [], size
    axes = changing_axes(shape, strides)
    for axis in axes:
        outer, unit = unit, math.gcd(unit, strides[axis])
        if unit == outer:
            return None
        lengths.append(outer // unit)
        steps.append(strides[axis] // unit)
    counts = [shape[axis] for axis in axes]
    if unit > 1:
        lengths, counts, steps = [*lengths, unit], [*counts, 1], [*steps, 1]
    return Folding(tuple(lengths), tuple(counts), tuple(steps), tuple(axes)).checked()


def own_folding(lengths: Ints, shape: Ints, strides: Ints) -> Folding | None:
    """The fold to these lengths, if windows of this shape and strides fit it.

    >>> own_folding((5, 6), (3, 2), (12, 1))
    Folding(lengths=(5, 6), counts=(3, 2), steps=(2, 1), axes=(0, 1))
    """
    counts, steps = [1] * len(lengths), [1] * len(lengths)
    units = [math.prod(lengths[dim + 1 :]) for dim in range(len(lengths))]
    axes, first = changing_axes(shape, strides), 0
    for axis in axes:
        fitting = (j for j in range(first, len(lengths)) if lengths[j] > 1 and strides[axis] % units[j] == 0)
        dim = next(fitting, None)
        if dim is None:
            return None
        counts[dim], steps[dim], first = shape[axis], strides[axis] // units[dim], dim + 1
    return Folding(lengths, tuple(counts), tuple(steps), tuple(axes)).checked()


@tabulated(4096)
def fold_of(form: str, lengths: Ints, shape: Ints, strides: Ints) -> Folding | None:
    """The fold for a kind of window on a memory that has these lengths."""
    if form == OWN:
        return own_folding(lengths, shape, strides)
    return folding(math.prod(lengths), shape, strides)


def box_form(lengths: Ints, shape: Ints, strides: Ints, offset: int) -> str:
    """Which kind of window this is: ``OWN``, ``FOLDED`` or ``NO_BOX``. See Note [Boxes].

    Args:
        lengths: of the array that is looked at, in the order in which its dimensions lie in memory.
        shape, strides, offset: of the window.

    >>> box_form((6, 5), (6,), (5,), 3), box_form((24,), (2, 3), (12, 1), 1), box_form((6, 5), (2, 4), (5, 1), 3)
    ('own', 'folded', '')
    """
    if 0 in shape or 0 in lengths:
        return NO_BOX
    for form in (OWN, FOLDED):
        fold = fold_of(form, lengths, shape, strides)
        if fold is not None and fold.holds(offset):
            return form
    return NO_BOX


Extent = tuple[Ints, Ints, int]
"""Shape, strides and offset."""


@tabulated(4096)
def box_forms(size: int, window: Extent, whole: Extent) -> tuple[str, str]:
    """Of which kinds a window on the memory of a tensor is, and the tensor itself.

    A memory that the tensor fills is looked at as the tensor; another one as a row of so many elements.
    """
    shape, strides, _ = whole
    lengths = memory_lengths(shape, strides) if fills(shape, strides, size) else (size,)
    return box_form(lengths, *window), box_form((size,), *whole)


# -- reading and writing -----------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """A window that is a box of an array that has been folded; ``axes`` is the order of its dimensions in memory."""

    folded: Any
    axes: Ints
    fold: Folding

    def own(self, of_fold: Any) -> tuple:
        """The entries that belong to the dimensions of the fold, in the order of those of the array."""
        items = [None] * len(self.axes)
        for axis, item in zip(self.axes, of_fold, strict=True):
            items[axis] = item
        return tuple(items)

    def block(self, offset: Any) -> Any:
        """The part of the array that the window covers, in the array's order."""
        if self.fold.whole:
            return self.folded
        starts, spans = self.own(self.fold.starts(offset)), self.own(self.fold.spans)
        return lax.dynamic_slice(self.folded, starts, spans, allow_negative_indices=False)


def box_of(value: Any, value_strides: Ints, shape: Ints, strides: Ints, form: str) -> Box:
    """The box, of the kind that it is known to be, that a window is."""
    axes = memory_order(value.shape, value_strides)
    fold = fold_of(form, memory_lengths(value.shape, value_strides), shape, strides)
    assert fold is not None
    if form == OWN:
        return Box(value, axes, fold)
    return Box(row(value, value_strides).reshape(fold.lengths), tuple(range(len(fold.lengths))), fold)


def read_box(value: Any, value_strides: Ints, shape: Ints, strides: Ints, offset: Any, form: str) -> Any:
    """A window that is a box."""
    box = box_of(value, value_strides, shape, strides, form)
    block, axes = box.block(offset), box.fold.axes
    block = lax.slice(block, (0,) * block.ndim, block.shape, box.own(box.fold.steps)).transpose(box.axes)
    seen = tuple(n if stride else 1 for n, stride in zip(shape, strides, strict=True))
    ordered = block.reshape(tuple(shape[axis] for axis in axes)).transpose(inverse(axes))
    return jnp.broadcast_to(ordered.reshape(seen), shape)


def write_box(value: Any, value_strides: Ints, window: Any, strides: Ints, offset: Any, form: str) -> Any:
    """The array with a window that is a box replaced. Of elements that lie in one place, the last remains."""
    box = box_of(value, value_strides, window.shape, strides, form)
    items = _items(window, strides, box.fold).transpose(inverse(box.axes))
    if not box.fold.whole:
        if any(step > 1 for step in box.fold.steps):
            items = _between(box.block(offset), items, box.own(box.fold.steps))
        starts = box.own(box.fold.starts(offset))
        items = lax.dynamic_update_slice(box.folded, items, starts, allow_negative_indices=False)
    return items if form == OWN else from_row(items.reshape(-1), value.shape, value_strides)


def _items(window: Any, strides: Ints, fold: Folding) -> Any:
    """The elements of a window as they stand in a fold, without steps."""
    for axis, stride in enumerate(strides):
        if not stride:
            window = lax.slice_in_dim(window, window.shape[axis] - 1, window.shape[axis], axis=axis)
    kept = sorted(fold.axes)
    window = window.reshape(tuple(window.shape[axis] for axis in kept))
    return window.transpose([kept.index(axis) for axis in fold.axes]).reshape(fold.counts)


def _between(block: Any, items: Any, steps: Ints) -> Any:
    """A block with every so manieth of its places replaced."""
    dilated = lax.pad(items, jnp.zeros((), items.dtype), [(0, 0, step - 1) for step in steps])
    hit = np.zeros(block.shape, bool)
    hit[tuple(slice(None, None, step) for step in steps)] = True
    return jnp.where(hit, dilated, block)
