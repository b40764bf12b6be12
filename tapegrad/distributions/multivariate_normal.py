"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.cholesky import cholesky_inverse, linalg_cholesky
from tapegrad._src.functions.creation import eye
from tapegrad._src.functions.shape import broadcast_shapes
from tapegrad._src.functions.solving import solve_triangular
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import _standard_normal, formula, lazy_property, same_as

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices times vectors, both in batches that are broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """``|L^-1 x| ** 2`` for Cholesky factors ``(*batch, n, n)`` and vectors ``(*samples, *batch, n)``."""
    samples = Size(x.shape[: x.dim() + 1 - factor.dim()])
    columns = x.reshape(samples.numel(), *x.shape[len(samples) :]).movedim(0, -1)
    squares = solve_triangular(factor, columns, upper=False).pow(2).sum(-2)
    return squares.movedim(-1, 0).reshape(x.shape[:-1])


def _half_log_det(factor: Tensor) -> Tensor:
    """Half of the logarithm of the determinant of a matrix whose Cholesky factor is given."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, which is the inverse of an upper factor: see *cholesky of the flipped*."""
    upper = linalg_cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(upper, identity, upper=False)


def one_matrix(**matrices: Tensor | None) -> tuple[str, Tensor] | None:
    """The only one that is given, with its name; nothing if there are several, or none."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    return given[0] if len(given) == 1 else None


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, of what is given."""
    makers = {"covariance_matrix": linalg_cholesky, "precision_matrix": _precision_to_scale_tril}
    return makers[name](matrix) if name in makers else matrix


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Args:
        loc: the mean.
        covariance_matrix: the covariance; or
        precision_matrix: its inverse; or
        scale_tril: its Cholesky factor, from which the others are worked out.

    Raises:
        ValueError: not exactly one of the matrices is given, or it has too few dimensions.

    >>> d = MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> d.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _parts = {"loc": 1, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
    mean = same_as("loc")
    mode = same_as("loc")
    variance = formula(lambda self: self._whole(self._unbroadcasted_scale_tril.pow(2).sum(-1), 1))

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = one_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if given is None:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{shown} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    def _whole(self, value: Tensor, dims: int) -> Tensor:
        """The matrix that was worked out without repeating it, over the batch."""
        return value.expand((*self._batch_shape, *tuple(self._event_shape) * dims))

    @lazy_property
    def scale_tril(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril, 2)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT, 2)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._whole(cholesky_inverse(self._unbroadcasted_scale_tril), 2)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        normalizer = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (normalizer + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        of_noise = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (of_noise + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
