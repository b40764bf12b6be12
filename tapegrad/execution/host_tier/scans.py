"""Rules of cumulative sums and their like, of sorting, and of the largest elements."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad.execution.host_tier.elementwise import is_complex, is_float, is_integer, ranks
from tapegrad.execution.host_tier.reductions import is_summed_wide
from tapegrad.execution.host_tier.rules import Unwritable, rule

ACCUMULATORS = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
    "cumlogsumexp": np.logaddexp,
}
"""The ufuncs whose ``accumulate`` these primitives are."""


@rule(*ACCUMULATORS)
def accumulate(writer: Any, equation: Any) -> str:
    """``ufunc.accumulate``, perhaps backwards."""
    ufunc, dtype = ACCUMULATORS[equation.primitive], equation.aval.dtype
    if ufunc is np.logaddexp and is_complex(dtype):
        raise Unwritable("cumlogsumexp: of complex numbers")
    axis, wide = int(equation.params["axis"]), is_summed_wide(ufunc, dtype)
    backwards = f"[{':, ' * axis}::-1]" if equation.params["reverse"] else ""
    words = [f"{writer.full(equation, 0)}{backwards}", str(axis)]
    if wide or is_integer(dtype):
        words.append(writer.dtype(np.float32 if wide else dtype))
    name = f"accumulate_{ufunc.__name__}"
    writer.names.setdefault(name, ufunc.accumulate)
    found = f"{name}({', '.join(words)}){backwards}"
    return f"{found}.astype({writer.dtype(dtype)})" if wide else found


# -- sorting -----------------------------------------------------------------------------------------------------------


@rule("sort")
def sort(writer: Any, equation: Any) -> Any:
    """A sorted copy, or all operands in the order of the first ones."""
    axis, count = int(equation.params["dimension"]), int(equation.params["num_keys"])
    operands = [writer.full(equation, index) for index in range(len(equation.operands))]
    if len(operands) == 1 and not is_complex(equation.avals[0].dtype) and equation.avals[0].dtype != jnp.bfloat16:
        return (f"{writer.helper(sorted_values)}({operands[0]}, {axis})",)
    operands = [writer.named(operand) for operand in operands]
    order = writer.assigned(f"{writer.helper(order_of)}(({', '.join(operands[:count])},), {axis})")
    take = writer.helper(taken)
    return tuple(
        f"{order}.astype({writer.dtype(aval.dtype)})"
        if index >= count and counts_places(writer.names.get(equation.operands[index].source), aval.shape, axis)
        else f"{take}({operands[index]}, {order}, {axis})"
        for index, aval in enumerate(equation.avals)
    )


def counts_places(constant: Any, shape: tuple[Any, ...], axis: int) -> bool:
    """Whether an operand is a constant that numbers the places along a dimension: sorted, it is the order itself.

    >>> counts_places(np.array([[0], [1], [2]]), (3, 5), 0), counts_places(np.arange(3), (3,), 0)
    (True, True)
    """
    if not isinstance(constant, np.ndarray) or constant.dtype.kind not in "iu" or constant.size != shape[axis]:
        return False
    counted = [size if place == axis else 1 for place, size in enumerate(shape)][len(shape) - constant.ndim :]
    return list(constant.shape) == counted and bool((constant.ravel() == np.arange(constant.size)).all())


def sorted_values(x: np.ndarray, axis: int) -> np.ndarray:
    """``numpy.sort``, nan last; -0 and 0 are equal, and stay in the order in which they were.

    >>> sorted_values(np.array([np.nan, 0.0, 1.0, -0.0]), 0)
    array([ 0., -0.,  1., nan])
    """
    found = np.sort(x, axis)
    if x.dtype.kind == "f" and not found.all():
        old, new = np.moveaxis(x, axis, -1), np.moveaxis(found, axis, -1)
        new[new == 0] = old[old == 0]
    return found


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
    return parts[0].argsort(axis, "stable") if len(parts) == 1 else np.lexsort(parts[::-1], axis)


def taken(x: np.ndarray, order: np.ndarray, axis: int) -> np.ndarray:
    """The elements at places along a dimension.

    >>> taken(np.array([[1, 2], [3, 4]]), np.array([[1, 0], [0, 1]]), 1)
    array([[2, 1],
           [3, 4]])
    """
    return x.take(order) if x.ndim == 1 else np.take_along_axis(x, order, axis)


# -- the largest elements ----------------------------------------------------------------------------------------------


@rule("top_k")
def top_k(writer: Any, equation: Any) -> Any:
    """The places of the largest, and the elements there."""
    axis = int(equation.params.get("axis", -1)) % len(equation.avals[0].shape)
    if is_complex(equation.avals[0].dtype):
        raise Unwritable("top_k: of complex numbers")
    x = writer.named(writer.full(equation, 0))
    order = writer.assigned(f"{writer.helper(largest)}({x}, {writer.size(equation.params['k'])}, {axis})")
    return f"{writer.helper(taken)}({x}, {order}, {axis})", f"{order}.astype({writer.dtype(equation.results[1].dtype)})"


def largest(x: np.ndarray, count: int, axis: int) -> np.ndarray:
    """The places of the ``count`` largest elements, the largest first, of equal ones the first; nan is above all.

    >>> largest(np.array([1.0, 3.0, np.nan, 3.0]), 3, 0)
    array([2, 1, 3])
    """
    if 0 < count <= VERY_FEW and x.dtype.kind == "f":
        found = _one_by_one(x, count, axis)
        if found is not None:
            return found
    keys = np.moveaxis(~(ranks(x) if is_float(x.dtype) else x), axis, -1)
    if keys.shape[-1] < FEW or count * FEW > keys.shape[-1]:
        places = keys.argsort(-1, "stable")[..., :count]
    else:
        rows = [_smallest(row, count) for row in keys.reshape(-1, keys.shape[-1])]
        places = np.array(rows, np.intp).reshape(*keys.shape[:-1], count)
    return np.moveaxis(places, -1, axis)


VERY_FEW = 4
"""Up to so many of the largest are looked for one by one."""


def _one_by_one(x: np.ndarray, count: int, axis: int) -> np.ndarray | None:
    """``largest``; None if one is zero, as -0 is below 0, or minus infinity, which is put where some were found."""
    if not x.size:
        return None
    left = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]).copy()
    rows, places = np.arange(len(left)), np.empty((len(left), count), np.intp)
    for number in range(count):
        place = left.argmax(1)
        found = left[rows, place]
        if -np.inf in found or 0 in found:
            return None
        left[rows, place] = -np.inf
        places[:, number] = place
    shape = (*x.shape[:axis], *x.shape[axis + 1 :], count)
    return np.moveaxis(places.reshape(shape), -1, axis)


FEW = 8
"""Where there are this many times as many elements as wanted ones, those are set apart before they are sorted."""


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    if not count:
        return np.empty(0, np.intp)
    bound = np.partition(keys, count - 1)[count - 1]
    places = np.flatnonzero(keys <= bound)
    return places[keys[places].argsort(kind="stable")[:count]]
