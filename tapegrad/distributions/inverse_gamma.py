"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.gamma import Gamma
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import PowerTransform
from tapegrad.distributions.utils import formula, same_as

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of one over a gamma number.

    Args:
        concentration, rate: those of the gamma distribution.

    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parts: dict[str, int] = {}
    concentration = same_as("base_dist.concentration", "That of the gamma distribution.")
    rate = same_as("base_dist.rate", "That of the gamma distribution.")
    mean = formula(lambda self: where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf))
    mode = formula(lambda self: self.rate / (self.concentration + 1))

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return where(c > 2, self.rate.square() / ((c - 1).square() * (c - 2)), math.inf)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()
