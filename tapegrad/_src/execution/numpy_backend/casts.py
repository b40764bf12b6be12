"""Rules of conversions between dtypes, and of bits."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.elementwise import is_complex, is_float, is_integer, part_of
from tapegrad._src.execution.numpy_backend.operands import (
    Operand,
    Unwritable,
    as_array,
    call,
    mapped,
    method,
    reshaped,
    rule,
)


@rule("convert_element_type")
def convert_element_type(writer: Any, equation: Any) -> Operand:
    """``numpy.ndarray.astype``; nothing at all, where the dtype is the same."""
    old, new = equation.avals[0].dtype, np.dtype(equation.params["new_dtype"])
    (x,) = equation.operands
    if is_complex(old) and not is_complex(new) and new.kind != "b":
        x, old = part_of(x, "real"), np.dtype(f"float{4 * old.itemsize}")
    if is_float(old) and is_integer(new):
        return as_array(call(as_integers, x, new), x.shape)
    return x if old == new else x.method("astype", new)


def as_integers(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Towards zero; the nearest integer that there is for those too large, 0 for nan.

    >>> with np.errstate(all="ignore"):
    ...     as_integers(np.array([-1.7, 300.0, np.nan, -np.inf]), np.dtype("int8"))
    array([  -1,  127,    0, -128], dtype=int8)
    """
    if x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    limits = np.iinfo(dtype)
    fits = (x >= limits.min) & (x < float(limits.max + 1))
    integers = x.astype(dtype)
    if fits.all():
        return integers
    return np.where(fits, integers, np.where(x > 0, limits.max, np.where(x < 0, limits.min, 0)).astype(dtype))


@rule("bitcast_convert_type")
def bitcast_convert_type(writer: Any, equation: Any) -> Any:
    """``numpy.ndarray.view``; between sizes, a last dimension comes or goes."""
    old, new = equation.avals[0].dtype, np.dtype(equation.params["new_dtype"])
    if "b" in (old.kind, new.kind):
        raise Unwritable("bitcast_convert_type: of bool")
    if old.itemsize == new.itemsize:
        return equation.operands[0].method("view", new)
    x, shape = equation.full(0), equation.aval.shape
    if old.itemsize > new.itemsize:
        return method(call(np.ascontiguousarray, reshaped(x, (*x.shape, 1))), "view", new)
    return method(method(call(np.ascontiguousarray, x), "view", new), "reshape", tuple(shape))


NARROW = {(5, 10): np.dtype(np.float16), (8, 7): np.dtype(jnp.bfloat16), (8, 23): np.dtype(np.float32)}
"""The dtypes with so many bits of exponent and mantissa."""


@rule("reduce_precision")
def reduce_precision(writer: Any, equation: Any) -> Operand:
    """To a narrower dtype and back."""
    bits = equation.params["exponent_bits"], equation.params["mantissa_bits"]
    dtype, info = equation.aval.dtype, jnp.finfo(equation.aval.dtype)
    if bits[0] >= info.nexp and bits[1] >= info.nmant:
        return equation.operands[0]
    if bits not in NARROW or dtype.itemsize == 2:
        raise Unwritable(f"reduce_precision: {bits} bits")
    return mapped(narrowed, equation, NARROW[bits])


def narrowed(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers as a narrower dtype rounds them; those that would be subnormal there are zero.

    >>> narrowed(np.array([1 / 3, 1e-7]), np.dtype("float16"))
    array([0.33325195, 0.        ])
    """
    rounded = x.astype(dtype).astype(x.dtype)
    return np.where(np.absolute(rounded) < float(jnp.finfo(dtype).tiny), np.copysign(0, x).astype(x.dtype), rounded)
