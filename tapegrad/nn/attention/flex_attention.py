"""``torch.nn.attention.flex_attention``: attention whose scores a function of yours modifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad._src.execution.data.dtypes import float32, float64
from tapegrad._src.functions.gathering import repeat_interleave
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn.attention.block_mask import BLOCK as _DEFAULT_SPARSE_BLOCK_SIZE  # noqa: F401
from tapegrad.nn.attention.block_mask import (
    BlockMask,
    _of_a_slice,
    and_masks,
    create_block_mask,
    create_mask,
    indices_of,
    noop_mask,
    or_masks,
    over_all_scores,
)

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]  # fmt: skip


class AuxRequest(NamedTuple):
    """A request for what ``flex_attention`` is to return besides: the log of the sums of exponentials, the largest
    scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The results that were requested of that: (batch, head, queries) each, or None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: dict | None = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """``softmax(score_mod(query @ key.mT * scale)) @ value``, under a mask.

    All scores are computed, and are in memory: (batch, head, queries, keys). It can be differentiated, as often as
    ``score_mod`` can, by what that function has from outside as well; PyTorch's can't be on a CPU.

    Args:
        query: (batch, head, n, d).
        key: (batch, head, m, d), or one batch for all.
        value: (batch, head, m, e), or one batch for all.
        score_mod: ``f(score, batch, head, q_idx, kv_idx)`` gives another score, all of them tensors without dimensions.
        block_mask: which keys a query sees; see ``create_block_mask``. A query that sees none gets zeros.
        scale: ``1 / sqrt(d)`` if it is None.
        enable_gqa: whether a head of keys and values may serve several of the queries.
        return_lse: the older way to say ``return_aux=AuxRequest(lse=True)``; returns a pair.
        kernel_options: accepted; there are no kernels to choose from.
        return_aux: what to return besides, in an ``AuxOutput``.

    Returns:
        (batch, head, n, e); a pair of it and what was asked for besides, if that was.

    Raises:
        ValueError: sizes that don't fit, a mask of other lengths, both ways of asking for more.
        NotImplementedError: tensors that don't have four dimensions.
        RuntimeError: the function of a slice of a mask.

    >>> x = torch.arange(6.0).reshape(1, 1, 3, 2)
    >>> near = create_block_mask(lambda b, h, q, k: (q - k).abs() < 1, None, None, 3, 3)
    >>> flex_attention(x, x, x, lambda score, b, h, q, k: score - (q - k).abs(), near)
    tensor([[[[0., 1.],
              [2., 3.],
              [4., 5.]]]])
    """
    _check_tensors(query, key, value, enable_gqa, block_mask)
    if block_mask is not None:
        _check_mask(query, key, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) "
            "instead.", FutureWarning
        )  # fmt: skip
    scores = _scores(query, key, scale, score_mod, block_mask)
    unseen = (scores == -math.inf).all(dim=-1)
    weights = where(unseen.unsqueeze(-1), 0.0, scores).softmax(dim=-1)
    weights = where(unseen.unsqueeze(-1), 0.0, weights).to(query.dtype)
    result = weights @ _for_all_queries(query, value).to(query.dtype)
    if return_aux is None and not return_lse:
        return result
    lse = where(unseen, -math.inf, where(unseen.unsqueeze(-1), 0.0, scores).logsumexp(dim=-1))
    if return_aux is None:
        return result, lse
    largest = scores.amax(dim=-1) if return_aux.max_scores else None
    return result, AuxOutput(lse if return_aux.lse else None, largest)


def _scores(
    query: Tensor, key: Tensor, scale: float | None, score_mod: Callable | None, mask: BlockMask | None
) -> Tensor:
    """The scores, modified, and minus infinity where the mask is False; in float32 at least."""
    working = float64 if query.dtype is float64 else float32
    scores = query.to(working) @ _for_all_queries(query, key).to(working).transpose(-2, -1)
    scores = scores * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    indices = indices_of(tuple(scores.shape), scores.device)
    if score_mod is not None:
        scores = over_all_scores(score_mod, with_score=True)(scores, *indices).to(working)
    if mask is not None:
        scores = where(over_all_scores(mask.mask_mod, with_score=False)(*indices), scores, -math.inf)
    return scores


def _for_all_queries(query: Tensor, other: Tensor) -> Tensor:
    """Keys or values: each head as often as there are heads of queries for it, and for each batch."""
    heads = repeat_interleave(other, query.size(1) // other.size(1), dim=1)
    return heads.expand(query.size(0), *heads.shape[1:])


def _check_tensors(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, mask: BlockMask | None) -> None:
    """Refuse tensors that don't fit together, in PyTorch's words."""
    if not query.device == key.device == value.device:
        raise ValueError(
            f"Expected query, key, and value to have the same device type, but got query.device: {query.device}, "
            f"key.device: {key.device}, and value.device: {value.device} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    _check_heads(query.size(1), key.size(1), enable_gqa)
    batches, others = query.size(0), key.size(0)
    if batches != others and mask is None:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={batches}, and Bkv={others}."
        )
    if batches != others and mask is not None and mask.kv_num_blocks.size(0) != batches:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch "
            f"size, but got Bq={batches}, Bkv={others}, B_block_mask={mask.kv_num_blocks.size(0)}."
        )
    if batches != others != 1:
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={batches} and Bkv={others}")


def _check_heads(heads: int, others: int, enable_gqa: bool) -> None:
    if not enable_gqa and heads != others:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={others}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads % others:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={others}."
        )


def _check_mask(query: Tensor, key: Tensor, mask: BlockMask) -> None:
    """Refuse a mask of other lengths, on another device, or whose function isn't known."""
    if mask.mask_mod is _of_a_slice:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    queries, keys = query.size(-2), key.size(-2)
    made = f"block_mask was created for block_mask.shape={mask.shape} but got q_len={queries} and kv_len={keys}. "
    if queries > mask.shape[-2] or keys > mask.shape[-1]:
        raise ValueError(
            f"{made}As the block mask was created for a smaller length than you're using it for, you likely need to "
            "create a new block mask."
        )
    if queries < mask.shape[-2] or keys < mask.shape[-1]:
        raise ValueError(
            f"{made}As the block mask was created for a larger length than you're using it for, you can either 1. "
            "create a new block mask with the correct length, or 2. 'adjust' the existing block mask to the correct "
            "length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper "
            "left corner, which does not work for all mask_mods!"
        )
    if query.device != mask.kv_num_blocks.device:
        raise RuntimeError(
            f"Expect q/k/v and block_mask to be on the same device but got {query.device} and "
            f"{mask.kv_num_blocks.device}."
        )
