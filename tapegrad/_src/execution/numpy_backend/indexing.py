"""Rules of gathers and scatters: reading and writing at places that are data.

Note [Places]
A gather reads a *window* of the operand at each element of a batch of *starts*; a scatter writes one. NumPy says the
same as an index with an array for each dimension that has starts (``x[:, i, j]``), so a rule finds those arrays, and
puts the dimensions of the result where they belong: NumPy has those of the arrays where the first array stands, or in
front, if a slice stands between two of them.

``jax.numpy`` counts negative places from the end before it gathers, which NumPy does by itself, and what is beyond the
end after that, which XLA moves inside or fills, is an ``IndexError``. So the short form is tried first, with the places
as they were given; what says it exactly comes after ``except IndexError``. Places that are promised to lie inside are
taken as they are, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.numpy_backend.rules import Operand, Unwritable, rule
from tapegrad._src.execution.numpy_backend.shapes import counted, fresh, reshaped, transposed
from tapegrad._src.execution.numpy_backend.writer import LARGEST, broadcast_shape

# -- what both are made of ---------------------------------------------------------------------------------------------


class Windows(NamedTuple):
    """The places of windows in an operand, and of their dimensions in what is read, or what is written.

    Attributes:
        shape: the operand's.
        sizes: how much of each of its dimensions a window has.
        batch: the shape of the batch of windows.
        columns: for dimensions of the operand, where windows start: arrays that broadcast to ``batch``.
        batched: for dimensions of the operand, the one of the batch along which its places count up.
        kept: the dimensions of the operand that windows have, in their order, and their places in the result;
            the dimensions of the batch have the others.
        result: the shape of what is read, or written.
    """

    shape: tuple[Any, ...]
    sizes: tuple[Any, ...]
    batch: tuple[Any, ...]
    columns: dict[int, Operand]
    batched: dict[int, int]
    kept: dict[int, int]
    result: tuple[Any, ...]

    def ranges(self) -> list[int]:
        """The dimensions that have starts, and more than one element from there on."""
        return [axis for axis in self.kept if axis in self.columns and self.sizes[axis] != 1]

    def singles(self) -> list[int]:
        """The dimensions that have starts, and one element there, and that the result has."""
        return [axis for axis in self.kept if axis in self.columns and self.sizes[axis] == 1]

    def batch_places(self) -> list[int]:
        """The places of the dimensions of the batch in the result."""
        taken = set(self.kept.values())
        return [place for place in range(len(self.result)) if place not in taken]


def windows_of(
    writer: Any, equation: Any, sizes: Sequence[Any], gone: Collection[int], places: Sequence[int], result: Any
) -> Windows:
    """The windows of a gather or a scatter.

    Args:
        gone: the operand's dimensions that windows don't have, besides those of the batch.
        places: where the others are in the result.
    """
    numbers = equation.params["dimension_numbers"]
    scatter = hasattr(numbers, "scatter_dims_to_operand_dims")
    starts = numbers.scatter_dims_to_operand_dims if scatter else numbers.start_index_map
    along = numbers.scatter_indices_batching_dims if scatter else numbers.start_indices_batching_dims
    batched = dict(zip(map(int, numbers.operand_batching_dims), map(int, along), strict=True))
    shape = tuple(equation.avals[0].shape)
    windowed = [axis for axis in range(len(shape)) if axis not in gone and axis not in batched]
    columns = dict(zip(map(int, starts), columns_of(writer, equation), strict=True))
    first = Operand(number(writer, 0, index_dtype(equation)), ())
    columns.update({axis: first for axis in gone if axis not in columns and axis not in batched})
    return Windows(
        shape, tuple(sizes), tuple(equation.avals[1].shape[:-1]), columns, batched,
        dict(zip(windowed, map(int, places), strict=True)), tuple(result.shape),
    )  # fmt: skip


def columns_of(writer: Any, equation: Any) -> list[Operand]:
    """The starts for each dimension that has some: the last dimension of the indices, taken apart."""
    operand, aval = equation.operands[1], equation.avals[1]
    *batch, count = aval.shape
    if count == 1:
        return [without_last(writer, operand, batch)]
    made = writer.origin(operand)
    joined = made is not None and made.primitive == "concatenate" and made.params["dimension"] == len(batch)
    if made is not None and joined and all(part.shape[-1] == 1 for part in made.avals):
        return [without_last(writer, part, batch) for part in made.operands]
    known = writer.known(operand)
    if known is not None:
        whole = np.broadcast_to(known, aval.shape)
        return [Operand(writer.literal(whole[..., place].copy()), tuple(batch)) for place in range(count)]
    source = writer.named(writer.full(equation, 1))
    return [Operand(f"{source}[..., {place}]", tuple(batch)) for place in range(count)]


def without_last(writer: Any, operand: Operand, batch: Sequence[Any]) -> Operand:
    """An operand without its last dimension, which has one element."""
    made = writer.origin(operand)
    if made is not None and made.primitive in ("broadcast_in_dim", "reshape") and made.avals[0].shape == tuple(batch):
        return made.operands[0]
    if not operand.shape:
        return operand
    known = writer.known(operand)
    if known is not None:
        return Operand(writer.literal(known.reshape(operand.shape[:-1])), tuple(operand.shape[:-1]))
    return reshaped(writer, operand, operand.shape[:-1])


def as_given(writer: Any, equation: Any, windows: Windows) -> dict[int, Operand] | None:
    """Starts that NumPy takes as they are; ``None`` if it would read or write other places than XLA."""
    given = {axis: column_as_given(writer, equation, windows, axis) for axis in windows.columns}
    found = {axis: column for axis, column in given.items() if column is not None}
    known = all(writer.known(column) is not None for column in found.values())
    return found if len(found) == len(given) and (known or not windows.ranges()) else None


def column_as_given(writer: Any, equation: Any, windows: Windows, axis: int) -> Operand | None:
    """Starts that NumPy takes as they are, because it counts negative ones from the end, or there are none."""
    column, size = windows.columns[axis], windows.shape[axis]
    if writer.known(column) is not None:
        return column if within(writer, column, limits(windows, axis)) else None
    found = counted(writer, unconverted(writer, column))
    if found is not None and found[1] == size:
        return unconverted(writer, found[0])
    promised = equation.params["mode"].name == "PROMISE_IN_BOUNDS" and index_dtype(equation) != np.dtype("uint64")
    return column if promised else None


def within(writer: Any, column: Operand, last: Any) -> bool:
    """Tell whether starts are known, and lie between 0 and ``last``."""
    known = writer.known(column)
    return known is not None and isinstance(last, int) and bool(np.all((known >= 0) & (known <= last)))


def unconverted(writer: Any, column: Operand) -> Operand:
    """Integers before they were converted to others, which hold all places that an array can have."""
    made = writer.origin(column)
    while made is not None and made.primitive == "convert_element_type":
        given, dtype = np.dtype(made.avals[0].dtype), np.dtype(made.params["new_dtype"])
        if given.kind not in "iu" or given == np.dtype("uint64") or dtype.kind not in "iu" or dtype.itemsize < 4:
            break
        if tuple(made.operands[0].shape) != tuple(column.shape):
            break
        column = made.operands[0]
        made = writer.origin(column)
    return column


def limits(windows: Windows, axis: int) -> Any:
    """The last start for which a window lies within a dimension."""
    return windows.shape[axis] - windows.sizes[axis]


def number(writer: Any, value: Any, dtype: Any) -> str:
    """A length as an array without dimensions, where that is known: NumPy takes them quicker than Python's numbers."""
    return writer.literal(np.asarray(value, dtype)) if isinstance(value, int) else writer.size(value)


