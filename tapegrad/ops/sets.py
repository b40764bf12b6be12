"""Operators on elements as numbers: which are in a set, which are nonzero, where they lie, what their bits sum to."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from tapegrad.ops.kinds import general
from tapegrad.ops.sorting import _searched

_FEW = 16  # members: so many are compared one by one


@general(promote="common", aten=".Tensor_Tensor")
def isin(x, members, *, invert=False):
    """Tell whether each element of ``x`` is (or, if ``invert``, is not) among the members; nan never is."""
    members = members.reshape(-1)
    if isinstance(members.size, int) and members.size <= _FEW:
        found = jnp.any(x[..., None] == members, axis=-1)
    else:
        ordered = jnp.sort(members)
        place = jnp.minimum(_searched(ordered, x, right=False), members.size - 1)
        found = ordered[place] == x
    return found != invert


@general()
def nonzero_static(x, *, size, fill_value):
    """The indices of the first ``size`` nonzero elements, int64 of shape (size, ndim); the rest is ``fill_value``."""
    if x.ndim == 0 or x.size == 0:
        return jnp.full((size, x.ndim), fill_value, jnp.int64)
    places = jnp.nonzero(x, size=size, fill_value=fill_value)
    return jnp.stack(places, 1).astype(jnp.int64)


@general(aten=None)
def unravel_index(x, *, shape):
    """The indices into ``shape`` of places counted in row-major order, int64, along a new last dimension."""
    x = x.astype(jnp.int64)
    steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    found = [jnp.floor_divide(x, max(step, 1)) % max(n, 1) for step, n in zip(steps, shape, strict=True)]
    return jnp.stack(found, -1) if found else jnp.zeros((*x.shape, 0), jnp.int64)


@general(real=True)
def hash_tensor(x, *, axis, keepdims, dtype):
    """The exclusive or, over ``axis``, of the bits of all elements in float64 or int64; uint64, which is ``dtype``."""
    wide = x.astype(jnp.float64 if jnp.issubdtype(x.dtype, jnp.floating) else jnp.int64)
    bits = lax.bitcast_convert_type(wide, dtype.numpy)
    result = lax.reduce(bits, jnp.zeros((), bits.dtype), lax.bitwise_xor, axis)
    return jnp.expand_dims(result, axis) if keepdims else result
