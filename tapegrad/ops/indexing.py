"""Operators that read and write at places given by arrays of indices; reading and adding are each other's adjoint.

Note [Indices out of range]
``functions/`` refuses them where it can see the numbers. Where it can't (under ``jax.jit``), kernels never pretend that
another place was meant: reading gives nan (the least number, of integers), writing does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad.ops.kinds import linear, retyped, sum_to, zeros_of
from tapegrad.ops.memory_formats import as_input, gradient_kept


def read_at(x: Any, places: Any) -> Any:
    return x.at[places].get(mode="fill")


_OF_TRUTHS = {"add": "max", "multiply": "min"}
"""Addition and multiplication of booleans."""


def update_at(places: Any, how: str, value: Any) -> Any:
    """An array with a value set, added, ... at ``array.at[key]``; what is out of range is left."""
    how = _OF_TRUTHS.get(how, how) if value.dtype == bool else how
    return getattr(places, how)(value, mode="drop")


def as_vector(x: Any) -> Any:
    """A 0-dim array as one of a single element."""
    return x if x.ndim else x.reshape(1)


# -- x[indices] --------------------------------------------------------------------------------------------------------


@linear(
    x=lambda g, indices, x_shape, x_dtype: index_put(
        zeros_of(g, shape=tuple(x_shape), dtype=x_dtype), g, *indices, accumulate=True
    ),
    aten=".Tensor", uniform=True,
)  # fmt: skip
def index(x, *indices):
    """``x[indices]``: one integer array for each dimension, or None for all of it, broadcast against one another.

    Their common dimensions stand where the indexed ones were if those are neighbours, in front otherwise.
    """
    return read_at(x, _key(indices))


@linear(
    x=lambda g, indices, accumulate: g if accumulate else index_put(g, 0, *indices, accumulate=False),
    value=lambda g, indices, value_shape: sum_to(index(g, *indices), shape=tuple(value_shape)),
    lies=as_input, gradient_lies={"x": gradient_kept}, records_integers=True, uniform=True,
)  # fmt: skip
def index_put(x, value, *indices, accumulate):
    """``x`` with ``value`` (broadcast) put, or added, where ``index`` reads. See ``index`` for the indices."""
    value = retyped(jnp.asarray(value), x.dtype)
    if accumulate:
        return update_at(wide(x).at[_key(indices)], "add", value).astype(x.dtype)
    return update_at(x.at[_key(indices)], "set", value)


def wide(x: Any) -> Any:
    """An array of halves as float32, in which what goes to one place is added up."""
    return x.astype(jnp.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x


def _key(indices: Sequence[Any]) -> tuple:
    return tuple(slice(None) if places is None else places for places in indices)
