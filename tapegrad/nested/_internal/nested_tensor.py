"""``torch.nested._internal.nested_tensor``: the class of jagged tensors, and views of their parts."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function import Function
from tapegrad.nested.attributes import rebuild as _rebuild_njt
from tapegrad.nested.attributes import values_of
from tapegrad.nested.construction import jagged_from_list, jagged_from_tensor_and_lengths, view_of_parts
from tapegrad.nested.lengths import RaggedLength, length_of
from tapegrad.nested.lengths import known_lengths as _tensor_symint_registry
from tapegrad.nested.padding import unpadded
from tapegrad.nested.tensor import Jagged, NestedTensor, stored

__all__ = [
    "NestedTensor",
    "ViewBufferFromNested",
    "ViewNestedFromBuffer",
    "_rebuild_njt",
    "_tensor_symint_registry",
    "buffer_from_jagged",
    "get_tensor_symint",
    "jagged_from_list",
    "jagged_from_tensor_and_lengths",
    "nested_from_padded",
    "nested_view_from_values_offsets",
    "nested_view_from_values_offsets_lengths",
]  # fmt: skip


def get_tensor_symint(tensor: Tensor, *, coeff: int = 1) -> RaggedLength:
    """The length that a tensor of offsets stands for, times ``coeff``."""
    return length_of(tensor) if coeff == 1 else length_of(tensor) * coeff


def nested_view_from_values_offsets(
    values: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None, max_seqlen: int | None = None
) -> NestedTensor:
    """A jagged tensor that is a view of these values."""
    return view_of_parts(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Tensor, offsets: Tensor, lengths: Tensor | None, ragged_idx: int = 1, min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:  # fmt: skip
    """A jagged tensor that is a view of these values, with gaps between entries."""
    return view_of_parts(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def nested_from_padded(
    padded: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None, max_seqlen: int | None = None,
    sum_S: int | None = None,
) -> NestedTensor:  # fmt: skip
    """The jagged tensor of a padded one.

    Args:
        padded: the entries, with padding behind each.
        offsets: where each of them begins among the values of the result, and where the last one ends.
        ragged_idx: which dimension becomes ragged.
        min_seqlen, max_seqlen: the least and the greatest length, where they are known.
        sum_S: the length of the values; by default where the last entry ends.
    """
    total = int(offsets[-1]) if sum_S is None else sum_S
    shape = [*padded.shape[1:ragged_idx], total, *padded.shape[ragged_idx + 1 :]]
    frame = Jagged(padded.new_zeros(()).expand(shape), offsets, None, ragged_idx)
    cache = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    kept = {name: stored(number) for name, number in cache.items() if number is not None}
    return NestedTensor(unpadded(padded, frame), offsets, _ragged_idx=ragged_idx, _metadata_cache=kept)


class ViewBufferFromNested(Function):
    """The values of a jagged tensor, with its history."""

    @staticmethod
    def apply(x: Any) -> Tensor:  # type: ignore[override]
        """The values."""
        return values_of(x)


class ViewNestedFromBuffer(Function):
    """The jagged tensor of values, with their history."""

    @staticmethod
    def apply(values: Tensor, offsets: Tensor, metadata_cache: dict | None = None) -> NestedTensor:  # type: ignore[override]
        """The jagged tensor; ``metadata_cache`` has the least and the greatest length, as far as they are known."""
        given = metadata_cache or {}
        least, most = (given.get(name) for name in ("min_seqlen", "max_seqlen"))
        least, most = (one.shape[0] if isinstance(one, Tensor) else one for one in (least, most))
        return view_of_parts(values, offsets, None, 1, least, most)


def buffer_from_jagged(jagged: NestedTensor) -> Tensor:
    """The values of a jagged tensor, with its history."""
    return ViewBufferFromNested.apply(jagged)
