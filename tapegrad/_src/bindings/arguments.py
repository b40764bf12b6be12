"""Checks and translations that many functions share: dimensions, shapes, tensors and scalars."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.execution.data.sizes import SYMBOL


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension as a non-negative number; a 0-dim tensor accepts 0 and -1.

    Raises:
        IndexError: PyTorch's message, when out of range.

    >>> wrap_dim(-1, 3)
    2
    """
    if type(dim) is int and 0 <= dim < ndim:
        return dim
    dim = operator.index(dim)
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim % span


def refuse_large(*counts: int) -> None:
    """Refuse counts of more than 64 bits, for functions that would take any. Raises ValueError: PyTorch's message."""
    if not all(-(2**63) <= count < 2**63 for count in counts):
        raise ValueError("Overflow when unpacking long long")


def wrap_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """One or several dimensions as a tuple without repetition; None or an empty sequence means all.
    Raises IndexError: out of range. RuntimeError: a dimension twice.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int) or not isinstance(dims, Sequence):
        return (wrap_dim(dims, ndim),) if ndim else (wrap_dim(dims, ndim),)[:0]
    if len(dims) == 0:
        return tuple(range(ndim))
    wrapped = [wrap_dim(dim, ndim) for dim in dims]
    for dim in wrapped:
        if wrapped.count(dim) > 1:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return tuple(wrapped) if ndim else ()


def shape_of_arguments(sizes: tuple) -> tuple[int, ...]:
    """``f(2, 3)`` and ``f((2, 3))`` mean the same: a tuple of ints.

    >>> shape_of_arguments((2, 3)), shape_of_arguments(([2, 3],)), shape_of_arguments(())
    ((2, 3), (2, 3), ())
    """
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    return tuple([size if type(size) is SYMBOL else operator.index(size) for size in sizes])


def is_scalar(value: Any) -> bool:
    """Tell whether a value is a Python number, which promotes as PyTorch's wrapped numbers do."""
    return isinstance(value, (bool, int, float, complex))


def existing_dim(dim: int, ndim: int) -> int:
    """A dimension, as a non-negative number, of a tensor that must have some."""
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def squeeze_axes(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Several dimensions to squeeze; of none, none."""
    return wrap_dims(dims, ndim) if dims else ()


def not_implemented(kernel: str, of: dtype) -> NotImplementedError:
    """PyTorch's words for a kernel that does not exist for a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{of.scalar_name}'")
