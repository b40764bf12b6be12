"""The Pareto distribution."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.exponential import Exponential
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import AffineTransform, ExpTransform
from tapegrad.distributions.utils import same_as

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution: ``alpha scale ** alpha / x ** (alpha + 1)`` from ``scale`` on.

    Args:
        scale: the least number.
        alpha: its shape.

    >>> Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parts = {"scale": 0, "alpha": 0}
    mode = same_as("scale")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._keep(scale=scale, alpha=alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
