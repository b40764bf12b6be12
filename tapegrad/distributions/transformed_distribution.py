"""``TransformedDistribution``: what a distribution becomes under transforms."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Self

from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.independent import Independent
from tapegrad.distributions.transforms import ComposeTransform, Transform
from tapegrad.distributions.utils import _sum_rightmost, same_as

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``y = f(x)``: its density is that of ``x``, over how much ``f`` stretches volumes there.

    Args:
        base_distribution: that of ``x``.
        transforms: a transform, or a list of them, the first of which comes first.

    Raises:
        ValueError: they are no transforms, or the distribution has too few dimensions.

    >>> from tapegrad.distributions import AffineTransform, Normal
    >>> TransformedDistribution(Normal(0.0, 1.0), AffineTransform(1.0, 2.0)).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    arg_constraints: dict[str, Any] = {}
    _parts: dict[str, int] = {}
    has_rsample = same_as("base_dist.has_rsample")

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = self._listed(transforms)
        transform = ComposeTransform(self.transforms)
        domain_dims, codomain_dims = transform.domain.event_dim, transform.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        if len(base_shape) < domain_dims:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {domain_dims}, but got {base_shape}."
            )
        shape = transform.forward_shape(base_shape)
        expanded = Size(transform.inverse_shape(shape))
        if base_shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_dims])
        if domain_dims > base_dims:
            base_distribution = Independent(base_distribution, domain_dims - base_dims)
        self.base_dist = base_distribution
        event_dim = max(codomain_dims, base_dims + codomain_dims - domain_dims)
        if len(shape) < event_dim:
            raise AssertionError(f"forward_shape length {len(shape)} must be >= event_dim {event_dim}")
        cut = len(shape) - event_dim
        super().__init__(Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    @staticmethod
    def _listed(transforms: Any) -> list[Transform]:
        if isinstance(transforms, Transform):
            return [transforms]
        if not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        return transforms

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        shape = functools.reduce(
            lambda shape, t: t.inverse_shape(shape), reversed(self.transforms), new.batch_shape + self.event_shape
        )
        new.base_dist = self.base_dist.expand(Size(shape[: len(shape) - len(self.base_dist.event_shape)]))
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        dims = len(self.event_shape) - support.event_dim
        return constraints.independent(support, dims) if dims > 0 else support

    def _transformed(self, x: Tensor) -> Tensor:
        return functools.reduce(lambda x, transform: transform(x), self.transforms, x)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        event_dim, terms, y = len(self.event_shape), [], value
        for transform in reversed(self.transforms):
            x, dims = transform.inv(y), transform.domain.event_dim
            event_dim += dims - transform.codomain.event_dim
            terms.append(_sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - dims))
            y = x
        log_prob = _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))
        return functools.reduce(operator.sub, terms, log_prob)

    def _turned(self, value: Tensor) -> Tensor:
        """A probability, or one less it if the transforms decrease."""
        sign = functools.reduce(operator.mul, (t.sign for t in self.transforms), 1)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._turned(value)))
