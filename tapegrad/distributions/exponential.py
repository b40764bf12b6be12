"""The exponential distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.utils import formula

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The exponential distribution: ``rate exp(-rate x)`` of numbers that aren't negative.

    Args:
        rate: one over the mean.

    >>> Exponential(4.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = {"rate": 0}
    mean = formula(lambda self: self.rate.reciprocal())
    mode = formula(lambda self: zeros_like(self.rate))
    stddev = formula(lambda self: self.rate.reciprocal())
    variance = formula(lambda self: self.rate.pow(-2))

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, rate=rate)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Tensor:
        return -(-x).log()
