"""The nonlinearities of neural networks: one operator each, whose parameters are settings.

A gradient at a kink, and of nan, is PyTorch's choice, and so is the second derivative at a kink: 0, by masks that
include the kink in one factor and leave it out in the other. Where a formula has a branch that overflows far out, it is
written so that its own derivative stays finite: ``sigmoid(x)`` rather than ``exp(x) / (1 + exp(x))``.

Note [Gradients that are steps]
The gradient of a function of straight pieces reads its input only to see which piece it is on. PyTorch still records
that reading, with zeros for its gradient: a gradient penalty on a network of relus then gives zeros for its biases,
which else would have no gradient at all. Such gradients are operators of their own; ``relu``'s is
``threshold_backward``.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax, nn

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops.conventions import kink
from tapegrad.ops.joining import cat, split
from tapegrad.ops.kinds import conj, elementwise, general, zeros_of
from tapegrad.ops.memory_formats import as_input, gradient_kept
from tapegrad.ops.reductions import widened
from tapegrad.ops.selection import where
from tapegrad.ops.special import erf
from tapegrad.ops.unary import exp, sigmoid, tanh

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def _flat(g):
    """The gradient of what a step reads. See Note [Gradients that are steps]."""
    return zeros_of(g, shape=tuple(g.shape), dtype=as_dtype(g.dtype))


@elementwise(x=lambda out, g: threshold_backward(g, out, threshold=0), real=True)
def relu(x):
    """``x`` where positive, else 0; to jax too, 0 has no gradient."""
    return nn.relu(x)


@elementwise(
    grad=lambda g, x, threshold: threshold_backward(g, x, threshold=threshold), x=_flat,
    real=True,
)  # fmt: skip
def threshold_backward(grad, x, *, threshold):
    """``grad``, but 0 where ``x`` is not above the threshold."""
    return jnp.where(x <= threshold, 0, grad)


@elementwise(
    x=lambda g, x, min_val, max_val: hardtanh_backward(g, x, min_val=min_val, max_val=max_val), real=True,
    convention=kink("at a bound", "0", "1/2"),
)  # fmt: skip
def hardtanh(x, *, min_val, max_val):
    """``x`` limited to ``[min_val, max_val]``; no gradient at the bounds."""
    return jnp.minimum(jnp.maximum(x, min_val), max_val)


@elementwise(
    grad=lambda g, x, min_val, max_val: hardtanh_backward(g, x, min_val=min_val, max_val=max_val), x=_flat,
    real=True,
)  # fmt: skip
def hardtanh_backward(grad, x, *, min_val, max_val):
    """``grad``, but 0 where ``x`` is not between the bounds."""
    return jnp.where((x <= min_val) | (x >= max_val), 0, grad)


@elementwise(
    x=lambda x, g, negative_slope: leaky_relu_backward(g, x, negative_slope=negative_slope), real=True,
    rounds_once=True,
)  # fmt: skip
def leaky_relu(x, *, negative_slope):
    """``x`` where positive, else ``negative_slope * x``."""
    return jnp.where(x > 0, x, x * negative_slope)


def _refuse_negative(slope, name, report=""):
    """Refuse to tell from a result what was negative. Raises RuntimeError: PyTorch's message."""
    if slope < 0:
        raise RuntimeError(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version "
            f"instead.{report}"
        )


def _leaky_relu_gradient_of_result(g, out, negative_slope):
    _refuse_negative(
        negative_slope, "leakyReLu", " File an issue at https://github.com/pytorch/pytorch if you do require "
        "supporting in-place leakRelu backward calculation with negative slope",
    )  # fmt: skip
    return leaky_relu_backward(g, out, negative_slope=negative_slope)


@elementwise(x=_leaky_relu_gradient_of_result, real=True, rounds_once=True, family="leaky_relu", node=1)
def leaky_relu_in_place(x, *, negative_slope):
    """``leaky_relu``, whose gradient is computed from the result: of slopes that are not negative."""
    return jnp.where(x > 0, x, x * negative_slope)


@elementwise(
    grad=lambda g, x, negative_slope: leaky_relu_backward(g, x, negative_slope=negative_slope), x=_flat,
    real=True,
)  # fmt: skip
def leaky_relu_backward(grad, x, *, negative_slope):
    """``grad`` where ``x`` is positive, else ``negative_slope * grad``."""
    return jnp.where(x > 0, grad, grad * negative_slope)


