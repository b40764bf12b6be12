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

from tapegrad._src.execution.numpy_backend.expression import ALL, Assign, Constant, Do, Index, Name, Slice, value_of
from tapegrad._src.execution.numpy_backend.operands import (
    Operand,
    Unwritable,
    are_known,
    as_array,
    broadcast,
    broadcast_shape,
    by_ufunc,
    call,
    constant,
    method,
    number,
    reshaped,
    rule,
)
from tapegrad._src.execution.numpy_backend.parts import compiled
from tapegrad._src.execution.numpy_backend.shapes import counted, fresh, transposed
from tapegrad._src.execution.numpy_backend.writer import LARGEST

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

    def batch_axes(self) -> list[int]:
        """The places of the dimensions of the batch in the result."""
        taken = set(self.kept.values())
        return [dim for dim in range(len(self.result)) if dim not in taken]


def windows_of(
    writer: Any, equation: Any, sizes: Sequence[Any], gone: Collection[int], mapped: Sequence[int], result: Any
) -> Windows:
    """The windows of a gather or a scatter.

    Args:
        gone: the operand's dimensions that windows don't have, besides those of the batch.
        mapped: where the others are in the result.
    """
    numbers = equation.params["dimension_numbers"]
    scatter = hasattr(numbers, "scatter_dims_to_operand_dims")
    starts = numbers.scatter_dims_to_operand_dims if scatter else numbers.start_index_map
    along = numbers.scatter_indices_batching_dims if scatter else numbers.start_indices_batching_dims
    batched = dict(zip(map(int, numbers.operand_batching_dims), map(int, along), strict=True))
    shape = tuple(equation.avals[0].shape)
    windowed = [axis for axis in range(len(shape)) if axis not in gone and axis not in batched]
    columns = dict(zip(map(int, starts), columns_of(writer, equation), strict=True))
    first = number(0, index_dtype(equation))
    columns.update({axis: first for axis in gone if axis not in columns and axis not in batched})
    return Windows(
        shape, tuple(sizes), tuple(equation.avals[1].shape[:-1]), columns, batched,
        dict(zip(windowed, map(int, mapped), strict=True)), tuple(result.shape),
    )  # fmt: skip


def columns_of(writer: Any, equation: Any) -> list[Operand]:
    """The starts for each dimension that has some: the last dimension of the indices, taken apart."""
    operand, aval = equation.operands[1], equation.avals[1]
    *batch, count = aval.shape
    if count == 1:
        return [without_last(operand, batch)]
    made = operand.origin
    joined = made is not None and made.primitive == "concatenate" and made.params["dimension"] == len(batch)
    if made is not None and joined and all(part.shape[-1] == 1 for part in made.avals):
        return [without_last(part, batch) for part in made.operands]
    if operand.known is not None:
        whole = np.broadcast_to(operand.known, aval.shape)
        return [constant(whole[..., column].copy()) for column in range(count)]
    starts = writer.named(equation.full(1)).expression
    return [Operand(Index(starts, (..., column)), tuple(batch)) for column in range(count)]


def without_last(operand: Operand, batch: Sequence[Any]) -> Operand:
    """An operand without its last dimension, which has one element."""
    made = operand.origin
    if made is not None and made.primitive in ("broadcast_in_dim", "reshape") and made.avals[0].shape == tuple(batch):
        return made.operands[0]
    if not operand.shape:
        return operand
    if operand.known is not None:
        return constant(operand.known.reshape(operand.shape[:-1]))
    return reshaped(operand, operand.shape[:-1])


def as_given(equation: Any, windows: Windows) -> dict[int, Operand] | None:
    """Starts that NumPy takes as they are; ``None`` if it would read or write other places than XLA."""
    given = {axis: column_as_given(equation, windows, axis) for axis in windows.columns}
    columns = {axis: column for axis, column in given.items() if column is not None}
    return columns if len(columns) == len(given) and (all_known(columns) or not windows.ranges()) else None


def all_known(columns: dict[int, Operand]) -> bool:
    """Tell whether all starts are constants."""
    return all(column.known is not None for column in columns.values())


