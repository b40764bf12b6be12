"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.creation import full_like, ones_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import AffineTransform, ExpTransform
from tapegrad.distributions.uniform import Uniform
from tapegrad.distributions.utils import euler_constant, formula, same_as

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, of ``loc - scale log(-log(u))`` for uniform ``u``.

    Args:
        loc: the mode.
        scale: how wide it is.

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parts = {"loc": 0, "scale": 0}
    mode = same_as("loc")
    mean = formula(lambda self: self.loc + self.scale * euler_constant)
    stddev = formula(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = formula(lambda self: self.stddev.pow(2))

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._keep(loc=loc, scale=scale)
        info = finfo(self.loc.dtype)
        low, high = full_like(self.loc, info.tiny), full_like(self.loc, 1 - info.eps)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
