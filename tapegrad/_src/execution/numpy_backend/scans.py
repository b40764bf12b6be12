"""Rules of cumulative sums and their like, of sorting, and of the largest elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.elementwise import is_complex, is_float, is_integer, ranks
from tapegrad._src.execution.numpy_backend.expression import ALL, BACKWARDS, Index
from tapegrad._src.execution.numpy_backend.operands import Operand, Unwritable, call, method, rule
from tapegrad._src.execution.numpy_backend.reductions import accumulated, is_summed_wide

ACCUMULATORS = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
    "cumlogsumexp": np.logaddexp,
}
"""The ufuncs whose ``accumulate`` these primitives are."""


@rule(*ACCUMULATORS)
def accumulate(writer: Any, equation: Any) -> Any:
    """``ufunc.accumulate``, perhaps backwards."""
    ufunc, dtype = ACCUMULATORS[equation.primitive], equation.aval.dtype
    if ufunc is np.logaddexp and is_complex(dtype):
        raise Unwritable("cumlogsumexp: of complex numbers")
    axis, x = int(equation.params["axis"]), equation.full(0).expression
    wide = [np.dtype(dtype)] if is_integer(dtype) else accumulated(ufunc, dtype)
    backwards = (*[ALL] * axis, BACKWARDS) if equation.params["reverse"] else ()
    read = Index(x, backwards) if backwards else x
    sums: Any = call(ufunc.accumulate, read, axis, *wide) if wide else call(accumulated_along, ufunc, read, axis)
    sums = Index(sums, backwards) if backwards else sums
    return method(sums, "astype", dtype) if is_summed_wide(ufunc, dtype) else sums


SIDE_BY_SIDE = 1 << 8
"""From so many sums of elements that lie side by side on, a call for each step of all is quicker than
``ufunc.accumulate``, which takes one element after the other."""


def accumulated_along(ufunc: np.ufunc, x: np.ndarray, axis: int) -> np.ndarray:
    """``ufunc.accumulate(x, axis)``, of long rows row by row: the same operations in the same order.

    >>> accumulated_along(np.add, np.ones((3, 256)), 0)[:, 0]
    array([1., 2., 3.])
    """
    steps, width = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if width < SIDE_BY_SIDE or steps < 2:
        return ufunc.accumulate(x, axis)
    moved, result = np.moveaxis(x, axis, 0), np.empty(x.shape, x.dtype)
    rows = np.moveaxis(result, axis, 0)
    rows[0] = moved[0]
    for step in range(1, steps):
        ufunc(rows[step - 1], moved[step], out=rows[step])
    return result


STEADY = 1e-25, 1e25
"""Between them products lose nothing where they are divided by."""


def recurred(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """The solution of ``h[i] = a[i] * h[i - 1] + b[i]``, which starts from 0.

    It is a sum of quotients, times products, where these are neither large nor small; else it is taken step by step.

    >>> recurred(np.array([1.0, 2.0, 0.0, 3.0]), np.ones(4), 0)
    array([1., 3., 1., 4.])
    """
    a, b = a.swapaxes(0, axis), b.swapaxes(0, axis)
    products = a.copy()
    products[:1] = 1  # what is times nothing
    products = accumulated_along(np.multiply, products, 0)
    size = np.absolute(products)
    if size.size and STEADY[0] < size.item(size.argmin()) and size.item(size.argmax()) < STEADY[1]:
        result = accumulated_along(np.add, np.divide(b, products), 0)
        result = np.multiply(result, products, result)
    else:
        result = b.copy()
        for step in range(1, len(a)):
            result[step] += a[step] * result[step - 1]
    return result.swapaxes(0, axis)


# -- sorting -----------------------------------------------------------------------------------------------------------


@rule("sort")
def sort(writer: Any, equation: Any) -> Any:
    """A sorted copy, or all operands in the order of the first ones."""
    axis, count = int(equation.params["dimension"]), int(equation.params["num_keys"])
    operands = equation.inputs()
    if len(operands) == 1 and not is_complex(equation.avals[0].dtype) and equation.avals[0].dtype != jnp.bfloat16:
        return (call(sorted_values, operands[0], axis),)
    operands = tuple([writer.named(operand) for operand in operands])
    order = writer.assigned(call(order_of, operands[:count], axis))
    return tuple([
        method(order, "astype", aval.dtype)
        if index >= count and counts_indices(equation.operands[index].known, aval.shape, axis)
        else call(taken, operands[index], order, axis)
        for index, aval in enumerate(equation.avals)
    ])  # fmt: skip


def counts_indices(constant: np.ndarray | None, shape: tuple[Any, ...], axis: int) -> bool:
    """Tell whether an operand is a constant that numbers the places along a dimension: sorted, it is the order itself.

    >>> counts_indices(np.array([[0], [1], [2]]), (3, 5), 0), counts_indices(np.arange(3), (3,), 0)
    (True, True)
    """
    if constant is None or constant.dtype.kind not in "iu" or constant.size != shape[axis]:
        return False
    counted = [size if dim == axis else 1 for dim, size in enumerate(shape)][len(shape) - constant.ndim :]
    return list(constant.shape) == counted and bool((constant.ravel() == np.arange(constant.size)).all())


def sorted_values(x: np.ndarray, axis: int) -> np.ndarray:
    """``numpy.sort``, nan last; -0 and 0 are equal, and stay in the order in which they were.

    >>> sorted_values(np.array([np.nan, 0.0, 1.0, -0.0]), 0)
    array([ 0., -0.,  1., nan])
    """
    result = np.sort(x, axis)
    if x.dtype.kind == "f" and not result.all():
        old, new = np.moveaxis(x, axis, -1), np.moveaxis(result, axis, -1)
        new[new == 0] = old[old == 0]
    return result


def order_of(keys: tuple[np.ndarray, ...], axis: int) -> np.ndarray:
    """The places of elements in sorted order, by the first key, those that are equal by the next; equal ones stay.

    >>> order_of((np.array([1, 0, 1]), np.array([3.0, 2.0, 1.0])), 0)
    array([1, 2, 0])
    """
    parts: list[np.ndarray] = []
    for key in keys:
        if key.dtype.kind == "c":
            parts += [key.real, key.imag]
        else:
            parts.append(key.astype(np.float32) if key.dtype == jnp.bfloat16 else key)
    return stable_order(parts[0], axis) if len(parts) == 1 else np.lexsort(parts[::-1], axis)


MANY, LONG = 1 << 13, 1 << 7
"""From so many elements on, or in rows that are so long, numbers are sorted together with their places."""


def are_many(size: int, length: int) -> bool:
    """Tell whether numbers are sorted together with their places."""
    return size >= MANY or length >= LONG


def stable_order(key: np.ndarray, axis: int = -1) -> np.ndarray:
    """``key.argsort(axis, "stable")``; of many numbers of 32 bits five times as quick as NumPy's.

    NumPy sorts 64-bit integers by instructions for vectors, so each number is put in front of its place in one of them.

    >>> stable_order(np.array([1, 0, 1, np.nan, -np.inf]))
    array([4, 1, 0, 2, 3])
    """
    is_worth_it = key.itemsize >= 4 and are_many(key.size, key.shape[axis])
    numbered = numbered_keys(np.moveaxis(key, axis, -1)) if is_worth_it else None
    if numbered is None:
        return key.argsort(axis, "stable")
    numbered.sort(-1)
    numbered &= 0xFFFFFFFF
    return np.moveaxis(numbered, -1, axis)


def numbered_keys(key: np.ndarray) -> np.ndarray | None:
    """64-bit integers in the order of some numbers, and of equal ones in that of their places; None if it can't be.

    >>> (numbered_keys(np.array([7, 5, 7])) & 0xFFFFFFFF).tolist()
    [0, 1, 2]
    """
    if key.dtype == np.float32:
        bits = (key + np.float32(0)).view(np.int32)  # -0 and 0 are equal
        numbered = np.where(key == key, bits ^ ((bits >> 31) & 0x7FFFFFFF), 0x7FFFFFFF).astype(np.int64)
    elif key.dtype.kind in "iu" and key.itemsize <= 4:
        numbered = key.astype(np.int64)
        if key.dtype == np.uint32:
            numbered -= 1 << 31
    elif key.dtype.kind in "iu":
        least = int(key.min())
        if int(key.max()) - least >= 1 << 31:
            return None
        numbered = (key - key.dtype.type(least)).astype(np.int64)
    else:
        return None
    numbered <<= 32
    numbered |= np.arange(key.shape[-1])
    return numbered


def taken(x: np.ndarray, order: np.ndarray, axis: int) -> np.ndarray:
    """The elements at places along a dimension: ``numpy.take_along_axis``, of a flat array where that is quicker.

    >>> taken(np.array([[1, 2], [3, 4]]), np.array([[1, 0], [0, 1]]), 1)
    array([[2, 1],
           [3, 4]])
    """
    if x.ndim == 1:
        return x.take(order)
    if axis != x.ndim - 1 or not order.size:
        return np.take_along_axis(x, order, axis)
    starts = np.arange(0, x.size, x.shape[-1]).reshape(*x.shape[:-1], 1)
    return x.take(order + starts)


def ranked_index(x: np.ndarray, axis: int, rank: str, k: int) -> np.ndarray:
    """The places along a dimension, which is kept, of the elements of a rank: see ``rank_of``; int32.

    >>> ranked_index(np.array([[3.0, 1.0, 2.0]]), 1, "median", 0)
    array([[2]], dtype=int32)
    """
    order, length = order_of((x,), axis), x.shape[axis]
    flat = x.reshape(-1)
    if x.dtype.kind in "iub" or (x.dtype.char in "fd" and not np.isnan(flat.dot(flat))):
        first = int(rank_of(np, np.int32(length), length, rank, k))
        return order[(*[slice(None)] * axis, slice(first, first + 1))].astype(np.int32)
    numbers = np.sum(x == x, axis, np.int32, keepdims=True)
    index = np.broadcast_to(rank_of(np, numbers, length, rank, k), numbers.shape)
    return np.take_along_axis(order, index, axis).astype(np.int32)


def rank_of(xp: Any, numbers: Any, length: Any, rank: str, k: int) -> Any:
    """The place in order of the ``k``th element, of a median of what is not nan, or of one that is nan if any is.

    Args:
        xp: NumPy, or jax's.
        numbers: how many of the elements are not nan; ``length``: of all.
    """
    if rank == "k":
        return xp.int32(k - 1)
    if rank == "nanmedian":
        return xp.maximum(numbers - 1, 0) // 2
    return xp.where(numbers < length, numbers, (length - 1) // 2)


# -- the largest elements ----------------------------------------------------------------------------------------------


@rule("top_k")
def top_k(writer: Any, equation: Any) -> Any:
    """The places of the largest, and the elements there."""
    axis = int(equation.params.get("axis", -1)) % len(equation.avals[0].shape)
    if is_complex(equation.avals[0].dtype):
        raise Unwritable("top_k: of complex numbers")
    x, any_nan = equation.full(0), False
    made = equation.operands[0].origin
    if made is not None and made.primitive == "select_n" and len(made.operands) == 3:
        test, other, kept = made.operands[0].origin, made.operands[1].known, made.operands[2]
        is_itself = test is not None and test.primitive == "eq" and _are_all(test.operands, kept)
        if is_itself and other is not None and np.isnan(other).all():
            x, any_nan = kept, True  # each nan is made one that is above all
    values, indices = writer.several(call(largest_of, x, equation.params["k"], axis, any_nan), 2)
    return values, method(indices, "astype", equation.results[1].dtype)


def _are_all(operands: Sequence[Operand], one: Operand) -> bool:
    return all(operand.expression == one.expression for operand in operands)


def largest_of(x: np.ndarray, count: int, axis: int, any_nan: bool) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` largest elements and their places: see ``largest``; ``any_nan`` is above all, whatever its sign.

    >>> largest_of(np.array([1.0, 3.0, 2.0]), 2, 0, True)
    (array([3., 2.]), array([1, 2]))
    """
    if x.dtype.char in "fd" and x.size and not are_many(x.size, x.shape[axis]):
        indices = (-x).argsort(axis, "stable")[(*[slice(None)] * axis, slice(count))]
        values, flat = taken(x, indices, axis), x.reshape(-1)
        if values.all() and not np.isnan(flat.dot(flat)):  # there are no nan, and none of -0 and 0, which have ranks
            return values, indices
    if any_nan:
        x = np.where(x == x, x, x.dtype.type(np.nan))
    indices = largest(x, count, axis)
    return taken(x, indices, axis), indices


