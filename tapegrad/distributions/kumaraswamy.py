"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.functions.creation import ones_like, zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import AffineTransform, PowerTransform
from tapegrad.distributions.uniform import Uniform
from tapegrad.distributions.utils import euler_constant, formula

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution: ``a b x ** (a - 1) (1 - x ** a) ** (b - 1)`` between zero and one.

    Args:
        concentration1, concentration0: ``a`` and ``b``.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parts = {"concentration1": 0, "concentration0": 0}
    mean = formula(lambda self: self._moment(1))
    variance = formula(lambda self: self._moment(2) - self.mean.pow(2))

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._keep(concentration1=concentration1, concentration0=concentration0)
        a, b = self.concentration1, self.concentration0
        base = Uniform(zeros_like(b), ones_like(b), validate_args=validate_args)
        transforms = [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The mean of the n-th power: ``b`` times the beta function of ``1 + n / a`` and ``b``."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
