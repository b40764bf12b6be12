"""The exponential of matrices, and the cross product."""

from __future__ import annotations

from functools import partial, reduce
from operator import add

import jax.numpy as jnp
from jax import lax

from tapegrad.execution import dtypes
from tapegrad.execution.flat import flat, scan, staged
from tapegrad.ops.joining import cat
from tapegrad.ops.kinds import conj, general, multilinear, sum_to, zeros_of
from tapegrad.ops.lu import columns_of, rows_of
from tapegrad.ops.matmul import adjoint
from tapegrad.ops.reductions import widened
from tapegrad.ops.solving import solution

cond, switch = staged(lax.cond), staged(lax.switch)

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
    each = exponential if x.ndim == 2 else jnp.vectorize(exponential, signature="(n,n)->(n,n)")
    return each(widened(x)).astype(x.dtype)


PADE = (
    (120.0, 60.0, 12.0, 1.0),
    (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0),
    (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    ),
)  # fmt: skip
"""Coefficients of Padé approximants of degrees 3, 5, 7, 9 and 13, the constant one first."""

SINGLE = 3.925724783138660, (4.258730016922831e-1, 1.880152677804762)
DOUBLE = 5.371920351148152, (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068)
"""How large a norm the last approximant takes, and from where on each of those after the first is used."""

product = partial(jnp.dot, precision=lax.Precision.HIGHEST)


def exponential(x):
    """The exponential of one matrix, by scaling and squaring (Higham, 2005), as ``jax.scipy.linalg.expm`` has it.

    It is written again for it is traced several times as fast without jaxprs inside its own.
    """
    most, limits = DOUBLE if x.dtype in (jnp.float64, jnp.complex128) else SINGLE
    norm = jnp.linalg.norm(x, 1)
    halvings = jnp.maximum(0, jnp.floor(jnp.log2(norm / most)))
    x = x / 2 ** halvings.astype(x.dtype)
    above = sum(jnp.where(norm < jnp.asarray(limit, norm.dtype), 0, 1) for limit in limits)
    odd, even = switch(above, [flat(partial(approximant, terms)) for terms in PADE[: len(limits) + 1]], x)
    return cond(halvings > SQUARINGS, flat(lambda odd, even: jnp.full_like(odd, jnp.nan)),
                flat(lambda odd, even: squared(solved(even - odd, odd + even), halvings)), odd, even)  # fmt: skip


def solved(x, y):
    """The solution of ``x @ out = y``."""
    lu, _, permutation = lax.linalg.lu(x)
    return solution(lu, permutation, y, True, False)


def approximant(terms, x):
    """The odd and the even part of the numerator of an approximant; the denominator is their difference."""
    square, powers = product(x, x), [jnp.eye(len(x), dtype=x.dtype)]
    for _ in range(min(len(terms) // 2 - 1, 4 if len(terms) < 14 else 3)):
        powers.append(square if len(powers) == 1 else product(powers[-1], square))

    def polynomial(terms):
        low = [term * power for term, power in zip(terms, powers, strict=False)][::-1]
        if len(terms) <= len(powers):
            return reduce(add, low)
        high = reduce(add, [term * power for term, power in zip(terms[4:], powers[1:], strict=True)][::-1])
        return reduce(add, [product(powers[3], high), *low])

    return product(x, polynomial(terms[1::2])), polynomial(terms[::2])


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
