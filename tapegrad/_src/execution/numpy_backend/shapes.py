"""Rules of what moves elements: reshapes, transpositions, broadcasts, slices, joins.

They give views where NumPy does. A slice is Python's own, written with numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.expression import (
    ALL,
    BACKWARDS,
    Assign,
    Attribute,
    Index,
    Infix,
    Name,
    Slice,
)
from tapegrad._src.execution.numpy_backend.operands import Operand, Unwritable, broadcast, call, method, reshaped, rule

# -- shapes ------------------------------------------------------------------------------------------------------------


@rule("dim_as_value")
def dim_as_value(writer: Any, equation: Any) -> Any:
    """A length that is a symbol, as a number among those that are computed with."""
    return call(np.asarray, equation.params["dim"], equation.aval.dtype)


@rule("broadcast_in_dim")
def broadcast_in_dim(writer: Any, equation: Any) -> Any:
    """Late: see Note [Broadcast late] in ``operands.py``."""
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    if len(equation.operands) > 1:
        raise Unwritable("broadcast_in_dim: sizes that are known only when it is run")
    given = equation.operands[0].shape
    given = (1,) * (len(axes) - len(given)) + tuple(given)
    first = min(axes, default=len(shape))
    new = [1] * (len(shape) - first)
    for axis, size in zip(axes, given, strict=True):
        new[axis - first] = size
    return reshaped(equation.operands[0], new)


@rule("reshape", "squeeze", "expand_dims")
def reshape(writer: Any, equation: Any) -> Any:
    """``numpy.ndarray.reshape``; late, where an array gets dimensions of one element in front."""
    if len(equation.operands) > 1 or (
        equation.primitive == "reshape" and equation.params.get("dimensions") is not None
    ):
        raise Unwritable("reshape: in another order, or to sizes that are known only when it is run")
    operand, shape = equation.operands[0], tuple(equation.aval.shape)
    picked = picked_at_once(equation) if equation.primitive == "squeeze" else None
    if picked is not None:
        return picked
    if not operand.shape or without_front(shape) == tuple(operand.shape):
        return operand
    if equation.primitive == "squeeze" and len(operand.shape) == len(equation.avals[0].shape):
        kept = [axis for axis in range(len(operand.shape)) if axis not in equation.params["dimensions"]]
        return reshaped(operand, [operand.shape[axis] for axis in kept])
    return reshaped(equation.full(0), shape)


def without_front(shape: Sequence[Any]) -> tuple[Any, ...]:
    """A shape without the dimensions of one element in front.

    >>> without_front((1, 1, 3, 1))
    (3, 1)
    """
    first = next((axis for axis, size in enumerate(shape) if size != 1), len(shape))
    return tuple(shape[first:])


@rule("transpose")
def transpose(writer: Any, equation: Any) -> Operand:
    """``numpy.ndarray.transpose``, or ``.T``."""
    operand, permutation = equation.operands[0], tuple(map(int, equation.params["permutation"]))
    return transposed(operand if len(operand.shape) == len(permutation) else equation.full(0), permutation)


def transposed(operand: Operand, permutation: Sequence[int]) -> Operand:
    """An operand with its dimensions in another order."""
    permutation = tuple(permutation)
    rank = len(permutation)
    if permutation == tuple(range(rank)):
        return operand
    shape = tuple(operand.shape[axis] for axis in permutation)
    last_two_swapped = (*range(rank - 2), rank - 1, rank - 2)
    if permutation == last_two_swapped:
        return Operand(Attribute(operand.expression, "T" if rank == 2 else "mT"), shape)
    return operand.method("transpose", permutation, shape=shape)


@rule("iota")
def iota(writer: Any, equation: Any) -> Operand:
    """``numpy.arange``, along one dimension; it is broadcast late to the others."""
    shape, dimension = equation.aval.shape, equation.params["dimension"]
    size, behind = shape[dimension], (1,) * (len(shape) - dimension - 1)
    return reshaped(Operand(method(call(np.arange, size), "astype", equation.aval.dtype), (size,)), (size, *behind))


@rule("tile")
def tile(writer: Any, equation: Any) -> Operand:
    """``numpy.tile``: broadcast to one more dimension for each, and reshaped."""
    given = equation.avals[0].shape
    parted = [part for size in given for part in (1, size)]
    whole = [part for size, times in zip(given, equation.params["reps"], strict=True) for part in (times, size)]
    return reshaped(broadcast(reshaped(equation.full(0), parted), whole), equation.aval.shape)


# -- parts -------------------------------------------------------------------------------------------------------------


@rule("slice")
def slice_(writer: Any, equation: Any) -> Any:
    """A slice of Python's in each dimension."""
    starts, limits = equation.params["start_indices"], equation.params["limit_indices"]
    steps = equation.params["strides"] or [1] * len(starts)
    parts = [part(*ends) for ends in zip(starts, limits, steps, equation.avals[0].shape, strict=True)]
    return sliced(equation.full(0), parts)


