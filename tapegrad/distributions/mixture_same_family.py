"""``MixtureSameFamily``: a mixture of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.categorical import Categorical
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import formula, same_as

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The mixture of the distributions along the last batch dimension of ``component_distribution``.

    Args:
        mixture_distribution: a ``Categorical``, which says how likely each component is.
        component_distribution: the components.

    Raises:
        ValueError: they are something else, or don't fit.

    >>> from tapegrad.distributions import Normal
    >>> mixture = Categorical(torch.tensor([0.25, 0.75]))
    >>> MixtureSameFamily(mixture, Normal(torch.tensor([0.0, 4.0]), 1.0)).mean
    tensor(3.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False
    _parts = {"_component_distribution": 1, "_mixture_distribution": 0}
    mixture_distribution = same_as("_mixture_distribution", "How likely each component is.")
    component_distribution = same_as("_component_distribution", "The components.")
    mean = formula(lambda self: self._averaged(self.component_distribution.mean))

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        weights, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        for size, other in zip(reversed(weights), reversed(components[:-1]), strict=False):
            if size != 1 and other != 1 and size != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                    f"`component_distribution.batch_shape`({components[:-1]})"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != components[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components[-1]})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components[:-1], component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _pad(self, x: Tensor) -> Tensor:
        """Values with a dimension for components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _averaged(self, values: Tensor) -> Tensor:
        """The mean over components of what each of them has."""
        weights = self.mixture_distribution.probs
        return (weights.reshape(*weights.shape, *[1] * self._event_ndims) * values).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        distances = self.component_distribution.mean - self._pad(self.mean)
        return self._averaged(self.component_distribution.variance) + self._averaged(distances.pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    @validated
    def log_prob(self, x: Tensor) -> Tensor:
        log_weights = self.mixture_distribution.logits.log_softmax(-1)
        return (self.component_distribution.log_prob(self._pad(x)) + log_weights).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            dim, event_shape = len(sample_shape) + len(self.batch_shape), self.event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            places = chosen.reshape(*chosen.shape, 1, *[1] * len(event_shape)).expand(*chosen.shape, 1, *event_shape)
            return samples.gather(dim, places).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
