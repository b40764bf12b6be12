"""Kullback-Leibler divergences: ``KL(p || q)``, the mean under ``p`` of ``log p(x) - log q(x)``.

Note [Crossed families]
Of two different families the divergence is ``-H(p) - E[log q(x)]``, the entropy of ``p`` and a mean under ``p``. What
mean that is depends on ``q`` alone: for a normal ``q`` it takes the mean and the variance of ``p``, for an exponential
one the mean, for a gamma one that of ``log x`` besides. So there is one function for each ``q``, and a table of the
means of ``log x`` and of ``exp(-x)``. Two of one family have formulas of their own, in which nothing cancels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad._src.functions.activations import softplus
from tapegrad._src.functions.creation import full_like
from tapegrad._src.functions.selection import where
from tapegrad._src.functions.solving import solve_triangular
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.differentiate import grad
from tapegrad.distributions.bernoulli import Bernoulli
from tapegrad.distributions.beta import Beta
from tapegrad.distributions.binomial import Binomial
from tapegrad.distributions.categorical import Categorical
from tapegrad.distributions.cauchy import Cauchy
from tapegrad.distributions.continuous_bernoulli import ContinuousBernoulli
from tapegrad.distributions.dirichlet import Dirichlet
from tapegrad.distributions.distribution import Distribution
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.exponential import Exponential
from tapegrad.distributions.gamma import Gamma
from tapegrad.distributions.geometric import Geometric
from tapegrad.distributions.gumbel import Gumbel
from tapegrad.distributions.half_normal import HalfNormal
from tapegrad.distributions.independent import Independent
from tapegrad.distributions.laplace import Laplace
from tapegrad.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from tapegrad.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from tapegrad.distributions.normal import Normal
from tapegrad.distributions.one_hot_categorical import OneHotCategorical
from tapegrad.distributions.pareto import Pareto
from tapegrad.distributions.poisson import Poisson
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.uniform import Uniform
from tapegrad.distributions.utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A decorator: the function that computes the divergence of a ``type_p`` from a ``type_q``, both distributions.

    It is taken for what is derived from them, too, where nothing nearer is declared.

    Raises:
        TypeError: they are no distributions.

    >>> class Mine(Normal):
    ...     pass
    >>> @register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return "mine"
    >>> kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
    'mine'
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) and issubclass(given, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def decorator(fun: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _closest(pairs: Iterable[tuple[type, ...]]) -> tuple[type, ...]:
    """The pair of the most derived classes; the first one of it decides, if it can."""

    def compare(one: tuple[type, ...], other: tuple[type, ...]) -> int:
        for x, y in zip(one, other, strict=True):
            if x is not y:
                return -1 if issubclass(x, y) else 1
        return 0

    return min(pairs, key=functools.cmp_to_key(compare))


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function that fits two classes best."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left_p, left_q = _closest(matches)
    right_q, right_p = _closest((q, p) for p, q in matches)
    if _KL_REGISTRY[left_p, left_q] is not _KL_REGISTRY[right_p, right_q]:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left_p.__name__}, "
            f"{right_q.__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[left_p, left_q]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Measure how far ``q`` is from ``p``: the mean under ``p`` of ``log p(x) - log q(x)``, of their batch shape.

    Raises:
        NotImplementedError: no formula is known for them.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    kinds = type(p), type(q)
    if kinds not in _KL_MEMOIZE:
        _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    if _KL_MEMOIZE[kinds] is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return _KL_MEMOIZE[kinds](p, q)


def _own(kind: type) -> Any:
    """Declares the divergence of two of a kind."""
    return register_kl(kind, kind)


# -- two of one family -------------------------------------------------------------------------------------------------


@_own(Bernoulli)
def _kl_bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, ones))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return ones + where(p.probs == 1, 0.0, where(q.probs == 1, math.inf, zeros))


@_own(Beta)
def _kl_beta(p: Any, q: Any) -> Tensor:
    return _kl_dirichlet(p._dirichlet, q._dirichlet)


@_own(Dirichlet)
def _kl_dirichlet(p: Any, q: Any) -> Tensor:
    total = p.concentration.sum(-1)
    mean_logs = p.concentration.digamma() - total.digamma().unsqueeze(-1)
    normalizers = q._log_normalizer(q.concentration) - p._log_normalizer(p.concentration)
    return normalizers + ((p.concentration - q.concentration) * mean_logs).sum(-1)


@_own(Binomial)
def _kl_binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    of_one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return where(p.total_count > q.total_count, math.inf, p.total_count * of_one)


@_own(Categorical)
def _kl_categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, terms)).sum(-1)


@_own(OneHotCategorical)
def _kl_one_hot(p: Any, q: Any) -> Tensor:
    return _kl_categorical(p._categorical, q._categorical)


@_own(ContinuousBernoulli)
def _kl_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    of_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    return p.mean * (p.logits - q.logits) + of_p - q._cont_bern_log_norm() - (-q.probs).log1p()


@_own(Exponential)
def _kl_exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@_own(Gamma)
def _kl_gamma(p: Any, q: Any) -> Tensor:
    c, d = p.concentration, q.concentration
    normalizers = d * (p.rate / q.rate).log() + d.lgamma() - c.lgamma()
    return normalizers + (c - d) * c.digamma() + (q.rate - p.rate) * (c / p.rate)


@_own(Gumbel)
def _kl_gumbel(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    mean_exp = ((1 + ratio).lgamma() - distance).exp()
    return distance - ratio.log() + ratio * euler_constant + mean_exp - (1 + euler_constant)


@_own(Geometric)
def _kl_geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@_own(HalfNormal)
def _kl_half_normal(p: Any, q: Any) -> Tensor:
    return _kl_normal(p.base_dist, q.base_dist)


@_own(Laplace)
def _kl_laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale - ratio.log() + ratio * (-distance / p.scale).exp() - 1


@_own(Normal)
def _kl_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@_own(Pareto)
def _kl_pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, math.inf, divergence)


@_own(Poisson)
def _kl_poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@_own(Cauchy)
def _kl_cauchy(p: Any, q: Any) -> Tensor:
    """See Chyzak and Nielsen 2019, *A closed-form formula for the KL divergence between Cauchy distributions*."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@_own(Uniform)
