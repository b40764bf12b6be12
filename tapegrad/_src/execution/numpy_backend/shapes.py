"""Rules of what moves elements: reshapes, transpositions, broadcasts, slices, joins.

They give views where NumPy does. A slice is Python's own, written with numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.rules import Operand, Unwritable, rule

# -- shapes ------------------------------------------------------------------------------------------------------------


@rule("broadcast_in_dim")
def broadcast_in_dim(writer: Any, equation: Any) -> Any:
    """Late: see Note [Broadcast late] in ``writer.py``."""
    shape, places = equation.params["shape"], equation.params["broadcast_dimensions"]
    if len(equation.operands) > 1:
        raise Unwritable("broadcast_in_dim: sizes that are known only when it is run")
    given = equation.operands[0].shape
    given = (1,) * (len(places) - len(given)) + tuple(given)
    first = min(places, default=len(shape))
    new = [1] * (len(shape) - first)
    for place, size in zip(places, given, strict=True):
        new[place - first] = size
    return reshaped(writer, equation.operands[0], new)


@rule("reshape", "squeeze", "expand_dims")
def reshape(writer: Any, equation: Any) -> Any:
    """``numpy.ndarray.reshape``; late, where an array gets dimensions of one element in front."""
    if len(equation.operands) > 1 or (
        equation.primitive == "reshape" and equation.params.get("dimensions") is not None
    ):
        raise Unwritable("reshape: in another order, or to sizes that are known only when it is run")
    operand, shape = equation.operands[0], tuple(equation.aval.shape)
    picked = picked_at_once(writer, equation) if equation.primitive == "squeeze" else None
    if picked is not None:
        return picked
    if not operand.shape or without_front(shape) == tuple(operand.shape):
        return operand
    if equation.primitive == "squeeze" and len(operand.shape) == len(equation.avals[0].shape):
        kept = [axis for axis in range(len(operand.shape)) if axis not in equation.params["dimensions"]]
        return reshaped(writer, operand, [operand.shape[axis] for axis in kept])
    return reshaped(writer, Operand(writer.full(equation, 0), equation.avals[0].shape), shape)


def reshaped(writer: Any, operand: Operand, shape: Sequence[Any]) -> Operand:
    """An operand in another shape of as many elements."""
    if tuple(shape) == tuple(operand.shape):
        return operand
    return Operand(f"{operand.source}.reshape({writer.shape(shape)})", tuple(shape))


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
    if len(operand.shape) != len(permutation):
        operand = Operand(writer.full(equation, 0), equation.avals[0].shape)
    return transposed(operand, permutation)


def transposed(operand: Operand, permutation: Sequence[int]) -> Operand:
    """An operand with its dimensions in another order."""
    permutation = tuple(permutation)
    rank = len(permutation)
    if permutation == tuple(range(rank)):
        return operand
    shape = tuple(operand.shape[axis] for axis in permutation)
    last_two_swapped = (*range(rank - 2), rank - 1, rank - 2)
    if rank == 2:
        return Operand(f"{operand.source}.T", shape)
    if permutation == last_two_swapped:
        return Operand(f"{operand.source}.mT", shape)
    return Operand(f"{operand.source}.transpose({permutation})", shape)


@rule("iota")
def iota(writer: Any, equation: Any) -> Operand:
    """``numpy.arange``, along one dimension; it is broadcast late to the others."""
    shape, dimension = equation.aval.shape, equation.params["dimension"]
    size, behind = shape[dimension], (1,) * (len(shape) - dimension - 1)
    source = f"{writer.helper(np.arange)}({writer.size(size)}).astype({writer.dtype(equation.aval.dtype)})"
    return reshaped(writer, Operand(source, (size,)), (size, *behind))


@rule("tile")
def tile(writer: Any, equation: Any) -> str:
    """``numpy.tile``: broadcast to one more dimension for each, and reshaped."""
    given = equation.avals[0].shape
    parted = [part for size in given for part in (1, size)]
    whole = [part for size, times in zip(given, equation.params["reps"], strict=True) for part in (times, size)]
    operand = reshaped(writer, Operand(writer.full(equation, 0), given), parted)
    return reshaped(writer, Operand(writer.broadcast(operand, whole), tuple(whole)), equation.aval.shape).source


# -- parts -------------------------------------------------------------------------------------------------------------


@rule("slice")
def slice_(writer: Any, equation: Any) -> str:
    """A slice of Python's in each dimension."""
    starts, limits = equation.params["start_indices"], equation.params["limit_indices"]
    steps = equation.params["strides"] or [1] * len(starts)
    parts = [
        part(writer, start, limit, step, size)
        for start, limit, step, size in zip(starts, limits, steps, equation.avals[0].shape, strict=True)
    ]
    return sliced(writer.full(equation, 0), parts)


