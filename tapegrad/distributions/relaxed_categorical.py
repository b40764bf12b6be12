"""The relaxed one-hot categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.random import rand
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.categorical import Categorical
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.one_hot_categorical import OfCategorical
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import ExpTransform
from tapegrad.distributions.utils import broadcast_all, clamp_probs, same_as

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of relaxed one-hot vectors: see ``RelaxedOneHotCategorical``.

    Args:
        temperature, probs, logits, validate_args: see there.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _parts = {"_categorical": 0}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-uniform.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        count = self._event_shape[-1]
        logits, value = broadcast_all(self.logits, value)
        scores = logits - value * self.temperature
        of_scale = math.lgamma(count) + (count - 1) * self.temperature.log()
        return (scores - scores.logsumexp(dim=-1, keepdim=True)).sum(-1) + of_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of probabilities which, as the temperature sinks, become one-hot: see ``RelaxedBernoulli``.

    Args:
        temperature: a tensor.
        probs: how likely each event is in the limit, along the last dimension; they are divided by their sum.
        logits: or the logarithms of that, but for a constant.

    Raises:
        ValueError: both are given, or none, or without a dimension.

    >>> RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _parts: dict[str, int] = {}
    temperature = same_as("base_dist.temperature", "The temperature.")
    logits = same_as("base_dist.logits", "The logarithms of how likely each event is, in the limit.")
    probs = same_as("base_dist.probs", "How likely each event is, in the limit.")

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
