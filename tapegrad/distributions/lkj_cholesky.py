"""The LKJ distribution over Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.creation import arange
from tapegrad._src.functions.random import randn
from tapegrad._src.functions.special import mvlgamma
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.beta import Beta
from tapegrad.distributions.distribution import Distribution, validated

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices ``C``, with a density of these that grows as ``det(C) ** (c - 1)``.

    See Lewandowski, Kurowicka and Joe 2009, *Generating random correlation matrices based on vines and extended onion
    method*, whose onion method draws the samples: the length of what is left of a row is beta, its direction uniform.

    Args:
        dim: the size of the matrices.
        concentration: ``c``; all correlation matrices are equally likely if it is 1.

    Raises:
        ValueError: ``dim`` is less than 2.

    >>> LKJCholesky(3, 0.5).event_shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parts = {"concentration": 0, "_beta": 1}

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        shape = self._keep(concentration=concentration)
        rows = arange(dim, dtype=self.concentration.dtype, device=self.concentration.device)
        offsets = (rows - 1).clamp(min=0)
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offsets + 0.5, marginal.unsqueeze(-1) - 0.5 * offsets)
        super().__init__(shape, Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        noise = randn(self._extended_shape(sample_shape), dtype=squares.dtype, device=squares.device).tril(-1)
        directions = noise / noise.norm(dim=-1, keepdim=True)
        directions[..., 0, :] = 0.0
        rows = squares.sqrt() * directions
        left = (1 - rows.pow(2).sum(-1)).clamp(min=finfo(rows.dtype).tiny)
        return rows + left.sqrt().diag_embed()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        numbers = arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - numbers
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + mvlgamma(alpha - 0.5, less) - alpha.lgamma() * less
        return (powers * diagonal.log()).sum(-1) - normalizer
