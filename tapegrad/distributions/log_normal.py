"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.normal import Normal
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import ExpTransform
from tapegrad.distributions.utils import formula, same_as

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of the exponential of a normal number.

    Args:
        loc, scale: mean and standard deviation of that number.

    >>> LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parts: dict[str, int] = {}
    loc = same_as("base_dist.loc", "The mean of the logarithm.")
    scale = same_as("base_dist.scale", "The standard deviation of the logarithm.")
    mean = formula(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = formula(lambda self: (self.loc - self.scale.square()).exp())

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
