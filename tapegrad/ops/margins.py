"""Losses of classes whose scores should stand apart by a margin; as in PyTorch, they have a first derivative only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad.ops.checks import checked, expect_same_scalar_type, refuse_dtypes
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general
from tapegrad.ops.losses import reduced


def _rows(x: Any) -> Any:
    """Scores (examples, classes), also of a single example, or a single class."""
    return x.reshape(-1, x.shape[-1]) if x.ndim == 2 else x.reshape(1, x.size)


def _share(x: Any, reduction: str, count: int) -> Any:
    """The gradient of each example's loss (examples, 1), from that of the result."""
    x = jnp.broadcast_to(x.reshape(-1), (count,))[:, None]
    return x / count if reduction == "mean" else x


def _check_single(specs: Sequence, settings: dict) -> None:
    x, _, weight = specs
    refuse_dtypes("multi_margin_loss_cpu_kernel", x, bool=True, integral=True, complex=True)
    expect_same_scalar_type(x, weight)


def _violations(rows: Any, target: Any, margin: float) -> tuple[Any, Any]:
    """By how much each class comes too near to the target (0 for that itself and for nan), and the targets' indices."""
    index = target.reshape(-1, 1)
    distance = margin - jnp.take_along_axis(rows, index, 1, mode="clip") + rows
    return jnp.where((jnp.arange(rows.shape[1]) == index) | ~(distance > 0), 0, distance), index


@checked(_check_single)
@general(
    x=lambda g, x, target, weight, p, margin, reduction: multi_margin_gradient(
        g, x, target, weight, p=p, margin=margin, reduction=reduction
    ),
    real=True,
)
def multi_margin_loss(x, target, weight=None, *, p, margin, reduction):
    """``max(0, margin - x[target] + x[i])**p``, averaged over the classes ``i``, times the weight of the target's."""
    rows = _rows(x)
    violations, index = _violations(rows, target, margin)
    losses = jnp.sum(violations**p, 1) / rows.shape[1]
    if weight is not None:
        losses = losses * weight[index[:, 0]]
    return reduced(losses.reshape(target.shape), reduction)


_NO_SECOND = underivable("aten::multi_margin_loss_backward")


@general(
    x=_NO_SECOND, scores=_NO_SECOND, real=True, aten="multi_margin_loss_backward",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def multi_margin_gradient(x, scores, target, weight=None, *, p, margin, reduction):
    """The gradient of the scores, when ``x`` is that of the loss."""
    rows = _rows(scores)
    violations, index = _violations(rows, target, margin)
    slopes = (violations > 0).astype(rows.dtype) if p == 1 else 2 * violations
    if weight is not None:
        slopes = slopes * weight[index]
    own = jnp.where(jnp.arange(rows.shape[1]) == index, -jnp.sum(slopes, 1, keepdims=True), slopes)
    return (own / rows.shape[1] * _share(x, reduction, rows.shape[0])).reshape(scores.shape)


# -- several labels ----------------------------------------------------------------------------------------------------


def _named(target: Any, classes: int) -> tuple[Any, Any]:
    """Which places of the lists of labels count, those before the first -1, and which classes they name."""
    counts = jnp.cumprod(target >= 0, axis=1).astype(bool)
    rows = jnp.arange(target.shape[0])[:, None]
    named = jnp.zeros((target.shape[0], classes), bool).at[rows, jnp.where(counts, target, classes)]
    return counts, named.set(True, mode="drop")


def _pairs(rows: Any, target: Any) -> tuple[Any, Any]:
    """By how much classes come too near to labels, (examples, labels, classes), and which classes are labels."""
    counts, named = _named(target, rows.shape[1])
    distance = 1 - jnp.take_along_axis(rows, target, 1, mode="clip")[:, :, None] + rows[:, None]
    return jnp.where(counts[:, :, None] & ~named[:, None] & (distance > 0), distance, 0), named


def _check_several(specs: Sequence, settings: dict) -> None:
    kernel = "multilabel_margin_loss_forward_out_frame"
    refuse_dtypes(kernel, specs[0], bool=True, integral=True, complex=True)


@checked(_check_several)
@general(
    x=lambda g_out, x, target, reduction: multilabel_margin_gradient(g_out, x, target, reduction=reduction),
    outputs=("out", "is_target"), real=True, aten="multilabel_margin_loss_forward",
    node="MultilabelMarginLossBackward0", flowing=1,
)  # fmt: skip
def multilabel_margin_loss(x, target, *, reduction):
    """``max(0, 1 - x[j] + x[i])`` for each label ``j`` and each class ``i`` that is none, over the number of classes.

    Labels end at the first -1. The second output is 1 for the classes that are labels.
    """
    rows, labels = _rows(x), _rows(target)
    violations, named = _pairs(rows, labels)
    losses = jnp.sum(violations, (1, 2)) / rows.shape[1]
    return reduced(losses.reshape(x.shape[:-1]), reduction), named.reshape(x.shape).astype(x.dtype)


_NO_SECOND_OF_SEVERAL = underivable("aten::multilabel_margin_loss_backward")


@general(
    x=_NO_SECOND_OF_SEVERAL, scores=_NO_SECOND_OF_SEVERAL, real=True, aten="multilabel_margin_loss_backward",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def multilabel_margin_gradient(x, scores, target, *, reduction):
    """The gradient of the scores, when ``x`` is that of the loss."""
    rows, labels = _rows(scores), _rows(target)
    slopes = (_pairs(rows, labels)[0] > 0).astype(rows.dtype) / rows.shape[1]
    examples = jnp.arange(rows.shape[0])[:, None]
    own = jnp.sum(slopes, 1).at[examples, jnp.maximum(labels, 0)].add(-jnp.sum(slopes, 2), mode="drop")
    return (own * _share(x, reduction, rows.shape[0])).reshape(scores.shape)
