"""Dropout: elements set to zero at random, and the others scaled up so that the mean stays.

The mask is a function of the key, which is an argument like any other. Given the key, dropout is linear and its own
adjoint; nothing but the key is saved, and the backward pass draws the same mask again.
"""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad._src.execution.array_functions import random
from tapegrad._src.tensor.geometry import Geometry, Ints, contiguous_strides, elementwise_strides, preserved_strides
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.kinds import general, linear
from tapegrad.ops.memory_formats import as_input

SELU_FLOOR = 1.7580993408473766
"""Minus what SELU tends to on the left: the scale times the alpha of Klambauer et al., 2017."""


def _kept(x, key, p, shape):
    """1 where an element stays, 0 where it is dropped: for each element of ``shape``, which broadcasts.

    In place of the key it may be given.
    """
    return random.bernoulli(random.jax_key(key), shape, x.dtype, 1 - p) if random.is_key(key) else key.astype(x.dtype)


def _masked(place: Geometry, x: Spec, p: float, shape: Ints) -> Geometry:
    """The layout of the gradient: the mask is a factor, and if it has the input's shape, it lies as that does."""
    own = preserved_strides(shape, x.layout) if shape == x.shape else contiguous_strides(shape)
    return Geometry(place.shape, elementwise_strides(place.shape, [place[:2], (shape, own)]))


@linear(
    x=lambda g, key, p, shape: dropout(g, key, p=p, shape=shape), aten="native_dropout", node="MulBackward0",
    lies=as_input, gradient_lies=_masked,
)  # fmt: skip
def dropout(x, key, *, p, shape):
    """``x`` with elements set to 0 with probability ``p``, the others divided by ``1 - p``.

    ``shape`` is that of the mask: with lengths of 1, whole slices are dropped together.
    """
    kept = _kept(x, key, p, shape)
    wide = kept if x.dtype.itemsize > 2 else kept.astype(jnp.float32)  # half a digit of the share would be lost
    return x * (wide / _share(p)).astype(x.dtype)


def _share(p):
    """The share of elements that stay; 1 where none does, so that it can be divided by."""
    share = 1 - p
    return jnp.where(share == 0, 1, share) if isinstance(share, jnp.ndarray) else share or 1


def self_normalizing_scale(p: float) -> float:
    """By what to multiply so that the variance of standard normal inputs stays 1."""
    return 1 / ((SELU_FLOOR**2 * p + 1) * (1 - p)) ** 0.5


@general(
    x=lambda g, key, p, shape: dropout(g, key, p=p, shape=shape) * ((1 - p) * self_normalizing_scale(p)),
    jvp=lambda t_x, key, p, shape: dropout(t_x, key, p=p, shape=shape) * ((1 - p) * self_normalizing_scale(p)),
    aten="native_dropout", node="AddBackward0", lies=as_input,
    gradient_lies=_masked,
)  # fmt: skip
def alpha_dropout(x, key, *, p, shape):
    """``x`` with elements set to the floor of SELU with probability ``p``, then shifted to keep mean and variance."""
    kept, a = _kept(x, key, p, shape), self_normalizing_scale(p)
    return (x * (kept * a) + ((kept - 1) * (SELU_FLOOR * a) + SELU_FLOOR * a * p)).astype(x.dtype)
