"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.comparison import isclose
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.functions.random import rand
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import same_as

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The distribution of what exceeds a threshold: ``(1 + c z) ** (-1 / c)`` is greater, ``exp(-z)`` if ``c`` is zero.

    Args:
        loc: the threshold.
        scale: ``z = (x - loc) / scale``.
        concentration: ``c``.

    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parts = {"loc": 0, "scale": 0, "concentration": 0}
    mode = same_as("loc")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _zero_or_not(self) -> tuple[Tensor, Tensor]:
        """Tell whether ``c`` is zero, and a ``c`` by which one may divide."""
        is_zero = isclose(self.concentration, zeros_like(self.concentration))
        return is_zero, where(is_zero, 1.0, self.concentration)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        z, (is_zero, c) = self._z(value), self._zero_or_not()
        power = 1 / c + 1 + zeros_like(z)
        otherwise = where(power == 0, power, power * (c * z).log1p())
        return -self.scale.log() - where(is_zero, z, otherwise)

    @validated
    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of how likely it is to be greater than ``value``."""
        z, (is_zero, c) = self._z(value), self._zero_or_not()
        return where(is_zero, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of how likely it is to be at most ``value``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        log_survival, (is_zero, c) = (-value).log1p(), self._zero_or_not()
        otherwise = self.loc + self.scale / c * (-c * log_survival).expm1()
        return where(is_zero, self.loc - self.scale * log_survival, otherwise)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        has_mean = self.concentration < 1
        mean = self.loc + self.scale / (1 - where(has_mean, self.concentration, 0.5))
        return where(has_mean, mean, math.nan)

    @property
    def variance(self) -> Tensor:
        has_variance = self.concentration < 0.5
        c = where(has_variance, self.concentration, 0.25)
        return where(has_variance, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
