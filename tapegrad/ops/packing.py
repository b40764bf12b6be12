"""Sequences of different lengths, padded or packed: all that is no padding in one row, step by step.

Both are gathers, and each is the other's adjoint.
"""

from __future__ import annotations

import jax.numpy as jnp

from tapegrad.ops.kinds import linear


@linear(x=lambda g, places, rows: pad_packed_sequence(g, places, rows), aten="_pack_padded_sequence")
def pack_padded_sequence(x, places, rows):
    """Of ``x`` (steps, batch, ...), flattened to (steps * batch, ...), what is at ``places`` (count,): (count, ...).

    ``rows`` (steps, batch) is its inverse: where in the result each is, ``count`` for padding.
    """
    flat = x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])
    return jnp.take(flat, places, axis=0, mode="clip")


@linear(x=lambda g, places, rows: pack_padded_sequence(g, places, rows), aten="_pad_packed_sequence")
def pad_packed_sequence(x, places, rows):
    """Back from (count, ...) to (steps, batch, ...), with 0 for padding. See ``pack_padded_sequence``."""
    return jnp.take(x, rows, axis=0, mode="fill", fill_value=0)
