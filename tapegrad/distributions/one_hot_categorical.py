"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.creation import eye
from tapegrad._src.functions.gathering import one_hot
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.categorical import Categorical
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import formula, same_as

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OfCategorical(Distribution):
    """A base class of what has a categorical distribution inside."""

    _categorical: Categorical
    probs = same_as("_categorical.probs", "How likely each event is.")
    logits = same_as("_categorical.logits", "The logarithms of that.")
    param_shape = same_as("_categorical.param_shape", "The shape of the parameter that is given.")

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(OfCategorical):
    """One of ``n`` one-hot vectors.

    Args:
        probs: how likely each is, along the last dimension; they are divided by their sum.
        logits: or the logarithms of that, but for a constant.

    Raises:
        ValueError: both are given, or none, or without a dimension.

    >>> OneHotCategorical(torch.tensor([1.0, 3.0])).mode
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parts = {"_categorical": 0}
    _param = same_as("_categorical._param")
    mean = same_as("probs")
    mode = formula(lambda self: one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs))
    variance = formula(lambda self: self.probs * (1 - self.probs))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return one_hot(self._categorical.sample(sample_shape), self.probs.shape[-1]).to(self.probs)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.view(count, *[1] * len(self.batch_shape), count)
        return values.expand(count, *self.batch_shape, count) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors through which gradients flow as if they were the probabilities.

    ``probs``, ``logits`` and ``validate_args`` are those of ``OneHotCategorical``. See Bengio et al. 2013, *Estimating
    or propagating gradients through stochastic neurons*.

    >>> probs = torch.tensor([0.5, 0.5], requires_grad=True)
    >>> sample = torch.distributions.OneHotCategoricalStraightThrough(probs).rsample()
    >>> (sample * torch.tensor([0.0, 4.0])).sum().backward()
    >>> probs.grad
    tensor([-2.,  2.])
    """

    has_rsample = True
    _parts = OneHotCategorical._parts

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
