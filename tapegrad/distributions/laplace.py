"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import formula, same_as

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution: ``exp(-|x - loc| / scale) / (2 scale)``.

    Args:
        loc: the mean.
        scale: how wide it is.

    >>> Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = {"loc": 0, "scale": 0}
    mean = same_as("loc")
    mode = same_as("loc")
    variance = formula(lambda self: 2 * self.scale.pow(2))
    stddev = formula(lambda self: 2**0.5 * self.scale)

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, scale=scale)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        eps = finfo(self.loc.dtype).eps
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        z = value - self.loc
        return 0.5 - 0.5 * z.sign() * (-z.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
