"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.random import rand
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.odds import GivenByOdds
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import SigmoidTransform
from tapegrad.distributions.utils import broadcast_all, probs_to_logits, same_as

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(GivenByOdds):
    """The log-odds of relaxed Bernoulli numbers: see ``RelaxedBernoulli``.

    Args:
        temperature, probs, logits, validate_args: see there.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parts = {"probs": 0, "logits": 0}

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(self._keep_odds(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), self.probs
        noise = rand(shape, dtype=probs.dtype, device=probs.device)
        logits = probs_to_logits(probs.expand(shape), is_binary=True)
        return (probs_to_logits(noise, is_binary=True) + logits) / self.temperature

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value * self.temperature
        return self.temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between zero and one which, as the temperature sinks, become those of a Bernoulli distribution.

    See Maddison, Mnih and Teh 2017, *The concrete distribution*, and Jang, Gu and Poole 2017, *Categorical
    reparametrization with Gumbel-softmax*.

    Args:
        temperature: a tensor.
        probs: how likely one is in the limit.
        logits: or its log-odds.

    Raises:
        ValueError: both are given, or none.

    >>> RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.25])).probs
    tensor([0.2500])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parts: dict[str, int] = {}
    temperature = same_as("base_dist.temperature", "The temperature.")
    logits = same_as("base_dist.logits", "The log-odds of one, in the limit.")
    probs = same_as("base_dist.probs", "How likely one is, in the limit.")

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
