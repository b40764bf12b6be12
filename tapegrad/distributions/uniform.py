"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.random import rand
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import formula

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution from ``low`` to ``high``.

    Args:
        low, high: the ends of the interval.

    >>> Uniform(0.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True
    _parts = {"low": 0, "high": 0}
    mean = formula(lambda self: (self.high + self.low) / 2)
    mode = formula(lambda self: math.nan * self.high)
    stddev = formula(lambda self: (self.high - self.low) / 12**0.5)
    variance = formula(lambda self: (self.high - self.low).pow(2) / 12)

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.low + rand(shape, dtype=self.low.dtype, device=self.low.device) * (self.high - self.low)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        is_inside = self.low.le(value) & self.high.gt(value)
        return is_inside.type_as(self.low).log() - (self.high - self.low).log()

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