def _kl_uniform(p: Any, q: Any) -> Tensor:
    is_outside = (q.low > p.low) | (q.high < p.high)
    return where(is_outside, math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@_own(TransformedDistribution)
def _kl_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@_own(Independent)
def _kl_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


GAP = " " * 26
"""Stands in some of PyTorch's sentences."""


@_own(ExponentialFamily)
def _kl_exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The cross KL-divergence between different exponential families cannot {GAP}  "
            "be computed using Bregman divergences"
        )
    of_p = [one.detach().requires_grad_() for one in p._natural_params]
    normalizer = p._log_normalizer(*of_p)
    means = grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for one, other, mean in zip(of_p, q._natural_params, means, strict=True):
        result = result - _sum_rightmost((other - one) * mean, len(q.event_shape))
    return result


# -- normal distributions of vectors -----------------------------------------------------------------------------------


def _squared(matrix: Tensor) -> Tensor:
    """The trace of ``M M^T``."""
    return matrix.pow(2).sum((-2, -1))


def _check_events(p: Any, q: Any, names: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {names} with{GAP}different event shapes cannot be computed")


def _to_normal(p: Any, q: Any, log_det: Tensor, columns: Iterable[Tensor]) -> Tensor:
    """``q`` by its Cholesky factor; ``p`` by the logarithm of its determinant, and columns that make its covariance."""
    factor = q._unbroadcasted_scale_tril
    trace: Any = sum(_squared(solve_triangular(factor, one, upper=False)) for one in columns)
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    return 0.5 * (2 * _half_log_det(factor) - log_det + trace + distance - p.event_shape[0])


def _to_low_rank(p: Any, q: Any, log_det: Tensor, columns: Iterable[Tensor]) -> Tensor:
    """The same with a ``q`` of low rank: see Note [The capacitance matrix] in ``lowrank_multivariate_normal.py``."""
    (factor, diag), capacitance = q._low_rank, q._capacitance_tril
    solved = solve_triangular(capacitance, factor.mT / diag.unsqueeze(-2), upper=False)
    trace: Any = sum(_squared(one * diag.rsqrt().unsqueeze(-1)) - _squared(solved @ one) for one in columns)
    distance = _batch_lowrank_mahalanobis(factor, diag, q.loc - p.loc, capacitance)
    log_det = _batch_lowrank_logdet(factor, diag, capacitance) - log_det
    return 0.5 * (log_det + trace + distance - p.event_shape[0])


def _of_normal(p: Any) -> tuple[Tensor, list[Tensor]]:
    return 2 * _half_log_det(p._unbroadcasted_scale_tril), [p._unbroadcasted_scale_tril]


def _of_low_rank(p: Any) -> tuple[Tensor, list[Tensor]]:
    factor, diag = p._low_rank
    return _batch_lowrank_logdet(factor, diag, p._capacitance_tril), [factor, diag.sqrt().diag_embed()]


@_own(MultivariateNormal)
def _kl_multivariate(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "Multivariate Normals")
    return _to_normal(p, q, *_of_normal(p))


@_own(LowRankMultivariateNormal)
def _kl_low_ranks(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "Low Rank Multivariate Normals")
    return _to_low_rank(p, q, *_of_low_rank(p))


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_to_low_rank(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    return _to_low_rank(p, q, *_of_normal(p))


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_from_low_rank(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "(Low Rank) Multivariate Normals")
    return _to_normal(p, q, *_of_low_rank(p))


# -- two families: see Note [Crossed families] -------------------------------------------------------------------------


def _x_log_x(x: Tensor) -> Tensor:
    return x.xlogy(x)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    """The mean of ``log x`` between two numbers."""
    return (_x_log_x(high) - _x_log_x(low)) / (high - low) - 1


MEAN_LOG: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_between(p.low, p.high),
}
"""The mean of ``log x``."""

LOG_MEAN_EXP: dict[type, Callable[[Any, Any], Tensor]] = {
    Exponential: lambda p, t: -(t / p.rate).log1p(),
    Gamma: lambda p, t: -p.concentration * (t / p.rate).log1p(),
    Normal: lambda p, t: -p.loc * t + 0.5 * (p.scale * t).pow(2),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()).log() - (t * (p.high - p.low)).log(),
}
"""The logarithm of the mean of ``exp(-t x)``."""


