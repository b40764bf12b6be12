"""The beta distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.joining import stack
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.dirichlet import Dirichlet
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.utils import broadcast_all, formula

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution over probabilities: proportional to ``x ** (a - 1) (1 - x) ** (b - 1)``.

    It is that of the first of two numbers of a Dirichlet distribution.

    Args:
        concentration1, concentration0: ``a`` and ``b``.

    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parts = {"_dirichlet": 0}
    mean = formula(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = formula(lambda self: self._dirichlet.mode[..., 0])

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """``a`` of the density."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """``b`` of the density."""
        return self._dirichlet.concentration[..., 1]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
