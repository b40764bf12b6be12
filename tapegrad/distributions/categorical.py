"""The categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo, int64
from tapegrad._src.functions.creation import full
from tapegrad._src.functions.joining import broadcast_tensors
from tapegrad._src.functions.random import multinomial
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.odds import GivenByOdds, only_one
from tapegrad.distributions.utils import formula, same_as

__all__ = ["Categorical"]


class Categorical(GivenByOdds):
    """A number below ``n``.

    Args:
        probs: how likely each is, along the last dimension; they are divided by their sum.
        logits: or the logarithms of that, but for a constant.

    Raises:
        ValueError: both are given, or none, or without a dimension.

    >>> Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _parts = {"probs": 1, "logits": 1}
    variance = same_as("mean")
    mode = formula(lambda self: self.probs.argmax(dim=-1))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        ((name, given),) = only_one(probs, logits).items()
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._given = (name,)
        self._num_events = given.size(-1)
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = multinomial(rows, Size(sample_shape).numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        places, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, places[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # of impossible ones they are infinite
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._counting_up(self._num_events, self._param.new_empty(0, dtype=int64), expand)
