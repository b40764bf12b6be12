"""PyTorch's type promotion, on descriptions: what dtype an operation on these operands has.

Two dtypes meet at the least dtype that holds both (`promote_types`). Operands meet by *priority* (`result_dtype`):
tensors with dimensions decide, then 0-dim tensors, then Python scalars; an operand of lower priority counts only
when its category (bool < integral < floating < complex) is higher than what the others have.

>>> from tapegrad._src.execution.data.dtypes import float16, float64
>>> promote_types(int64, float16), result_dtype([(int64, 2), (float64, 0)]), result_dtype([(float16, 1), float])
(torch.float16, torch.float64, torch.float16)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from tapegrad._src.execution.data.dtypes import (
    BOOL,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    dtype,
    float32,
    get_default_dtype,
    int16,
    int64,
    require_dtype,
    uint16,
    uint32,
    uint64,
)
from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad.errors import warn_once

Operand = tuple[dtype, int] | type  # a tensor's dtype and ndim, or the type of a Python scalar

_WIDE_UNSIGNED = frozenset({uint16, uint32, uint64})


@cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The least dtype that both can be converted to.

    A higher category wins as it is; integers widen, and uint8 with int8 needs int16; unlike halves meet at float32;
    complex meets by its parts. RuntimeError for float8 with anything else, and for uint16, uint32, uint64 with
    anything else but real floats.

    Args:
        type1, type2: dtypes.

    >>> from tapegrad._src.execution.data.dtypes import complex64, float64, int8, uint8
    >>> promote_types(uint8, int8), promote_types(complex64, float64)
    (torch.int16, torch.complex128)
    """
    a = require_dtype(type1, "promote_types", "type1", 1)
    b = require_dtype(type2, "promote_types", "type2", 2)
    if a is b:
        return a
    _check_promotable(a, b)
    low, high = sorted((a, b), key=lambda d: (d.category, d.itemsize))
    if high.is_complex:
        return promote_types(low.to_real(), high.to_real()).to_complex()
    if low.category < high.category or low.itemsize < high.itemsize:
        return high
    return float32 if high.is_floating_point else int16  # float16 with bfloat16; uint8 with int8


def _check_promotable(a: dtype, b: dtype) -> None:
    def is_float8(d: dtype) -> bool:
        return d.is_floating_point and d.itemsize == 1

    def blocked(unsigned: dtype, other: dtype) -> bool:
        return unsigned in _WIDE_UNSIGNED and not other.is_floating_point

    if is_float8(a) or is_float8(b):
        group = "Float8 Types"
    elif blocked(a, b) or blocked(b, a):
        group = "uint16, uint32, uint64 types"
    else:
        return
    raise RuntimeError(
        f"Promotion for {group} is not supported, attempted to promote {a.scalar_name} and {b.scalar_name}"
    )


def can_cast(from_: dtype, to: dtype) -> bool:
    """Tell whether a result of dtype `from_` may be written to a tensor of dtype `to`: never to a lower category, but
    integers and floats of any width convert among themselves.

    >>> from tapegrad._src.execution.data.dtypes import float64, uint8
    >>> can_cast(float64, int64), can_cast(int64, uint8)
    (False, True)
    """
    source = require_dtype(from_, "can_cast", "from_", 1)
    return source.category <= require_dtype(to, "can_cast", "to", 2).category


def warn_of_cast(from_: dtype, to: dtype | None) -> None:
    """Warn, once, of complex numbers that become real ones; None: they stay what they are."""
    if to is not None and from_.category == COMPLEX and to.category in (INTEGRAL, FLOATING):
        warn_once("Casting complex values to real discards the imaginary part")


def inferred_dtype(python_type: type) -> dtype:
    """The dtype that `torch.tensor` gives a Python scalar of this type; TypeError if it is no scalar type.

    >>> inferred_dtype(int), inferred_dtype(float), inferred_dtype(complex)
    (torch.int64, torch.float32, torch.complex64)
    """
    for base in python_type.__mro__:
        category = _SCALAR_CATEGORY.get(base)
        if category is not None:
            return _inferred(category)
    raise TypeError(f"new(): invalid data type '{python_type.__name__}'")


_SCALAR_CATEGORY = {bool: BOOL, int: INTEGRAL, float: FLOATING, complex: COMPLEX}


def _inferred(category: int) -> dtype:
    if category == COMPLEX:
        return get_default_dtype().to_complex()
    return (bool_, int64, get_default_dtype())[category]


def result_dtype(operands: Iterable[Operand]) -> dtype:
    """The dtype of an operation on `operands`, each `(dtype, ndim)` or the type of a Python scalar.

    Depends on the default dtype where a Python float or complex decides. ValueError without operands; RuntimeError
    where `promote_types` raises it.

    >>> from tapegrad._src.execution.data.dtypes import int32, uint8
    >>> result_dtype([(int32, 1), (int64, 0), bool]), result_dtype([(uint8, 3), float])
    (torch.int32, torch.float32)
    """
    dimensioned = zero_dim = scalar = None
    for operand in operands:
        if not isinstance(operand, tuple):
            scalar = _meet(scalar, inferred_dtype(operand))
        elif operand[1] > 0:
            dimensioned = _meet(dimensioned, operand[0])
        else:
            zero_dim = _meet(zero_dim, operand[0])
    result = _defer(dimensioned, _defer(zero_dim, scalar))
    if result is None:
        raise ValueError("result_dtype() needs at least one operand")
    return result


def _meet(a: dtype | None, b: dtype) -> dtype:
    return b if a is None or a is b else promote_types(a, b)


def _defer(decides: dtype | None, follows: dtype | None) -> dtype | None:
    """`decides`, lifted to the category of `follows` if that is higher."""
    if decides is None or follows is None or follows.category <= decides.category:
        return decides or follows
    if follows.is_complex:
        return decides.to_complex() if decides.is_floating_point else follows
    return promote_types(decides, follows)
