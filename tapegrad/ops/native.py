"""Gradients that PyTorch has as functions of their own: of softmax, of dropout with a mask, of max pooling."""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad.ops.kinds import general, linear, zeros_of
from tapegrad.ops.pooling import plane_gather, plane_scatter
from tapegrad.ops.reductions import axes_of, sum, widened


def _through(g, t, out, axis):
    """The gradient by ``g`` of ``out`` in ``out * (t - sum(t * out))``: see ``softmax_gradient``."""
    return g * (t - sum(t * out, axis=axis, keepdims=True)) - t * sum(g * out, axis=axis, keepdims=True)


def _moved(t_x, t_out, x, out, axis):
    """The tangent of ``softmax_gradient``, of the parts that there are."""
    parts = [] if t_x is None else [softmax_gradient(t_x, out, axis=axis)]
    if t_out is not None:
        parts.append(t_out * (x - sum(x * out, axis=axis, keepdims=True)))
        parts.append(-out * sum(x * t_out, axis=axis, keepdims=True))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@general(
    x=lambda g, x, y, axis: softmax_gradient(g, y, axis=axis),
    y=lambda g, x, y, axis: _through(g, x, y, axis),
    jvp=lambda t_x, t_y, x, y, axis: _moved(t_x, t_y, x, y, axis),
    aten="_softmax_backward_data",
)  # fmt: skip
def softmax_gradient(x, y, *, axis):
    """The gradient of softmax along ``axis``, when ``x`` is that of its result ``y``: ``y (x - sum(x y))``."""
    x, out = widened(x), widened(y)
    return (out * (x - jnp.sum(x * out, axis=axes_of(axis, out.ndim), keepdims=True))).astype(y.dtype)


@linear(x=lambda g, x, mask, scale: dropout_gradient(g, mask, scale=scale), aten="native_dropout_backward")
def dropout_gradient(x, mask, *, scale):
    """``x`` times ``scale`` where ``mask`` is True, 0 elsewhere; integers become the default floating type."""
    x = x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(jnp.float32)
    return x * (mask * scale).astype(x.dtype)


@linear(x=lambda g, mask, scale: dropout_gradient(g, mask, scale=scale), aten="native_dropout")
def masked_dropout(x, mask, *, scale):
    """Dropout with a given mask: the same, under the node that dropout has."""
    return x * (mask * scale).astype(x.dtype)


@linear(
    x=lambda g, indices: plane_gather(g, indices, dims=2),
    y=lambda g, y_shape, y_dtype: zeros_of(g, shape=tuple(y_shape), dtype=y_dtype),
    jvp=lambda t_x, y, indices: None if t_x is None else max_pool2d_gradient(t_x, y, indices),
    real=True, aten="max_pool2d_with_indices_backward",
)  # fmt: skip
def max_pool2d_gradient(x, y, indices):
    """The gradient of max pooling of ``y``: ``x``, that of its result, added at the flat indices it gave.

    Of ``y`` only the shape counts; its derivative is 0, but there is one, as in PyTorch.
    """
    return plane_scatter.function(x, indices, lengths=tuple(y.shape[-2:]))