@elementwise(
    x=lambda x, weight, g: prelu_backward(g, x, weight),
    weight=lambda g, x, weight: prelu_weight_backward(g, x, weight),
    real=True, aten="_prelu_kernel",
)  # fmt: skip
def prelu(x, weight):
    """``x`` where positive, else ``weight * x``."""
    return jnp.where(x > 0, x, weight * x)


@elementwise(
    grad=lambda g, x, weight: prelu_backward(g, x, weight),
    x=_flat,
    weight=lambda g, grad, x: where(x >= 0, 0, grad * g),
    real=True, aten="_prelu_kernel_backward",
)  # fmt: skip
def prelu_backward(grad, x, weight):
    """``grad`` where ``x`` is positive, else ``weight * grad``."""
    return jnp.where(x > 0, grad, weight * grad)


@elementwise(
    grad=lambda g, x: where(x > 0, 0, where(x == 0, 0, x) * g), x=lambda g, grad, x: where(x >= 0, 0, grad * g),
    weight=_flat, real=True, aten=None, node="PreluKernelBackwardBackward0",
)  # fmt: skip
def prelu_weight_backward(grad, x, weight):
    """``x * grad`` where ``x`` is negative, else zero: of the weight that is only given for its history."""
    return jnp.where(x > 0, 0, jnp.where(x == 0, 0, x) * grad).astype(grad.dtype)


def _elu_gradient(g, x, alpha, scale, input_scale):
    return g * where(x <= 0, alpha * scale * input_scale * exp(where(x < 0, x, 0) * input_scale), scale)


@elementwise(x=_elu_gradient, real=True, rounds_once=True)
def elu(x, *, alpha, scale, input_scale):
    """``scale * x`` where positive, else ``scale * alpha * (exp(input_scale * x) - 1)``."""
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x) * input_scale))


def _elu_gradient_of_result(g, out, alpha, scale, input_scale):
    _refuse_negative(alpha, "elu")
    return g * where(out <= 0, (where(out < 0, out, 0) + alpha * scale) * input_scale, scale)


@elementwise(x=_elu_gradient_of_result, real=True, rounds_once=True, family="elu", node=1)
def elu_in_place(x, *, alpha, scale, input_scale):
    """``elu``, whose gradient is computed from the result: of an ``alpha`` that is not negative."""
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x) * input_scale))


@elementwise(x=lambda g, x, alpha: g * where(x <= 0, exp(where(x < 0, x, 0) / alpha), 1), real=True, rounds_once=True)
def celu(x, *, alpha):
    """``x`` where positive, else ``alpha * (exp(x / alpha) - 1)``."""
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x) / alpha))


def _gelu_gradient(g, x, approximate):
    """The product rule on ``x * cdf(x)``, for the normal distribution or its approximation by tanh."""
    if approximate == "none":
        cdf = 0.5 * (1 + erf(x * _SQRT_HALF))
        return g * (cdf + x * (0.5 * _SQRT_2_OVER_PI * exp(-0.5 * x * x)))
    square = x * x
    half = tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * square))
    slope = _SQRT_2_OVER_PI * (1 + 3 * 0.044715 * square)
    return g * (0.5 * (1 + half) + 0.5 * x * (1 - half * half) * slope)


@elementwise(x=_gelu_gradient, real=True, rounds_once=True)
def gelu(x, *, approximate):
    """``x`` times the standard normal distribution function of it (``"none"``), or ``"tanh"``'s approximation."""
    if approximate == "none":
        return x * (0.5 * (1 + lax.erf(x * _SQRT_HALF)))
    return 0.5 * x * (1 + jnp.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


def _silu_gradient(g, x):
    gate = sigmoid(x)
    return g * conj(gate * (1 + x * (1 - gate)))


@elementwise(x=_silu_gradient, rounds_once=True)
def silu(x):
    """``x * sigmoid(x)``."""
    return x * lax.logistic(x)


def _mish_gradient(g, x):
    growth = exp(where(x > _SATURATED, _SATURATED, x))
    excess = growth * (growth + 2)
    bend = excess / (excess + 2)
    return g * (bend + x * sigmoid(x) * (1 - bend * bend))


_SATURATED = 20.0
"""From here on ``tanh(log(1 + exp(x)))`` is 1."""


@elementwise(x=_mish_gradient, real=True, rounds_once=True)
def mish(x):
    """``x * tanh(log(1 + exp(x)))``: of ``e = exp(x)`` and ``n = e * (e + 2)`` the tangent is ``n / (n + 2)``."""
    growth = jnp.exp(jnp.minimum(x, _SATURATED))
    excess = growth * (growth + 2)
    return x * (excess / (excess + 2))


def _softplus(x):
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(jnp.minimum(x, -x)))  # to jax, -abs(x) has a slope of -1 at 0


