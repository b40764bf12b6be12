"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.creation import ones_like
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.binomial import Binomial
from tapegrad.distributions.categorical import Categorical
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.one_hot_categorical import OfCategorical
from tapegrad.distributions.utils import broadcast_all, formula

__all__ = ["Multinomial"]


class Multinomial(OfCategorical):
    """The distribution of how often each of ``n`` events happens in ``total_count`` tries.

    Args:
        total_count: how many tries there are.
        probs: how likely each event is, along the last dimension; they are divided by their sum.
        logits: or the logarithms of that, but for a constant.

    Raises:
        ValueError: both are given, or none, or without a dimension.
        NotImplementedError: ``total_count`` is no integer.

    >>> Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parts = {"_categorical": 0, "_binomial": 1}
    mean = formula(lambda self: self.probs * self.total_count)
    variance = formula(lambda self: self.total_count * self.probs * (1 - self.probs))

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        events = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
        counts = events.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, events, ones_like(events)).type_as(self.probs)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        log_ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return log_ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        counts = self._binomial.enumerate_support(expand=False)[1:]
        log_factorials = self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()
        of_tries = self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1)
        return of_tries + log_factorials.sum([0, -1])
