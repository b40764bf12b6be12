"""The packing of sequences of different lengths. See ``torch.nn.utils.rnn``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from tapegrad._src.bindings.bounds import numbers
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.construction import copy_of
from tapegrad._src.functions.shape import transpose
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import packing
from tapegrad.ops.comparison import lt
from tapegrad.ops.selection import where
from tapegrad.ops.shape import unsqueeze, view
from tapegrad.ops.slicing import slice_


class Packing(NamedTuple):
    """The packing of sequences, the longest first.

    Attributes:
        sizes: how many sequences there are at each step.
        places, rows: where the elements of a packed tensor are in a padded one, and the other way round; see
            ``pack_padded_sequence`` in ``ops/packing.py``. None where no sequence is shorter than another.
    """

    sizes: tuple[int, ...]
    places: Tensor | None
    rows: Tensor | None

    @classmethod
    def of(cls, sizes: Sequence[int], like: Tensor) -> Self:
        """The packing with so many sequences at each step, for a tensor on the device of ``like``."""
        sizes = tuple(sizes)
        if min(sizes) == sizes[0]:
            return cls(sizes, None, None)
        counts = np.asarray(sizes)
        there = np.arange(sizes[0]) < counts[:, None]
        rows = np.where(there, np.cumsum(counts)[:, None] - counts[:, None] + np.arange(sizes[0]), counts.sum())
        places, rows = (copy_of(one).to(like.device) for one in (np.flatnonzero(there), rows))
        return cls(sizes, places, rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Steps and batch."""
        return len(self.sizes), self.sizes[0]

    @property
    def active(self) -> Tensor | None:
        """The mask of what is no padding, (steps, batch, 1); None for everywhere."""
        return None if self.rows is None else unsqueeze(lt(self.rows, sum(self.sizes)), axis=2)

    def packed(self, x: Tensor) -> Tensor:
        """(steps, batch, ...) packed."""
        if self.places is None:
            return view(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))
        return packing.pack_padded_sequence(x, self.places, self.rows)

    def padded(self, x: Tensor) -> Tensor:
        """The packed elements as (steps, batch, ...), with zeros for padding."""
        count = sum(self.sizes)
        if x.shape[0] > count:
            x = slice_(x, 0, axis=0, length=count, step=1)
        if self.places is None:
            return view(x, shape=(*self.shape, *x.shape[1:]))
        return packing.pad_packed_sequence(x, self.places, self.rows)


def checked_integers(name: str, given: Tensor) -> np.ndarray:
    """The elements of a tensor of lengths.

    Raises:
        RuntimeError: it is none of int64 on the CPU with one dimension; or it is not known yet, as in a compiled step.
    """
    if given.ndim != 1 or not given.device.is_host or given.dtype is not int64:
        kind = f"{given.ndim}D {given.device.type} {given.dtype.scalar_name}"
        raise RuntimeError(f"'{name}' argument should be a 1D CPU int64 tensor, but got {kind} tensor")
    found = numbers(given)
    if found is None:
        raise RuntimeError(f"the elements of '{name}' must be known, and are not")
    return found


def checked_sizes(batch_sizes: Tensor) -> list[int]:
    """The number of sequences at each step. Raises RuntimeError: they are not of int64, or increase."""
    sizes = checked_integers("lengths", batch_sizes).tolist()
    if not sizes:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    for before, now in pairwise(sizes):
        if now > before:
            raise RuntimeError(
                f"The size of tensor a ({before}) must match the size of tensor b ({now}) at non-singleton dimension 0"
            )
    return sizes


@public("torch")
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """(steps, batch, ...) packed, and how many sequences there are at each step; ``lengths`` are decreasing."""
    given = checked_integers("lengths", lengths)
    batch = input.shape[0 if batch_first else 1]
    if not input._spec.numel:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(given) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} (batch_size={batch})"
        )
    if given[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(given) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    x, longest = transpose(input, 0, 1) if batch_first else input, int(given[0])
    if longest > x.shape[0]:  # PyTorch reads what is behind the tensor
        raise RuntimeError(f"Expected lengths of at most {x.shape[0]}, the number of steps, but got {longest}")
    sizes = (given > np.arange(longest)[:, None]).sum(1)
    x = slice_(x, 0, axis=0, length=longest, step=1) if longest < x.shape[0] else x
    return Packing.of(sizes.tolist(), x).packed(x), copy_of(sizes)


@public("torch")
def _pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """Back from what was packed to (steps, batch, ...), ``total_length`` steps if that is not -1; and the lengths."""
    sizes = checked_sizes(batch_sizes)
    longest, lengths = len(sizes), (np.asarray(sizes)[:, None] > np.arange(sizes[0])).sum(0)
    if 0 < total_length < longest:
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    longer = sizes + [0] * (max(total_length, longest) - longest)
    layout = Packing.of(longer, data)
    x = layout.padded(data)
    if padding_value and layout.active is not None:
        active = view(layout.active, shape=(*layout.shape, *[1] * (x.ndim - 2)))
        x = where(active, x, float(padding_value))
    return (transpose(x, 0, 1) if batch_first else x), copy_of(lengths)
