"""Samples of the binomial, the gamma and the Dirichlet distribution, and how they move with their parameters.

Note [Derivatives of samples]
A sample ``x`` with the distribution function ``F(x; a)`` is ``F^-1(u; a)`` of some uniform ``u``: with ``u`` held fixed
it moves by ``dx/da = -(dF/da) / (dF/dx)``. Of the gamma distribution JAX computes this. Of the beta distribution, with
the weight ``w(t) = t^(a-1) (1-t)^(b-1)`` and ``D = digamma(a) - digamma(a + b)``,

    (dF/da) / (dF/dx) = int_0^x (log t - D) w(t) / w(x) dt = -int_x^1 (log t - D) w(t) / w(x) dt

of which the one on the near side of ``x`` is taken: with ``t = x exp(-u)`` the integrand is smooth and falls
exponentially, and the rule for such (Takahasi and Mori, 1974) is the trapezoidal one in ``s``, where
``u = exp(s - exp(-s))``. One coordinate of a Dirichlet distribution against all the others is a beta distribution.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.array_functions import random
from tapegrad.ops.formulas import underivable
from tapegrad.ops.kinds import elementwise, general


def _unknown(g):
    raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


@elementwise(x=_unknown, sample=_unknown, real=True, aten="_standard_gamma_grad")
def standard_gamma_grad(x, sample):
    """The rate at which a sample of the gamma distribution of shape ``x`` moves with ``x``."""
    return lax.random_gamma_grad(*jnp.broadcast_arrays(x, sample))


@general(
    x=lambda g, x, out: g * standard_gamma_grad(x, out), jvp=lambda t_x, x, out: t_x * standard_gamma_grad(x, out),
    real=True, aten="_standard_gamma", xla="random_gamma",
)  # fmt: skip
def standard_gamma(x, key):
    """Samples of the gamma distribution of shape ``x`` and scale 1."""
    samples = jax.random.gamma(random.jax_key(key), x, x.shape, x.dtype) if random.is_key(key) else key
    least = jnp.finfo(x.dtype).tiny
    return jnp.where(samples > least, samples, least)


_NO_BINOMIAL = underivable("aten::binomial")
_NO_DIRICHLET = underivable("aten::_sample_dirichlet")
_NO_DIRICHLET_GRAD = underivable("aten::_dirichlet_grad")


@general(
    x=underivable("aten::bernoulli"), real=True, aten="bernoulli.p", family="bernoulli",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def bernoulli_number(x, sample):
    """The sample, drawn with the same probability everywhere; recorded as if it depended on ``x``, as PyTorch does."""
    return sample


@general(count=_NO_BINOMIAL, prob=_NO_BINOMIAL, node="torch::autograd::NotImplemented", real=True)
def binomial(count, prob, key):
    """The number of successes in ``count`` trials of probability ``prob``; nan where that means nothing."""
    if not random.is_key(key):
        return key
    count, prob = jnp.broadcast_arrays(count, prob)
    unknown, sure = jnp.isnan(prob) | ~jnp.isfinite(count), prob >= 1
    trials = jnp.where(unknown | sure, 0, jnp.maximum(jnp.floor(count), 0))
    chance = jnp.clip(jnp.where(unknown | sure, 0, prob), 0, 1)
    numbers = jax.random.binomial(random.jax_key(key), trials, chance, count.shape).astype(count.dtype)
    return jnp.where(unknown, jnp.nan, jnp.where(sure, jnp.maximum(count, 0), numbers))


@general(
    x=_NO_DIRICHLET, real=True, aten="_sample_dirichlet", node="torch::autograd::NotImplemented", xla="random_gamma",
)  # fmt: skip
def sample_dirichlet(x, key):
    """Samples of the Dirichlet distribution whose parameters are the rows of ``x``."""
    if not random.is_key(key):
        return key
    return jax.random.dirichlet(random.jax_key(key), x, x.shape[:-1], x.dtype)


STEP, FIRST, LAST = 0.1, -4.0, 10.0


def _nodes(dtype):
    """The places and the weights of the rule."""
    s = jnp.arange(FIRST, LAST, STEP, dtype=dtype)
    v = jnp.exp(s - jnp.exp(-s))
    return v, STEP * v * (1 + jnp.exp(-s))


@general(
    x=_NO_DIRICHLET_GRAD, alpha=_NO_DIRICHLET_GRAD, total=_NO_DIRICHLET_GRAD, real=True, aten="_dirichlet_grad",
    node="torch::autograd::NotImplemented",
)  # fmt: skip
def dirichlet_grad(x, alpha, total):
    """The rate at which the rest of a Dirichlet sample makes way as a coordinate ``x`` moves with its parameter
    ``alpha``.

    See Note [Derivatives of samples]. The result is ``dx/dalpha / (1 - x)``; ``total`` is the sum of all parameters.
    """
    x, alpha, total = (value[..., None] for value in jnp.broadcast_arrays(x, alpha, total))
    beta = total - alpha
    below = x * total < alpha
    near = jnp.where(below, x, 1 - x)
    a, b = jnp.where(below, alpha, beta), jnp.where(below, beta, alpha)
    v, weights = _nodes(x.dtype)
    u = v / a
    rest = jnp.log1p(-near * jnp.exp(-u))
    logarithm = jnp.where(below, jnp.log(near) - u, rest) - (lax.digamma(alpha) - lax.digamma(total))
    density = jnp.exp(-v + (b - 1) * (rest - jnp.log1p(-near)))
    integral = near / a * jnp.sum(weights * logarithm * density, axis=-1, keepdims=True)
    return (jnp.where(below, -integral, integral) / (1 - x))[..., 0]
