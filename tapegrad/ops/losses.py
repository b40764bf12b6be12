"""Losses that PyTorch has as one node: pointwise ones of two arrays, and the negative log likelihood of classes.

Note [Reduced losses]
The formulas of a pointwise loss are those of each element. That the loss was summed or averaged, and that its inputs
were broadcast, is undone in one place, the kind. ``reduction`` is ``"none"``, ``"mean"`` or ``"sum"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.data.sizes import as_number
from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad._src.execution.numpy_backend.softmax import losses_of_classes
from tapegrad.ops.activations import hardtanh
from tapegrad.ops.arithmetic import logaddexp
from tapegrad.ops.checks import checked, expect_same_scalar_type, refuse_dtypes
from tapegrad.ops.conventions import kink, rule
from tapegrad.ops.kinds import Elementwise, broadcast_shapes, broadcast_to, declaration, elementwise, general, linear
from tapegrad.ops.memory_formats import gradient_as_input, gradient_in_order
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import over, sum_all, widened
from tapegrad.ops.selection import clamp_min
from tapegrad.ops.softmax import log_softmax
from tapegrad.ops.unary import log, log1p, sigmoid


def reduced(values: Any, reduction: str) -> Any:
    """The elements' losses as they are, or their sum or mean; the mean of nothing is nan."""
    if reduction == "none":
        return values
    total = jnp.sum(widened(values))
    return (total / as_number(values.size) if reduction == "mean" else total).astype(values.dtype)


class PointwiseLoss(Elementwise):
    """A loss of each element, reduced. See Note [Reduced losses]."""

    def __init__(self, function: Callable, formulas: dict[str, Callable], **options: Any) -> None:
        super().__init__(function, formulas, promote="common", **options)
        for formula in self.formulas.values():
            formula.names += ("reduction", *[f"{name}_shape" for name in self.inputs])

    def gradient(self, position: int, arguments: Sequence, spec: Any) -> Any:
        """The formula's result for the gradient of each element."""
        own = len(arguments) - 1 - len(self.inputs)
        g, rest, reduction, shapes = arguments[0], arguments[1:own], arguments[own], arguments[own + 1 :]
        if reduction == "mean":
            g = over(g, count=math.prod(broadcast_shapes(shapes)))
        return self.restore(self.formula(position).function(g, *rest), spec)

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        """The tangents of the elements' losses, reduced."""
        shape = broadcast_shapes([() if primal is None else tuple(primal.shape) for primal in primals])
        named = dict(zip(self.inputs, primals, strict=True)) | settings
        total = None
        for position, tangent in enumerate(tangents):
            if tangent is not None and self.differentiable(position):
                formula = self.formula(position)
                names = formula.names[1 : -1 - len(self.inputs)]
                part = formula.function(tangent, *[named[name] for name in names])
                total = part if total is None else total + part
        if total is None:
            return None
        total = broadcast_to(total, shape=shape)
        if settings["reduction"] == "none":
            return total
        return sum_all(total if settings["reduction"] == "sum" else over(total, count=math.prod(shape)))


def reduction_code(plan: Plan) -> int:
    """PyTorch's number of a way to reduce a loss."""
    return ("none", "mean", "sum").index(plan.settings["reduction"])


def pointwise_loss(*, refused: str, **options: Any) -> Callable[[Callable], PointwiseLoss]:
    """Declare a pointwise loss of ``x``, ``y`` and perhaps weights; ``refused`` is the kernel that PyTorch misses for
    integers and complex numbers."""

    def check(specs: Sequence, settings: dict) -> None:
        present = [spec for spec in specs if spec is not None]
        broadcast_shapes([spec.shape for spec in present])
        if all(spec.dtype.category < 2 for spec in present) or any(spec.dtype.is_complex for spec in present):
            first = next((spec for spec in present if spec.dtype.is_complex), present[0])
            refuse_dtypes(refused, first, bool=True, integral=True, complex=True)

    declared = declaration(PointwiseLoss, real=True, saved={"target": "y", "reduction": reduction_code})(**options)
    return lambda function: checked(check)(declared(function))  # type: ignore[return-value]


# -- regression --------------------------------------------------------------------------------------------------------


@pointwise_loss(
    x=lambda g, x, y: g * (x - y) * 2,
    y=lambda g, x, y: g * (y - x) * 2,
    refused="mse_cpu", gradient_lies=gradient_in_order,
)
def mse_loss(x, y, *, reduction):
    """The squared difference."""
    return reduced(jnp.square(x - y), reduction)


def _smooth_slope(x, y, beta):
    """The derivative of ``smooth_l1_loss``: the difference over ``beta``, cut at -1 and 1."""
    return hardtanh((x - y) / beta, min_val=-1, max_val=1)


