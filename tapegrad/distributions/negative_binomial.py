"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.activations import logsigmoid
from tapegrad._src.functions.random import poisson
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.gamma import Gamma
from tapegrad.distributions.odds import GivenByOdds
from tapegrad.distributions.utils import formula, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(GivenByOdds):
    """The distribution of how many tries succeed before ``total_count`` have failed.

    Args:
        total_count: how many have to fail; it need not be an integer.
        probs: how likely one is to succeed.
        logits: or its log-odds.

    Raises:
        ValueError: both are given, or none.

    >>> NegativeBinomial(3.0, torch.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _parts = {"total_count": 0, "probs": 0, "logits": 0, "_gamma": 0}
    mean = formula(lambda self: self.total_count * self.logits.exp())
    mode = formula(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = formula(lambda self: self.mean / (-self.logits).sigmoid())

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._keep_odds(probs, logits, total_count=total_count)
        self.total_count: Any = vars(self)["total_count"].type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def _gamma(self) -> Any:
        """Its numbers are Poisson's, of rates that this one draws."""
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        log_ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        log_ways = log_ways.masked_fill(n + value == 0.0, 0.0)
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + log_ways
