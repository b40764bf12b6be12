"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.creation import full
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import formula, same_as

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution: ``1 / (pi scale (1 + z ** 2))`` with ``z = (x - loc) / scale``; it has no mean.

    Args:
        loc: the median.
        scale: half of the distance between the quartiles.

    >>> Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = {"loc": 0, "scale": 0}
    mode = same_as("loc")
    mean = formula(lambda self: self._constant(math.nan))
    variance = formula(lambda self: self._constant(math.inf))

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, scale=scale)

    def _constant(self, number: float) -> Tensor:
        return full(self._extended_shape(), number, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