@pointwise_loss(
    x=lambda g, x, y, beta: g * _smooth_slope(x, y, beta),
    y=lambda g, x, y, beta: -(g * _smooth_slope(x, y, beta)),
    refused="smooth_l1_cpu", gradient_lies=gradient_in_order, rounds_once=True,
)  # fmt: skip
def smooth_l1_loss(x, y, *, beta, reduction):
    """``d**2 / (2 beta)`` where the distance ``d`` is less than ``beta``, ``d - beta / 2`` elsewhere."""
    distance = jnp.abs(x - y)
    near = jnp.minimum(distance, beta)
    return reduced(near / beta * (distance - 0.5 * near), reduction)


def _huber_slope(x, y, delta):
    """The derivative of ``huber_loss``: the difference, cut at ``-delta`` and ``delta``."""
    return hardtanh(x - y, min_val=-delta, max_val=delta)


@pointwise_loss(
    x=lambda g, x, y, delta: g * _huber_slope(x, y, delta),
    y=lambda g, x, y, delta: -(g * _huber_slope(x, y, delta)),
    refused="huber_cpu", gradient_lies=gradient_in_order,
)
def huber_loss(x, y, *, delta, reduction):
    """``d**2 / 2`` where the distance ``d`` is at most ``delta``, ``delta (d - delta / 2)`` elsewhere."""
    distance = jnp.abs(x - y)
    near = jnp.minimum(distance, delta)
    return reduced(near * (distance - 0.5 * near), reduction)


@pointwise_loss(x=lambda g, x, y: -(g * y * sigmoid(-(x * y))), refused="soft_margin_loss")
def soft_margin_loss(x, y, *, reduction):
    """``log(1 + exp(-y x))``, for targets ``y`` of 1 and -1; they have no derivative."""
    return reduced(jnp.log1p(jnp.exp(-y * x)), reduction)


# -- binary cross entropy ----------------------------------------------------------------------------------------------


def _weighted(values, weight):
    return values if weight is None else values * weight


@pointwise_loss(
    x=lambda g, x, y, weight: _weighted(g, weight) * (x - y) / clamp_min((1 - x) * x, 1e-12),
    y=lambda g, x, weight: _weighted(g, weight) * (log1p(-x) - log(x)),
    refused="binary_cross_entropy", gradient_lies=gradient_as_input,
    convention=kink("where x is 0 or 1", "the logarithm's, limited", "nan, inf or 0"),
)  # fmt: skip
def binary_cross_entropy(x, y, weight=None, *, reduction):
    """``-(y log x + (1 - y) log(1 - x))``, with logarithms not below -100, times ``weight``.

    The formula of ``x`` is PyTorch's: finite at 0 and 1, where the loss is cut; that of ``y`` is not cut.
    """
    losses = (y - 1) * jnp.maximum(jnp.log1p(-x), -100) - y * jnp.maximum(jnp.log(x), -100)
    return reduced(_weighted(losses, weight), reduction)


def _positive_part(y, pos_weight):
    return y if pos_weight is None else y * pos_weight


def _logits_slope(x, y, pos_weight):
    """The derivative of the loss of logits: ``sigmoid(x)`` times the weight of the example, less that of its target."""
    positive = _positive_part(y, pos_weight)
    scale = positive + (1 - y)
    return (sigmoid(x) if pos_weight is None else scale * sigmoid(x)) - positive


def _target_slope(x, pos_weight):
    """The derivative in the target: ``-x``, or ``log(1 - sigmoid(x)) - pos_weight log(sigmoid(x))``."""
    return -x if pos_weight is None else logaddexp(-x, 0) * pos_weight - logaddexp(x, 0)


@pointwise_loss(
    x=lambda g, x, y, weight, pos_weight: _weighted(g, weight) * _logits_slope(x, y, pos_weight),
    y=lambda g, x, weight, pos_weight: _weighted(g, weight) * _target_slope(x, pos_weight),
    refused="log_sigmoid_cpu", gradient_lies=gradient_as_input,
)
def binary_cross_entropy_with_logits(x, y, weight=None, pos_weight=None, *, reduction):
    """``binary_cross_entropy`` of ``sigmoid(x)``, without forming it; targets of 1 count ``pos_weight`` times."""
    scale = 1 if pos_weight is None else 1 + (pos_weight - 1) * y
    losses = (1 - y) * x + scale * (jnp.maximum(-x, 0) + jnp.log1p(jnp.exp(jnp.minimum(x, -x))))
    return reduced(_weighted(losses, weight), reduction)


@elementwise(
    x=lambda g: g, aten=None, node="CloneBackward0", profile="clamp_min", convention=rule("below the floor", "1", "0"),
)  # fmt: skip
def floored(x, least):
    """The greater of ``x`` and a number, with the derivative of ``x`` in any case; a denominator, typically."""
    return jnp.maximum(x, least)


@linear(x=lambda g, count: over(g, count=count), aten=".Scalar", node=1, family="div", saved={"other": "count"})
def over_count(x, *, count):
    """``over``, under the node that PyTorch makes where its own code divides by a number."""
    return over.function(x, count=count)


# -- the negative log likelihood of classes ----------------------------------------------------------------------------


