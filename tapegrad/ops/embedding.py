"""Embedding: rows of a table, looked up by number."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from tapegrad.ops.conventions import rule
from tapegrad.ops.indexing import wide
from tapegrad.ops.kinds import general, linear


def weighted(rows: Any, indices: Any, count: int, padding_idx: int, by_frequency: bool) -> Any:
    """``rows``, one for each index, as their gradients reach the table: none of the padding's; with ``by_frequency``,
    an equal share of what all look-ups of the row get."""
    if by_frequency:
        frequencies = jnp.zeros(count, rows.dtype).at[indices].add(1, mode="drop")
        rows = rows / jnp.take(frequencies, indices, mode="clip")[..., None]
    return rows if padding_idx < 0 else jnp.where((indices == padding_idx)[..., None], 0, rows)


@linear(
    weight=lambda g, indices, weight_shape, padding_idx, by_frequency: embedding_adjoint(
        g, indices, count=weight_shape[0], padding_idx=padding_idx, by_frequency=by_frequency
    ),
    jvp=lambda t_weight, indices, padding_idx, by_frequency: weighted_rows(
        t_weight, indices, padding_idx=padding_idx, by_frequency=by_frequency
    ),
    convention=rule("for the row of padding", "0", "that of any row"), uniform=True,
)  # fmt: skip
def embedding(weight, indices, *, padding_idx, by_frequency):
    """The rows of ``weight`` with these numbers. The row ``padding_idx`` (-1: none) has no derivative."""
    return jnp.take(weight, indices, axis=0, mode="clip")


@linear(
    x=lambda g, indices, padding_idx, by_frequency: weighted_rows(
        g, indices, padding_idx=padding_idx, by_frequency=by_frequency
    ),
    aten="embedding_dense_backward",
)  # fmt: skip
def embedding_adjoint(x, indices, *, count, padding_idx, by_frequency):
    """``count`` rows, each the weighted sum of the rows of ``x`` with its number."""
    total = wide(jnp.zeros((count, x.shape[-1]), x.dtype))
    rows = weighted(x, indices, count, padding_idx, by_frequency)
    return total.at[indices].add(rows, mode="drop").astype(x.dtype)


@linear(
    x=lambda g, indices, x_shape, padding_idx, by_frequency: embedding_adjoint(
        g, indices, count=x_shape[0], padding_idx=padding_idx, by_frequency=by_frequency
    ),
    aten=None,
)  # fmt: skip
def weighted_rows(x, indices, *, padding_idx, by_frequency):
    """The adjoint of ``embedding_adjoint``: rows looked up, with the same weights."""
    return weighted(jnp.take(x, indices, axis=0, mode="clip"), indices, x.shape[0], padding_idx, by_frequency)


@general(aten="embedding_renorm_")
def embedding_renorm(weight, indices, *, max_norm, norm_type):
    """``weight`` with the rows that are looked up scaled down to ``max_norm``, where their norm is more."""
    norms = jnp.sum(jnp.abs(weight) ** norm_type, axis=1, keepdims=True) ** (1 / norm_type)
    used = jnp.zeros(weight.shape[0], bool).at[indices].set(True, mode="drop")[:, None]
    return jnp.where(used & (norms > max_norm), weight * (max_norm / (norms + 1e-7)), weight).astype(weight.dtype)
