"""Operators behind ``fill_``, ``copy_`` and ``eq_``: what a tensor becomes when all of it is overwritten.

Note [Written integers]
A tensor of integers that a value which requires grad is written into requires grad from there on, in PyTorch, where the
write is ``fill_``, ``masked_fill_``, ``index_fill_``, ``index_put_`` through a mask, or a comparison in place; not by
``copy_``. No gradient ever passes: backward raises when it gets there. Written out of place this is refused. So the
operators behind such writes have ``records_integers``, and what they give is a mismatch (``Spec``).
"""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops.kinds import cast, general, retyped, sum_to, zeros_of
from tapegrad.ops.memory_formats import as_input


def _overwritten(g, x_shape, x_dtype):
    """The gradient of what nothing is left of."""
    return zeros_of(g, shape=tuple(x_shape), dtype=x_dtype)


@general(
    x=_overwritten,
    value=lambda g: sum_to(g, shape=()),
    jvp=lambda t_value, x: _zeros(x) if t_value is None else fill(x, t_value),
    aten=".Tensor", node=1, records_integers=True, lies=as_input,
)  # fmt: skip
def fill(x, value):
    """``x`` with every element replaced by the 0-dim ``value``."""
    return jnp.broadcast_to(retyped(jnp.asarray(value), x.dtype), x.shape)


@general(x=_overwritten, jvp=lambda x: _zeros(x), aten=".Scalar", family="fill", lies=as_input)
def fill_number(x, value):
    """``x`` with every element replaced by a number."""
    return jnp.full(x.shape, value, x.dtype)


@general(x=_overwritten, jvp=lambda x: _zeros(x), aten="zero_")
def zero(x):
    """``x`` with every element replaced by zero."""
    return jnp.zeros_like(x)


@general(
    x=_overwritten, y=lambda g, y_shape, y_dtype: zeros_of(g, shape=tuple(y_shape), dtype=y_dtype),
    jvp=lambda x: _zeros(x), aten=None, node="EqBackward1", profile="eq", records_integers=True,
)  # fmt: skip
def compared(x, y, outcome):
    """``x`` with every element replaced by the outcome of a comparison with ``y``, which is None for a number."""
    return outcome.astype(x.dtype)


@general(
    x=_overwritten,
    source=lambda g, source_shape, source_dtype: cast(sum_to(g, shape=tuple(source_shape)), dtype=source_dtype),
    jvp=lambda t_source, x: _zeros(x) if t_source is None else copy(x, t_source),
    node="torch::autograd::CopyBackwards", profile="copy_", across_devices=True,
)  # fmt: skip
def copy(x, source):
    """``source``, broadcast to the shape of ``x`` and cast to its dtype."""
    return jnp.broadcast_to(retyped(source, x.dtype), x.shape)


def _zeros(x):
    """The tangent of what was overwritten by something without one."""
    return zeros_of(x, shape=tuple(x.shape), dtype=as_dtype(x.dtype))
