"""Connectionist temporal classification: the likelihood of labels, over all ways to spread them over time.

Note [Paths through labels]
A path gives each of T steps a label or a blank; runs of one label count once, blanks not at all. The labels, with
blanks before, between and behind, are the 2 S + 1 *places* of a path, which stays at a place, goes on to the next, or
skips a blank between different labels. ``alpha`` is the logarithm of the likelihood of all that leads to a place at a
step, and ``beta`` of all that can follow, that step included in both (Graves et al., 2006, equations 5 to 11). A path
is there with the probability exp(alpha + beta - log p + loss), and minus the sum of these over the places of a label is
the derivative of the loss by its log p. As in PyTorch, exp(log p) is added to it: ``log_softmax``, which is expected
before, takes it away again.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from tapegrad._src.execution.tiers.host_trace import scan
from tapegrad.ops.conventions import rule
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import general


def _labels(targets: Any, lengths: Any, longest: int, blank: int) -> Any:
    """The label of each place: (batch, 2 longest + 1)."""
    if targets.ndim == 1:
        starts = jnp.cumsum(lengths) - lengths
        targets = jnp.take(targets, starts[:, None] + jnp.arange(longest), mode="clip") if targets.size else targets
    targets = jnp.broadcast_to(targets.reshape(lengths.shape[0], -1)[:, :longest], (lengths.shape[0], longest))
    places = jnp.full((lengths.shape[0], 2 * longest + 1), blank, targets.dtype)
    return places.at[:, 1::2].set(targets)


def _skips(labels: Any) -> Any:
    """0 where a path may come from two places before, -inf where not."""
    before = jnp.pad(labels, ((0, 0), (2, 0)))[:, :-2]
    allowed = (labels != before) & (jnp.arange(labels.shape[1]) >= 2)
    return jnp.where(allowed, 0.0, -jnp.inf)


def _moved(alpha: Any, by: int) -> Any:
    """The places shifted by one or two, with -inf where nothing comes from."""
    width = alpha.shape[1]
    if by > 0:
        return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=-jnp.inf)[:, :width]
    return jnp.pad(alpha, ((0, 0), (0, -by)), constant_values=-jnp.inf)[:, -by:]


def _log_sum(*terms: Any) -> Any:
    """The logarithm of a sum of exponentials, -inf if all of them are 0."""
    top = terms[0]
    for term in terms[1:]:
        top = jnp.maximum(top, term)
    safe = jnp.where(jnp.isneginf(top), 0, top)
    total = jnp.exp(terms[0] - safe)
    for term in terms[1:]:
        total = total + jnp.exp(term - safe)
    return jnp.log(total) + safe


def _picked(log_probs: Any, labels: Any) -> Any:
    """The log-probability of the label of each place: (steps, batch, places)."""
    index = jnp.broadcast_to(labels, (log_probs.shape[0], *labels.shape))
    return jnp.take_along_axis(log_probs, index, 2, mode="clip")


def _forward(picked: Any, labels: Any, lengths: Any) -> Any:
    """``alpha`` of all steps: (steps, batch, places). See Note [Paths through labels]."""
    place, skips = jnp.arange(labels.shape[1]), _skips(labels).astype(picked.dtype)
    first = jnp.where(place < jnp.where(lengths > 0, 2, 1)[:, None], picked[0], -jnp.inf)

    def step(alpha: Any, own: Any) -> Any:
        alpha = _log_sum(alpha, _moved(alpha, 1), _moved(alpha, 2) + skips) + own
        return alpha, alpha

    return jnp.concatenate([first[None], scan(step, first, picked[1:])[1]])


def _backward(picked: Any, labels: Any, steps: Any, lengths: Any) -> Any:
    """``beta`` of all steps, -inf behind the last one of each: (steps, batch, places)."""
    place, skips = jnp.arange(labels.shape[1]), _skips(labels).astype(picked.dtype)
    ends = 2 * lengths[:, None]
    is_end = (place == ends) | ((place == ends - 1) & (ends > 0))
    skips = _moved(skips, -2)

    def step(beta: Any, given: Any) -> Any:
        own, time = given
        going_on = _log_sum(beta, _moved(beta, -1), _moved(beta, -2) + skips) + own
        starting = jnp.where(is_end, own, -jnp.inf)
        last = steps[:, None] - 1
        beta = jnp.where(time == last, starting, jnp.where(time < last, going_on, -jnp.inf))
        return beta, beta

    nothing = jnp.full(picked.shape[1:], -jnp.inf, picked.dtype)
    return scan(step, nothing, (picked, jnp.arange(picked.shape[0])), reverse=True)[1]


@general(
    log_probs=lambda g_loss, log_probs, targets, steps, lengths, loss, alpha, longest, blank, zero_infinity: (
        ctc_gradient(
            g_loss, log_probs, targets, steps, lengths, loss, alpha,
            longest=longest, blank=blank, zero_infinity=zero_infinity,
        )
    ),
    outputs=("loss", "alpha"), real=True, aten="_ctc_loss",
    saved={"result0": "loss", "result1": "alpha", "input_lengths": "steps", "target_lengths": "lengths"},
    convention=rule("everywhere", "that of probabilities which add up to 1", "that of any numbers"),
)  # fmt: skip
def ctc_loss(log_probs, targets, steps, lengths, *, longest, blank, zero_infinity):
    """Minus the log-likelihood of each sequence of labels, and ``alpha`` (batch, steps, places). See the Note.

    ``log_probs`` is (steps, batch, classes), ``targets`` (batch, at least ``longest``), or all behind one another;
    ``steps`` and ``lengths`` (batch,) say how many count. ``longest`` is the greatest of ``lengths``.
    """
    labels = _labels(targets, lengths, longest, blank)
    alpha = _forward(_picked(log_probs, labels), labels, lengths)
    last = jnp.take_along_axis(alpha, jnp.maximum(steps - 1, 0)[None, :, None], 0)[0]
    ends = jnp.stack([2 * lengths, jnp.maximum(2 * lengths - 1, 0)], 1)
    total, before = jnp.moveaxis(jnp.take_along_axis(last, ends, 1), 1, 0)
    loss = -_log_sum(total, jnp.where(lengths > 0, before, -jnp.inf))
    nothing = jnp.where(lengths > 0, jnp.inf, 0.0).astype(loss.dtype)
    return jnp.where(steps > 0, loss, nothing), jnp.moveaxis(alpha, 0, 1)


_NO_SECOND = underivable("aten::_ctc_loss_backward")


@general(
    x=_NO_SECOND, log_probs=_NO_SECOND, real=True, aten="_ctc_loss_backward", node="torch::autograd::NotImplemented",
)  # fmt: skip
def ctc_gradient(x, log_probs, targets, steps, lengths, loss, alpha, *, longest, blank, zero_infinity):
    """The gradient of the log-probabilities, when ``x`` is that of the losses. See Note [Paths through labels].

    nan where no path leads to the labels, or 0 with ``zero_infinity``; 0 behind the last step.
    """
    labels = _labels(targets, lengths, longest, blank)
    picked = _picked(log_probs, labels)
    both = jnp.moveaxis(alpha, 0, 1) + _backward(picked, labels, steps, lengths)
    there = jnp.where(jnp.isneginf(both), 0, jnp.exp(both - picked + loss[:, None]))
    time, batch = jnp.indices(log_probs.shape[:2])[:, :, :, None]
    occupied = jnp.zeros_like(log_probs).at[time, batch, labels].add(there, mode="drop")
    lost = jnp.isinf(loss)[:, None]
    gradient = jnp.where(lost, jnp.nan, jnp.exp(log_probs) - occupied) * x[:, None]
    counts = jnp.arange(log_probs.shape[0])[:, None, None] < steps[:, None]
    return jnp.where(counts & ~(lost & zero_infinity), gradient, 0)
