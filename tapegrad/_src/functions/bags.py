"""Bags of embeddings: rows of a table, looked up by number and put together by the bag."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.bounds import outside, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import int32, int64
from tapegrad._src.functions.creation import arange
from tapegrad._src.functions.embedding import gets_sparse, renormalize, sparse_function
from tapegrad._src.tensor.spec import legacy_type_name
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import bags, shape, slicing
from tapegrad.ops.kinds import cast

MODES = ("sum", "mean", "max")
"""PyTorch's numbers of the modes of bags are their places here."""


def _check_bags(weight: Tensor, indices: Tensor, offsets: Tensor, weights: Tensor | None, last: bool) -> None:
    """Refuse what is no table, no index, no offset. Raises RuntimeError: PyTorch's messages."""
    for tensor in (indices, offsets):
        if tensor.dtype not in (int64, int32):
            raise _refusal("indices", "Long, Int", tensor)
    if weight.dtype.category != 2:
        raise _refusal("weight", "Half, BFloat16, Float, Double", weight)
    if weights is not None and weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {legacy_type_name(weight._spec)} does not equal "
            f"{legacy_type_name(weights._spec)} (while checking arguments for embedding_bag)"
        )
    if last and not offsets._spec.numel:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    _check_offsets(offsets, indices._spec.numel)
    text = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be"
    refuse_elements(
        indices, outside, 0, weight.shape[0], complaint=lambda found: RuntimeError(f"{text} {found.number}")
    )


def _check_offsets(offsets: Tensor, length: int) -> None:
    refuse_elements(
        offsets, _begins_late,
        complaint=lambda found: RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {found.number}"
        ),
    )  # fmt: skip
    text = f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of"
    refuse_elements(offsets, _ends_late, length, complaint=lambda found: RuntimeError(f"{text} {found.number}"))


def _begins_late(offsets: Any) -> Any:
    return offsets[:1] != 0, offsets[:1]


def _ends_late(offsets: Any, length: int) -> Any:
    return offsets[-1:] > length, offsets[-1:]


def _refusal(argument: str, allowed: str, tensor: Tensor) -> RuntimeError:
    kind = tensor.dtype
    got = legacy_type_name(tensor._spec)
    if kind.is_complex or kind.name == "bool":
        got = f"CPU{kind.scalar_name}Type"
    return RuntimeError(
        f"Expected tensor for argument #1 '{argument}' to have one of the following scalar types: {allowed}; but got "
        f"{got} instead (while checking arguments for embedding_bag)"
    )


@public("torch", name="embedding_bag")
def torch_embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """See ``torch.nn.functional.embedding_bag``; ``mode`` is 0 for sums, 1 for means, 2 for the greatest.

    Returns the result, the bag of each index, the sizes of the bags (zeros for sums), and the rows that are the
    greatest.

    Args:
        weight, indices, offsets: the table (rows, width); which rows, int64 or int32, one bag after the other; where
            bags begin.
        scale_grad_by_freq: whether gradients are divided by how often a row was used.
        sparse: whether the gradient of ``weight`` is sparse.
        per_sample_weights: a factor for each index, or None.
        include_last_offset: whether ``offsets`` has the end of the last bag, too.
        padding_idx: a row that counts for nothing, or None.

    Raises:
        RuntimeError: shapes, dtypes or numbers that don't fit.

    >>> torch.embedding_bag(torch.eye(2), torch.tensor([0, 1, 1]), torch.tensor([0, 1]))[0]
    tensor([[1., 0.],
            [0., 2.]])
    """
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
        )
    _check_bags(weight, indices, offsets, per_sample_weights, include_last_offset)
    if offsets.dtype is not indices.dtype:
        offsets, indices = (cast(tensor, dtype=int64) for tensor in (offsets, indices))
    if include_last_offset:
        offsets = slicing.slice_(offsets, 0, axis=0, length=offsets.shape[0] - 1, step=1)
    padding = -1 if padding_idx is None else padding_idx % rows
    if gets_sparse(weight, sparse):
        make = sparse_function("sparse_bags")
        return make(weight, indices, offsets, per_sample_weights, MODES[mode], padding, bool(scale_grad_by_freq))
    return bags.embedding_bag(
        weight, indices, offsets, per_sample_weights, mode=MODES[mode], padding_idx=padding,
        by_frequency=bool(scale_grad_by_freq),
    )  # fmt: skip


@public("nn.functional")
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sum, the mean or the greatest of the rows of ``weight`` in each bag of numbers: (bags, width).

    Args:
        input: numbers of rows, int64 or int32: (bags, length), or one dimension that ``offsets`` cut up.
        weight: floats (rows, width).
        offsets: where bags begin, if ``input`` has one dimension.
        max_norm: as in ``embedding``: rows that are looked up and longer are shortened to this, in place.
        norm_type: the norm that is meant.
        scale_grad_by_freq: as in ``embedding``: divide the gradient of a row by how often it was looked up.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: as in ``embedding``: whether the gradient of ``weight`` is sparse.
        per_sample_weights: factors for the rows, of the input's shape, with ``"sum"``.
        include_last_offset: whether the last offset is the end of the last bag.
        padding_idx: a row that doesn't count.

    Raises:
        ValueError: shapes or modes that don't fit.
        RuntimeError: dtypes; numbers or offsets out of range.
        NotImplementedError: ``per_sample_weights`` without ``mode="sum"``.

    >>> torch.nn.functional.embedding_bag(torch.tensor([[2, 0], [1, 1]]), torch.arange(6.0).view(3, 2))
    tensor([[2., 3.],
            [2., 3.]])
    """
    if weight.dtype is int64 and input.dtype.category == 2:
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    _check_mode(weight, mode, scale_grad_by_freq, sparse)
    input, offsets, per_sample_weights = _flat_bags(input, offsets, per_sample_weights, include_last_offset)
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    return torch_embedding_bag(
        weight, input, offsets, scale_grad_by_freq, MODES.index(mode), sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip


def _check_mode(weight: Tensor, mode: str, by_frequency: bool, sparse: bool) -> None:
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")


def _flat_bags(
    input: Tensor, offsets: Tensor | None, weights: Tensor | None, last: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Numbers, offsets and weights, with one dimension each."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count, length = input.shape
        starts = arange(0, (count + last) * length, length, dtype=input.dtype)
        flat = (input._spec.numel,)
        return shape.view(input, shape=flat), starts, None if weights is None else shape.view(weights, shape=flat)
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, weights
