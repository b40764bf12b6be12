"""Boxes: windows on a row of memory that are slices of it, once the row is folded.

Note [Boxes]
The strides of most windows say how to fold the row into an array of which the window is a *box*: ``x[:, 3]`` of a
matrix with 5 columns has stride 5, and is one column of the row folded to ``(-1, 5)``. A box is read and written by
slices, which are much cheaper than index arrays. How to fold is a matter of shape and strides (``Folding``); whether
the window then is a box (or runs over an edge) depends on the offset too. So ``is_box`` is asked where the offset is
known, outside kernels; inside, the offset is traced, so that ``x[:, 0]`` and ``x[:, 1]`` share a kernel.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

Ints = tuple[int, ...]

SPARSEST = 8
"""How many elements a box may pass over for each that it shows. A long diagonal is better read by index arrays."""


class Folding(NamedTuple):
    """How to fold a row so that a window on it may be a box; dimensions of the fold, the outermost first.

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
        """How many places of each dimension the window covers."""
        return tuple((count - 1) * step + 1 for count, step in zip(self.counts, self.steps, strict=True))

    @property
    def whole(self) -> bool:
        """Whether the window is all of the row."""
        return self.counts == self.lengths

    def starts(self, offset: Any) -> list[Any]:
        """Where in each dimension a window begins that begins at ``offset`` in the row."""
        starts = []
        for length in reversed(self.lengths):
            starts.append(offset % length)
            offset = offset // length
        return starts[::-1]

    def holds(self, offset: int) -> bool:
        """Whether a window that begins at ``offset`` runs over no edge."""
        spaces = zip(self.starts(offset), self.spans, self.lengths, strict=True)
        return all(start + span <= length for start, span, length in spaces)


@lru_cache(maxsize=4096)
def folding(size: int, shape: Ints, strides: Ints) -> Folding | None:
    """How to fold a row of ``size`` elements for windows of this shape and strides; None if that is impossible.

    >>> folding(30, (6,), (5,))
    Folding(lengths=(6, 5), counts=(6, 1), steps=(1, 1), axes=(0,))
    >>> folding(6, (3, 3), (1, 1)) is None
    True
    """
    axes = sorted((i for i in range(len(shape)) if shape[i] > 1 and strides[i]), key=lambda i: (-strides[i], i))
    lengths, steps, unit = [], [], size
    for axis in axes:
        outer, unit = unit, math.gcd(unit, strides[axis])
        if unit == outer:
            return None
        lengths.append(outer // unit)
        steps.append(strides[axis] // unit)
    counts = [shape[axis] for axis in axes]
    if unit > 1:
        lengths, counts, steps = [*lengths, unit], [*counts, 1], [*steps, 1]
    fold = Folding(tuple(lengths), tuple(counts), tuple(steps), tuple(axes))
    fits = all(span <= length for span, length in zip(fold.spans, lengths, strict=True))
    return fold if fits and math.prod(fold.spans) <= SPARSEST * math.prod(counts) else None


@lru_cache(maxsize=16384)
def is_box(size: int, shape: Ints, strides: Ints, offset: int) -> bool:
    """Whether a window on a row of ``size`` elements can be read and written by slices. See Note [Boxes].

    >>> is_box(30, (6,), (5,), 3), is_box(30, (2, 4), (5, 1), 3)
    (True, False)
    """
    if 0 in shape or not size:
        return False
    fold = folding(size, shape, strides)
    return fold is not None and fold.holds(offset)


def read_box(memory: Any, shape: Ints, strides: Ints, offset: Any) -> Any:
    """A window that is a box."""
    fold = folding(memory.size, shape, strides)
    assert fold is not None
    block = memory.reshape(fold.lengths)
    if not fold.whole:
        block = lax.dynamic_slice(block, fold.starts(offset), fold.spans, allow_negative_indices=False)
        block = lax.slice(block, (0,) * block.ndim, block.shape, fold.steps)
    seen = tuple(n if stride else 1 for n, stride in zip(shape, strides, strict=True))
    inverse = tuple(sorted(range(len(fold.axes)), key=fold.axes.__getitem__))
    block = block.reshape(tuple(shape[axis] for axis in fold.axes)).transpose(inverse).reshape(seen)
    return jnp.broadcast_to(block, shape)


def write_box(memory: Any, window: Any, strides: Ints, offset: Any) -> Any:
    """The row with a window that is a box replaced. Of elements that lie in one place, the last remains."""
    fold = folding(memory.size, window.shape, strides)
    assert fold is not None
    for axis, stride in enumerate(strides):
        if not stride:
            window = lax.slice_in_dim(window, window.shape[axis] - 1, window.shape[axis], axis=axis)
    kept, starts = sorted(fold.axes), fold.starts(offset)
    window = window.reshape(tuple(window.shape[axis] for axis in kept))
    block = window.transpose([kept.index(axis) for axis in fold.axes]).reshape(fold.counts)
    if fold.whole:
        return block.reshape(-1)
    folded = memory.reshape(fold.lengths)
    if any(step > 1 for step in fold.steps):
        block = _between(lax.dynamic_slice(folded, starts, fold.spans, allow_negative_indices=False), block, fold.steps)
    return lax.dynamic_update_slice(folded, block, starts, allow_negative_indices=False).reshape(-1)


def _between(block: Any, items: Any, steps: Ints) -> Any:
    """A block with every so manieth of its places replaced."""
    spread = lax.pad(items, jnp.zeros((), items.dtype), [(0, 0, step - 1) for step in steps])
    hit = np.zeros(block.shape, bool)
    hit[tuple(slice(None, None, step) for step in steps)] = True
    return jnp.where(hit, spread, block)
