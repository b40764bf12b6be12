"""The exponential of matrices, and the cross product."""

from __future__ import annotations

from functools import partial

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.numpy_backend.exponentials import PADE, SQUARINGS, approximant, exponentials, limits_for
from tapegrad._src.execution.numpy_backend.forms import like_last, on_host
from tapegrad._src.execution.tiers.host_trace import flat, scan, staged
from tapegrad.ops.joining import cat
from tapegrad.ops.kinds import conj, general, multilinear, sum_to, zeros_of
from tapegrad.ops.lu import columns_of, rows_of
from tapegrad.ops.matmul import adjoint
from tapegrad.ops.reductions import widened
from tapegrad.ops.solving import solution

cond, switch = staged(lax.cond), staged(lax.switch)


def exponential_derivative(x, t):
    """The derivative of the exponential at ``x`` in the direction ``t``.

    It is the upper right block of the exponential of ``[[x, t], [0, x]]``; that of a gradient is the derivative at the
    adjoint (Mathias, A chain rule for matrix functions and applications, 1996).
    """
    size, columns = x.shape[-1], x.ndim - 1
    zero = zeros_of(x, shape=tuple(x.shape), dtype=dtypes.as_dtype(x.dtype))
    block = cat(cat(x, t, axis=columns), cat(zero, x, axis=columns), axis=columns - 1)
    return columns_of(rows_of(matrix_exp(block), 0, size), size, 2 * size)


@general(
    x=lambda g, x: exponential_derivative(adjoint(x), g),
    jvp=lambda t_x, x: exponential_derivative(x, t_x),
    aten="linalg_matrix_exp",
)  # fmt: skip
def matrix_exp(x):
    """The exponentials of square matrices."""
    if x.size == 0:
        return x
    return _exponentials(widened(x)).astype(x.dtype)


@on_host(exponentials, nanoseconds=500.0, gives=like_last)
def _exponentials(x):
    return exponential(x) if x.ndim == 2 else jnp.vectorize(exponential, signature="(n,n)->(n,n)")(x)


product = partial(jnp.dot, precision=lax.Precision.HIGHEST)


def exponential(x):
    """The exponential of one matrix, by scaling and squaring (Higham, 2005).

    Unlike ``jax.scipy.linalg.expm`` it halves until the norm is small enough: once less costs two digits of float32.
    It is also traced several times as fast, without jaxprs inside its own.
    """
    most, limits = limits_for(x.dtype)
    norm = jnp.linalg.norm(x, 1)
    halvings = jnp.maximum(0, jnp.ceil(jnp.log2(norm / most)))
    x = x / 2 ** halvings.astype(x.dtype)
    above = sum(jnp.where(norm < jnp.asarray(limit, norm.dtype), 0, 1) for limit in limits)
    odd, even = switch(above, [flat(partial(approximated, terms)) for terms in PADE[: len(limits) + 1]], x)
    return cond(halvings > SQUARINGS, flat(lambda odd, even: jnp.full_like(odd, jnp.nan)),
                flat(lambda odd, even: squared(solved(even - odd, odd + even), halvings)), odd, even)  # fmt: skip


def solved(x, y):
    """The solution of ``x @ out = y``."""
    lu, _, permutation = lax.linalg.lu(x)
    return solution(lu, permutation, y, True, False)


def approximated(terms, x):
    """``approximant`` by jax."""
    return approximant(terms, x, product, jnp.eye(len(x), dtype=x.dtype))


def squared(x, times):
    """A matrix, squared so many times."""
    again = lambda x, i: (cond(i < times, flat(lambda x: product(x, x)), lambda x: x, x), None)
    return scan(flat(again), x, jnp.arange(SQUARINGS, dtype=times.dtype))[0]


@multilinear(
    x=lambda g, y, x_shape, axis: sum_to(cross(conj(y), g, axis=axis), shape=tuple(x_shape)),
    y=lambda g, x, y_shape, axis: sum_to(cross(g, conj(x), axis=axis), shape=tuple(y_shape)),
    aten="linalg_cross",
)  # fmt: skip
def cross(x, y, *, axis):
    """The vectors orthogonal to both of two vectors of length 3 along ``axis``; the other dimensions broadcast."""
    x, y = jnp.broadcast_arrays(x, y)
    return jnp.cross(x, y, axis=axis)
