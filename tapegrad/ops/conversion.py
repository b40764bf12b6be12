"""Conversions that are operators of their own."""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad.execution.dtypes import int32, int64
from tapegrad.ops.kinds import general
from tapegrad.ops.memory_formats import as_input


@general(aten=None, lies=as_input)
def truncate(x, *, dtype):
    """A floating or complex ``x`` in an integral dtype: towards zero, and out of range as processors do it.

    The narrow types keep the low bits of an int32, as in PyTorch. What an integer of 32 or 64 bits can't hold, nan
    among it, becomes the least one.
    """
    x = jnp.real(x)
    if x.dtype.itemsize < 4:
        x = x.astype(jnp.float32)
    via = int64 if dtype.is_64bit else int32
    limit = 2.0 ** (8 * via.itemsize - 1)
    if dtype.name == "uint32":
        return jnp.where(x < 0, x.astype(jnp.int32).astype(jnp.uint32), x.astype(jnp.uint32))
    return jnp.where((x >= -limit) & (x < limit), x, -limit).astype(via.numpy).astype(dtype.numpy)
