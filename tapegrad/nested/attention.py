"""Attention among the rows of each entry: of padded tensors, in which no row sees padding."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.attention import scaled_dot_product_attention
from tapegrad._src.functions.creation import arange
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.padding import longest, padded, unpadded
from tapegrad.nested.tensor import Jagged, answers, is_jagged, lengths_of, state_of, with_values


def _check(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    """Refuse what does not go together, as PyTorch does."""
    three = query, key, value
    if not all(map(is_jagged, three)):
        raise ValueError(
            f"Expected query, key, and value to be nested tensors, but got query.is_nested: {query.is_nested}, "
            f"key.is_nested: {key.is_nested}, and value.is_nested: {value.is_nested} instead."
        )
    for name, say in (("dtype", "dtype"), ("device", "device type")):
        mine, its, theirs = (getattr(one, name) for one in three)
        if mine != its or mine != theirs:
            raise ValueError(
                f"Expected query, key, and value to have the same {say}, but got query.{name}: {mine}, key.{name}: "
                f"{its}, and value.{name}: {theirs} instead."
            )
    dims = [one.dim() for one in three]
    if min(dims) < 3:
        raise ValueError(
            "Expected query, key, and value to all be at least 3 dimensional, but got query.dim: "
            f"{dims[0]}, key.dim: {dims[1]} and value.dim: {dims[2]} instead."
        )
    ragged = [state_of(one).ragged for one in three]
    if len(set(ragged)) > 1:
        raise ValueError(
            "Expected query, key, and value to all be ragged on the same dimension, but got ragged dims "
            f"{ragged[0]}, {ragged[1]}, and {ragged[2]}, respectively."
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")


@answers("scaled_dot_product_attention")
def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """The attention of jagged tensors (batch, heads, ragged, features), of each entry by itself."""
    _check(query, key, value, attn_mask)
    q, k, v = map(state_of, (query, key, value))
    options = {"dropout_p": dropout_p, "scale": scale, "enable_gqa": enable_gqa}
    if q.ragged == 1 and min(query.dim(), key.dim(), value.dim()) > 3:
        found = scaled_dot_product_attention(q.values, k.values, v.values, is_causal=is_causal, **options)
        return with_values(query, found)
    if q.ragged != 2 or query.dim() != 4:
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")
    length = longest(k)
    found = scaled_dot_product_attention(
        padded(q, 0), padded(k, 0, length), padded(v, 0, length), attn_mask=_seen(q, k, length, is_causal), **options
    )
    return with_values(query, unpadded(found, q))


def _seen(q: Jagged, k: Jagged, length: int, is_causal: bool) -> Tensor:
    """The places that each row sees: those of its entry; of an entry without any one, so that no row sees nothing."""
    steps = arange(length, device=k.offsets.device)
    inside = steps < lengths_of(k).clamp(min=1).view(-1, 1, 1, 1)
    return inside & (steps <= arange(longest(q), device=steps.device).unsqueeze(1)) if is_causal else inside
