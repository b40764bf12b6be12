"""Nested tensors with padding, and without: rows are gathered to where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.creation import arange, full
from tapegrad._src.functions.selection import where
from tapegrad._src.functions.sorting import searchsorted
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.attributes import total_of
from tapegrad.nested.tensor import Jagged, answers, known, lengths_of, state_of


def longest(state: Jagged) -> int:
    """The greatest length of an entry."""
    found = known(state, "max_seqlen")
    return max(lengths_of(state).tolist(), default=0) if found is None else found


def places_of(state: Jagged, length: int) -> tuple[Tensor, Tensor]:
    """The row of values for each place of the padded tensor (batch, length), and whether there is one."""
    steps = arange(length, device=state.offsets.device)
    there = steps < lengths_of(state).unsqueeze(1)
    places = state.offsets[:-1].unsqueeze(1).to(int64) + steps
    return where(there, places, places.new_zeros(())), there


def padded(state: Jagged, padding: Any, length: int | None = None) -> Tensor:
    """The values of entries in one tensor with the batch in front, and ``padding`` behind each entry.

    Args:
        length: that of the dimension that was ragged; by default the greatest one. Entries are cut off there.
    """
    length = longest(state) if length is None else length
    values = state.values.movedim(state.ragged - 1, 0)
    shape = (state.shape[0], length, *values.shape[1:])
    if not (total_of(state) and length and state.shape[0]):
        filler = full(shape, padding, dtype=values.dtype, device=values.device)
        return filler.movedim(1, state.ragged)
    places, there = places_of(state, length)
    rows = values.index_select(0, places.reshape(-1)).view(shape)
    there = there.view(*there.shape, *[1] * (values.ndim - 1))
    return rows.masked_fill(~there, filling(padding, values)).movedim(1, state.ragged)


def filling(padding: Any, values: Tensor) -> Any:
    """A number as elements of a dtype: infinities are the greatest and the least integer."""
    kind = values.dtype
    if kind.is_floating_point or kind.is_complex or kind.category == 0:
        return bool(padding) if kind.category == 0 else padding
    if padding in (float("inf"), -float("inf")):
        return integer_limits(kind)[padding > 0]
    return int(padding)


def integer_limits(kind: Any) -> tuple[int, int]:
    """The least and the greatest number of an integral dtype."""
    bits = kind.itemsize * 8
    return (0, 2**bits - 1) if kind.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def entries_of(state: Jagged) -> tuple[Tensor, Tensor]:
    """The number of the entry that each row of values belongs to, and its place there."""
    rows = arange(total_of(state), device=state.offsets.device)
    entries = searchsorted(state.offsets.to(int64), rows, right=True) - 1
    entries = entries.clamp(0, max(state.shape[0] - 1, 0))
    return entries, rows - state.offsets.to(int64)[entries]


def unpadded(dense: Tensor, state: Jagged) -> Tensor:
    """The values of a padded tensor (batch, ..., length, ...) where a nested one has some.

    The dimension that is ragged there may also have the length 1, and counts for all places then.
    """
    entries, steps = entries_of(state)
    front = dense.movedim(state.ragged, 1)
    length = front.shape[1]
    if not total_of(state):
        return front.reshape(-1, *front.shape[2:])[:0].movedim(0, state.ragged - 1)
    if length == 1:
        rows = front.squeeze(1).index_select(0, entries)
    else:
        rows = front.flatten(0, 1).index_select(0, entries * length + steps.clamp(0, length - 1))
    return rows.movedim(0, state.ragged - 1)


@answers("to_padded_tensor")
def padded_tensor(input: Tensor, padding: Any, output_size: Sequence[int] | None = None, out: Any = None) -> Tensor:
    """The padded tensor of a jagged one."""
    state = state_of(input)
    if state.lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    if output_size is not None:
        return padded(state, padding, output_size[state.ragged])
    length = known(state, "max_seqlen")
    return padded(state, padding, state.values.shape[0] if length is None else length)


def to_padded_tensor(input: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """The entries of a nested tensor in one ordinary tensor, with ``padding`` behind each.

    Args:
        input: a nested tensor.
        padding: the number that stands where there is nothing.
        output_size: the shape of the result; by default as large as the largest entry. Of a jagged tensor that was
            made of values and offsets, and whose greatest length nobody has asked for, as large as all of them.

    Raises:
        RuntimeError: a jagged tensor with gaps between entries.
        NotImplementedError: what is no nested tensor.

    >>> x = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged)
    >>> torch.nested.to_padded_tensor(x, 0.0)
    tensor([[1., 1.],
            [1., 0.]])
    """
    return input.to_padded_tensor(padding, output_size)
