"""The continuous Bernoulli distribution.

Note [Near one half]
Its normalizer is ``2 atanh(1 - 2 p) / (1 - 2 p)``, its mean and the like have similar quotients, which are zero over
zero where ``p`` is one half. Near it, between ``lims``, the first terms of their Taylor series stand for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.losses import binary_cross_entropy_with_logits
from tapegrad._src.functions.random import rand
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.odds import GivenByOdds
from tapegrad.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(GivenByOdds, ExponentialFamily):
    """Numbers between zero and one: proportional to ``probs ** x (1 - probs) ** (1 - x)``.

    See Loaiza-Ganem and Cunningham 2019, *The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders*.

    Args:
        probs: the parameter, between zero and one.
        logits: or its log-odds.
        lims: where series are used: see Note [Near one half].

    Raises:
        ValueError: both are given, or none.

    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = {"probs": 0, "logits": 0}

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        shape = self._keep_odds(probs, logits)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_far(self, x: Tensor, center: float = 0.0) -> Tensor:
        return (x <= self._lims[0] - center) | (x > self._lims[1] - center)

    def _either(self, far: Any, near: Tensor) -> Tensor:
        """The value of a formula far from one half, and of the series there; neither sees the other's numbers."""
        is_far = self._is_far(self.probs)
        return where(is_far, far(where(is_far, self.probs, self._lims[0])), near)

    def _cont_bern_log_norm(self) -> Tensor:
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return self._either(self._far_log_norm, series)

    @staticmethod
    def _far_log_norm(p: Tensor) -> Tensor:
        is_low = p <= 0.5
        low, high = where(is_low, p, 0.0), where(is_low, 1.0, p)
        distance = where(is_low, (-2.0 * low).log1p(), (2.0 * high - 1.0).log())
        return ((-p).log1p() - p.log()).abs().log() - distance

    @property
    def mean(self) -> Tensor:
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return self._either(lambda p: p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()), series)

    @property
    def variance(self) -> Tensor:
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return self._either(
            lambda p: p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2), series
        )

    def _uniform(self, sample_shape: Sequence[int]) -> Tensor:
        return rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self.icdf(self._uniform(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(self._uniform(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        inside = self._either(lambda p: (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0), value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        return self._either(
            lambda p: ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p()), value
        )

    def entropy(self) -> Tensor:
        log_of_zero, log_of_one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log_of_zero - log_of_one) - self._cont_bern_log_norm() - log_of_zero

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Tensor:
        is_far = self._is_far(x, 0.5)
        far = where(is_far, x, self._lims[0] - 0.5)
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return where(is_far, far.expm1().abs().log() - far.abs().log(), series)
