"""Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.chi2 import Chi2
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import _standard_normal, formula, same_as

__all__ = ["StudentT"]


class StudentT(Distribution):
    """The distribution of a normal number over the root of a chi-squared one, divided by its degrees of freedom.

    Args:
        df: the degrees of freedom.
        loc: the mean.
        scale: what the ratio is multiplied by.

    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = {"df": 0, "loc": 0, "scale": 0, "_chi2": 0}
    mode = same_as("loc")
    mean = formula(lambda self: where(self.df > 1, self.loc, math.nan))

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        shape = self._keep(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape, validate_args=validate_args)

    @property
    def variance(self) -> Tensor:
        df = where(self.df > 2, self.df, 3.0)
        variance = self.scale.pow(2) * df / (df - 2)
        return where(self.df > 2, variance, where(self.df > 1, math.inf, math.nan).to(variance))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * noise * (squares / self.df).rsqrt()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        z, df = (value - self.loc) / self.scale, self.df
        normalizer = self.scale.log() + 0.5 * (df.log() + math.log(math.pi)) + self._log_gamma_ratio()
        return -0.5 * (df + 1.0) * (z**2.0 / df).log1p() - normalizer

    def _log_gamma_ratio(self) -> Tensor:
        return (0.5 * self.df).lgamma() - (0.5 * (self.df + 1.0)).lgamma()

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = self._log_gamma_ratio() + 0.5 * math.log(math.pi)
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
