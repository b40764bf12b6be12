"""Elementwise operators that choose between arrays, bound them or blend them."""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad.ops import conventions
from tapegrad.ops.comparison import isnan
from tapegrad.ops.conventions import kink
from tapegrad.ops.kinds import Elementwise, conj, declaration, elementwise
from tapegrad.ops.memory_formats import gradient_kept


@elementwise(x=lambda condition, g: where(condition, g, 0), y=lambda condition, g: where(condition, 0, g), aten=".self")
def where(condition, x, y):
    """``x`` where the condition holds, ``y`` elsewhere."""
    return jnp.where(condition, x, y)


class _InDtypeOfFirst(Elementwise):
    """Elementwise, but its first input alone decides the dtype."""

    def compute_dtype(self, specs):
        return specs[0].dtype


@declaration(_InDtypeOfFirst, promote="common")(
    x=lambda g, mask: where(mask, 0, g), aten=".Scalar", gradient_lies=gradient_kept,
)  # fmt: skip
def masked_fill(x, mask, value):
    """``x`` with a number ``value`` where the mask holds."""
    return jnp.where(mask, value, x)


@declaration(_InDtypeOfFirst, promote="common")(
    x=lambda g, mask: where(mask, 0, g), value=lambda g, mask: where(mask, g, 0), aten=".Tensor", node=1,
    family="masked_fill", records_integers=True, gradient_lies=gradient_kept,
)  # fmt: skip
def masked_fill_tensor(x, mask, value):
    """``x`` with the 0-dim ``value`` where the mask holds."""
    return jnp.where(mask, value, x)


def _inside(x, min, max, g):
    above = None if min is None else x >= min
    below = None if max is None else x <= max
    inside = below if above is None else above if below is None else above & below
    return where(inside, g, 0)


def masked(g, mask):
    """``g`` times a mask, which where it is False gives 0, but nan of what is not finite.

    Of a product with a mask XLA makes a selection, which gives 0 there.
    """
    return where(mask, g, g * 0)


def _below_min(x, min, max, g):
    return where(x < min if max is None else (x < min) & (min < max), g, 0)


def _above_max(x, min, max, g):
    return where(x > max if min is None else (x > max) | (max < min), g, 0)


def _clamp(x, min, max):
    x = x if min is None else jnp.maximum(x, min)
    return x if max is None else jnp.minimum(x, max)


@elementwise(x=_inside, real=True, node=1, convention=kink("at a bound", "1", "1/2"))
def clamp(x, min, max):
    """``x`` limited by two numbers, either of them None; ``max`` where they contradict each other."""
    return _clamp(x, min, max)


@elementwise(
    x=_inside, min=_below_min, max=_above_max, real=True, aten=".Tensor", family="clamp", convention=conventions.BOUND,
)  # fmt: skip
def clamp_tensor(x, min, max):
    """``x`` limited by two arrays, either of them None; ``max`` where they contradict each other."""
    return _clamp(x, min, max)


@elementwise(x=lambda x, min, g: where(x >= min, g, 0), real=True, convention=kink("at the bound", "1", "1/2"))
def clamp_min(x, min):
    """The greater of ``x`` and a number."""
    return jnp.maximum(x, min)


@elementwise(x=lambda x, max, g: where(x <= max, g, 0), real=True, convention=kink("at the bound", "1", "1/2"))
def clamp_max(x, max):
    """The smaller of ``x`` and a number."""
    return jnp.minimum(x, max)


@elementwise(
    x=lambda x, min, g: where(x >= min, g, 0), min=lambda x, min, g: where(x < min, g, 0), real=True, aten=".Tensor",
    node=1, family="clamp_min", convention=conventions.BOUND,
)  # fmt: skip
def clamp_min_tensor(x, min):
    """The greater of two; a tie's gradient goes to ``x``."""
    return jnp.maximum(x, min)


@elementwise(
    x=lambda x, max, g: where(x <= max, g, 0), max=lambda x, max, g: where(x > max, g, 0), real=True, aten=".Tensor",
    node=1, family="clamp_max", convention=conventions.BOUND,
)  # fmt: skip
def clamp_max_tensor(x, max):
    """The smaller of two; a tie's gradient goes to ``x``."""
    return jnp.minimum(x, max)


@elementwise(
    x=lambda x, y, g: where(x < y, 0, where(x == y, g / 2, g)),
    y=lambda x, y, g: where(x > y, 0, where(x == y, g / 2, g)),
    real=True,
)
def maximum(x, y):
    """The greater of two, nan if either is; a tie's gradient is shared."""
    return jnp.maximum(x, y)


@elementwise(
    x=lambda x, y, g: where(x > y, 0, where(x == y, g / 2, g)),
    y=lambda x, y, g: where(x < y, 0, where(x == y, g / 2, g)),
    real=True,
)
def minimum(x, y):
    """The smaller of two, nan if either is; a tie's gradient is shared."""
    return jnp.minimum(x, y)


@elementwise(
    x=lambda g, x, y: where((x >= y) | isnan(y), g, 0), y=lambda g, x, y: where((x >= y) | isnan(y), 0, g), real=True,
    convention=conventions.TIE,
)  # fmt: skip
def fmax(x, y):
    """The greater of two, the other one if one is nan; a tie's gradient goes to ``x``."""
    return jnp.fmax(x, y)


@elementwise(
    x=lambda g, x, y: where((x <= y) | isnan(y), g, 0), y=lambda g, x, y: where((x <= y) | isnan(y), 0, g), real=True,
    convention=conventions.TIE,
)  # fmt: skip
def fmin(x, y):
    """The smaller of two, the other one if one is nan; a tie's gradient goes to ``x``."""
    return jnp.fmin(x, y)


def _lerp(x, y, weight):
    """From whichever end is nearer, so that both ends are met exactly."""
    span = y - x
    return jnp.where(jnp.abs(weight) < 0.5, x + weight * span, y - span * (1 - weight))


@elementwise(
    x=lambda g, weight: g * (1 - conj(weight)), y=lambda g, weight: g * conj(weight), aten=".Scalar", rounds_once=True,
)  # fmt: skip
def lerp(x, y, weight):
    """``x + weight * (y - x)``, for a number ``weight``."""
    return _lerp(x, y, weight)


@elementwise(
    x=lambda g, weight: g * (1 - conj(weight)),
    y=lambda g, weight: g * conj(weight),
    weight=lambda g, x, y: g * conj(y - x),
    aten=".Tensor", node=1, family="lerp", saved={"end": "y"},
)  # fmt: skip
def lerp_tensor(x, y, weight):
    """``x + weight * (y - x)``."""
    return _lerp(x, y, weight)


@elementwise(
    x=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
)
def addcmul(x, tensor1, tensor2, value):
    """``x + value * tensor1 * tensor2``, for a number ``value``."""
    return x + value * tensor1 * tensor2


@elementwise(
    x=lambda g, tensor2: g,  # PyTorch keeps the divisor, whoever asks
    tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conj((value * tensor1) / (tensor2 * tensor2)),
    promote="float",
)
def addcdiv(x, tensor1, tensor2, value):
    """``x + value * tensor1 / tensor2``, for a number ``value``."""
    return x + value * tensor1 / tensor2