def ufunc(writer: Any, function: np.ufunc, shape: Sequence[Any], *sources: str) -> str:
    """A call of a ufunc."""
    return writer.array(f"{writer.helper(function)}({', '.join(sources)}", shape, ufunc=True)


def both(writer: Any, function: np.ufunc, first: Operand, second: Operand) -> Operand:
    """A call of a ufunc with two operands."""
    return writer.elementwise(function, None, [first, second])


def index_dtype(equation: Any) -> np.dtype:
    """The dtype of the starts."""
    return np.dtype(equation.avals[1].dtype)


def moved_inside(writer: Any, equation: Any, windows: Windows) -> dict[int, Operand]:
    """The starts, where windows lie within the operand."""
    moved = {}
    dtype = index_dtype(equation)
    for axis, column in windows.columns.items():
        source, last = column.source, limits(windows, axis)
        if within(writer, column, last):
            moved[axis] = column
            continue
        if dtype.kind == "i":
            source = ufunc(writer, np.maximum, column.shape, source, number(writer, 0, dtype))
        if not isinstance(last, int) or last <= np.iinfo(dtype).max:
            source = ufunc(writer, np.minimum, column.shape, source, number(writer, last, dtype))
        if dtype == np.dtype("uint64"):
            source = f"{source}.astype({writer.dtype('int64')})"
        moved[axis] = Operand(source, column.shape)
    return moved


