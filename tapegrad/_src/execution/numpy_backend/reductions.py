"""Rules of reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.elementwise import (
    UFUNCS,
    is_complex,
    is_float,
    is_integer,
    of_same_square,
)
from tapegrad._src.execution.numpy_backend.expression import Infix, is_name
from tapegrad._src.execution.numpy_backend.operands import (
    Operand,
    Unwritable,
    are_known,
    as_array,
    bare,
    by_ufunc,
    call,
    constant,
    method,
    number,
    rule,
)

REDUCERS = {
    "reduce_sum": np.add,
    "reduce_prod": np.multiply,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
    "reduce_and": np.bitwise_and,
    "reduce_or": np.bitwise_or,
    "reduce_xor": np.bitwise_xor,
}
"""The ufuncs whose ``reduce`` these primitives are."""


@rule(*REDUCERS)
def reduce_by(writer: Any, equation: Any) -> Any:
    """``ufunc.reduce``; nothing reduced is the identity, also where NumPy has none."""
    ufunc = REDUCERS[equation.primitive]
    if not equation.params["axes"]:
        return equation.operands[0]
    return _reduced(writer, equation, ufunc, equation.params["axes"])


def _reduced(writer: Any, equation: Any, ufunc: np.ufunc, axes: Any) -> Any:
    x, aval, axes = equation.full(0), equation.avals[0], tuple(map(int, axes))
    is_wide, of_rows = aval.dtype in WIDE_FLOATS, axes == (len(aval.shape) - 1,)
    if ufunc is np.multiply and of_rows and is_wide:
        return as_array(call(product_of_rows, x), equation.results[0].shape)
    if len(aval.shape) > 1 and of_rows and is_wide and ufunc in OF_ROWS and _is_positive(aval.shape[-1]):
        return call(OF_ROWS[ufunc], x)
    made, of_all = equation.operands[0].origin, len(axes) == len(aval.shape)
    converted = made is not None and made.primitive == "convert_element_type" and made.operands[0].shape == aval.shape
    if ufunc is np.add and of_all and converted and made.avals[0].dtype == bool:
        return call(np.array, call(np.count_nonzero, made.operands[0]), aval.dtype)
    quicker = _of_all(writer, equation, ufunc) if is_wide and of_all else None
    if quicker is None and ufunc is np.add and is_wide:
        quicker = _by_product(writer, equation, axes)
    if quicker is not None:
        return quicker
    words = {}
    if ufunc in (np.maximum, np.minimum) and not all(_is_positive(aval.shape[axis]) for axis in axes):
        words["initial"] = number(least(ufunc, aval.dtype), aval.dtype)
    reduced = call(ufunc.reduce, x, axes, *accumulated(ufunc, aval.dtype), **words)
    array = as_array(reduced, equation.results[0].shape)
    return array.method("astype", aval.dtype) if is_summed_wide(ufunc, aval.dtype) else array


WIDE_FLOATS = (np.dtype("float32"), np.dtype("float64"))

MANY, ABREAST, LAST = 1 << 12, 128, 16
"""From so many elements on, so many are multiplied with as many others at a time; what is left, so many by so many."""


LONGEST, LONG = 1 << 11, 32
"""The most numbers that are added by a product with ones; the least from which on products are by one of vectors."""


def _of_all(writer: Any, equation: Any, ufunc: np.ufunc) -> Operand | None:
    """A sum as a product with ones, or that of two arrays; the greatest of few by its place: all are quicker.

    >>> import jax
    >>> from tapegrad._src.execution.numpy_backend.writer import written
    >>> x = jax.ShapeDtypeStruct((2, 3), "float32")
    >>> written(lambda x, y: (x * y).sum(), [x, x]).source.partition("return ")[2]
    'asarray(v0.dot(v1))'
    """
    shape, dtype = equation.avals[0].shape, equation.avals[0].dtype
    known = are_known(*shape)
    if known and not (math.prod(shape) and (ufunc is np.add or math.prod(shape) <= LONGEST)):
        return None
    known = known and math.prod(shape) <= LONGEST
    if ufunc in BY_INDEX and known:
        x = writer.named(equation.full(0))
        exact = call(ufunc.reduce, x, None)  # which has the sign of a zero
        return as_array(Infix(method(x, "take", method(x, BY_INDEX[ufunc])), "or", exact), ())
    if ufunc is not np.add:
        return None
    factors = _factors(writer, equation)
    if not known:
        return as_array(call(total, *factors or [equation.full(0)]), ())
    if factors:
        one, other = (writer.named(factor.method("ravel")) for factor in factors)
        return as_array(method(one, "dot", other), ())
    return as_array(method(method(equation.full(0), "ravel"), "dot", constant(np.ones(math.prod(shape), dtype))), ())


def total(x: np.ndarray, y: np.ndarray | None = None) -> Any:
    """The sum of all elements, or of their products with those of another array: many, or of lengths known only now.

    >>> total(np.ones((2, 3), "float32")), total(np.ones((2, 3), "float32"), np.full((2, 3), 2, "float32"))
    (np.float32(6.0), np.float32(12.0))
    """
    if 0 < x.size <= LONGEST:
        return x.ravel().dot(ONES[x.dtype][: x.size] if y is None else y.ravel())
    in_order = x.flags.c_contiguous and (y is None or (y.flags.c_contiguous and x.shape == y.shape))
    if x.size < LONGEST * ROWS or not in_order:
        return np.add.reduce(x if y is None else x * y, None)
    flat, whole = x.reshape(-1), x.size // LONGEST * LONGEST
    rows, ones, other = flat[:whole].reshape(-1, LONGEST), ONES[x.dtype], None if y is None else y.reshape(-1)
    sums = rows.dot(ones) if other is None else np.vecdot(rows, other[:whole].reshape(-1, LONGEST))
    left = flat[whole:]
    return np.add.reduce(sums) + left.dot(ones[: left.size] if other is None else other[whole:])


BY_INDEX = {np.maximum: "argmax", np.minimum: "argmin"}
"""Functions that find the places of what reductions find, nan before all others."""


def _by_product(writer: Any, equation: Any, axes: tuple[int, ...]) -> Operand | None:
    """Sums over the first dimensions, the last ones, or both as products with ones, several times as quick as NumPy's.

    >>> import jax
    >>> from tapegrad._src.execution.numpy_backend.writer import written
    >>> written(lambda x: x.sum((0, 2)), [jax.ShapeDtypeStruct((2, 3, 4), "float32")]).source.partition("return ")[2]
    'c2.dot(x0.reshape(-1, 4).dot(c1).reshape(2, -1))'
    """
    shape, dtype, result = equation.avals[0].shape, equation.avals[0].dtype, equation.results[0].shape
    first = next((index for index, axis in enumerate(axes) if index != axis), len(axes))
    last = len(axes) - first
    if axes[first:] != tuple(range(len(shape) - last, len(shape))) or not result:
        return None
    if not are_known(*shape):
        one, *other = (_factors(writer, equation) if last else []) or [equation.full(0)]
        return as_array(call(summed, one, first, last, *other), result)
    ahead, behind = math.prod(shape[:first]), math.prod(shape[len(shape) - last :])
    block = block_of(behind)
    if not ahead * behind > 0 or ahead > LONGEST or not block:
        return None
    sums, factors = equation.full(0), _factors(writer, equation) if last and behind >= LONG else []

    def matrix(operand: Operand, *sizes: int) -> Any:
        return operand if len(shape) == 2 and block == behind else operand.method("reshape", *sizes)

    if factors:
        sums = Operand(call(np.vecdot, *[matrix(one, -1, block) for one in factors]))
    elif last:
        sums = matrix(sums, -1, block).method("dot", constant(np.ones(block, dtype)))
    if last and block < behind:
        sums = sums.method("reshape", -1, behind // block).method("dot", constant(np.ones(behind // block, dtype)))
    if first and (ahead > 1 or not last):
        sums = constant(np.ones(ahead, dtype)).method("dot", matrix(sums, ahead, -1))
    return (
        Operand(sums.expression, result) if len(result) == 1 else sums.method("reshape", tuple(result), shape=result)
    )


def block_of(length: int) -> int:
    """Into parts of which length a sum is cut, which divides the whole: as long as may be; 0 if that is too short.

    >>> block_of(100), block_of(8192), block_of(4098), block_of(4099)
    (100, 2048, 1366, 0)
    """
    if length <= LONGEST:
        return length
    divisor = next((part for part in range(LONGEST, LONGEST // 4, -1) if length % part == 0), 0)
    return divisor if length <= LONGEST * divisor else 0


def _factors(writer: Any, equation: Any) -> list[Operand]:
    """The two factors of a product of which nothing else than this sum is wanted; none, if it is no such product.

    >>> import jax
    >>> from tapegrad._src.execution.numpy_backend.writer import written
    >>> x = jax.ShapeDtypeStruct((2, 32), "float32")
    >>> written(lambda x, y: (x * y).sum(1), [x, x]).source.partition("return ")[2]
    'vecdot(x0, x1)'
    """
    operand = equation.operands[0]
    made = operand.origin
    if made is None or is_name(operand.expression) or made.primitive not in ("mul", "square"):
        return []
    factors = made.operands if made.primitive == "mul" else [of_same_square(made)] * 2
    return [] if any(one.shape != operand.shape for one in factors) else [writer.named(one) for one in factors]


ONES = {dtype: np.ones(LONGEST, dtype) for dtype in WIDE_FLOATS}


def summed(x: np.ndarray, first: int, last: int, y: np.ndarray | None = None) -> Any:
    """The sum over so many dimensions at the beginning and at the end, likewise, of lengths that are known only now.

    >>> summed(np.ones((2, 3, 4), "float32"), 1, 1)
    array([8., 8., 8.], dtype=float32)
    """
    shape = x.shape
    if y is None and len(shape) == 2 and first + last == 1:  # most sums by far
        length = shape[last]
        if 0 < length <= LONGEST and x.size:
            return x.dot(ONES[x.dtype][:length]) if last else ONES[x.dtype][:length].dot(x)
    inner = len(shape) - last
    ahead, behind = math.prod(shape[:first]), math.prod(shape[inner:])
    too_many = not x.size or max(ahead, behind) > LONGEST
    if y is not None and (too_many or behind < LONG):
        x, y = x * y, None
    if too_many:
        return np.add.reduce(x, (*range(first), *range(inner, len(shape))))
    if y is not None:
        x = np.vecdot(x.reshape(-1, behind), y.reshape(-1, behind))
    elif last:
        x = x.reshape(-1, behind).dot(ONES[x.dtype][:behind])
    if first:
        x = ONES[x.dtype][:ahead].dot(x.reshape(ahead, -1))
    return x.reshape(shape[first:inner])


SHORT, ROWS, LARGER = 48, 16, 512
"""The most elements of rows, and the least rows, that are compared column by column; from how many elements on the
place of the greatest is quicker to be had than itself."""


def greatest_of_rows(x: np.ndarray, ufunc: np.ufunc = np.maximum) -> Any:
    """``x.max(-1)``: NumPy begins anew at each row, which takes longer than to compare all elements of many short ones.

    >>> greatest_of_rows(np.arange(6.0).reshape(3, 2))
    array([1., 3., 5.])
    """
    length = x.shape[-1]
    if length > SHORT and x.size > LARGER and x.flags.c_contiguous:
        indices = x.argmax(-1) if ufunc is np.maximum else x.argmin(-1)
        indices += np.arange(0, x.size, length).reshape(indices.shape)
        return x.take(indices)
    if length > SHORT or x.size < length * ROWS:
        return ufunc.reduce(x, -1)
    return ufunc.reduce(x.reshape(-1, length).T.copy(), 0).reshape(x.shape[:-1])


def least_of_rows(x: np.ndarray) -> Any:
    """``x.min(-1)``, likewise."""
    return greatest_of_rows(x, np.minimum)


OF_ROWS: dict[Any, Callable] = {np.maximum: greatest_of_rows, np.minimum: least_of_rows}
"""Functions that compare the elements of rows."""


def product_of_rows(x: np.ndarray) -> Any:
    """``x.prod(-1)``: NumPy multiplies the elements of a row one after the other, so long ones are laid in several.

    >>> product_of_rows(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    array([  6., 120.])
    """
    width = math.gcd(x.shape[-1], ABREAST)
    if x.size >= MANY and width >= ABREAST // 4:
        x = np.multiply.reduce(x.reshape(*x.shape[:-1], -1, width), -2)
        while x.shape[-1] > LAST:
            half = x.shape[-1] // 2
            x = x[..., :half] * x[..., half:]
        return np.multiply.reduce(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0)
    return np.multiply.reduce(x, -1)


def _is_positive(size: Any) -> bool:
    return isinstance(size, int) and size > 0


def is_summed_wide(ufunc: np.ufunc, dtype: Any) -> bool:
    """Tell whether sums and products of a dtype are accumulated in float32: those of 16-bit floats."""
    return ufunc in (np.add, np.multiply, np.logaddexp) and is_float(dtype) and dtype.itemsize == 2


def accumulated(ufunc: np.ufunc, dtype: Any) -> list[np.dtype]:
    """The dtype in which numbers are put together, if it must be said."""
    if is_summed_wide(ufunc, dtype):
        return [np.dtype(np.float32)]
    # NumPy would make int64 of the smaller ones
    return [np.dtype(dtype)] if ufunc in (np.add, np.multiply) and is_integer(dtype) else []


def least(ufunc: np.ufunc, dtype: Any) -> Any:
    """The identity of a maximum or minimum.

    >>> least(np.maximum, np.dtype("int8")), least(np.minimum, np.dtype("float32"))
    (-128, inf)
    """
    if dtype.kind == "b":
        return ufunc is np.minimum
    if is_float(dtype):
        return -np.inf if ufunc is np.maximum else np.inf
    limits = jnp.iinfo(dtype)
    return limits.min if ufunc is np.maximum else limits.max


@rule("argmax", "argmin")
def argument(writer: Any, equation: Any) -> Operand:
    """``numpy.ndarray.argmax``: the first, and nan before all others."""
    dtype, index_dtype = equation.avals[0].dtype, np.dtype(equation.params["index_dtype"])
    (axis,) = map(int, equation.params["axes"])
    x = equation.full(0)
    if is_complex(dtype):
        raise Unwritable(f"{equation.primitive}: of complex numbers")
    if dtype == jnp.bfloat16:
        x = x.method("astype", np.dtype(np.float32))
    index = method(x, equation.primitive, axis)
    if index_dtype != np.intp:
        index = method(index, "astype", index_dtype)
    return as_array(index, equation.aval.shape)


@rule("reduce")
def reduce_generic(writer: Any, equation: Any) -> Operand:
    """A reduction by a function that is one of the ufuncs above."""
    inner = equation.params["jaxpr"]
    inner = getattr(inner, "jaxpr", inner)
    names = [inside.primitive.name for inside in inner.eqns]
    ufunc: Any = UFUNCS.get(names[0]) if len(names) == 1 else None
    if ufunc not in REDUCERS.values() or len(equation.avals) != 2 or set(inner.eqns[0].invars) != set(inner.invars):
        raise Unwritable(f"reduce: by {', '.join(names)}")
    reduced = _reduced(writer, equation, ufunc, equation.params["dimensions"])
    return by_ufunc(ufunc, equation, [Operand(bare(reduced), tuple(equation.aval.shape)), equation.operands[1]])