def column_as_given(equation: Any, windows: Windows, axis: int) -> Operand | None:
    """Starts that NumPy takes as they are, because it counts negative ones from the end, or there are none."""
    column, size = windows.columns[axis], windows.shape[axis]
    if column.known is not None:
        return column if within(column, limits(windows, axis)) else None
    pair = counted(unconverted(column))
    if pair is not None and pair[1] == size:
        return unconverted(pair[0])
    promised = equation.params["mode"].name == "PROMISE_IN_BOUNDS" and index_dtype(equation) != np.dtype("uint64")
    return column if promised else None


def within(column: Operand, last: Any) -> bool:
    """Tell whether starts are known, and lie between 0 and ``last``."""
    known = column.known
    return known is not None and isinstance(last, int) and bool(np.all((known >= 0) & (known <= last)))


def unconverted(column: Operand) -> Operand:
    """Integers before they were converted to others, which hold all places that an array can have."""
    made = column.origin
    while made is not None and made.primitive == "convert_element_type":
        given, dtype = np.dtype(made.avals[0].dtype), np.dtype(made.params["new_dtype"])
        if given.kind not in "iu" or given == np.dtype("uint64") or dtype.kind not in "iu" or dtype.itemsize < 4:
            break
        if tuple(made.operands[0].shape) != tuple(column.shape):
            break
        column = made.operands[0]
        made = column.origin
    return column


def limits(windows: Windows, axis: int) -> Any:
    """The last start for which a window lies within a dimension."""
    return windows.shape[axis] - windows.sizes[axis]


def index_dtype(equation: Any) -> np.dtype:
    """The dtype of the starts."""
    return np.dtype(equation.avals[1].dtype)


def moved_inside(equation: Any, windows: Windows) -> dict[int, Operand]:
    """The starts, where windows lie within the operand."""
    moved = {}
    dtype = index_dtype(equation)
    for axis, column in windows.columns.items():
        last = limits(windows, axis)
        if not within(column, last):
            if dtype.kind == "i":
                column = by_ufunc(np.maximum, None, [column, number(0, dtype)])
            if not isinstance(last, int) or last <= np.iinfo(dtype).max:
                column = by_ufunc(np.minimum, None, [column, number(last, dtype)])
            if dtype == np.dtype("uint64"):
                column = column.method("astype", INT64)
        moved[axis] = column
    return moved


def inside(equation: Any, windows: Windows) -> Operand | None:
    """Which windows lie within the operand: bools that broadcast to the batch; ``None``, if there are no starts."""
    test: Operand | None = None
    dtype = index_dtype(equation)
    for axis, column in windows.columns.items():
        last = limits(windows, axis)
        if within(column, last):
            continue
        tests: list[tuple[np.ufunc, Operand]] = [(np.greater_equal, number(0, dtype))] if dtype.kind == "i" else []
        if not isinstance(last, int) or last <= np.iinfo(dtype).max:
            tests.append((np.less_equal, number(last, dtype)))
        for function, limit in tests:
            one = by_ufunc(function, None, [column, limit])
            test = one if test is None else by_ufunc(np.logical_and, None, [test, one])
    return test


def named_columns(writer: Any, windows: Windows) -> Windows:
    """The windows, with a name for each array of starts."""
    return windows._replace(columns={axis: writer.named(column) for axis, column in windows.columns.items()})


def key(windows: Windows, columns: dict[int, Operand]) -> tuple[list[Any], list[tuple[str, int]]]:
    """NumPy's index for the windows, and what the dimensions of ``operand[index]`` are.

    These are ``("batch", n)`` for the ``n``th of the batch, and ``("window", axis)`` for one that windows have.
    """
    ranges = windows.ranges()
    whole = (*windows.batch, *(windows.sizes[axis] for axis in ranges))
    arrays: dict[int, Operand] = {}
    for axis, column in columns.items():
        behind = [windows.sizes[axis] if other == axis else 1 for other in ranges]
        array = reshaped(column, (*column.shape, *[1] * len(ranges))) if column.shape or any(
            size != 1 for size in behind) else column  # fmt: skip
        if axis in ranges:
            array = by_ufunc(np.add, None, [array, counting(windows.sizes[axis], behind)])
        arrays[axis] = array
    for axis, batch_axis in windows.batched.items():
        ones = [1] * (len(windows.batch) - batch_axis - 1 + len(ranges))
        arrays[axis] = counting(windows.shape[axis], [windows.shape[axis], *ones])
    broadcast_all(arrays, whole)
    parts: list[Any] = []
    sliced = []
    for axis, (size, width) in enumerate(zip(windows.shape, windows.sizes, strict=True)):
        if axis in arrays:
            parts.append(arrays[axis].expression)
        else:
            parts.append(ALL if size == width else Slice(None, width))
            sliced.append(axis)
    labels = [("batch", number) for number in range(len(windows.batch))] + [("window", axis) for axis in ranges]
    indexed = sorted(arrays)
    together = bool(indexed) and indexed[-1] - indexed[0] + 1 == len(indexed)
    before = [axis for axis in sliced if together and axis < indexed[0]]
    after = [axis for axis in sliced if axis not in before]
    return parts, [*(("window", axis) for axis in before), *labels, *(("window", axis) for axis in after)]


