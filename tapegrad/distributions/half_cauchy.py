"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions.cauchy import Cauchy
from tapegrad.distributions.folded import Folded
from tapegrad.distributions.utils import same_as

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The distribution of the absolute value of a Cauchy number with median zero; its mean is infinite.

    Args:
        scale: its scale, which is the median.

    >>> HalfCauchy(2.0).cdf(torch.tensor(2.0))
    tensor(0.5000)
    """

    _parts: dict[str, int] = {}
    mean = same_as("base_dist.variance")
    variance = same_as("base_dist.variance")

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args=validate_args)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)
