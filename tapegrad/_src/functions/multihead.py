"""Attention with several heads, from the projections of its inputs to that of its output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import bool as boolean
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.functions.arrangement import pad
from tapegrad._src.functions.attention import scaled_dot_product_attention
from tapegrad._src.functions.creation import zeros
from tapegrad._src.functions.dropout import dropout
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.matmul import baddbmm, bmm, linear
from tapegrad._src.functions.softmax import softmax
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn


class Sizes(NamedTuple):
    """The lengths of queries and keys, how many batches there are, heads, and the width of a head."""

    queries: int
    keys: int
    batch: int
    heads: int
    width: int


def demand(condition: bool, text: str) -> None:
    """AssertionError, which is what PyTorch raises here, unless something holds."""
    if not condition:
        raise AssertionError(text)


# -- what is given -----------------------------------------------------------------------------------------------------


def _check_dims(query: Tensor, others: Sequence[Tensor], padding: Tensor | None, mask: Tensor | None) -> bool:
    """Tell whether there is a batch; AssertionError for numbers of dimensions that don't fit."""
    dims = query.ndim
    demand(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    start = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected "
    found = f"but found {others[0].ndim}-D and {others[1].ndim}-D tensors respectively"
    demand(all(other.ndim == dims for other in others), f"{start}`key` and `value` to be {dims}-D {found}")
    if padding is not None:
        demand(
            padding.ndim == dims - 1,
            f"{start}`key_padding_mask` to be `None` or {dims - 1}-D but found {padding.ndim}-D tensor instead",
        )
    if mask is not None:
        demand(
            mask.ndim in (2, 3),
            f"{start}`attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead",
        )
    return dims == 3


@public("nn.functional")
def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: dtype | None, other_name: str, target_type: dtype,
    check_other: bool = True,
) -> Tensor | None:  # fmt: skip
    """A mask to be added: -inf where one of booleans is True, in ``target_type``. A warning, if another mask is there,
    of another type.

    ``mask`` is None, booleans or floats, which stay; ``mask_name`` is what messages call it. ``other_type`` and
    ``other_name`` are those of the other mask (None: there is none), compared with if ``check_other``.

    Raises:
        AssertionError: integers.

    >>> mask = torch.tensor([True, False])
    >>> torch.nn.functional._canonical_mask(mask, "mask", None, "", torch.float32)
    tensor([-inf, 0.])
    """
    if mask is None:
        return None
    is_known = mask.dtype is boolean or mask.dtype.category == 2
    demand(is_known, f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if mask.dtype is not boolean:
        return mask
    return zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill_(mask, float("-inf"))


@public("nn.functional")
def _none_or_dtype(input: Tensor | None) -> dtype | None:
    """The dtype of ``input``, a mask; None for none.

    Raises:
        RuntimeError: it is no tensor.
    """
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _check_mask(mask: Tensor, sizes: Sizes) -> Tensor:
    """A mask of three dimensions.
    Raises RuntimeError: another shape than (queries, keys) or (batch * heads, queries, keys).
    """
    if mask.ndim not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
    plane = (sizes.queries, sizes.keys)
    expected = plane if mask.ndim == 2 else (sizes.batch * sizes.heads, *plane)
    if tuple(mask.shape) != expected:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _with_padding(mask: Any, padding: Any, sizes: Sizes) -> Any:
    """Both masks in one."""
    if padding is None:
        return mask
    for axis, expected in enumerate((sizes.batch, sizes.keys)):
        demand(
            padding.shape[axis] == expected,
            f"Expected key_padded_mask.shape[{axis}] to be {expected}, but got {padding.shape[axis]}",
        )
    padding = padding.view(sizes.batch, 1, 1, sizes.keys).expand(-1, sizes.heads, -1, -1)
    padding = padding.reshape(sizes.batch * sizes.heads, 1, sizes.keys)
    return padding if mask is None else mask + padding


# -- projections -------------------------------------------------------------------------------------------------------


def _parts(projected: Tensor, count: int) -> list[Tensor]:
    """``count`` projections that lie behind one another along the last dimension."""
    width = projected.shape[-1] // count
    stacked = projected.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [stacked[i] for i in range(count)]


def _packed(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> list[Tensor]:
    """Queries, keys and values, by one packed weight (3 E, E); those of the same tensor by one product."""
    width = query.shape[-1]
    if key is value and query is key:
        return _parts(linear(query, weight, bias), 3)
    if key is value:
        weights = weight.split([width, 2 * width])
        one, both = (None, None) if bias is None else bias.split([width, 2 * width])
        return [linear(query, weights[0], one), *_parts(linear(key, weights[1], both), 2)]
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(*each) for each in zip((query, key, value), weights, biases, strict=True)]


def _separate(inputs: Sequence[Tensor], weights: Sequence[Tensor | None], bias: Tensor | None) -> list[Tensor]:
    """Queries, keys and values, by a weight (E, own width) for each."""
    width = inputs[0].shape[-1]
    for letter, weight in zip("qkv", weights, strict=True):
        demand(weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    for name, x, weight in zip(("query", "key", "value"), inputs, weights, strict=True):
        shape = (width, x.shape[-1])
        demand(tuple(weight.shape) == shape, f"expecting {name} weights shape of {shape}, but got {weight.shape}")  # type: ignore[union-attr]
    for name, one in zip(("query", "key", "value"), biases, strict=True):
        if one is not None:
            demand(tuple(one.shape) == (width,), f"expecting {name} bias shape of {(width,)}, but got {one.shape}")
    return [linear(*each) for each in zip(inputs, weights, biases, strict=True)]


def _by_heads(x: Tensor, static: Tensor | None, name: str, sizes: Sizes) -> Tensor:
    """(length, batch, E) as (batch * heads, length, width); or what was given instead."""
    count = sizes.batch * sizes.heads
    if static is None:
        return x.view(x.shape[0], count, sizes.width).transpose(0, 1)
    for axis, expected in ((0, count), (2, sizes.width)):
        found = static.shape[axis]
        demand(found == expected, f"expecting {name}.size({axis}) of {expected}, but got {found}")
    return static


# -- attention ---------------------------------------------------------------------------------------------------------


def _attended(q: Any, k: Tensor, v: Tensor, mask: Tensor | None, p: float, sizes: Sizes) -> tuple[Tensor, Tensor]:
    """The sums of values (queries * batch, E), and the weights (batch * heads, queries, keys)."""
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    keys = k.transpose(-2, -1)
    weights = softmax(bmm(scaled, keys) if mask is None else baddbmm(mask, scaled, keys), dim=-1)
    if p > 0.0:
        weights = dropout(weights, p=p)
    out = bmm(weights, v).transpose(0, 1)
    return out.reshape(sizes.queries * sizes.batch, sizes.heads * sizes.width), weights


def _attended_at_once(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, causal: bool, sizes: Sizes
) -> Tensor:
    """The sums of values (queries * batch, E), where nobody wants the weights."""
    if mask is not None:
        single = mask.shape[0] == 1 and mask.ndim == 3
        mask = mask.unsqueeze(0) if single else mask.view(sizes.batch, sizes.heads, -1, sizes.keys)
    q, k, v = (x.view(sizes.batch, sizes.heads, x.shape[1], sizes.width) for x in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, mask, p, causal).permute(2, 0, 1, 3)
    return out.reshape(sizes.batch * sizes.queries, sizes.heads * sizes.width)


@public("nn.functional")
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attend with ``num_heads`` heads, each of an equal share of the width E; the weights are returned, too, if wanted.

    Args:
        query: (L, batch, E), or without the batch.
        key: (S, batch, E), or without the batch.
        value: (S, batch, E), or without the batch.
        embed_dim_to_check: E.
        num_heads: a divisor of E.
        in_proj_weight: (3 E, E), what projects query, key and value.
        in_proj_bias: (3 E,), or None.
        bias_k: (1, 1, E), a key that is put behind the others, or None.
        bias_v: (1, 1, E), its value, or None.
        add_zero_attn: put a key and a value of zeros behind the others.
        dropout_p: the probability with which, in ``training``, a weight becomes 0.
        out_proj_weight: (E, E), what projects the result.
        out_proj_bias: (E,), or None.
        training: whether there is dropout.
        key_padding_mask: (batch, S): True, or -inf, leaves a key out.
        need_weights: return the weights too: (batch, L, S), the mean over heads; None otherwise.
        attn_mask: (L, S) or (batch * num_heads, L, S): True, or -inf, leaves a key out for a query.
        use_separate_proj_weight: project by the three weights that follow, so that keys and values may have other
            widths.
        q_proj_weight: (E, E).
        k_proj_weight: (E, width of key).
        v_proj_weight: (E, width of value).
        static_k: (batch * num_heads, S, E / num_heads), keys that are used in the place of those projected.
        static_v: their values.
        average_attn_weights: False for weights (batch, num_heads, L, S).
        is_causal: a hint that ``attn_mask`` lets a query see the keys up to its own place, and no others.

    From Vaswani et al., "Attention Is All You Need" (2017).

    Raises:
        AssertionError: shapes that don't fit.
        RuntimeError: masks that don't fit; ``is_causal`` without a mask.

    >>> x, eye = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
    >>> weight = torch.cat([eye, eye, eye])
    >>> out, weights = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, weight, None, None, None, False, 0.0, eye, None, is_causal=False
    ... )
    >>> weights
    tensor([[0.6698, 0.3302],
            [0.3302, 0.6698]])
    """
    batched = _check_dims(query, (key, value), key_padding_mask, attn_mask)
    if not batched:
        _check_unbatched_mask(attn_mask, (num_heads, query.shape[0], key.shape[0]))
        query, key, value = _unsqueezed(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    hint = is_causal and key_padding_mask is None
    attn_mask = None if hint and not need_weights else _canonical_mask(
        attn_mask, "attn_mask", None, "", query.dtype, check_other=False
    )
    width = query.shape[2]
    demand(width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    demand(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    sizes = Sizes(query.shape[0], key.shape[0], query.shape[1], num_heads, width // num_heads)
    if use_separate_proj_weight:
        demand(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _separate((query, key, value), weights, in_proj_bias)
    else:
        demand(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _packed(query, key, value, in_proj_weight, in_proj_bias)
    masks = [None if attn_mask is None else _check_mask(attn_mask, sizes), key_padding_mask]
    k, v, masks = _with_biases(k, v, bias_k, bias_v, (static_k, static_v), masks)
    q = _by_heads(q, None, "", sizes)
    k, v = _by_heads(k, static_k, "static_k", sizes), _by_heads(v, static_v, "static_v", sizes)
    if add_zero_attn:
        k, v = (cat([x, zeros((x.shape[0], 1, sizes.width), dtype=x.dtype, device=x.device)], dim=1) for x in (k, v))
        masks = [one if one is None else pad(one, (0, 1)) for one in masks]
    sizes = sizes._replace(keys=k.shape[1])
    mask = _with_padding(masks[0], masks[1], sizes)
    p = dropout_p if training else 0.0
    shown: Tensor | None = None
    if need_weights:
        demand(not (hint and mask is None), "FIXME: is_causal not implemented for need_weights")
        out, attention = _attended(q, k, v, mask, p, sizes)
        shown = _shown_weights(attention, sizes, average_attn_weights, batched)
    else:
        out = _attended_at_once(q, k, v, mask, p, hint, sizes)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view(sizes.queries, sizes.batch, out.shape[1])
    return (out if batched else out.squeeze(1)), shown


def _unsqueezed(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)


def _check_unbatched_mask(mask: Tensor | None, expected: tuple[int, ...]) -> None:
    if mask is not None and mask.ndim == 3:
        demand(
            tuple(mask.shape) == expected, f"Expected `attn_mask` shape to be {expected} but got {mask.shape}"
        )


def _with_biases(
    k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None, static: tuple, masks: list[Any]
) -> tuple[Tensor, Tensor, list[Any]]:
    """Keys and values with one more each, and masks that leave room for them."""
    if bias_k is None or bias_v is None:
        demand(bias_k is None, "bias_k is set but bias_v is None")
        demand(bias_v is None, "bias_v is set but bias_k is None")
        return k, v, masks
    demand(static[0] is None, "bias cannot be added to static key.")
    demand(static[1] is None, "bias cannot be added to static value.")
    k, v = (cat([x, bias.repeat(1, x.shape[1], 1)]) for x, bias in ((k, bias_k), (v, bias_v)))
    return k, v, [one if one is None else pad(one, (0, 1)) for one in masks]


def _shown_weights(weights: Tensor, sizes: Sizes, average: bool, batched: bool) -> Tensor:
    weights = weights.view(sizes.batch, sizes.heads, sizes.queries, sizes.keys)
    weights = weights.mean(dim=1) if average else weights
    return weights if batched else weights.squeeze(0)
