"""Rules of products of matrices.

All are ``numpy.dot`` or ``numpy.matmul``, after transpositions and reshapes that put the dimensions in their order: the
batch, what is kept, what is summed over. 16-bit floats are multiplied and summed up as 32-bit ones, as XLA does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.rules import Operand, Unwritable, rule
from tapegrad._src.execution.numpy_backend.shapes import reshaped, transposed


@rule("dot_general")
def dot_general(writer: Any, equation: Any) -> str:
    """One product, of operands that are transposed and reshaped where they must be."""
    (left_summed, right_summed), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = computed_operands(writer, equation)
    left_kept, right_kept = kept(left, left_summed, left_batch), kept(right, right_summed, right_batch)
    batch = tuple(left.shape[axis] for axis in left_batch)
    rows, columns = ([left.shape[axis] for axis in left_kept], [right.shape[axis] for axis in right_kept])
    first = transposed(left, (*left_batch, *left_kept, *left_summed))
    second = transposed(right, (*right_batch, *right_summed, *right_kept))
    if not left_summed:
        result = outer(writer, first, second, batch, rows, columns)
    else:
        multiplied = batched if batch else plain
        result = multiplied(writer, first, second, batch, rows, columns, product(first.shape[len(batch) + len(rows) :]))
    result = reshaped(writer, result, (*batch, *rows, *columns))
    same = computing_dtype(equation) == equation.aval.dtype
    return result.source if same else cast(writer, result.source, equation.aval.dtype)


Sizes = Sequence[Any]


def outer(writer: Any, left: Operand, right: Operand, batch: Sizes, rows: Sizes, columns: Sizes) -> Operand:
    """A product that sums over nothing."""
    left = reshaped(writer, left, (*batch, *rows, *[1] * len(columns)))
    right = reshaped(writer, right, (*batch, *[1] * len(rows), *columns) if batch else columns)
    shape = (*batch, *rows, *columns)
    inputs = f"{writer.helper(np.multiply)}({left.source}, {right.source}"
    return Operand(writer.array(inputs, shape, ufunc=True), shape)


def plain(writer: Any, left: Operand, right: Operand, batch: Sizes, rows: Sizes, columns: Sizes, depth: Any) -> Operand:
    """A product without a batch: ``numpy.ndarray.dot`` of matrices and vectors."""
    some_rows, some_columns = [product(rows)] if rows else [], [product(columns)] if columns else []
    left = reshaped(writer, left, (*some_rows, depth))
    right = reshaped(writer, right, (depth, *some_columns))
    shape = (*some_rows, *some_columns)
    if len(shape) == 2 and right.source.endswith(".T") and not left.source.endswith(".T"):
        left, right = turned(left, right)
    return Operand(writer.array(f"{left.source}.dot({right.source})", shape), shape)


FEW, LARGER = range(1 << 15, 10**6), 4
"""The numbers of multiplications, and the ratio of the matrices' sizes, at which the other matrix of a product is
copied."""


LEAST = 32
"""The least rows and columns of the matrices of a batch that are copied."""


def turned(left: Operand, right: Operand) -> tuple[Operand, Operand]:
    """A matrix and a transposed one; a much smaller one of them is copied, so that its columns become its rows.

    Where sums run along the memory of both, OpenBLAS takes twice as long for a small product, and more than the copy.
    """
    (rows, depth), columns = left.shape, right.shape[1]
    if not all(isinstance(size, int) for size in (rows, depth, columns)) or rows * depth * columns not in FEW:
        return left, right
    if columns >= LARGER * rows >= 8 * LARGER:
        return left._replace(source=f"{left.source}.copy('F')"), right
    if rows >= LARGER * columns >= 8 * LARGER:
        return left, right._replace(source=f"{right.source}.copy()")
    return left, right


def batched(
    writer: Any, left: Operand, right: Operand, batch: Sizes, rows: Sizes, columns: Sizes, depth: Any
) -> Operand:
    """A product of batches of matrices: ``numpy.matmul``."""
    left = reshaped(writer, left, (*batch, product(rows), depth))
    right = reshaped(writer, right, (*batch, depth, product(columns)))
    sizes = (product(rows), depth, product(columns))
    if right.source.endswith(".mT") and not left.source.endswith(".mT") and pays_to_copy(*sizes):
        right = right._replace(source=f"{right.source}.copy()")
    source = f"{writer.helper(np.matmul)}({left.source}, {right.source})"
    return Operand(source, (*batch, product(rows), product(columns)))


def pays_to_copy(rows: Any, depth: Any, columns: Any) -> bool:
    """Tell whether matrices on the right that are transposed had better be copied, for the reason that ``turned``
    has."""
    known = all(isinstance(size, int) for size in (rows, depth, columns))
    return known and min(rows, columns) >= LEAST and rows * depth * columns in FEW


def computing_dtype(equation: Any) -> np.dtype:
    """The dtype in which products are made and summed up."""
    dtypes = [np.dtype(aval.dtype) for aval in (*equation.avals, equation.aval)]
    if all(dtype.itemsize == 2 and dtype.kind not in "biu" for dtype in dtypes):
        return np.dtype("float32")
    small = [np.dtype("float32") if dtype.itemsize < 4 and dtype.kind not in "biu" else dtype for dtype in dtypes]
    if any(dtype.kind not in "biufc" for dtype in small):
        raise Unwritable(f"dot_general: of {dtypes}")
    return np.result_type(*small)


def cast(writer: Any, source: str, dtype: Any) -> str:
    """An expression of another dtype."""
    return f"{source}.astype({writer.dtype(dtype)})"


def computed_operands(writer: Any, equation: Any) -> list[Operand]:
    """Both operands in full, of the dtype in which the product is made."""
    dtype = computing_dtype(equation)
    operands = []
    for index, aval in enumerate(equation.avals):
        source = writer.full(equation, index)
        operands.append(Operand(source if aval.dtype == dtype else cast(writer, source, dtype), tuple(aval.shape)))
    return operands


def kept(operand: Operand, summed: Sequence[int], batch: Sequence[int]) -> list[int]:
    """The dimensions that come back in the result."""
    return [axis for axis in range(len(operand.shape)) if axis not in summed and axis not in batch]


def product(sizes: Sequence[Any]) -> Any:
    """A product of lengths, which may be symbols."""
    result: Any = 1
    for size in sizes:
        result = result * size
    return result
