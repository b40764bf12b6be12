"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.random import normal
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.utils import _standard_normal, formula, same_as

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution: ``exp(-z ** 2 / 2) / (scale sqrt(2 pi))`` with ``z = (x - loc) / scale``.

    Args:
        loc: the mean.
        scale: the standard deviation.

    >>> Normal(0.0, 2.0).variance
    tensor(4.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = {"loc": 0, "scale": 0}
    mean = same_as("loc")
    mode = same_as("loc")
    stddev = same_as("scale")
    variance = formula(lambda self: self.stddev.pow(2))

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, scale=scale)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + noise * self.scale

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