def _crossed(q_kind: type, *kinds: type) -> Any:
    """Declares, for ``p`` of several kinds and a ``q``, the mean of ``log q(x)``; the divergence is made of it.

    The function gets ``p``, ``q`` and the first class of ``p`` that is in the table.
    """

    def decorate(mean_log_prob: Callable[[Any, Any, type], Any]) -> None:
        for kind in kinds:
            register_kl(kind, q_kind)(lambda p, q, kind=kind: -p.entropy() - mean_log_prob(p, q, kind))  # type: ignore[misc]

    return decorate


@_crossed(Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)
def _to_a_normal(p: Any, q: Any, kind: type) -> Tensor:
    square = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    mean = -q.scale.log() - 0.5 * math.log(2 * math.pi) - square
    return where(p.alpha <= 2, -math.inf, mean) if kind is Pareto else mean


@_crossed(Exponential, Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)
def _to_an_exponential(p: Any, q: Any, kind: type) -> Tensor:
    return _unless_outside(p, kind, q.rate.log() - q.rate * p.mean)


@_crossed(Gamma, Beta, Exponential, Pareto, Uniform)
def _to_a_gamma(p: Any, q: Any, kind: type) -> Tensor:
    c = q.concentration
    mean = c * q.rate.log() - c.lgamma() + (c - 1) * MEAN_LOG[kind](p) - q.rate * p.mean
    return _unless_outside(p, kind, mean)


def _unless_outside(p: Any, kind: type, mean: Tensor) -> Tensor:
    """The mean of what is minus infinity below zero, or of a number whose mean is infinite."""
    if kind is Uniform:
        return where(p.low < 0, -math.inf, mean)
    return where(p.alpha <= 1, -math.inf, mean) if kind is Pareto else mean


@_crossed(Beta, Uniform)
def _to_a_beta(p: Any, q: Any, kind: type) -> Tensor:
    a, b = q.concentration1, q.concentration0
    logs = (a - 1) * MEAN_LOG[kind](p) + (b - 1) * _mean_log_between(1 - p.high, 1 - p.low)
    return where((p.high > 1) | (p.low < 0), -math.inf, logs - q._log_normalizer(a, b))


@_crossed(ContinuousBernoulli, Beta, Uniform)
def _to_a_continuous_bernoulli(p: Any, q: Any, kind: type) -> Tensor:
    mean = p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()
    return where((p.high >= 1) | (p.low <= 0), -math.inf, mean) if kind is Uniform else mean


@_crossed(Gumbel, Exponential, Gamma, Normal, Uniform)
def _to_a_gumbel(p: Any, q: Any, kind: type) -> Tensor:
    mean_exp = (q.loc / q.scale + LOG_MEAN_EXP[kind](p, q.scale.reciprocal())).exp()
    return (q.loc - p.mean) / q.scale - q.scale.log() - mean_exp


@_crossed(Laplace, Normal)
def _to_a_laplace(p: Any, q: Any, kind: type) -> Tensor:
    distance = p.loc - q.loc
    z = distance / p.scale
    mean_abs = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + distance * (math.sqrt(0.5) * z).erf()
    return -(2 * q.scale).log() - mean_abs / q.scale


@_crossed(Pareto, Uniform)
def _to_a_pareto(p: Any, q: Any, kind: type) -> Tensor:
    mean = (q.alpha * q.scale.pow(q.alpha)).log() - (q.alpha + 1) * MEAN_LOG[kind](p)
    return where(p.low < q.scale, -math.inf, mean)


@_crossed(Poisson, Bernoulli)
def _to_a_poisson(p: Any, q: Any, kind: type) -> Tensor:
    return p.probs * q.rate.log() - q.rate


@_crossed(Uniform, Beta)
def _beta_to_a_uniform(p: Any, q: Any, kind: type) -> Tensor:
    return where((q.low > 0) | (q.high < 1), -math.inf, -(q.high - q.low).log())


@_crossed(Uniform, ContinuousBernoulli)
def _continuous_bernoulli_to_a_uniform(p: Any, q: Any, kind: type) -> Tensor:
    return where((q.low >= 0) | (q.high <= 1), -math.inf, -(q.high - q.low).log())  # PyTorch's borders


INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
"""The pairs of which ``p`` has values that ``q`` has not."""

for _kind, _others in INFINITE.items():
    for _other in _others:
        register_kl(_kind, _other)(lambda p, q: full_like(p.mean, math.inf))