def part(writer: Any, start: Any, limit: Any, step: Any, size: Any) -> str:
    """A slice from ``start`` to ``limit`` of a dimension of a size, as it is written."""
    first = "" if start == 0 else writer.size(start)
    last = "" if limit == size else writer.size(limit)
    return f"{first}:{last}" + ("" if step == 1 else f":{writer.size(step)}")


def sliced(source: str, parts: Sequence[str]) -> str:
    """An expression with slices behind it, if they leave anything out."""
    parts = list(parts)
    while parts and parts[-1] == ":":
        parts.pop()
    return f"{source}[{', '.join(parts)}]" if parts else source


@rule("split")
def split(writer: Any, equation: Any) -> tuple[str, ...]:
    """One slice for each result."""
    axis, size = int(equation.params["axis"]), equation.avals[0].shape[equation.params["axis"]]
    source = writer.named(writer.full(equation, 0))
    results: list[str] = []
    start: Any = 0
    for length in equation.params["sizes"]:
        results.append(sliced(source, [":"] * axis + [part(writer, start, start + length, 1, size)]))
        start = start + length
    return tuple(results)


@rule("unstack")
def unstack(writer: Any, equation: Any) -> tuple[str, ...]:
    """One place for each result."""
    before = ":, " * int(equation.params["axis"])
    source = writer.named(writer.full(equation, 0))
    return tuple(f"{source}[{before}{index}, ...]" for index in range(len(equation.results)))


@rule("rev")
def rev(writer: Any, equation: Any) -> Operand:
    """Slices that step backwards; a dimension that is broadcast later has one element, and needs none."""
    operand = equation.operands[0]
    missing = len(equation.avals[0].shape) - len(operand.shape)
    turned = {axis - missing for axis in map(int, equation.params["dimensions"])}
    return Operand(sliced(operand.source, ["::-1" if axis in turned else ":" for axis in range(len(operand.shape))]),
                   operand.shape)  # fmt: skip


@rule("dynamic_slice")
def dynamic_slice(writer: Any, equation: Any) -> str:
    """Slices from places that are data, moved to where all of the part lies within the array."""
    sizes, given = equation.params["slice_sizes"], equation.avals[0].shape
    if len(equation.operands) != 1 + len(sizes):
        raise Unwritable("dynamic_slice: sizes that are known only when it is run")
    return sliced(writer.full(equation, 0), windows(writer, equation.operands[1:], sizes, given))


def windows(writer: Any, places: Sequence[Operand], sizes: Sequence[Any], given: Sequence[Any]) -> list[str]:
    """The slices of a part of some sizes, from places that are data, of an array of a shape."""
    parts = []
    for place, size, whole in zip(places, sizes, given, strict=True):
        if size == whole:
            parts.append(":")
            continue
        first = start_of(writer, place, whole - size)
        known = first.isdigit() and isinstance(size, int)
        end = str(int(first) + int(size)) if known else f"{first} + {writer.size(size)}"
        parts.append(f"{first}:{end}")
    return parts


def start_of(writer: Any, place: Operand, last: Any) -> str:
    """The start of a part: a number of Python's between 0 and ``last``."""
    known = writer.known(place)
    if known is not None and isinstance(last, int):
        return str(clamped(known, last))
    from_end = counted(writer, place)
    source, size = (from_end[0].source, f", {writer.size(from_end[1])}") if from_end else (place.source, "")
    return writer.assigned(f"{writer.helper(clamped)}({source}, {writer.size(last)}{size})")


def counted(writer: Any, place: Operand) -> tuple[Operand, Any] | None:
    """Tell whether places are counted from the end where they are negative: what they are counted from, and the size.

    ``jax.numpy`` writes ``x[i]`` as ``x[select_n(i < 0, i, i + size)]``; NumPy and Python count so by themselves.
    """
    made = writer.origin(place)
    if made is None or made.primitive != "select_n" or len(made.operands) != 3:
        return None
    asked, plain, moved = made.operands
    test, total = writer.origin(asked), writer.origin(moved)
    if test is None or total is None or (test.primitive, total.primitive) != ("lt", "add"):
        return None
    zero, size = writer.known(test.operands[1]), writer.known(total.operands[1])
    same = test.operands[0].source == total.operands[0].source == plain.source
    if not same or zero is None or zero.ndim or zero != 0 or size is None or size.ndim:
        return None
    return plain, size.item()


def clamped(place: np.ndarray, last: int, size: int = 0) -> int:
    """An array's one integer, or the nearest one between 0 and ``last``; negative ones are counted from ``size``.

    >>> clamped(np.array(-3), 5), clamped(np.array(3), 5), clamped(np.array(9), 5), clamped(np.array(-1), 5, 6)
    (0, 3, 5, 5)
    """
    index = place.item()
    if index < 0:
        index += size
    return 0 if index < 0 else last if index > last else index