def counting(size: Any, shape: Sequence[Any]) -> Operand:
    """0, 1, 2, ... in an array of a shape."""
    if isinstance(size, int):
        return constant(np.arange(size).reshape(shape))
    return reshaped(Operand(call(np.arange, size), (size,)), shape)


def broadcast_all(arrays: dict[int, Operand], shape: tuple[Any, ...]) -> None:
    """See to it that arrays broadcast to no less than a shape."""
    if not arrays or broadcast_shape([array.shape for array in arrays.values()]) == shape:
        return
    first = next(iter(arrays))
    arrays[first] = broadcast(arrays[first], shape)


def order(windows: Windows, labels: Sequence[tuple[str, int]]) -> list[int]:
    """The permutation that brings dimensions with these labels into the order of the result."""
    wanted: dict[int, tuple[str, int]] = {dim: ("window", axis) for axis, dim in windows.kept.items()}
    wanted.update({dim: ("batch", index) for index, dim in enumerate(windows.batch_axes())})
    singles = {("window", axis) for axis in windows.singles()}
    return [labels.index(wanted[dim]) for dim in sorted(wanted) if wanted[dim] not in singles]


# -- reading -----------------------------------------------------------------------------------------------------------


@rule("gather")
def gather(writer: Any, equation: Any) -> Operand:
    """``x.take(i)`` or ``x[i, j]``; what is beyond the end is moved inside, or filled with a number."""
    numbers = equation.params["dimension_numbers"]
    windows = windows_of(writer, equation, equation.params["slice_sizes"],
                         set(map(int, numbers.collapsed_slice_dims)), numbers.offset_dims, equation.aval)  # fmt: skip
    mode = equation.params["mode"].name
    if mode not in ("CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS"):
        raise Unwritable(f"gather: {mode}")
    operand, given = equation.full(0), as_given(equation, windows)
    if given is None:
        return read_exactly(writer, equation, operand, windows)
    if all_known(given):
        return read(operand, windows, given)
    named = writer.named(operand)
    return writer.tried(IndexError, Name(), lambda: read(named, windows, given),
                        lambda: read_exactly(writer, equation, named, windows))  # fmt: skip


def read(operand: Operand, windows: Windows, columns: dict[int, Any], mode: str = "") -> Operand:
    """Read at starts that lie within the operand, or that NumPy's ``take`` moves there in a mode."""
    if is_take(windows):
        ((axis, column),) = columns.items()
        index = broadcast(column, windows.batch)
        labels = [("window", other) for other in range(len(windows.shape))]
        labels[axis : axis + 1] = [("batch", index) for index in range(len(windows.batch))]
        shape = tuple(windows.shape[label[1]] if label[0] == "window" else windows.batch[label[1]] for label in labels)
        clipped = method(operand, "take", index, axis, None, mode) if mode else call(taken, operand, index, axis)
        result = as_array(clipped, shape)
    else:
        parts, labels = key(windows, columns)
        sizes = {("window", axis): size for axis, size in enumerate(windows.sizes)}
        sizes.update({("batch", index): size for index, size in enumerate(windows.batch)})
        shape = tuple(sizes[label] for label in labels)
        if all(part == ALL for part in parts):
            result = Operand(operand.expression, shape)
        else:
            result = as_array(Index(operand.expression, tuple(parts)), shape)
    return reshaped(transposed(result, order(windows, labels)), windows.result)


def taken(array: np.ndarray, indices: Any, axis: int) -> np.ndarray:
    """``array.take(places, axis)``, which first copies all of an array that isn't dense: here only what is taken is."""
    if np.ndim(indices) == 0 or array.flags.c_contiguous:
        return array.take(indices, axis)
    return np.ascontiguousarray(array[(*[slice(None)] * axis, indices)])


