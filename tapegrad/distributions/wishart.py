"""The Wishart distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.cholesky import cholesky_solve
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import arange, eye, tril_indices
from tapegrad._src.functions.determinants import linalg_slogdet
from tapegrad._src.functions.random import randn
from tapegrad._src.functions.selection import where
from tapegrad._src.functions.shape import broadcast_shapes
from tapegrad._src.functions.special import mvlgamma
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.distributions import constraints
from tapegrad.distributions.chi2 import Chi2
from tapegrad.distributions.distribution import validated
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.multivariate_normal import _half_log_det, one_matrix, scale_tril_of
from tapegrad.distributions.utils import NUMBER, formula, lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    return (x.unsqueeze(-1) - arange(p, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """The distribution of ``X^T X``, where the rows of ``X`` are ``df`` normal vectors of mean zero.

    Args:
        df: the degrees of freedom, more than the size of the matrix less one; it need not be an integer.
        covariance_matrix: the covariance of the vectors; or
        precision_matrix: its inverse; or
        scale_tril: its Cholesky factor.

    Raises:
        AssertionError: not exactly one of the matrices is given.
        ValueError: it has too few dimensions, or ``df`` is too small.

    >>> Wishart(3.0, torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = {
        "df": 0, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2, "_unbroadcasted_scale_tril": 2,
        "_dist_chi2": 1,
    }  # fmt: skip
    mean = formula(lambda self: self._times_df(self.df, self.covariance_matrix))

    def __init__(
        self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = one_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if given is None:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, NUMBER):
            batch_shape: Any = Size(matrix.shape[:-2])
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        size = matrix.shape[-1]
        if (self.df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if (self.df < size).any():
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)
        steps = arange(size, dtype=matrix.dtype, device=matrix.device).expand((*batch_shape, -1))
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _whole(self, value: Tensor) -> Tensor:
        return value.expand((*self._batch_shape, *self._event_shape))

    def _times_df(self, factor: Tensor, matrix: Tensor) -> Tensor:
        return factor[..., None, None] * matrix

    @lazy_property
    def scale_tril(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        factor = self._unbroadcasted_scale_tril
        identity = eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._whole(cholesky_solve(identity, factor))

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._times_df(where(factor > 0, factor, math.nan), self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._times_df(self.df, covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Cholesky factors of samples are drawn: chi numbers on the diagonal, normal ones below."""
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=finfo(roots.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = tril_indices(p, p, offset=-1)
        below = randn((*sample_shape, *self._batch_shape, p * (p - 1) // 2), dtype=noise.dtype, device=noise.device)
        noise[..., rows, columns] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = Size(), max_try_correction: int | None = None) -> Tensor:
        """Samples through which gradients flow; those that came out singular are drawn again.

        PyTorch throws the first ones away; so that the numbers of a seed are the same, this is done here, too.

        Args:
            sample_shape: see ``Distribution``.
            max_try_correction: how often, at most; 10 by default.
        """
        tries = 10 if max_try_correction is None else max_try_correction
        self._bartlett_sampling(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        is_singular = self._are_singular(sample)
        if is_singular.any():
            warn("Singular sample detected.")
        while tries > 0 and is_singular.any():
            again = self._bartlett_sampling(sample_shape)
            sample = where(is_singular[..., None, None], again, sample)
            is_singular, tries = self._are_singular(sample), tries - 1
        return sample

    def _are_singular(self, sample: Tensor) -> Tensor:
        return ~self.support.check(sample)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + _half_log_det(factor))
            - mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * linalg_slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            + mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (math.log(2) * p - linalg_slogdet(-2 * x).logabsdet) + mvlgamma(half, p=p)
