"""Softmax and its kin."""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad.ops.kinds import conj, general
from tapegrad.ops.reductions import axes_of, spread, sum, weighed, widened
from tapegrad.ops.unary import exp


def _shifted(x, axes):
    """``x`` in the type of the computation, less its maximum."""
    x = widened(x)
    return x - jnp.max(x, axis=axes, keepdims=True, initial=-jnp.inf)


@general(
    x=lambda g, out, axis: out * (g - sum(g * out, axis=axis, keepdims=True)),
    jvp=lambda t_x, out, axis: out * (t_x - sum(t_x * out, axis=axis, keepdims=True)),
    real=True, aten="_softmax", spoilt="softmax", rounds_once=True, uniform=True,
)  # fmt: skip
def softmax(x, *, axis):
    """``exp(x)`` over its sum along ``axis``; nan where all are -inf."""
    axes = axes_of(axis, x.ndim)
    exponentials = jnp.exp(_shifted(x, axes))
    return (exponentials / jnp.sum(exponentials, axis=axes, keepdims=True)).astype(x.dtype)


@general(
    x=lambda g, out, axis: g - exp(out) * sum(g, axis=axis, keepdims=True),
    jvp=lambda t_x, out, axis: t_x - sum(exp(out) * t_x, axis=axis, keepdims=True),
    real=True, aten="_log_softmax", spoilt="softmax", rounds_once=True, uniform=True,
)  # fmt: skip
def log_softmax(x, *, axis):
    """The logarithm of ``softmax``, without forming it."""
    axes = axes_of(axis, x.ndim)
    shifted = _shifted(x, axes)
    return (shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=axes, keepdims=True))).astype(x.dtype)


def weights(x, out, axis):
    """The derivative of ``logsumexp``: the softmax, read off its result."""
    return exp(x - spread(out, shape=x.shape, axis=axis))


@general(
    x=lambda g, x, out, axis: spread(g, shape=x.shape, axis=axis) * conj(weights(x, out, axis)),
    jvp=lambda t_x, x, out, axis, keepdims: sum(t_x * weights(x, out, axis), axis=axis, keepdims=keepdims),
    promote="float",
    gradient_lies=weighed,
)
def logsumexp(x, *, axis, keepdims=False):
    """The logarithm of the sum over ``axis`` of ``exp(x)``; -inf of nothing."""
    axes, wide = axes_of(axis, x.ndim), widened(x)
    top = jnp.max(jnp.real(wide), axis=axes, keepdims=True, initial=-jnp.inf)
    top = jnp.where(jnp.isinf(top), 0, top)
    result = jnp.log(jnp.sum(jnp.exp(wide - top), axis=axes, keepdims=True)) + top
    return (result if keepdims else jnp.squeeze(result, axes)).astype(x.dtype)