def picked_at_once(writer: Any, equation: Any) -> str | None:
    """A ``squeeze`` of what one place of an array holds (``x[:, i]``), without the slice that comes before it."""
    operand, axes = equation.operands[0], set(map(int, equation.params["dimensions"]))
    made = writer.origin(operand)
    if made is None or made.primitive not in ("slice", "dynamic_slice") or not operand.source.endswith("]"):
        return None
    source, _, parts = operand.source[:-1].rpartition("[")
    rank, written = len(made.avals[0].shape), parts.split(", ")
    if "]" in parts or "(" in parts or len(written) > rank:
        return None
    written += [":"] * (rank - len(written))
    places = [text.partition(":")[0] or "0" if axis in axes else text for axis, text in enumerate(written)]
    while places and places[-1] == ":":
        places.pop()
    return f"{source}[{', '.join(places)}{'' if len(places) < rank else ', ...'}]"


# -- joins -------------------------------------------------------------------------------------------------------------


@rule("concatenate")
def concatenate(writer: Any, equation: Any) -> str:
    """``numpy.concatenate``."""
    sources = [writer.full(equation, index) for index in range(len(equation.operands))]
    return joined(writer, sources, equation.params["dimension"])


def joined(writer: Any, sources: Sequence[str], axis: int) -> str:
    """Arrays one behind the other."""
    if len(sources) == 1:
        return sources[0]
    return f"{writer.helper(np.concatenate)}(({', '.join(sources)}), {int(axis)})"


@rule("stack")
def stack(writer: Any, equation: Any) -> str:
    """``numpy.stack``: arrays with one more dimension, one behind the other."""
    axis, shape = int(equation.params["axis"]), tuple(equation.avals[0].shape)
    with_one = (*shape[:axis], 1, *shape[axis:])
    whole = [Operand(writer.full(equation, index), shape) for index in range(len(equation.operands))]
    return joined(writer, [reshaped(writer, operand, with_one).source for operand in whole], axis)


@rule("pad")
def pad(writer: Any, equation: Any) -> Any:
    """An array of the padding, and the elements written into it; what negative padding cuts off is left out."""
    config = equation.params["padding_config"]
    if all(low == high == inner == 0 for low, high, inner in config):
        return equation.operands[0]
    given = equation.avals[0].shape
    places = [
        padded_places(writer, low, high, inner, size, whole)
        for (low, high, inner), size, whole in zip(config, given, equation.aval.shape, strict=True)
    ]
    if all(place is not None and place[1] == ":" for place in places):
        return sliced(writer.full(equation, 0), [place[0] for place in places if place])
    result = filled(writer, equation.operands[1], equation.aval)
    if all(place is not None for place in places):
        source = sliced(writer.full(equation, 0), [place[0] for place in places if place])
        writer.lines.append(f"{result}[{', '.join(place[1] for place in places if place)}] = {source}")
    return result


def padded_places(writer: Any, low: Any, high: Any, inner: Any, size: Any, whole: Any) -> tuple[str, str] | None:
    """Which elements of a dimension are kept, and where they come to lie; ``None`` if none is.

    Element ``k`` lies at ``low + k * (inner + 1)``, of ``whole``.
    """
    step = inner + 1
    first = 0 if low >= 0 else -(low // step)
    end = size if high >= 0 else size - 1 - (-1 - high) // step
    if end - first <= 0 or whole == 0:
        return None
    start = low + first * step
    return part(writer, first, end, 1, size), part(writer, start, start + (end - first - 1) * step + 1, step, whole)


def filled(writer: Any, value: Operand, aval: Any) -> str:
    """A new array, a variable to write to, with one number everywhere."""
    known = writer.known(value)
    if known is not None and not known.tobytes().strip(b"\0"):
        return writer.new(f"{writer.helper(np.zeros)}({writer.shape(aval.shape)}, {writer.dtype(aval.dtype)})")
    result = writer.new(f"{writer.helper(np.empty)}({writer.shape(aval.shape)}, {writer.dtype(aval.dtype)})")
    writer.lines.append(f"{result}[...] = {value.source}")
    return result


def fresh(writer: Any, equation: Any, index: int) -> str:
    """A copy of an input, a variable to write to."""
    operand, aval = equation.operands[index], equation.avals[index]
    if tuple(operand.shape) == tuple(aval.shape):
        return writer.new(f"{operand.source}.copy()")
    return filled(writer, operand, aval)


@rule("dynamic_update_slice")
def dynamic_update_slice(writer: Any, equation: Any) -> Any:
    """A copy, with a part written anew; the part lies within the array, as that of ``dynamic_slice``."""
    given, new = equation.avals[0].shape, equation.avals[1].shape
    if tuple(given) == tuple(new):
        return equation.operands[1]
    places = windows(writer, equation.operands[2:], new, given)
    result = fresh(writer, equation, 0)
    writer.lines.append(f"{result}[{', '.join(places)}] = {equation.operands[1].source}")
    return result