def part(start: Any, limit: Any, step: Any, size: Any) -> Slice:
    """A slice from ``start`` to ``limit`` of a dimension of a size."""
    return Slice(None if start == 0 else start, None if limit == size else limit, None if step == 1 else step)


def sliced(operand: Operand, parts: Sequence[Any]) -> Any:
    """An expression with slices behind it, if they leave anything out."""
    parts = list(parts)
    while parts and parts[-1] == ALL:
        parts.pop()
    return Index(operand.expression, tuple(parts)) if parts else operand.expression


@rule("split")
def split(writer: Any, equation: Any) -> tuple[Any, ...]:
    """One slice for each result."""
    axis, size = int(equation.params["axis"]), equation.avals[0].shape[equation.params["axis"]]
    operand = writer.named(equation.full(0))
    results: list[Any] = []
    start: Any = 0
    for length in equation.params["sizes"]:
        results.append(sliced(operand, [ALL] * axis + [part(start, start + length, 1, size)]))
        start = start + length
    return tuple(results)


@rule("unstack")
def unstack(writer: Any, equation: Any) -> tuple[Any, ...]:
    """One place for each result."""
    before = (ALL,) * int(equation.params["axis"])
    name = writer.named(equation.full(0)).expression
    return tuple([Index(name, (*before, index, ...)) for index in range(len(equation.results))])


@rule("rev")
def rev(writer: Any, equation: Any) -> Operand:
    """Slices that step backwards; a dimension that is broadcast later has one element, and needs none."""
    operand = equation.operands[0]
    missing = len(equation.avals[0].shape) - len(operand.shape)
    turned = {axis - missing for axis in map(int, equation.params["dimensions"])}
    parts = [BACKWARDS if axis in turned else ALL for axis in range(len(operand.shape))]
    return Operand(sliced(operand, parts), operand.shape)


@rule("dynamic_slice")
def dynamic_slice(writer: Any, equation: Any) -> Any:
    """Slices from places that are data, moved to where all of the part lies within the array."""
    sizes, given = equation.params["slice_sizes"], equation.avals[0].shape
    if len(equation.operands) != 1 + len(sizes):
        raise Unwritable("dynamic_slice: sizes that are known only when it is run")
    return sliced(equation.full(0), windows(writer, equation.operands[1:], sizes, given))


def windows(writer: Any, starts: Sequence[Operand], sizes: Sequence[Any], given: Sequence[Any]) -> list[Slice]:
    """The slices of a part of some sizes, from places that are data, of an array of a shape."""
    parts = []
    for start, size, whole in zip(starts, sizes, given, strict=True):
        if size == whole:
            parts.append(ALL)
            continue
        first = start_of(writer, start, whole - size)
        known = isinstance(first, int) and isinstance(size, int)
        parts.append(Slice(first, first + size if known else Infix(first, "+", size)))
    return parts


def start_of(writer: Any, start: Operand, last: Any) -> Any:
    """The start of a part: a number of Python's between 0 and ``last``, or a variable that holds it."""
    if start.known is not None and isinstance(last, int):
        return clamped(start.known, last)
    from_end = counted(start)
    if from_end is None:
        return writer.assigned(call(clamped, start, last))
    return writer.assigned(call(clamped, from_end[0], last, from_end[1]))


def counted(operand: Operand) -> tuple[Operand, Any] | None:
    """Tell whether places are counted from the end where they are negative: what they are counted from, and the size.

    ``jax.numpy`` writes ``x[i]`` as ``x[select_n(i < 0, i, i + size)]``; NumPy and Python count so by themselves.
    """
    made = operand.origin
    if made is None or made.primitive != "select_n" or len(made.operands) != 3:
        return None
    asked, plain, moved = made.operands
    test, total = asked.origin, moved.origin
    if test is None or total is None or (test.primitive, total.primitive) != ("lt", "add"):
        return None
    zero, size = test.operands[1].known, total.operands[1].known
    same = test.operands[0].expression == total.operands[0].expression == plain.expression
    if not same or zero is None or zero.ndim or zero != 0 or size is None or size.ndim:
        return None
    return plain, size.item()


def clamped(start: np.ndarray, last: int, size: int = 0) -> int:
    """An array's one integer, or the nearest one between 0 and ``last``; negative ones are counted from ``size``.

    >>> clamped(np.array(-3), 5), clamped(np.array(3), 5), clamped(np.array(9), 5), clamped(np.array(-1), 5, 6)
    (0, 3, 5, 5)
    """
    index = start.item()
    if index < 0:
        index += size
    return 0 if index < 0 else last if index > last else index


