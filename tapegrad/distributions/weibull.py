"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.creation import ones_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.exponential import Exponential
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import AffineTransform, PowerTransform
from tapegrad.distributions.utils import euler_constant, formula

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """``scale`` times the ``1 / concentration``-th power of an exponential number.

    Args:
        scale: its scale.
        concentration: its shape.

    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parts = {"scale": 0, "concentration": 0, "concentration_reciprocal": 0}
    mean = formula(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._keep(scale=scale, concentration=concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        power = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * power).lgamma().exp() - (2 * (1 + power).lgamma()).exp())

    def entropy(self) -> Tensor:
        power = self.concentration_reciprocal
        return euler_constant * (1 - power) + (self.scale * power).log() + 1
