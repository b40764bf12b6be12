"""The exponential of matrices, and the cross product."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tapegrad.execution import dtypes
from tapegrad.execution.flat import staged
from tapegrad.ops.joining import cat
from tapegrad.ops.kinds import conj, general, multilinear, sum_to, zeros_of
from tapegrad.ops.lu import columns_of, rows_of
from tapegrad.ops.matmul import adjoint
from tapegrad.ops.reductions import widened

SQUARINGS = 64
"""How often a matrix may be halved before it is small: up to norms of 1e19, far beyond where results overflow."""


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
    return staged(jax.scipy.linalg.expm)(widened(x), max_squarings=SQUARINGS).astype(x.dtype)


@multilinear(
    x=lambda g, y, x_shape, axis: sum_to(cross(conj(y), g, axis=axis), shape=tuple(x_shape)),
    y=lambda g, x, y_shape, axis: sum_to(cross(g, conj(x), axis=axis), shape=tuple(y_shape)),
    aten="linalg_cross",
)  # fmt: skip
def cross(x, y, *, axis):
    """The vectors orthogonal to both of two vectors of length 3 along ``axis``; the other dimensions broadcast."""
    x, y = jnp.broadcast_arrays(x, y)
    return jnp.cross(x, y, axis=axis)
