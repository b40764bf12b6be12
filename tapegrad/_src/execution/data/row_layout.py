"""Memory as one row of elements, and where in it they lie."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data.sizes import at_most

Ints = tuple[int, ...]


def memory_order(shape: Ints, strides: Ints) -> Ints:
    """The dimensions in the order in which they lie in memory, the outermost first."""
    return tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis] if shape[axis] != 1 else 0, axis)))


def memory_lengths(shape: Ints, strides: Ints) -> Ints:
    """The lengths of the dimensions in that order.

    >>> memory_lengths((2, 3), (1, 2))
    (3, 2)
    """
    return tuple(shape[axis] for axis in memory_order(shape, strides))


def inverse(axes: Ints) -> Ints:
    """The permutation that undoes ``axes``."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def row(value: Any, strides: Ints) -> Any:
    """The elements of a dense array in the order in which its strides lay them."""
    return value.transpose(memory_order(value.shape, strides)).reshape(-1)


def from_row(elements: Any, shape: Ints, strides: Ints) -> Any:
    """The array of this shape whose elements lie in memory in this order: the inverse of ``row``."""
    axes = memory_order(shape, strides)
    return elements.reshape(tuple(shape[axis] for axis in axes)).transpose(inverse(axes))


def positions(shape: Ints, strides: Ints, offset: Any, size: int) -> Any:
    """The places in memory (of ``size`` elements) of the elements of a window: integers of its shape."""
    dtype = jnp.int32 if at_most(size, 2**31 - 1) else jnp.int64
    result = jnp.full(shape, offset, dtype)
    for axis, stride in enumerate(strides):
        if stride and shape[axis] > 1:
            result = result + stride * lax.broadcasted_iota(dtype, shape, axis)
    return result


def fills(shape: Ints, strides: Ints, size: int) -> bool:
    """Tell whether what lies in a memory in this way, without overlap, is all of it."""
    count = 1
    for length in shape:
        count *= length
    return count == size and all(stride or length == 1 for length, stride in zip(shape, strides, strict=True))