def is_take(windows: Windows) -> bool:
    """Tell whether windows have one place in one dimension, and all of the others."""
    others = [axis for axis in range(len(windows.shape)) if axis not in windows.columns]
    whole = all(windows.sizes[axis] == windows.shape[axis] and axis not in windows.batched for axis in others)
    return len(windows.columns) == 1 and whole and all(windows.sizes[axis] == 1 for axis in windows.columns)


def read_exactly(writer: Any, equation: Any, operand: Operand, windows: Windows) -> Operand:
    """Read what XLA reads, wherever the windows lie."""
    filling = equation.params["mode"].name == "FILL_OR_DROP"
    if not filling and is_take(windows) and index_dtype(equation) != np.dtype("uint64"):
        return read(operand, windows, windows.columns, "clip")
    windows = named_columns(writer, windows)
    read_there = read(operand, windows, moved_inside(equation, windows))
    test = inside(equation, windows) if filling else None
    if test is None:
        return read_there
    elements = call(np.where, in_result(windows, test), read_there, constant(filling_value(equation)))
    return as_array(elements, windows.result)


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
def scatter(writer: Any, equation: Any) -> Any:
    """A copy, written to: ``x[i] = y``, or ``add.at(x, i, y)``; what would lie beyond the end is left out."""
    combine = COMBINED[equation.primitive]
    if combine is None and equation.params.get("update_jaxpr") is not None:
        raise Unwritable("scatter: with a function of its own")
    if combine in (np.minimum, np.maximum) and np.dtype(equation.aval.dtype).kind == "c":
        raise Unwritable(f"{equation.primitive}: of complex numbers")
    numbers, updates = equation.params["dimension_numbers"], equation.avals[2]
    gone = set(map(int, numbers.inserted_window_dims)) | set(map(int, numbers.operand_batching_dims))
    windowed = [axis for axis in range(len(equation.avals[0].shape)) if axis not in gone]
    widths = dict(zip(windowed, (updates.shape[dim] for dim in numbers.update_window_dims), strict=True))
    sizes = [widths.get(axis, 1) for axis in range(len(equation.avals[0].shape))]
    windows = windows_of(writer, equation, sizes, gone, numbers.update_window_dims, updates)
    given, written = as_given(equation, windows), writer.named(equation.operands[2])
    if given is None:
        return write_exactly(writer, equation, windows, written)
    result = fresh(writer, equation, 0)

    def write_as_given() -> None:
        writer.statements.append(write(result, windows, given, written, combine))

    if all_known(given):
        write_as_given()
        return result
    return writer.tried(
        IndexError, result, write_as_given, lambda: write_exactly(writer, equation, windows, written)
    )  # fmt: skip


def write(
    result: Name, windows: Windows, columns: dict[int, Any], written: Operand, combine: np.ufunc | None
) -> Assign | Do:
    """A statement that writes at starts within the array."""
    parts, labels = key(windows, columns)
    singles = {windows.kept[axis] for axis in windows.singles()}
    if written.shape:
        shape = [size for dim, size in enumerate(windows.result) if dim not in singles]
        written = reshaped(broadcast(written, windows.result), shape)
        written = transposed(written, inverse(order(windows, labels)))
    indices, whole = tuple(parts) or (...,), not parts or any(type(part) is Slice for part in parts)
    each = len(parts) == len(windows.shape) > 1 and bool(written.shape) and not whole
    if combine is None:
        if each:
            return Do(call(put_at, result, indices, written))
        return Assign(Index(result, indices), written.expression)
    flat = flat_numbers(windows.shape, as_objects(parts)) if written.shape else None
    if flat is not None:
        elements = method(written, "reshape", -1)
        return Do(method(combine, "at", method(result, "reshape", -1), Constant(flat), elements))
    if is_take(windows) and 0 in columns and len(windows.shape) > 1 and written.shape:
        return Do(call(at_rows, combine, result, parts[0], written))
    if each:
        return Do(call(at_indices, combine, result, indices, written))
    return Do(method(combine, "at", result, as_objects(parts) if whole else indices, written))


def flat_numbers(shape: Sequence[Any], index: Any) -> np.ndarray | None:
    """Which elements of an array as a flat one an index names, if that is known now; there NumPy has a loop."""
    if not are_known(*shape) or not FEW < math.prod(shape) <= LARGEST:
        return None
    try:
        numbers = np.arange(math.prod(shape)).reshape(shape)[value_of(index)]
    except NameError:  # it depends on arguments
        return None
    return numbers.reshape(-1) if numbers.size <= LARGEST else None


