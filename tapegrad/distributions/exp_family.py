"""``ExponentialFamily``: densities ``exp(natural parameters . statistics - log normalizer + carrier measure)``."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad
from tapegrad.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """The base of distributions whose log normalizer, as a function of natural parameters, says everything.

    Its gradient is the mean of the statistics, from which follow the entropy and divergences from others of the family.
    A subclass defines ``_natural_params``, ``_log_normalizer`` and ``_mean_carrier_measure``; ``batch_shape``,
    ``event_shape`` and ``validate_args`` are as in ``Distribution``.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        carried = self._mean_carrier_measure
        parameters = [one.detach().requires_grad_() for one in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        means = grad(normalizer.sum(), parameters, create_graph=True)
        products = [
            (one * mean).reshape((*self._batch_shape, -1)).sum(-1) for one, mean in zip(parameters, means, strict=True)
        ]
        return normalizer - carried - sum(products)