def inside(writer: Any, equation: Any, windows: Windows) -> Operand | None:
    """Which windows lie within the operand: bools that broadcast to the batch; ``None``, if there are no starts."""
    test: Operand | None = None
    dtype = index_dtype(equation)
    for axis, column in windows.columns.items():
        last = limits(windows, axis)
        if within(writer, column, last):
            continue
        tests: list[tuple[np.ufunc, str]] = [(np.greater_equal, number(writer, 0, dtype))] if dtype.kind == "i" else []
        if not isinstance(last, int) or last <= np.iinfo(dtype).max:
            tests.append((np.less_equal, number(writer, last, dtype)))
        for function, limit in tests:
            one = Operand(ufunc(writer, function, column.shape, column.source, limit), column.shape)
            test = one if test is None else both(writer, np.logical_and, test, one)
    return test


def named_columns(writer: Any, windows: Windows) -> Windows:
    """The windows, with a name for each array of starts."""
    columns = {axis: Operand(writer.named(source), shape) for axis, (source, shape) in windows.columns.items()}
    return windows._replace(columns=columns)


def key(writer: Any, windows: Windows, columns: dict[int, Operand]) -> tuple[list[str], list[tuple[str, int]]]:
    """NumPy's index for the windows, and what the dimensions of ``operand[index]`` are.

    These are ``("batch", n)`` for the ``n``th of the batch, and ``("window", axis)`` for one that windows have.
    """
    ranges = windows.ranges()
    whole = (*windows.batch, *(windows.sizes[axis] for axis in ranges))
    arrays: dict[int, Operand] = {}
    for axis, column in columns.items():
        behind = [windows.sizes[axis] if other == axis else 1 for other in ranges]
        array = reshaped(writer, column, (*column.shape, *[1] * len(ranges))) if column.shape or any(
            size != 1 for size in behind) else column  # fmt: skip
        if axis in ranges:
            array = both(writer, np.add, array, counting(writer, windows.sizes[axis], behind))
        arrays[axis] = array
    for axis, place in windows.batched.items():
        ones = [1] * (len(windows.batch) - place - 1 + len(ranges))
        arrays[axis] = counting(writer, windows.shape[axis], [windows.shape[axis], *ones])
    spread_over(writer, arrays, whole)
    parts, sliced = [], []
    for axis, (size, width) in enumerate(zip(windows.shape, windows.sizes, strict=True)):
        if axis in arrays:
            parts.append(arrays[axis].source)
        else:
            parts.append(":" if size == width else f":{writer.size(width)}")
            sliced.append(axis)
    labels = [("batch", place) for place in range(len(windows.batch))] + [("window", axis) for axis in ranges]
    places = sorted(arrays)
    together = bool(places) and places[-1] - places[0] + 1 == len(places)
    before = [axis for axis in sliced if together and axis < places[0]]
    after = [axis for axis in sliced if axis not in before]
    return parts, [*(("window", axis) for axis in before), *labels, *(("window", axis) for axis in after)]


def counting(writer: Any, size: Any, shape: Sequence[Any]) -> Operand:
    """0, 1, 2, ... in an array of a shape."""
    if isinstance(size, int):
        return Operand(writer.literal(np.arange(size).reshape(shape)), tuple(shape))
    return reshaped(writer, Operand(f"{writer.helper(np.arange)}({writer.size(size)})", (size,)), shape)


def spread_over(writer: Any, arrays: dict[int, Operand], shape: tuple[Any, ...]) -> None:
    """See to it that arrays broadcast to no less than a shape."""
    if not arrays or broadcast_shape([array.shape for array in arrays.values()]) == shape:
        return
    first = next(iter(arrays))
    arrays[first] = Operand(writer.broadcast(arrays[first], shape), shape)


def order(windows: Windows, labels: Sequence[tuple[str, int]]) -> list[int]:
    """The permutation that brings dimensions with these labels into the order of the result."""
    wanted: dict[int, tuple[str, int]] = {place: ("window", axis) for axis, place in windows.kept.items()}
    wanted.update({place: ("batch", index) for index, place in enumerate(windows.batch_places())})
    singles = {("window", axis) for axis in windows.singles()}
    return [labels.index(wanted[place]) for place in sorted(wanted) if wanted[place] not in singles]