INT64 = np.dtype("int64")

UNSIGNED = {size: np.dtype(f"u{size}") for size in (4, 8)}
"""The dtypes of integers without a sign, by their sizes: seen as such, those below 0 are beyond all others."""

FEW = 1 << 7
"""Up to so many elements ``ufunc.at`` is quicker as it is than with places in a flat array."""

MANY = 1 << 13
"""From so many elements on they are put into a flat array."""

WIDE = 1 << 9
"""From so many elements on, a row is added by a call of its own."""


def at_indices(combine: np.ufunc, array: np.ndarray, indices: tuple[np.ndarray, ...], values: np.ndarray) -> None:
    """``combine.at(array, places, values)``, by places of a flat array, for which NumPy has a loop.

    Raises:
        IndexError: there is no such place.

    >>> array = np.zeros((2, 2))
    >>> at_indices(np.add, array, (np.array([1, 1]), np.array([0, -2])), np.array([1.0, 2.0]))
    >>> array
    array([[0., 0.],
           [3., 0.]])
    """
    flat = flat_of(indices, array.shape, values.size) if values.size > FEW else None
    if flat is not None and flat.shape == values.shape:
        return combine.at(array.reshape(-1), flat.reshape(-1), values.reshape(-1))
    return combine.at(array, indices, values)


def put_at(array: np.ndarray, indices: tuple[np.ndarray, ...], values: np.ndarray) -> None:
    """``array[places] = values``, by places of a flat array where there are many.

    Raises:
        IndexError: there is no such place.
    """
    flat = flat_of(indices, array.shape, values.size) if values.size >= MANY else None
    if flat is not None and flat.shape == values.shape:
        array.reshape(-1)[flat.reshape(-1)] = values.reshape(-1)
    else:
        array[indices] = values


def flat_of(indices: tuple[np.ndarray, ...], shape: tuple[int, ...], count: int) -> np.ndarray | None:
    """Places of a flat array, about so many; None if one is negative, or beyond the end.

    >>> flat_of((np.array([[1], [0]]), np.array([0, 2])), (2, 3), MANY)
    array([[3, 5],
           [0, 2]])
    """
    if count < MANY:
        try:
            return np.ravel_multi_index(indices, shape)
        except (ValueError, TypeError):  # negative ones, or none; of other types
            return None
    flat: np.ndarray | None = None
    for index, size in zip(indices, shape, strict=True):
        if not is_within(index, size):
            return None
        flat = index if flat is None else np.multiply(flat, size, dtype=np.int64) + index
    return flat


