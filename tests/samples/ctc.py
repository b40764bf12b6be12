"""Samples of the operators in ``ops/ctc.py``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from samples import Sample, array
from tapegrad.ops.operator import TABLE

STEPS, LENGTHS = np.array([4, 3]), np.array([2, 1])
LABELS = np.array([[1, 2], [2, 0]])
LOG_PROBABILITIES = np.asarray(jax.nn.log_softmax(array(4, 2, 3), 2), "float64")
CTC = {"longest": 2, "blank": 0, "zero_infinity": False}


def with_probabilities(log_probs, targets, steps, lengths, **settings):
    """The kernel, as it is differentiated: the sum of the probabilities, which does not change, has a derivative."""
    loss, alpha = TABLE["ctc_loss"].function(log_probs, targets, steps, lengths, **settings)
    counts = jnp.arange(log_probs.shape[0])[:, None, None] < jnp.asarray(steps)[:, None]
    total = jnp.sum(jnp.where(counts, jnp.exp(log_probs), 0), (0, 2))
    return loss + total - jax.lax.stop_gradient(total), jax.lax.stop_gradient(alpha)


SAMPLES = [
    Sample(
        "ctc_loss", (LOG_PROBABILITIES, LABELS, STEPS, LENGTHS), CTC, smooth=False, forward=False, twice=False,
        oracle=with_probabilities,
    ),
    Sample(
        "ctc_gradient", (array(2), LOG_PROBABILITIES, LABELS, STEPS, LENGTHS, array(2, seed=1), array(2, 4, 5)), CTC,
        derivable=False, twice=False,
    ),
]  # fmt: skip
