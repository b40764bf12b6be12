"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.gathering import one_hot
from tapegrad._src.functions.samplers import _dirichlet_grad, _sample_dirichlet
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function import Function, once_differentiable
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.utils import formula

__all__ = ["Dirichlet"]


class _Dirichlet(Function):
    """Samples, which move with the concentration as the distribution does."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        x = _sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        return _dirichlet_grad(x, concentration, total) * (grad_output - (x * grad_output).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution over vectors of probabilities: proportional to ``prod(x ** (concentration - 1))``.

    Args:
        concentration: a number for each probability, along the last dimension.

    Raises:
        ValueError: it has no dimension.

    >>> Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parts = {"concentration": 1}
    mean = formula(lambda self: self.concentration / self.concentration.sum(-1, True))

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        has_none = (self.concentration < 1).all(dim=-1)
        mode[has_none] = one_hot(mode[has_none].argmax(dim=-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        return (self.concentration - 1.0).xlogy(value).sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self) -> Tensor:
        c, total = self.concentration, self.concentration.sum(-1)
        means = ((c - 1.0) * c.digamma()).sum(-1)
        return self._log_normalizer(c) - (c.size(-1) - total) * total.digamma() - means

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
