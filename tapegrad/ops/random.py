"""Random operators: samples whose parameters are tensors, and what an in-place draw makes of a tensor.

A key (see ``execution/random.py``) is an argument like any other, so that these are functions. In its place they take
random numbers that were drawn elsewhere: uniform or exponential ones, normal ones times the standard deviation, or the
sample itself where it is said. A
sample does not depend on its parameters in the sense of the derivative: as in PyTorch, gradients are zeros.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tapegrad.execution import random
from tapegrad.execution.dtypes import as_dtype
from tapegrad.ops.operator import Operator, general, zeros_of


def _no_tangent(out):
    return zeros_of(out, shape=tuple(out.shape), dtype=as_dtype(out.dtype))


@general(
    p=lambda g, p_shape, p_dtype: zeros_of(g, shape=tuple(p_shape), dtype=p_dtype),
    jvp=lambda out: _no_tangent(out),
    real=True,
)
def bernoulli(p, key):
    """1 with the probability given by ``p``, else 0; of the shape and dtype of ``p``."""
    chances = key
    if random.is_key(key):
        chances = jax.random.uniform(random.jax_key(key), p.shape, jnp.promote_types(p.dtype, jnp.float32))
    return (chances < p).astype(p.dtype)


@general(
    rate=lambda g, rate_shape, rate_dtype: zeros_of(g, shape=tuple(rate_shape), dtype=rate_dtype),
    jvp=lambda out: _no_tangent(out),
)
def poisson(rate, key):
    """Poisson numbers with the means ``rate``; in place of the key they may be given."""
    if not random.is_key(key):
        return key
    return jax.random.poisson(random.jax_key(key), rate).astype(rate.dtype)


@general(real=True)
def multinomial(p, key, *, num_samples, replacement):
    """Indices along the last axis, drawn in proportion to ``p``; int64.

    Without replacement the winners of a race of exponential clocks, p / e, are distributed so (Efraimidis and Spirakis,
    2006); with replacement every sample is a race of its own.
    """
    if not random.is_key(key):
        race = p / key
        won = jnp.argmax(race, -1, keepdims=True) if num_samples == 1 else jax.lax.top_k(race, num_samples)[1]
        return won.astype(jnp.int64)
    repeats = (num_samples,) if replacement else ()
    p = p.astype(jnp.promote_types(p.dtype, jnp.float32))
    clocks = jax.random.exponential(random.jax_key(key), (*repeats, *p.shape), p.dtype)
    race = p / jnp.maximum(clocks, jnp.finfo(p.dtype).tiny)
    if replacement:
        return jnp.moveaxis(jax.lax.argmax(race, race.ndim - 1, jnp.int32), 0, -1).astype(jnp.int64)
    return jax.lax.top_k(race, num_samples)[1].astype(jnp.int64)


def _normal(name: str, node: str) -> Operator:
    @general(
        mean=lambda g, mean_shape, mean_dtype: zeros_of(g, shape=tuple(mean_shape), dtype=mean_dtype),
        std=lambda g, std_shape, std_dtype: zeros_of(g, shape=tuple(std_shape), dtype=std_dtype),
        jvp=lambda out: _no_tangent(out),
        name=name,
        node=node,
        real=True,
    )
    def normal(mean, std, key, *, shape, dtype):
        """Normal numbers."""
        if not random.is_key(key):
            return (key + mean).astype(dtype.numpy)
        return random.normal(random.jax_key(key), shape, dtype.numpy, mean, std)

    return normal


normal_of_mean = _normal("normal_of_mean", "NormalBackward1")
normal_of_std = _normal("normal_of_std", "NormalBackward2")
normal = _normal("normal", "NormalBackward3")


def _overwriting(method: str, node: str) -> Operator:
    @general(
        x=lambda g, x_shape, x_dtype: zeros_of(g, shape=tuple(x_shape), dtype=x_dtype),
        jvp=lambda out: _no_tangent(out),
        name=f"overwrite_{method.rstrip('_')}",
        node=node,
    )
    def overwrite(x, sample):
        """The sample: nothing is left of ``x``."""
        return sample

    return overwrite


OVERWRITE = {
    method: _overwriting(method, node)
    for method, node in {
        "uniform_": "UniformBackward0", "normal_": "NormalBackward0", "exponential_": "ExponentialBackward0",
        "cauchy_": "CauchyBackward0", "log_normal_": "LogNormalBackward0", "geometric_": "GeometricBackward0",
        "bernoulli_": "BernoulliBackward2", "random_": "RandomBackward2",
        "random_to_": "RandomBackward1", "random_from_to_": "RandomBackward0",
    }.items()
}  # fmt: skip
"""For each in-place draw, the operator that takes a tensor and a sample, and gives the sample."""


@general(
    x=lambda g, x_shape, x_dtype: zeros_of(g, shape=tuple(x_shape), dtype=x_dtype),
    p=lambda g, p_shape, p_dtype: zeros_of(g, shape=tuple(p_shape), dtype=p_dtype),
    jvp=lambda out: _no_tangent(out),
    node="BernoulliBackward1",
)
def overwrite_bernoulli_tensor(x, p, sample):
    """The sample, drawn with the probabilities ``p``: nothing is left of ``x``."""
    return sample
