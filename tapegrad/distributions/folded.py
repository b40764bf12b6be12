"""``Folded``: the absolute value of what is symmetric about zero."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import AbsTransform
from tapegrad.distributions.utils import formula, same_as


class Folded(TransformedDistribution):
    """The distribution of ``|x|``, where ``x`` has a symmetric one with mode zero: twice its density.

    Args:
        base_distribution: that of ``x``.
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale = same_as("base_dist.scale", "That of ``x``.")
    mode = formula(lambda self: zeros_like(self.scale))

    def __init__(self, base_distribution: Any, validate_args: bool | None = None) -> None:
        super().__init__(base_distribution, AbsTransform(), validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Tensor:
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