def picked_at_once(equation: Any) -> Index | None:
    """A ``squeeze`` of what one place of an array holds (``x[:, i]``), without the slice that comes before it."""
    operand, axes = equation.operands[0], set(map(int, equation.params["dimensions"]))
    made = operand.origin
    if made is None or made.primitive not in ("slice", "dynamic_slice") or type(operand.expression) is not Index:
        return None
    if len(operand.shape) != len(equation.avals[0].shape):  # it is broadcast later
        return None
    of, written = operand.expression.parts
    rank = len(made.avals[0].shape)
    indices = [index.start or 0 if axis in axes else index for axis, index in enumerate(written)]
    indices += [0 if axis in axes else ALL for axis in range(len(written), rank)]
    while indices and indices[-1] == ALL:
        indices.pop()
    return Index(of, tuple(indices) if len(indices) < rank else (*indices, ...))


# -- joins -------------------------------------------------------------------------------------------------------------


@rule("concatenate")
def concatenate(writer: Any, equation: Any) -> Any:
    """``numpy.concatenate``."""
    return joined(equation.inputs(), equation.params["dimension"])


def joined(operands: Sequence[Operand], axis: int) -> Any:
    """Arrays one behind the other."""
    return operands[0] if len(operands) == 1 else call(np.concatenate, tuple(operands), int(axis))


@rule("stack")
def stack(writer: Any, equation: Any) -> Any:
    """``numpy.stack``: arrays with one more dimension, one behind the other."""
    axis, shape = int(equation.params["axis"]), tuple(equation.avals[0].shape)
    with_one = (*shape[:axis], 1, *shape[axis:])
    return joined([reshaped(operand, with_one) for operand in equation.inputs()], axis)


@rule("pad")
def pad(writer: Any, equation: Any) -> Any:
    """An array of the padding, and the elements written into it; what negative padding cuts off is left out."""
    config = equation.params["padding_config"]
    if all(low == high == inner == 0 for low, high, inner in config):
        return equation.operands[0]
    given = equation.avals[0].shape
    slices = [
        padded_slices(low, high, inner, size, whole)
        for (low, high, inner), size, whole in zip(config, given, equation.aval.shape, strict=True)
    ]
    kept = [one for one in slices if one is not None]
    if len(kept) == len(slices) and all(there == ALL for _, there in kept):
        return sliced(equation.full(0), [here for here, _ in kept])
    result = filled(writer, equation.operands[1], equation.aval)
    if len(kept) == len(slices):
        elements = sliced(equation.full(0), [here for here, _ in kept])
        writer.statements.append(Assign(Index(result, tuple([there for _, there in kept])), elements))
    return result


def padded_slices(low: Any, high: Any, inner: Any, size: Any, whole: Any) -> tuple[Slice, Slice] | None:
    """Which elements of a dimension are kept, and where they come to lie; ``None`` if none is.

    Element ``k`` lies at ``low + k * (inner + 1)``, of ``whole``.
    """
    step = inner + 1
    first = 0 if low >= 0 else -(low // step)
    end = size if high >= 0 else size - 1 - (-1 - high) // step
    if end - first <= 0 or whole == 0:
        return None
    start = low + first * step
    return part(first, end, 1, size), part(start, start + (end - first - 1) * step + 1, step, whole)


def filled(writer: Any, value: Operand, aval: Any) -> Name:
    """A new array, a variable to write to, with one number everywhere."""
    shape, known = tuple(aval.shape), value.known
    if known is not None and not known.tobytes().strip(b"\0"):
        return writer.new(call(np.zeros, shape, aval.dtype))
    result = writer.new(call(np.empty, shape, aval.dtype))
    writer.statements.append(Assign(Index(result, (...,)), value.expression))
    return result


def fresh(writer: Any, equation: Any, index: int) -> Name:
    """A copy of an input, a variable to write to."""
    operand, aval = equation.operands[index], equation.avals[index]
    if tuple(operand.shape) == tuple(aval.shape):
        return writer.new(method(operand, "copy"))
    return filled(writer, operand, aval)


@rule("dynamic_update_slice")
def dynamic_update_slice(writer: Any, equation: Any) -> Any:
    """A copy, with a part written anew; the part lies within the array, as that of ``dynamic_slice``."""
    given, new = equation.avals[0].shape, equation.avals[1].shape
    if tuple(given) == tuple(new):
        return equation.operands[1]
    slices = windows(writer, equation.operands[2:], new, given)
    result = fresh(writer, equation, 0)
    writer.statements.append(Assign(Index(result, tuple(slices)), equation.operands[1].expression))
    return result