def _class_weights(target, weight, classes, ignore_index):
    """Which targets count, and with what weight: None if all weigh the same."""
    counts = target != ignore_index
    if weight is None or not classes:
        return counts, None
    return counts, jnp.where(counts, jnp.take(weight, target, mode="clip"), 0)


def _total(counts, weights, dtype):
    """The weight of all targets that count."""
    return jnp.sum(widened(counts.astype(dtype) if weights is None else weights))


def _nll(x, target, weight, axis, reduction, ignore_index):
    counts, weights = _class_weights(target, weight, x.shape[axis], ignore_index)
    if x.shape[axis]:
        picked = jnp.squeeze(jnp.take_along_axis(x, jnp.expand_dims(target, axis), axis, mode="clip"), axis)
    else:
        picked = jnp.zeros(target.shape, x.dtype)
    losses = jnp.where(counts, -picked if weights is None else -picked * weights, 0)
    if reduction != "mean":
        return reduced(losses, reduction)
    return (jnp.sum(widened(losses)) / _total(counts, weights, x.dtype)).astype(x.dtype)


@linear(
    x=lambda g, target, weight, axis, reduction, ignore_index: nll_loss(
        g, target, weight, axis=axis, reduction=reduction, ignore_index=ignore_index
    ),
    real=True, aten="nll_loss_backward",
)  # fmt: skip
def nll_loss_adjoint(x, target, weight=None, *, axis, classes, reduction, ignore_index):
    """The adjoint of ``nll_loss``: minus ``x``, weighted, at the class of each target, and 0 elsewhere."""
    counts, weights = _class_weights(target, weight, classes, ignore_index)
    scale = -x if weights is None else -x * weights
    if reduction == "mean":
        scale = scale / _total(counts, weights, x.dtype).astype(x.dtype)
    number = jnp.arange(classes, dtype=target.dtype).reshape([-1] + [1] * (target.ndim - axis))
    here = jnp.expand_dims(target, axis) == number
    if ignore_index >= 0 or target.dtype == jnp.uint8:  # other targets that don't count are no classes
        here &= jnp.expand_dims(counts, axis)
    return jnp.where(here, jnp.expand_dims(jnp.broadcast_to(scale, target.shape), axis), 0)


def _check_nll(specs: Sequence, settings: dict) -> None:
    x, target, weight = specs
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_name}")
    if x.ndim > 2:
        _check_spatial_targets(x, target)
        if not target.dtype.is_64bit:
            raise RuntimeError("expected scalar type Long but found Byte")
    classes = x.shape[settings["axis"]]
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != classes):
        if x.ndim > 2:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            f"of shape: {list(weight.shape)}"
        )
    refuse_dtypes("nll_loss_out_frame", x, bool=True, integral=True, complex=True)
    expect_same_scalar_type(x, weight)


def _check_spatial_targets(x: Any, target: Any) -> None:
    if x.ndim == 4 and target.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        )
    if (x.shape[0], *x.shape[2:]) != tuple(target.shape):
        if x.ndim == 4:
            raise RuntimeError(f"size mismatch (got input: {list(x.shape)} , target: {list(target.shape)}")
        raise RuntimeError(f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(target.shape)}")


def _declare_nll(name: str, aten: str, **facts: Any) -> Operator:
    @checked(_check_nll)
    @linear(
        x=lambda g, x, target, weight, axis, reduction, ignore_index: nll_loss_adjoint(
            g, target, weight, axis=axis, classes=x.shape[axis], reduction=reduction, ignore_index=ignore_index
        ),
        name=name,
        aten=aten,
        family="nll_loss",
        real=True,
        uniform=True,
        again="zeros, unmapped",
        **facts,
    )
    def loss(x, target, weight=None, *, axis, reduction, ignore_index):
        """Minus ``x`` at the class of each target, times the weight of that class; classes lie along ``axis``.

        Targets equal to ``ignore_index`` don't count. The mean is weighted: nan if nothing counts.
        """
        return _nll(x, target, weight, axis, reduction, ignore_index)

    return loss


nll_loss = _declare_nll(
    "nll_loss", "nll_loss_forward", node="NllLossBackward0",
    saved={"reduction": reduction_code, "ignore_index": lambda plan: plan.settings["ignore_index"] % 2**64},
)  # fmt: skip
nll_loss2d = _declare_nll("nll_loss2d", "nll_loss2d_forward", node="NllLoss2DBackward0")
nll_loss_of_any = _declare_nll("nll_loss_of_any", "nll_loss2d_forward", node="ViewBackward0")
"""By element; two dimensions of space have their own."""


@general(aten="cross_entropy_loss", real=True)
def loss_of_classes(x, target, *, reduction, ignore_index):
    """``nll_loss`` of the ``log_softmax`` of rows of float32 or float64, for those who want no gradient: one kernel."""
    return _loss_of_classes(x, target, reduction=reduction, ignore_index=ignore_index)


@on_host(losses_of_classes, nanoseconds=4)
def _loss_of_classes(x, target, *, reduction, ignore_index):
    return _nll(log_softmax.function(x, axis=1), target, None, 1, reduction, ignore_index)
