"""The Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.losses import binary_cross_entropy_with_logits
from tapegrad._src.functions.random import bernoulli
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.odds import GivenByOdds
from tapegrad.distributions.utils import broadcast_all, formula, same_as

__all__ = ["Bernoulli"]


class Bernoulli(GivenByOdds, ExponentialFamily):
    """Zero or one.

    Args:
        probs: how likely one is.
        logits: or its log-odds.

    Raises:
        ValueError: both are given, or none.

    >>> Bernoulli(0.25).variance
    tensor(0.1875)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parts = {"probs": 0, "logits": 0}
    mean = same_as("probs")
    mode = formula(lambda self: where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs)))
    variance = formula(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._keep_odds(probs, logits), validate_args=validate_args)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._counting_up(2, self._param, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Any) -> Tensor:
        return x.exp().log1p()