def largest(x: np.ndarray, count: int, axis: int) -> np.ndarray:
    """The places of the ``count`` largest elements, the largest first, of equal ones the first; nan is above all.

    >>> largest(np.array([1.0, 3.0, np.nan, 3.0]), 3, 0)
    array([2, 1, 3])
    """
    if 0 < count <= VERY_FEW and x.dtype.kind == "f" and x.size >= MANY:
        indices = _one_by_one(x, count, axis)
        if indices is not None:
            return indices
    many = are_many(x.size, x.shape[axis])
    keys = np.moveaxis(~(ranks(x) if is_float(x.dtype) else x), axis, -1)
    numbered = numbered_keys(keys) if 0 < count * FEW <= keys.shape[-1] and many else None
    if numbered is None:
        indices = stable_order(keys)[..., :count]
    else:
        numbered.partition(count - 1, -1)
        indices = np.sort(numbered[..., :count], -1) & 0xFFFFFFFF
    return np.moveaxis(indices, -1, axis)


VERY_FEW = 4
"""Up to so many of the largest are looked for one by one."""


def _one_by_one(x: np.ndarray, count: int, axis: int) -> np.ndarray | None:
    """``largest``; None if one is zero, as -0 is below 0, or minus infinity, which is put where some were found."""
    if not x.size:
        return None
    left = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]).copy()
    rows, indices = np.arange(len(left)), np.empty((len(left), count), np.intp)
    for number in range(count):
        index = left.argmax(1)
        greatest = left[rows, index]
        if -np.inf in greatest or 0 in greatest:
            return None
        left[rows, index] = -np.inf
        indices[:, number] = index
    shape = (*x.shape[:axis], *x.shape[axis + 1 :], count)
    return np.moveaxis(indices.reshape(shape), -1, axis)


