"""``torch._prims_common``: what libraries ask of dtypes, dimensions and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import accumulate
from typing import Any

from tapegrad._src.absent import refused, refusing
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype, get_default_dtype
from tapegrad._src.tensor.tensor import Tensor

__all__ = [
    "ELEMENTWISE_TYPE_PROMOTION_KIND", "DeviceLikeType", "canonicalize_dim", "canonicalize_dims",
    "corresponding_complex_dtype", "corresponding_real_dtype", "dtype_to_type", "elementwise_dtypes",
    "is_boolean_dtype", "is_complex_dtype", "is_contiguous_or_false", "is_float_dtype",
    "is_integer_dtype", "is_same_shape",
    "make_contiguous_strides_for", "same_shape", "type_to_dtype",
]  # fmt: skip

__getattr__ = refusing(__name__)
DeviceLikeType = str | device | int
elementwise_dtypes = refused(
    "torch._prims_common.elementwise_dtypes", "torch.result_type gives the dtype of what is computed with two operands"
)


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """A way in which the dtype of a result follows from those of the operands."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def _checked(kind: Any) -> dtype:
    if not isinstance(kind, dtype):
        raise AssertionError(f"Expected torch.dtype, got {type(kind)}")
    return kind


def is_boolean_dtype(dtype: dtype) -> bool:
    """Tell whether it is ``torch.bool``. Raises AssertionError: no dtype."""
    return _checked(dtype) is dtypes.bool


def is_float_dtype(dtype: dtype) -> bool:
    """Tell whether it is one of real floating-point numbers. Raises AssertionError: no dtype."""
    return _checked(dtype).is_floating_point


def is_complex_dtype(dtype: dtype) -> bool:
    """Tell whether it is one of complex numbers. Raises AssertionError: no dtype."""
    return _checked(dtype).is_complex


def is_integer_dtype(dtype: dtype) -> bool:
    """Tell whether it is one of integers, which booleans are not. Raises AssertionError: no dtype."""
    return not (is_boolean_dtype(dtype) or dtype.is_floating_point or dtype.is_complex)


def corresponding_real_dtype(dtype: dtype) -> dtype:
    """That of the real part of complex numbers.

    >>> corresponding_real_dtype(torch.complex64)
    torch.float32
    """
    if not dtype.is_complex:
        raise KeyError(dtype)
    return dtype.to_real()


def corresponding_complex_dtype(dtype: dtype) -> dtype:
    """That of complex numbers with such real parts.

    >>> corresponding_complex_dtype(torch.float64)
    torch.complex128
    """
    if not dtype.is_floating_point:
        raise KeyError(dtype)
    return dtype.to_complex()


def dtype_to_type(dtype: dtype) -> type:
    """The type of Python's numbers of a dtype: bool, int, float or complex."""
    if is_boolean_dtype(dtype):
        return bool
    return complex if dtype.is_complex else float if dtype.is_floating_point else int


def type_to_dtype(typ: type) -> dtype:
    """The dtype of Python's numbers of a type.

    Raises:
        ValueError: no numbers.

    >>> type_to_dtype(float)
    torch.float32
    """
    if not isinstance(typ, type):
        raise AssertionError(f"Expected type, got {type(typ)}")
    default = get_default_dtype()
    found = {bool: dtypes.bool, int: dtypes.int64, float: default, complex: default.to_complex()}
    if typ not in found:
        raise ValueError(f"Invalid type {typ}!")
    return found[typ]


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension, from the front.

    Args:
        rank: how many there are; a number counts as having one if ``wrap_scalar``.
        idx: the dimension, from the front or from the end.
        wrap_scalar: see there.

    Raises:
        IndexError: there is none.
    """
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    rank = max(rank, 1)
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """A dimension, or each of several, from the front: see ``canonicalize_dim``."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, index, wrap_scalar) for index in indices)


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a tensor in row-major order; else of matrices each in column-major order.

    >>> make_contiguous_strides_for((2, 3, 4)), make_contiguous_strides_for((2, 3, 4), row_major=False)
    ((12, 4, 1), (12, 1, 3))
    """
    if not shape:
        return ()
    lengths = [max(length, 1) for length in shape]
    strides = (*accumulate(reversed(lengths[1:]), lambda a, b: a * b, initial=1),)[::-1]
    return strides if row_major or len(shape) < 2 else (*strides[:-2], 1, lengths[-2])


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Tell whether two shapes are the same."""
    return tuple(a) == tuple(b)


is_same_shape = same_shape


def is_contiguous_or_false(a: Tensor) -> bool:
    """Tell whether the elements of a tensor lie in a row; lengths are always known here.

    >>> is_contiguous_or_false(torch.ones(2, 3)), is_contiguous_or_false(torch.ones(2, 3).t())
    (True, False)
    """
    return a.is_contiguous()
