"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.bounds import refuse_unless
from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.functions.losses import binary_cross_entropy_with_logits
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.odds import GivenByOdds
from tapegrad.distributions.utils import broadcast_all, formula

__all__ = ["Geometric"]


class Geometric(GivenByOdds):
    """The distribution of how many tries fail before one succeeds: ``(1 - probs) ** k probs``.

    Args:
        probs: how likely one is to succeed.
        logits: or its log-odds.

    Raises:
        ValueError: both are given, or none, or a probability is zero.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parts = {"probs": 0, "logits": 0}
    mean = formula(lambda self: 1.0 / self.probs - 1.0)
    mode = formula(lambda self: zeros_like(self.probs))
    variance = formula(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._keep_odds(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check_positive(self.probs)

    def _check_positive(self, value: Tensor) -> None:
        is_positive = value > 0
        begin = f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution"
        end = "to be positive but found invalid values"
        more = lambda: f"{begin} {self!r} {end}:\n{value.data[~is_positive]}"
        refuse_unless(is_positive, f"{begin} Geometric {end}", more)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)  # zero times the logarithm of zero is zero
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