# -- reading -----------------------------------------------------------------------------------------------------------


@rule("gather")
def gather(writer: Any, equation: Any) -> str:
    """``x.take(i)`` or ``x[i, j]``; what is beyond the end is moved inside, or filled with a number."""
    numbers = equation.params["dimension_numbers"]
    windows = windows_of(writer, equation, equation.params["slice_sizes"],
                         set(map(int, numbers.collapsed_slice_dims)), numbers.offset_dims, equation.aval)  # fmt: skip
    mode = equation.params["mode"].name
    if mode not in ("CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS"):
        raise Unwritable(f"gather: {mode}")
    operand = Operand(writer.full(equation, 0), windows.shape)
    given = as_given(writer, equation, windows)
    if given is not None:
        if all(writer.known(column) is not None for column in given.values()):
            return read(writer, operand, windows, given)
        operand = operand._replace(source=writer.named(operand.source))
        result = writer.variable()
        with writer.block("try:"):
            writer.lines.append(f"{result} = {read(writer, operand, windows, given)}")
        with writer.block("except IndexError:"):
            writer.lines.append(f"{result} = {read_exactly(writer, equation, operand, windows)}")
        return result
    return read_exactly(writer, equation, operand, windows)


def read(writer: Any, operand: Operand, windows: Windows, columns: dict[int, Any], mode: str = "") -> str:
    """Read at starts that lie within the operand, or that NumPy's ``take`` moves there in a mode."""
    if is_take(windows):
        ((axis, column),) = columns.items()
        place = writer.broadcast(column, windows.batch)
        labels = [("window", other) for other in range(len(windows.shape))]
        labels[axis : axis + 1] = [("batch", place) for place in range(len(windows.batch))]
        shape = tuple(windows.shape[label[1]] if label[0] == "window" else windows.batch[label[1]] for label in labels)
        if mode:
            found = f"{operand.source}.take({place}, {axis}, None, {mode!r})"
        else:
            found = f"{writer.helper(taken)}({operand.source}, {place}, {axis})"
        result = Operand(writer.array(found, shape), shape)
    else:
        parts, labels = key(writer, windows, columns)
        sizes = {("window", axis): size for axis, size in enumerate(windows.sizes)}
        sizes.update({("batch", index): size for index, size in enumerate(windows.batch)})
        shape = tuple(sizes[label] for label in labels)
        if not any(part != ":" for part in parts):
            result = Operand(operand.source, shape)
        else:
            result = Operand(writer.array(f"{operand.source}[{', '.join(parts)}]", shape), shape)
    return reshaped(writer, transposed(result, order(windows, labels)), windows.result).source


def taken(array: np.ndarray, places: Any, axis: int) -> np.ndarray:
    """``array.take(places, axis)``, which first copies all of an array that isn't dense: here only what is taken is."""
    if np.ndim(places) == 0 or array.flags.c_contiguous:
        return array.take(places, axis)
    return np.ascontiguousarray(array[(*[slice(None)] * axis, places)])


def is_take(windows: Windows) -> bool:
    """Tell whether windows have one place in one dimension, and all of the others."""
    others = [axis for axis in range(len(windows.shape)) if axis not in windows.columns]
    whole = all(windows.sizes[axis] == windows.shape[axis] and axis not in windows.batched for axis in others)
    return len(windows.columns) == 1 and whole and all(windows.sizes[axis] == 1 for axis in windows.columns)


def read_exactly(writer: Any, equation: Any, operand: Operand, windows: Windows) -> str:
    """Read what XLA reads, wherever the windows lie."""
    filling = equation.params["mode"].name == "FILL_OR_DROP"
    if not filling and is_take(windows) and index_dtype(equation) != np.dtype("uint64"):
        return read(writer, operand, windows, windows.columns, "clip")
    windows = named_columns(writer, windows)
    read_there = read(writer, operand, windows, moved_inside(writer, equation, windows))
    test = inside(writer, equation, windows) if filling else None
    if test is None:
        return read_there
    places = windows.batch_places()
    sizes = (*[1] * (len(windows.batch) - len(test.shape)), *test.shape)
    shape = [sizes[places.index(place)] if place in places else 1 for place in range(len(windows.result))]
    asked = reshaped(writer, test, shape).source if test.shape else test.source
    fill = writer.literal(filling_value(equation))
    return writer.array(f"{writer.helper(np.where)}({asked}, {read_there}, {fill})", windows.result)


