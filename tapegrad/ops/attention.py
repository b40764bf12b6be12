"""Scaled dot product attention, as one operator.

Note [Attention is computed again in the backward pass]
The weights, (queries, keys) for each head, are the largest array in attention. They are not saved: the formulas compute
them again from queries and keys, and XLA shares that between the gradients of all inputs. Scores and weights of half
types are float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from tapegrad._src.execution.data import dtypes
from tapegrad._src.tensor.geometry import Geometry, contiguous_strides, transposed
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.dropout import dropout
from tapegrad.ops.kinds import Multilinear, cast, declaration, general, sum_to
from tapegrad.ops.matmul import FULL, matmul
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import sum
from tapegrad.ops.selection import where
from tapegrad.ops.shape import permute


def _transposed(x: Any) -> Any:
    axes = tuple(range(x.ndim))
    return permute(x, axes=(*axes[:-2], axes[-1], axes[-2]))


class _Scores(Multilinear):
    """A product whose batches broadcast."""

    broadcasts = True


def _as(x: Any, like: Any) -> Any:
    """``x`` in the dtype of another array."""
    dtype = dtypes.as_dtype(like.dtype)
    return x if dtypes.as_dtype(x.dtype) is dtype else cast(x, dtype=dtype)


@declaration(_Scores)(
    q=lambda g, k, scale: matmul(_as(g, k), k) * scale,
    k=lambda g, q, scale: matmul(_transposed(_as(g, q)), q) * scale,
    aten="bmm",
)  # fmt: skip
def attention_scores(q, k, *, scale):
    """The inner products of all queries (..., n, d) with all keys (..., m, d), times ``scale``: (..., n, m)."""
    wide = jnp.float32 if q.dtype.itemsize == 2 else q.dtype
    return jnp.matmul(q, jnp.swapaxes(k, -1, -2), precision=FULL, preferred_element_type=wide) * scale


@general(
    x=lambda g, out, axis: out * (g - sum(g * out, axis=(axis,), keepdims=True)),
    jvp=lambda t_x, out, axis: out * (t_x - sum(t_x * out, axis=(axis,), keepdims=True)),
    aten="_safe_softmax",
)  # fmt: skip
def safe_softmax(x, *, axis):
    """``softmax`` along ``axis``, but 0 where all are -inf."""
    if not x.shape[axis]:
        return x
    top = jnp.max(x, axis, keepdims=True)
    exponentials = jnp.exp(x - jnp.where(top == -jnp.inf, 0, top))
    total = jnp.sum(exponentials, axis, keepdims=True)
    return exponentials / jnp.where(total == 0, 1, total)


@general(aten=None)
def causal_mask(x):
    """Which keys (last axis) are not after which query (the axis before it)."""
    queries, keys = x.shape[-2:]
    return jnp.tri(queries, keys, dtype=bool)


def _weights(q: Any, k: Any, mask: Any, scale: float, causal: bool | str) -> Any:
    """The attention weights: softmax of the scores that the masks leave.

    -inf is added where a mask hides, as in PyTorch, so that nan stays nan; but the fused kernel passes over what is not
    ``causal``, where that isn't ``"added"``.
    """
    scores = attention_scores(q, k, scale=scale)
    if causal:
        hidden = scores + float("-inf") if causal == "added" else float("-inf")
        scores = where(causal_mask(scores), scores, hidden)
    if mask is not None:
        is_bool = dtypes.as_dtype(mask.dtype) is dtypes.bool
        scores = where(mask, scores, scores + float("-inf")) if is_bool else scores + mask
    return safe_softmax(scores, axis=scores.ndim - 1)


def _dropped(weights: Any, key: Any, p: float) -> Any:
    return weights if key is None else dropout(weights, key, p=p, shape=tuple(weights.shape))


def _score_gradient(g: Any, weights: Any, v: Any, key: Any, p: float) -> Any:
    """The gradient of the scores: through the sum of values, dropout and softmax."""
    to_weights = _dropped(attention_scores(g, v, scale=1.0), key, p)
    return weights * (to_weights - sum(to_weights * weights, axis=(weights.ndim - 1,), keepdims=True))


def _gradient_of(name: str) -> Callable:
    """The formula of the input ``name``."""

    def formula(g, q, k, v, mask, key, scale, causal, p):
        weights = _weights(q, k, mask, scale, causal)
        if name == "v":
            full = matmul(_transposed(_as(_dropped(weights, key, p), g)), g)
            return sum_to(full, shape=tuple(v.shape))
        scores = _score_gradient(g, weights, v, key, p)
        if name == "mask":
            return sum_to(scores, shape=tuple(mask.shape))
        if name == "q":
            return sum_to(matmul(_as(scores, k), k) * scale, shape=tuple(q.shape))
        return sum_to(matmul(_transposed(_as(scores, q)), q) * scale, shape=tuple(k.shape))

    return formula


def _tangent(t_q, t_k, t_v, t_mask, q, k, v, mask, key, scale, causal, p):
    weights = _weights(q, k, mask, scale, causal)
    moved = []
    if t_q is not None:
        moved.append(attention_scores(t_q, k, scale=scale))
    if t_k is not None:
        moved.append(attention_scores(q, t_k, scale=scale))
    if t_mask is not None:
        moved.append(t_mask)
    parts = []
    if moved:
        scores = moved[0]
        for one in moved[1:]:
            scores = scores + one
        change = weights * (scores - sum(scores * weights, axis=(weights.ndim - 1,), keepdims=True))
        parts.append(matmul(_as(_dropped(change, key, p), v), v))
    if t_v is not None:
        parts.append(matmul(_as(_dropped(weights, key, p), t_v), t_v))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _heads_inside(place: Geometry, x: Spec, **settings: Any) -> Geometry | None:
    """The layout of gradients of the fused kernel: heads inside of places; it takes no others than whole rows."""
    batch, heads, length, depth = x.shape
    row_major = Geometry((batch, length, heads, depth), contiguous_strides((batch, length, heads, depth)))
    return transposed(row_major, 1, 2) if x.layout[-1] == 1 else None


def _declare_attention(name: str, **facts: Any) -> Operator:
    @general(
        q=_gradient_of("q"),
        k=_gradient_of("k"),
        v=_gradient_of("v"),
        mask=_gradient_of("mask"),
        jvp=_tangent,
        name=name,
        profile="scaled_dot_product_attention",
        **facts,
    )
    def operator(q, k, v, mask=None, key=None, *, scale, causal, p):
        """Values (..., m, e) summed with the weights that queries (..., n, d) give to keys (..., m, d).

        A mask of booleans says which keys count; any other is added to the scores. With a ``key`` for random numbers,
        weights are dropped with probability ``p``. See Note [Attention is computed again in the backward pass].
        """
        weights = _dropped(_weights(q, k, mask, scale, causal), key, p)
        return jnp.matmul(weights.astype(v.dtype), v, precision=FULL)

    return operator


attention = _declare_attention(
    "attention", aten="_scaled_dot_product_flash_attention_for_cpu", gradient_lies=_heads_inside
)
attention_by_parts = _declare_attention(
    "attention_by_parts", aten="_scaled_dot_product_attention_math", node="UnsafeViewBackward0",
    turns=("v", "mask", "k", "q"),
)
