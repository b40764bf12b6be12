"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.samplers import binomial
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.odds import GivenByOdds
from tapegrad.distributions.utils import formula

__all__ = ["Binomial"]


def _positive_part(x: Tensor) -> Tensor:
    """``max(x, 0)``, with the slope one half at zero."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(GivenByOdds):
    """The distribution of how many of ``total_count`` independent tries succeed.

    Args:
        total_count: how many there are.
        probs: how likely one is to succeed.
        logits: or its log-odds.

    Raises:
        ValueError: both are given, or none.

    >>> Binomial(10, torch.tensor(0.5)).variance
    tensor(2.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parts = {"total_count": 0, "probs": 0, "logits": 0}
    mean = formula(lambda self: self.total_count * self.probs)
    mode = formula(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = formula(lambda self: self.total_count * self.probs * (1 - self.probs))

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._keep_odds(probs, logits, total_count=total_count)
        self.total_count: Any = vars(self)["total_count"].type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        log_ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return log_ways + value * logits - n * (_positive_part(logits) + (-logits.abs()).exp().log1p())

    def _same_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Tensor:
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._counting_up(1 + self._same_count("enumerate_support"), self._param, expand)