def filling_value(equation: Any) -> np.ndarray:
    """The value that is read beyond the end: the number that was given, or nan, the least integer, the largest unsigned
    one."""
    dtype, value = np.dtype(equation.aval.dtype), equation.params["fill_value"]
    if value is None:
        value = {"b": True, "i": np.iinfo(dtype).min if dtype.kind == "i" else None,
                 "u": np.iinfo(dtype).max if dtype.kind == "u" else None}.get(dtype.kind, np.nan)  # fmt: skip
    return np.asarray(value).astype(dtype)


# -- writing -----------------------------------------------------------------------------------------------------------

COMBINED: dict[str, np.ufunc | None] = {
    "scatter": None, "scatter-add": np.add, "scatter_add": np.add, "scatter-sub": np.subtract,
    "scatter_sub": np.subtract, "scatter-mul": np.multiply, "scatter_mul": np.multiply,
    "scatter-min": np.minimum, "scatter_min": np.minimum, "scatter-max": np.maximum, "scatter_max": np.maximum,
}  # fmt: skip
"""Functions that put together what is written and what was there; ``None`` if it takes its place."""


@rule(*COMBINED)
def scatter(writer: Any, equation: Any) -> str:
    """A copy, written to: ``x[i] = y``, or ``add.at(x, i, y)``; what would lie beyond the end is left out."""
    combine = COMBINED[equation.primitive]
    if combine is None and equation.params.get("update_jaxpr") is not None:
        raise Unwritable("scatter: with a function of its own")
    if combine in (np.minimum, np.maximum) and np.dtype(equation.aval.dtype).kind == "c":
        raise Unwritable(f"{equation.primitive}: of complex numbers")
    numbers, updates = equation.params["dimension_numbers"], equation.avals[2]
    gone = set(map(int, numbers.inserted_window_dims)) | set(map(int, numbers.operand_batching_dims))
    windowed = [axis for axis in range(len(equation.avals[0].shape)) if axis not in gone]
    widths = dict(zip(windowed, (updates.shape[place] for place in numbers.update_window_dims), strict=True))
    sizes = [widths.get(axis, 1) for axis in range(len(equation.avals[0].shape))]
    windows = windows_of(writer, equation, sizes, gone, numbers.update_window_dims, updates)
    given = as_given(writer, equation, windows)
    written = Operand(writer.named(equation.operands[2].source), equation.operands[2].shape)
    if given is None:
        return write_exactly(writer, equation, windows, written)
    result = fresh(writer, equation, 0)
    if all(writer.known(column) is not None for column in given.values()):
        writer.lines.append(write(writer, result, windows, given, written, combine))
        return result
    with writer.block("try:"):
        writer.lines.append(write(writer, result, windows, given, written, combine))
    with writer.block("except IndexError:"):
        writer.lines.append(f"{result} = {write_exactly(writer, equation, windows, written)}")
    return result


def write(
    writer: Any, result: str, windows: Windows, columns: dict[int, Any], written: Operand, combine: np.ufunc | None
) -> str:
    """A line that writes at starts within the array."""
    parts, labels = key(writer, windows, columns)
    singles = {windows.kept[axis] for axis in windows.singles()}
    if written.shape:
        source = writer.broadcast(written, windows.result)
        shape = [size for place, size in enumerate(windows.result) if place not in singles]
        arranged = transposed(reshaped(writer, Operand(source, windows.result), shape), inverse(order(windows, labels)))
        written = arranged
    places = ", ".join(parts) or "..."
    each = len(parts) == len(windows.shape) > 1 and bool(written.shape) and ":" not in places
    if combine is None:
        return f"{writer.helper(put_at)}({result}, ({places}), {written.source})" if each else (
            f"{result}[{places}] = {written.source}")  # fmt: skip
    flat = flat_places(writer, windows.shape, as_objects(writer, parts)) if written.shape else None
    if flat is not None:
        add = writer.helper(combine)
        return f"{add}.at({result}.reshape(-1), {writer.constant(flat)}, {written.source}.reshape(-1))"
    if is_take(windows) and 0 in columns and len(windows.shape) > 1 and written.shape:
        return f"{writer.helper(at_rows)}({writer.helper(combine)}, {result}, {parts[0]}, {written.source})"
    if ":" in places or "..." in places:
        return f"{writer.helper(combine)}.at({result}, {as_objects(writer, parts)}, {written.source})"
    if each:
        return f"{writer.helper(at_places)}({writer.helper(combine)}, {result}, ({places}), {written.source})"
    return f"{writer.helper(combine)}.at({result}, ({places},), {written.source})"


