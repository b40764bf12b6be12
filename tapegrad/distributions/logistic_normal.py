"""The logistic normal distribution."""

from __future__ import annotations

from typing import Any

from tapegrad.distributions import constraints
from tapegrad.distributions.normal import Normal
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import StickBreakingTransform
from tapegrad.distributions.utils import same_as

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors of probabilities, which sticks of normal lengths are broken into.

    Args:
        loc, scale: mean and standard deviation of ``n`` numbers, of which ``n + 1`` probabilities are made.

    >>> LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _parts: dict[str, int] = {}
    loc = same_as("base_dist.base_dist.loc", "The means.")
    scale = same_as("base_dist.base_dist.scale", "The standard deviations.")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)
