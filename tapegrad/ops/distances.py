"""Distances between the rows of matrices: of all pairs of two (``cdist``), of the pairs of one (``pdist``).

Note [Distances at 0]
The distance of equal rows has no derivative; PyTorch takes 0. The adjoints have no derivatives in PyTorch, except that
of distances which are computed by a matrix product.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from tapegrad.ops import conventions
from tapegrad.ops.comparison import eq
from tapegrad.ops.kinds import general, same, sum_to
from tapegrad.ops.matmul import FULL, adjoint, matmul
from tapegrad.ops.reductions import sum
from tapegrad.ops.selection import where


def underivable_twice(name):
    """The formula of an adjoint that PyTorch can't differentiate once more."""

    def formula(g):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return formula


def _norm(difference, p):
    """The p-norms of rows."""
    size = jnp.abs(difference)
    if same(p, 0):
        return jnp.sum(jnp.where(difference == 0, 0, jnp.where(jnp.isnan(size), size, 1)), -1).astype(size.dtype)
    if same(p, math.inf):
        return jnp.max(size, -1, initial=0)
    if same(p, 2):
        return jnp.sqrt(jnp.sum(size * size, -1))
    return jnp.sum(size, -1) if same(p, 1) else jnp.sum(size**p, -1) ** (1 / p)


def _slopes(g, difference, norm, p):
    """The gradients of the elements of rows for those of their p-norms. See Note [Distances at 0]."""
    g, norm, size, sign = g[..., None], norm[..., None], jnp.abs(difference), jnp.sign(difference)
    if same(p, 0):
        return jnp.zeros_like(difference)
    if same(p, 1):
        return g * sign
    if same(p, math.inf):
        return g * jnp.where(size == norm, sign, jnp.where(jnp.isnan(size), size, 0))
    here = (norm != 0) & ((size != 0) | (p >= 1))
    safe, base = jnp.where(here, norm, 1), jnp.where(here, size, 1)
    return jnp.where(here, g * (sign * (base / safe) ** (p - 1)), 0)


def _differences(x, y):
    return x[..., :, None, :] - y[..., None, :, :]


@general(
    x=lambda g, x, y, out, x_shape, p: sum_to(cdist_adjoint(g, x, y, out, p=p, first=True), shape=tuple(x_shape)),
    y=lambda g, x, y, out, y_shape, p: sum_to(cdist_adjoint(g, x, y, out, p=p, first=False), shape=tuple(y_shape)),
    real=True, aten="_cdist_forward", node="CdistBackward0", saved={"x1": "x", "x2": "y"},
    convention=conventions.COINCIDENT, special=(0, 1, 2),
)  # fmt: skip
def cdist(x, y, *, p):
    """The p-norms of the differences of all rows of ``x`` (..., m, k) and ``y`` (..., n, k): (..., m, n)."""
    return _norm(_differences(x, y), p)


_NOT_TWICE = underivable_twice("_cdist_backward")


@general(
    g=_NOT_TWICE, x=_NOT_TWICE, y=_NOT_TWICE, out=_NOT_TWICE, real=True, aten="_cdist_backward", special=(0, 1, 2)
)
def cdist_adjoint(g, x, y, out, *, p, first):
    """The gradient of ``x`` (if ``first``) or of ``y``, before the sum over what was broadcast."""
    parts = _slopes(g, _differences(x, y), out, p)
    return jnp.sum(parts, -2) if first else -jnp.sum(parts, -3)


def euclidean_gradient(g, x, y, out):
    """The gradient of the first rows: of ``|x - y|``, ``(x - y) / |x - y|``, in matrix products."""
    ratio = where(eq(out, 0), 0, g / out)
    return x * sum(ratio, axis=(ratio.ndim - 1,), keepdims=True) - matmul(ratio, y)


def turned(x):
    """The transposes of real matrices."""
    return adjoint(x)


@general(
    x=lambda g, x, y, out: euclidean_gradient(g, x, y, out),
    y=lambda g, x, y, out: euclidean_gradient(turned(g), y, x, turned(out)),
    real=True, aten="_euclidean_dist", convention=conventions.COINCIDENT,
)  # fmt: skip
def euclidean_dist(x, y):
    """Euclidean distances of all rows, by ``|x|^2 - 2 x.y + |y|^2``; the batches of both are the same."""
    x2, y2 = jnp.sum(x * x, -1, keepdims=True), jnp.sum(y * y, -1, keepdims=True)
    left = jnp.concatenate([-2 * x, x2, jnp.ones_like(x2)], -1)
    right = jnp.concatenate([y, jnp.ones_like(y2), y2], -1)
    product = jnp.matmul(left, jnp.swapaxes(right, -1, -2), precision=FULL)
    return jnp.sqrt(jnp.maximum(product, 0))


def _pairs(count):
    """The pairs of different rows, in order; of a symbol (Note [Shape classes]) found when the kernel runs."""
    if isinstance(count, int):
        return np.triu_indices(count, 1)
    pairs = count * (count - 1) // 2
    left = jnp.arange(pairs - 1, -1, -1)  # how many pairs come behind
    rows = ((jnp.sqrt(8.0 * left + 1) - 1) / 2).astype(int)  # and how many whole rows of them
    i = count - 2 - rows
    return i, jnp.arange(pairs) - i * (2 * count - i - 1) // 2 + i + 1


@general(
    x=lambda g, x, out, p: pdist_adjoint(g, x, out, p=p), real=True, aten="_pdist_forward", node="PdistBackward0",
    convention=conventions.COINCIDENT, special=(0, 1, 2),
)  # fmt: skip
def pdist(x, *, p):
    """The p-norms of the differences of all pairs of rows of a matrix (n, k): (n (n - 1) / 2,)."""
    i, j = _pairs(x.shape[0])
    return _norm(x[i] - x[j], p)


_PDIST_NOT_TWICE = underivable_twice("_pdist_backward")


@general(
    g=_PDIST_NOT_TWICE, x=_PDIST_NOT_TWICE, out=_PDIST_NOT_TWICE, real=True, aten="_pdist_backward", special=(0, 1, 2)
)
def pdist_adjoint(g, x, out, *, p):
    """The gradient of the rows."""
    i, j = _pairs(x.shape[0])
    parts = _slopes(g, x[i] - x[j], out, p)
    return jnp.zeros_like(x).at[i].add(parts).at[j].add(-parts)