def flat_places(writer: Any, shape: Sequence[Any], index: str) -> np.ndarray | None:
    """Which elements of an array as a flat one an index names, if that is known now; there NumPy has a loop."""
    if not all(isinstance(size, int) for size in shape) or not FEW < math.prod(shape) <= LARGEST:
        return None
    try:
        found = np.arange(math.prod(shape)).reshape(shape)[eval(index, writer.names, {})]
    except NameError:  # it depends on arguments
        return None
    return found.reshape(-1) if found.size <= LARGEST else None


UNSIGNED = {size: np.dtype(f"u{size}") for size in (4, 8)}
"""The dtypes of integers without a sign, by their sizes: seen as such, those below 0 are beyond all others."""

FEW = 1 << 7
"""Up to so many elements ``ufunc.at`` is quicker as it is than with places in a flat array."""

MANY = 1 << 13
"""From so many elements on they are put into a flat array."""

WIDE = 1 << 9
"""From so many elements on, a row is added by a call of its own."""


def at_places(combine: np.ufunc, array: np.ndarray, places: tuple[np.ndarray, ...], values: np.ndarray) -> None:
    """``combine.at(array, places, values)``, by places of a flat array, for which NumPy has a loop.

    Raises:
        IndexError: there is no such place.

    >>> array = np.zeros((2, 2))
    >>> at_places(np.add, array, (np.array([1, 1]), np.array([0, -2])), np.array([1.0, 2.0]))
    >>> array
    array([[0., 0.],
           [3., 0.]])
    """
    flat = flat_of(places, array.shape, values.size) if values.size > FEW else None
    if flat is not None and flat.shape == values.shape:
        return combine.at(array.reshape(-1), flat.reshape(-1), values.reshape(-1))
    return combine.at(array, places, values)


def put_at(array: np.ndarray, places: tuple[np.ndarray, ...], values: np.ndarray) -> None:
    """``array[places] = values``, by places of a flat array where there are many.

    Raises:
        IndexError: there is no such place.
    """
    flat = flat_of(places, array.shape, values.size) if values.size >= MANY else None
    if flat is not None and flat.shape == values.shape:
        array.reshape(-1)[flat.reshape(-1)] = values.reshape(-1)
    else:
        array[places] = values


def flat_of(places: tuple[np.ndarray, ...], shape: tuple[int, ...], count: int) -> np.ndarray | None:
    """Places of a flat array, about so many; None if one is negative, or beyond the end.

    >>> flat_of((np.array([[1], [0]]), np.array([0, 2])), (2, 3), MANY)
    array([[3, 5],
           [0, 2]])
    """
    if count < MANY:
        try:
            return np.ravel_multi_index(places, shape)
        except (ValueError, TypeError):  # negative ones, or none; of other types
            return None
    flat: np.ndarray | None = None
    for place, size in zip(places, shape, strict=True):
        if place.dtype.char not in "il" or not place.size or place.view(UNSIGNED[place.itemsize]).max() >= size:
            return None
        flat = place if flat is None else np.multiply(flat, size, dtype=np.int64) + place
    return flat


