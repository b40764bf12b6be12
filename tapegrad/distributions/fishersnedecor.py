"""Fisher's and Snedecor's F distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two chi-squared numbers, each divided by its degrees of freedom.

    Args:
        df1, df2: the degrees of freedom of the numerator and of the denominator.

    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parts = {"df1": 0, "df2": 0, "_gamma1": 0, "_gamma2": 0}

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        shape = self._keep(df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        tiny = finfo(self.df1.dtype).tiny
        numerator = self._gamma1.rsample(sample_shape)
        denominator = self._gamma2.rsample(sample_shape).clamp(min=tiny)
        return (numerator / denominator).clamp(min=tiny)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = half1.lgamma() + half2.lgamma() - (half1 + half2).lgamma()
        power = half1 * ratio.log() + (half1 - 1) * value.log()
        return power - (half1 + half2) * (ratio * value).log1p() - normalizer
