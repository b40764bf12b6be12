"""``Independent``: a batch of distributions as one over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution
from tapegrad.distributions.utils import _sum_rightmost, same_as

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch dimensions count as one value, with independent parts.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions.

    Raises:
        ValueError: it has fewer.

    >>> from tapegrad.distributions import Normal
    >>> d = Independent(Normal(torch.zeros(2, 3), 1.0), 1)
    >>> d.batch_shape, d.event_shape
    (torch.Size([2]), torch.Size([3]))
    """

    arg_constraints: dict[str, Any] = {}
    _parts: dict[str, int] = {}
    has_rsample = same_as("base_dist.has_rsample")
    mean = same_as("base_dist.mean")
    mode = same_as("base_dist.mode")
    variance = same_as("base_dist.variance")

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch_shape = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch_shape)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        shape, cut = batch_shape + base_distribution.event_shape, len(batch_shape) - reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.base_dist = self.base_dist.expand(Size((*batch_shape, *self.event_shape[: self.reinterpreted_batch_ndims])))
        return new

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        support, dims = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(support, dims) if dims else support

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All that can be drawn; see ``Distribution.enumerate_support``.

        Raises:
            NotImplementedError: dimensions of the batch count as those of an event.
        """
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
