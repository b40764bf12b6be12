"""The same memory read as other numbers: real and imaginary parts, other dtypes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.execution.array_functions.bits import reinterpreted
from tapegrad.ops.kinds import general, linear


@linear(x=lambda g: neg_view(g), aten="_neg_view")
def neg_view(x):
    """``-x``, as a view that shows it of memory that has ``x``."""
    return -x


@linear(x=lambda g: view_as_complex(g))
def view_as_real(x):
    """The real and imaginary parts of a complex array along a new last dimension."""
    return jnp.stack([jnp.real(x), jnp.imag(x)], -1)


@linear(x=lambda g: view_as_real(g), real=True)
def view_as_complex(x):
    """The inverse of ``view_as_real``: a last dimension of length 2 as complex numbers."""
    return lax.complex(x[..., 0], x[..., 1])


@general(aten="view.dtype")
def bitcast(x, *, dtype):
    """The bytes of ``x`` read as another dtype; the last dimension changes if the sizes of the two differ."""
    old, new = np.dtype(x.dtype).itemsize, dtype.itemsize
    if old < new:
        x = x.reshape(*x.shape[:-1], x.shape[-1] * old // new, new // old)
        return reinterpreted(x, dtype.numpy)[..., 0]
    parts = reinterpreted(x[..., None], dtype.numpy)
    return parts[..., 0] if old == new else parts.reshape(*x.shape[:-1], x.shape[-1] * (old // new))