FEW = 8
"""The ratio of elements to wanted ones from which on those are set apart before they are sorted."""


# -- searching ---------------------------------------------------------------------------------------------------------


def indices_among(ordered: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """``numpy.searchsorted`` along the last dimension, int32; by halves, as on other tiers, where that is not in order.

    >>> indices_among(np.array([[1, 3], [5, 7]]), np.array([[2], [7]]), False)
    array([[1],
           [1]], dtype=int32)
    """
    if ordered.dtype == jnp.bfloat16:
        ordered, values = ordered.astype(np.float32), values.astype(np.float32)
    rows = ordered.reshape(-1, ordered.shape[-1]) if ordered.size else ordered
    in_order = (ordered[..., 1:] >= ordered[..., :-1]).all() and (ordered[..., -1:] == ordered[..., -1:]).all()
    if not ordered.size or not values.size or not in_order or len(rows) * SHORT > values.size:
        return _by_halves(ordered, values, right)
    side: Any = "right" if right else "left"
    if ordered.ndim == 1:
        return np.asarray(ordered.searchsorted(values, side), np.int32)
    indices = [row.searchsorted(one, side) for row, one in zip(rows, values.reshape(len(rows), -1), strict=True)]
    return np.array(indices, np.int32).reshape(values.shape)


SHORT = 8
"""Rows of fewer values are searched for all at once."""


def _by_halves(ordered: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    size = ordered.shape[-1]
    low, high = np.zeros(values.shape, np.int32), np.full(values.shape, size, np.int32)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        safe = np.minimum(middle, size - 1)
        pivot = ordered[safe] if ordered.ndim == 1 else np.take_along_axis(ordered, safe, -1)
        beyond = (low < high) & ~(pivot > values if right else pivot >= values)
        low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, np.minimum(high, middle))
    return low