def at_rows(combine: np.ufunc, array: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """``combine.at(array, rows, values)``: of long rows one by one, else by places of a flat array where they are many.

    Raises:
        IndexError: there is no such row.

    >>> array = np.zeros((2, 1))
    >>> at_rows(np.add, array, np.array([-1, 1]), np.array([[1.], [2.]]))
    >>> array.ravel()
    array([0., 3.])
    """
    width = array[:1].size
    if values.size <= FEW or values.size != rows.size * width:
        combine.at(array, (rows,), values)
    elif width >= WIDE:
        for row, one in zip(rows.reshape(-1).tolist(), values.reshape(rows.size, *array.shape[1:]), strict=True):
            combine(array[row], one, out=array[row])
    else:
        places = rows.astype(np.int64).reshape(-1, 1) * width + np.arange(width)
        combine.at(array.reshape(-1), places.reshape(-1), values.reshape(-1))


def as_objects(writer: Any, parts: Sequence[str]) -> str:
    """An index with slices as a tuple of objects, for functions."""
    while parts and parts[-1] == ":":
        parts = parts[:-1]
    whole = writer.constant(slice(None), "all")
    items = [whole if part == ":" else f"slice({part[1:]})" if part[0] == ":" else part for part in parts]
    return f"({''.join(f'{item}, ' for item in items)})" if items else "..."


def inverse(permutation: Sequence[int]) -> list[int]:
    """The permutation that undoes one.

    >>> inverse([2, 0, 1])
    [1, 2, 0]
    """
    return [permutation.index(place) for place in range(len(permutation))]


def write_exactly(writer: Any, equation: Any, windows: Windows, written: Operand) -> str:
    """Write what XLA writes, wherever the windows lie: element by element of a flat array."""
    windows = named_columns(writer, windows)
    clipping = equation.params["mode"].name == "CLIP"
    columns = moved_inside(writer, equation, windows) if clipping else windows.columns
    flat: Operand | None = None
    for axis, size in enumerate(windows.shape):
        place = place_in_result(writer, windows, columns, axis)
        if place is not None and flat is not None:
            step = Operand(number(writer, size, "int64"), ())
            flat = both(writer, np.add, both(writer, np.multiply, flat, step), place)
        elif place is not None:
            flat = place
        elif flat is not None:
            flat = both(writer, np.multiply, flat, Operand(number(writer, size, "int64"), ()))
    places = writer.broadcast(flat or Operand(number(writer, 0, "int64"), ()), windows.result)
    source = writer.broadcast(written, windows.result)
    test = None if clipping else inside(writer, equation, windows)
    result = fresh(writer, equation, 0)
    asked = "None" if test is None else writer.broadcast(in_result(writer, windows, test), windows.result)
    combine = COMBINED[equation.primitive]
    how = "None" if combine is None else writer.helper(combine)
    writer.lines.append(f"{writer.helper(write_flat)}({result}, {places}, {source}, {asked}, {how})")
    return result


def in_result(writer: Any, windows: Windows, array: Operand) -> Operand:
    """An array that broadcasts to the batch as one that broadcasts to the result."""
    if not array.shape:
        return array
    places = windows.batch_places()
    sizes = (*[1] * (len(windows.batch) - len(array.shape)), *array.shape)
    shape = [sizes[places.index(place)] if place in places else 1 for place in range(len(windows.result))]
    return reshaped(writer, array, shape)


def place_in_result(writer: Any, windows: Windows, columns: dict[int, Operand], axis: int) -> Operand | None:
    """The places in a dimension where elements are written, as 64-bit integers; ``None`` if all at the first place."""
    rank = len(windows.result)
    start: Operand | None = None
    if axis in columns:
        start = in_result(writer, windows, columns[axis])
        start = Operand(f"{start.source}.astype({writer.dtype('int64')})", start.shape)
    if axis in windows.batched:
        start = counting_along(writer, windows.shape[axis], windows.batch_places()[windows.batched[axis]], rank)
    if axis not in windows.kept or windows.sizes[axis] == 1:
        return start
    steps = counting_along(writer, windows.sizes[axis], windows.kept[axis], rank)
    return steps if start is None else both(writer, np.add, start, steps)


def counting_along(writer: Any, size: Any, place: int, rank: int) -> Operand:
    """0, 1, 2, ... along one of some dimensions."""
    return counting(writer, size, [size if other == place else 1 for other in range(rank)])


def write_flat(
    array: np.ndarray, places: np.ndarray, values: np.ndarray, kept: np.ndarray | None, combine: np.ufunc | None
) -> None:
    """Write elements to a contiguous array, at places of it as a flat one, those that are ``kept``.

    >>> array = np.zeros(3)
    >>> write_flat(array, np.array([2, 2, 9]), np.array([1., 2, 3]), np.array([True, True, False]), np.add)
    >>> array
    array([0., 0., 3.])
    """
    flat = array.reshape(-1)
    if kept is not None:
        places, values = places[kept], values[kept]
    if combine is None:
        flat[places.reshape(-1)] = values.reshape(-1)
    else:
        combine.at(flat, places.reshape(-1), values.reshape(-1))
