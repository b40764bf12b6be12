"""``im2col`` and ``col2im``: the windows of a plane as columns, and back; adjoint to each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax

from tapegrad.ops.kinds import linear
from tapegrad.ops.resampling import Sampling, sampled, tapped, window_ends
from tapegrad.ops.saved_fields import size


@linear(
    x=lambda g, x_shape, samplings: col2im(g, samplings=samplings, lengths=tuple(x_shape[-2:])),
    saved={"self_sym_argsize_minus_1": size(0, -1), "self_sym_argsize_minus_2": size(0, -2), "padding": sampled("low"),
           "kernel_size": sampled("kernel"), "stride": sampled("stride"), "dilation": sampled("dilation")},
)  # fmt: skip
def im2col(x, *, samplings):
    """(..., channels, height, width) to (..., channels * taps, windows): each window of the plane as a column."""
    rows, columns = samplings
    x = jnp.stack([tapped(x, x.ndim - 2, rows, tap, 0) for tap in range(rows.kernel)], x.ndim - 2)
    x = jnp.stack([tapped(x, x.ndim - 1, columns, tap, 0) for tap in range(columns.kernel)], x.ndim - 2)
    *batch, channels, k_rows, k_columns, height, width = x.shape
    return x.reshape(*batch, channels * k_rows * k_columns, height * width)


def _added(parts: Sequence, axis: int, sampling: Sampling, length: int):
    """Windows added to where they were read, along one axis."""
    zero = jnp.zeros((), parts[0].dtype)
    total = zero
    for tap, part in enumerate(parts):
        ends = window_ends(sampling, tap, length)
        total = total + lax.pad(part, zero, [ends if i == axis else (0, 0, 0) for i in range(part.ndim)])
    return total


@linear(x=lambda g, samplings: im2col(g, samplings=samplings))
def col2im(x, *, samplings, lengths):
    """(..., channels * taps, windows) to (..., channels, height, width): overlapping windows are added."""
    rows, columns = samplings
    *batch, depth, _ = x.shape
    channels = depth // (rows.kernel * columns.kernel)
    count = math.prod(batch) * channels
    x = x.reshape(count, rows.kernel, columns.kernel, rows.size, columns.size)
    x = jnp.moveaxis(x, 2, 0)
    x = _added(list(x), x.ndim - 2, columns, lengths[1])
    x = jnp.moveaxis(x, 1, 0)
    x = _added(list(x), x.ndim - 3, rows, lengths[0])
    return x.reshape(*batch, channels, *lengths)