def at_rows(combine: np.ufunc, array: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """``combine.at(array, rows, values)``: sums as the product of a sparse matrix; else long rows one by one, and many
    others by places of a flat array.

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
    elif combine is np.add and width >= NARROW and add_rows(array, rows.reshape(-1), values):
        return
    elif width >= WIDE:
        for row, one in zip(rows.reshape(-1).tolist(), values.reshape(rows.size, *array.shape[1:]), strict=True):
            combine(array[row], one, out=array[row])
    else:
        indices = rows.astype(np.int64).reshape(-1, 1) * width + np.arange(width)
        combine.at(array.reshape(-1), indices.reshape(-1), values.reshape(-1))


NARROW = 4
"""From so many elements in a row on, a product is quicker than ``numpy.add.at``."""


def add_rows(array: np.ndarray, rows: np.ndarray, values: np.ndarray) -> bool:
    """Add values to rows of an array: the product of a matrix, which has a 1 in each column, and the values.

    False, and nothing is done, if SciPy has no such product of this dtype, or if a row is negative or beyond the end.

    >>> array = np.zeros((2, 4), "float32")
    >>> add_rows(array, np.array([1, 1]), np.ones((2, 4), "float32")), add_rows(array, np.array([2]), array[:1])
    (True, False)
    >>> array[:, 0]
    array([0., 2.], dtype=float32)
    """
    product = getattr(compiled("scipy.sparse"), "csc_matvecs", None)
    count, width = array.shape[0], array[:1].size
    if product is None or array.dtype.char not in "fdFD" or not (array.dtype == values.dtype and rows.size):
        return False
    if not (array.flags.c_contiguous and is_within(rows, count)):
        return False
    starts, ones = np.arange(rows.size + 1, dtype=rows.dtype), np.ones(rows.size, array.dtype)
    product(count, rows.size, width, starts, np.ascontiguousarray(rows), ones, values.reshape(-1), array.reshape(-1))
    return True


def is_within(indices: np.ndarray, length: int) -> bool:
    """Tell whether some indices, of C's integers, are all those of a dimension of this length, counted from its start.

    >>> is_within(np.array([0, 2]), 3), is_within(np.array([0, -1]), 3), is_within(np.array([3]), 3)
    (True, False, False)
    """
    if indices.dtype.char not in "il" or not indices.size:
        return False
    return bool(indices.view(UNSIGNED[indices.itemsize]).max() < length)


def as_objects(parts: Sequence[Any]) -> Any:
    """An index with slices, without those at its end that leave nothing out; for functions."""
    while parts and parts[-1] == ALL:
        parts = parts[:-1]
    return tuple(parts) or ...


def inverse(permutation: Sequence[int]) -> list[int]:
    """The permutation that undoes one.

    >>> inverse([2, 0, 1])
    [1, 2, 0]
    """
    return [permutation.index(dim) for dim in range(len(permutation))]


def write_exactly(writer: Any, equation: Any, windows: Windows, written: Operand) -> Operand:
    """Write what XLA writes, wherever the windows lie: element by element of a flat array."""
    windows = named_columns(writer, windows)
    clipping = equation.params["mode"].name == "CLIP"
    columns = moved_inside(equation, windows) if clipping else windows.columns
    flat: Operand | None = None
    for axis, size in enumerate(windows.shape):
        index = index_in_result(windows, columns, axis)
        if flat is not None:
            flat = by_ufunc(np.multiply, None, [flat, number(size, INT64)])
        if index is not None:
            flat = index if flat is None else by_ufunc(np.add, None, [flat, index])
    indices = broadcast(flat or number(0, INT64), windows.result)
    test = None if clipping else inside(equation, windows)
    result = fresh(writer, equation, 0)
    asked = None if test is None else broadcast(in_result(windows, test), windows.result)
    given = broadcast(written, windows.result), asked, COMBINED[equation.primitive]
    writer.statements.append(Do(call(write_flat, result, indices, *given)))
    return Operand(result, tuple(equation.aval.shape))


def in_result(windows: Windows, array: Operand) -> Operand:
    """An array that broadcasts to the batch as one that broadcasts to the result."""
    if not array.shape:
        return array
    axes = windows.batch_axes()
    sizes = (*[1] * (len(windows.batch) - len(array.shape)), *array.shape)
    shape = [sizes[axes.index(dim)] if dim in axes else 1 for dim in range(len(windows.result))]
    return reshaped(array, shape)


def index_in_result(windows: Windows, columns: dict[int, Operand], axis: int) -> Operand | None:
    """The places in a dimension where elements are written, as 64-bit integers; ``None`` if all at the first place."""
    rank = len(windows.result)
    start = in_result(windows, columns[axis]).method("astype", INT64) if axis in columns else None
    if axis in windows.batched:
        start = counting_along(windows.shape[axis], windows.batch_axes()[windows.batched[axis]], rank)
    if axis not in windows.kept or windows.sizes[axis] == 1:
        return start
    steps = counting_along(windows.sizes[axis], windows.kept[axis], rank)
    return steps if start is None else by_ufunc(np.add, None, [start, steps])


def counting_along(size: Any, dim: int, rank: int) -> Operand:
    """0, 1, 2, ... along one of some dimensions."""
    return counting(size, [size if other == dim else 1 for other in range(rank)])


def write_flat(
    array: np.ndarray, indices: np.ndarray, values: np.ndarray, kept: np.ndarray | None, combine: np.ufunc | None
) -> None:
    """Write elements to a contiguous array, at places of it as a flat one, those that are ``kept``.

    >>> array = np.zeros(3)
    >>> write_flat(array, np.array([2, 2, 9]), np.array([1., 2, 3]), np.array([True, True, False]), np.add)
    >>> array
    array([0., 0., 3.])
    """
    flat = array.reshape(-1)
    if kept is not None:
        indices, values = indices[kept], values[kept]
    if combine is None:
        flat[indices.reshape(-1)] = values.reshape(-1)
    else:
        combine.at(flat, indices.reshape(-1), values.reshape(-1))
