"""The Poisson distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.random import poisson
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.utils import broadcast_all, formula, same_as

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The Poisson distribution of counts: ``rate ** k exp(-rate) / k!``.

    Args:
        rate: the mean.

    >>> Poisson(4.0).stddev
    tensor(2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parts = {"rate": 0}
    mean = same_as("rate")
    variance = same_as("rate")
    mode = formula(lambda self: self.rate.floor())

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, rate=rate)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Tensor:
        return x.exp()