def _softplus_gradient(g, x, beta, threshold):
    scaled = x * beta
    return where(scaled > threshold, g, g * sigmoid(where(scaled >= threshold, threshold, scaled)))


@elementwise(x=_softplus_gradient, real=True, rounds_once=True)
def softplus(x, *, beta, threshold):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above the threshold."""
    return jnp.where(x * beta > threshold, x, _softplus(x * beta) / beta)


@elementwise(
    x=lambda g, x: g * sigmoid(-x), real=True, aten="log_sigmoid_forward", node="LogSigmoidBackward0",
    profile="log_sigmoid_forward", rounds_once=True, gradient_lies=gradient_kept,
)  # fmt: skip
def logsigmoid(x):
    """``log(sigmoid(x))``, without overflow."""
    return -_softplus(-x)


@elementwise(x=lambda g, x: hardsigmoid_backward(g, x), real=True)
def hardsigmoid(x):
    """``x / 6 + 1/2``, limited to ``[0, 1]``."""
    return jnp.clip(x + 3, 0, 6) / 6


@elementwise(grad=lambda g, x: hardsigmoid_backward(g, x), x=_flat, real=True)
def hardsigmoid_backward(grad, x):
    """A sixth of ``grad`` where ``x`` is within 3 of 0, else 0."""
    return jnp.where((x > -3) & (x < 3), grad / 6, 0)


@elementwise(x=lambda g, x: where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g)), real=True, rounds_once=True)
def hardswish(x):
    """``x * hardsigmoid(x)``."""
    return x * (jnp.clip(x + 3, 0, 6) / 6)


@elementwise(x=lambda g, x, lambd: hardshrink_backward(g, x, lambd=lambd), real=True)
def hardshrink(x, *, lambd):
    """0 within ``[-lambd, lambd]``, ``x`` outside."""
    return jnp.where((x >= -lambd) & (x <= lambd), 0, x)


@elementwise(x=lambda g, x, lambd: softshrink_backward(g, x, lambd=lambd), real=True)
def softshrink(x, *, lambd):
    """``x`` moved towards 0 by ``lambd``, not beyond."""
    return jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, x * 0))


def _inner_zero(name):
    """The operator that is the gradient of ``hardshrink`` or ``softshrink``."""

    def backward(grad, x, *, lambd):
        """``grad``, but 0 where ``x`` is within ``[-lambd, lambd]``."""
        return jnp.where((x >= -lambd) & (x <= lambd), 0, grad)

    declared = elementwise(
        grad=lambda g, x, lambd: operator(g, x, lambd=lambd), x=_flat, name=f"{name}_backward", real=True
    )
    operator = declared(backward)
    return operator


hardshrink_backward = _inner_zero("hardshrink")
softshrink_backward = _inner_zero("softshrink")


@elementwise(x=lambda x, g, threshold: threshold_backward(g, x, threshold=threshold), real=True)
def threshold(x, *, threshold, value):
    """``x`` where above the threshold, ``value`` elsewhere."""
    return jnp.where(x <= threshold, jnp.asarray(value, x.dtype), x)


def _halves(x, axis):
    return split(x, axis=axis, size=x.shape[axis] // 2)


def _glu_gradient(g, x, axis):
    value, gate = _halves(x, axis)
    opening = sigmoid(gate)
    return cat(g * opening, g * value * opening * (1 - opening), axis=axis)


def _glu_tangent(t_x, x, axis):
    (value, gate), (t_value, t_gate) = _halves(x, axis), _halves(t_x, axis)
    opening = sigmoid(gate)
    return t_value * opening + t_gate * value * opening * (1 - opening)


@general(x=_glu_gradient, jvp=_glu_tangent, real=True, lies=as_input, rounds_once=True)
def glu(x, *, axis):
    """The first half along an axis times the sigmoid of the second."""
    half = x.shape[axis] // 2
    value, gate = (widened(lax.slice_in_dim(x, start, start + half, axis=axis)) for start in (0, half))
    return (value * lax.logistic(gate)).astype(x.dtype)
