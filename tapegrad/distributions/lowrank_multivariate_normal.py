"""The multivariate normal distribution whose covariance is of low rank, but for the diagonal.

Note [The capacitance matrix]
Of a covariance ``C = D + W W^T`` with a diagonal ``D`` and ``m`` columns in ``W``, determinant and inverse need no more
than the Cholesky factor of the ``m x m`` matrix ``K = I + W^T D^-1 W``: ``det C = det D det K``, and by Woodbury's
identity ``C^-1 = D^-1 - D^-1 W K^-1 W^T D^-1``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.cholesky import linalg_cholesky
from tapegrad._src.functions.creation import eye
from tapegrad._src.functions.joining import broadcast_tensors
from tapegrad._src.functions.solving import solve_triangular
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, _half_log_det
from tapegrad.distributions.utils import _standard_normal, lazy_property, same_as

__all__ = ["LowRankMultivariateNormal"]


def _identity_plus(matrix: Tensor) -> Tensor:
    return matrix + eye(matrix.size(-1), dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of ``K``: see Note [The capacitance matrix]."""
    return linalg_cholesky(_identity_plus((W.mT / D.unsqueeze(-2)) @ W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of ``D + W W^T``."""
    return 2 * _half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """``x^T (D + W W^T)^-1 x``."""
    inner = _batch_mahalanobis(capacitance_tril, _batch_mv(W.mT / D.unsqueeze(-2), x))
    return (x.pow(2) / D).sum(-1) - inner


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance ``W W^T + D``.

    Args:
        loc: the mean.
        cov_factor: ``W``, with as many rows as there are elements.
        cov_diag: the diagonal of ``D``.

    Raises:
        ValueError: shapes don't fit.

    >>> d = LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parts = {
        "loc": 1, "cov_factor": 2, "cov_diag": 1, "variance": 1, "scale_tril": 2, "covariance_matrix": 2,
        "precision_matrix": 2,
    }  # fmt: skip
    mean = same_as("loc")
    mode = same_as("loc")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    @property
    def _low_rank(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _whole(self, value: Tensor, dims: int) -> Tensor:
        return value.expand((*self._batch_shape, *tuple(self._event_shape) * dims))

    @lazy_property
    def variance(self) -> Any:
        factor, diag = self._low_rank
        return self._whole(factor.pow(2).sum(-1) + diag, 1)

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        factor, diag = self._low_rank
        root = diag.sqrt().unsqueeze(-1)
        scaled = factor / root
        return self._whole(root * linalg_cholesky(_identity_plus(scaled @ scaled.mT)), 2)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor, diag = self._low_rank
        return self._whole(factor @ factor.mT + diag.diag_embed(), 2)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        factor, diag = self._low_rank
        solved = solve_triangular(self._capacitance_tril, factor.mT / diag.unsqueeze(-2), upper=False)
        return self._whole(diag.reciprocal().diag_embed() - solved.mT @ solved, 2)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        (factor, diag), shape = self._low_rank, self._extended_shape(sample_shape)
        kind = self.loc.dtype, self.loc.device
        of_factor = _standard_normal((*shape[:-1], self.cov_factor.shape[-1]), *kind)
        return self.loc + _batch_mv(factor, of_factor) + diag.sqrt() * _standard_normal(shape, *kind)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        distance = _batch_lowrank_mahalanobis(*self._low_rank, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)
