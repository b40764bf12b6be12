"""Bags of embeddings: rows of a table, looked up and summed, averaged, or compared."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from tapegrad.ops.embedding import weighted
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general
from tapegrad.ops.reductions import widened
from tapegrad.ops.sorting import no_derivative


def _bag_of_each(offsets: Any, length: int) -> Any:
    """Which bag each of ``length`` indices is in: that of the last offset not after it."""
    starts = jnp.zeros(length + 1, offsets.dtype).at[offsets].add(1, mode="drop")
    return jnp.cumsum(starts)[:length] - 1


def _greatest(rows: Any, bags: Any, kept: Any, count: int) -> tuple[Any, Any]:
    """The greatest of each bag (0 for an empty one), and the place of the first look-up that has it.

    As in PyTorch, nan is the greatest where it comes first, and is passed over behind others.
    """
    place, nan = jnp.arange(len(bags))[:, None], jnp.isnan(rows)
    start = jnp.full((count, 1), len(bags), place.dtype).at[bags].min(jnp.where(kept, place, len(bags)), mode="drop")
    kept = kept & ~(nan & (place != start[bags]))
    lowest = jnp.full((count, rows.shape[1]), -jnp.inf, rows.dtype)
    best = lowest.at[bags].max(jnp.where(kept, rows, -jnp.inf), mode="drop")
    first = jnp.where(kept & ((rows == best[bags]) | nan), place, len(bags))
    places = jnp.full(best.shape, len(bags), place.dtype).at[bags].min(first, mode="drop")
    return jnp.where(places < len(bags), best, 0), places


@general(
    weight=lambda g_out, indices, offsets, bags, sizes, chosen, per_sample_weights, weight_shape, mode, padding_idx,
    by_frequency: embedding_bag_adjoint(
        g_out, indices, bags, sizes, chosen, per_sample_weights,
        rows=weight_shape[0], mode=mode, padding_idx=padding_idx, by_frequency=by_frequency,
    ),
    per_sample_weights=lambda g_out, weight, indices, bags, padding_idx: bag_products(
        g_out, weight, indices, bags, padding_idx=padding_idx
    ),
    outputs=("out", "bags", "sizes", "chosen"), aten="_embedding_bag",
    saved={"result1": "bags", "result2": "sizes", "result3": "chosen", "scale_grad_by_freq": "by_frequency"},
)  # fmt: skip
def embedding_bag(weight, indices, offsets, per_sample_weights=None, *, mode, padding_idx, by_frequency):
    """Rows of ``weight`` (rows, width) with the numbers in ``indices`` (n,), by bags, which begin at ``offsets``.

    ``mode``: ``"sum"`` (weighted by ``per_sample_weights``), ``"mean"`` or ``"max"``. The row ``padding_idx`` (-1:
    none) does not count. Further outputs: the bag of each index; how many indices count in each bag (zeros for sums);
    the row that is the greatest there.
    """
    count = offsets.shape[0]
    bags = _bag_of_each(offsets, indices.shape[0])
    kept = (indices != padding_idx)[:, None]
    rows = widened(jnp.take(weight, indices, axis=0, mode="clip"))
    sizes = jnp.zeros(count, indices.dtype).at[bags].add(kept[:, 0].astype(indices.dtype), mode="drop")
    if mode == "max":
        out, places = _greatest(rows, bags, kept, count)
        chosen = jnp.take(jnp.append(indices, 0), places, mode="clip")  # 0 for an empty bag
        return out.astype(weight.dtype), bags, sizes, chosen
    if per_sample_weights is not None:
        rows = rows * widened(per_sample_weights)[:, None]
    out = jnp.zeros((count, weight.shape[1]), rows.dtype).at[bags].add(jnp.where(kept, rows, 0), mode="drop")
    if mode == "mean":
        out = out / jnp.maximum(sizes, 1)[:, None].astype(out.dtype)
    else:
        sizes = jnp.zeros_like(sizes)
    return out.astype(weight.dtype), bags, sizes, sizes


@general(x=no_derivative("_embedding_bag_backward"), aten="_embedding_bag_backward")
def embedding_bag_adjoint(
    x, indices, bags, sizes, chosen, per_sample_weights=None, *, rows, mode, padding_idx, by_frequency
):
    """The gradient of the table: that of each bag, ``x``, for the rows summed into it, or greatest in it."""
    total = jnp.zeros((rows, x.shape[1]), widened(x).dtype)
    if mode == "max":
        given = jnp.where((sizes > 0)[:, None], widened(x), 0)
        return total.at[chosen, jnp.arange(x.shape[1])].add(given, mode="drop").astype(x.dtype)
    if mode == "mean":
        x = widened(x) / jnp.maximum(sizes, 1)[:, None].astype(total.dtype)
    parts = widened(jnp.take(x, bags, axis=0, mode="clip"))
    if per_sample_weights is not None:
        parts = parts * widened(per_sample_weights)[:, None]
    parts = weighted(parts, indices, rows, padding_idx, by_frequency)
    return total.at[indices].add(parts, mode="drop").astype(x.dtype)


_NO_SECOND = underivable("aten::_embedding_bag_per_sample_weights_backward")


@general(
    x=_NO_SECOND, weight=_NO_SECOND, aten="_embedding_bag_per_sample_weights_backward",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def bag_products(x, weight, indices, bags, *, padding_idx):
    """The gradient of the weights of samples: the inner product of each row with the gradient of its bag."""
    rows, parts = (jnp.take(table, at, axis=0, mode="clip") for table, at in ((weight, indices), (x, bags)))
    products = jnp.sum(widened(rows) * widened(parts), 1)
    return jnp.where(indices != padding_idx, products, 0).astype(x.dtype)
