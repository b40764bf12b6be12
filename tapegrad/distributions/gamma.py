"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.samplers import _standard_gamma
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.utils import formula

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution: ``rate ** c x ** (c - 1) exp(-rate x) / gamma(c)`` with ``c = concentration``.

    Args:
        concentration: its shape.
        rate: one over its scale.

    >>> Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = {"concentration": 0, "rate": 0}
    mean = formula(lambda self: self.concentration / self.rate)
    mode = formula(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = formula(lambda self: self.concentration / self.rate.pow(2))

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, concentration=concentration, rate=rate)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # not recorded, as rounding isn't
        return value

    def log_prob(self, value: Any) -> Tensor:
        return self._log_prob(as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))

    @validated
    def _log_prob(self, value: Tensor) -> Tensor:
        return (
            self.concentration.xlogy(self.rate)
            + (self.concentration - 1).xlogy(value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return self.concentration.igamma(self.rate * value)

    def entropy(self) -> Tensor:
        c = self.concentration
        return c - self.rate.log() + c.lgamma() + (1.0 - c) * c.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
