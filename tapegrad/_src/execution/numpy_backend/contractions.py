"""Rules of products of matrices.

All are ``numpy.dot`` or ``numpy.matmul``, after transpositions and reshapes that put the dimensions in their order: the
batch, what is kept, what is summed over. 16-bit floats are multiplied and summed up as 32-bit ones, as XLA does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.expression import attribute
from tapegrad._src.execution.numpy_backend.operands import (
    Operand,
    Unwritable,
    are_known,
    as_array,
    by_ufunc,
    call,
    method,
    reshaped,
    rule,
)
from tapegrad._src.execution.numpy_backend.shapes import transposed


@rule("dot_general")
def dot_general(writer: Any, equation: Any) -> Operand:
    """One product, of operands that are transposed and reshaped where they must be."""
    (left_summed, right_summed), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = computed_operands(equation)
    left_kept, right_kept = kept(left, left_summed, left_batch), kept(right, right_summed, right_batch)
    batch = tuple(left.shape[axis] for axis in left_batch)
    rows, columns = ([left.shape[axis] for axis in left_kept], [right.shape[axis] for axis in right_kept])
    first = transposed(left, (*left_batch, *left_kept, *left_summed))
    second = transposed(right, (*right_batch, *right_summed, *right_kept))
    if not left_summed:
        result = outer(first, second, batch, rows, columns)
    else:
        multiplied = batched if batch else plain
        result = multiplied(first, second, batch, rows, columns, product(first.shape[len(batch) + len(rows) :]))
    result = cast(reshaped(result, (*batch, *rows, *columns)), computing_dtype(equation), equation.aval.dtype)
    return result._replace(new=np.dtype(equation.aval.dtype))


Sizes = Sequence[Any]


def outer(left: Operand, right: Operand, batch: Sizes, rows: Sizes, columns: Sizes) -> Operand:
    """A product that sums over nothing."""
    left = reshaped(left, (*batch, *rows, *[1] * len(columns)))
    right = reshaped(right, (*batch, *[1] * len(rows), *columns) if batch else columns)
    return by_ufunc(np.multiply, None, [left, right])


def plain(left: Operand, right: Operand, batch: Sizes, rows: Sizes, columns: Sizes, depth: Any) -> Operand:
    """A product without a batch: ``numpy.ndarray.dot`` of matrices and vectors."""
    some_rows, some_columns = [product(rows)] if rows else [], [product(columns)] if columns else []
    left = reshaped(left, (*some_rows, depth))
    right = reshaped(right, (depth, *some_columns))
    shape = (*some_rows, *some_columns)
    if len(shape) == 2 and is_turned(right.expression) and not is_turned(left.expression):
        left, right = turned(left, right)
    if len(shape) == 2 and are_known(*shape, depth) and prod(shape) >= MANY and depth:
        return Operand(call(np.matmul, left, right), shape)
    return as_array(method(left, "dot", right), shape)


MANY = 1 << 15
"""From how many elements of the result on ``matmul`` is quicker: ``dot`` begins with zeros, and writes them twice."""


is_turned, are_turned = attribute("T"), attribute("mT")

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
    if not are_known(rows, depth, columns) or rows * depth * columns not in FEW:
        return left, right
    if columns >= LARGER * rows >= 8 * LARGER:
        return left.method("copy", "F"), right
    if rows >= LARGER * columns >= 8 * LARGER:
        return left, right.method("copy")
    return left, right


def batched(left: Operand, right: Operand, batch: Sizes, rows: Sizes, columns: Sizes, depth: Any) -> Operand:
    """A product of batches of matrices: ``numpy.matmul``."""
    left = reshaped(left, (*batch, product(rows), depth))
    right = reshaped(right, (*batch, depth, product(columns)))
    sizes = (product(rows), depth, product(columns))
    if are_turned(right.expression) and not are_turned(left.expression) and pays_to_copy(*sizes):
        right = right.method("copy")
    return Operand(call(np.matmul, left, right), (*batch, product(rows), product(columns)))


def pays_to_copy(rows: Any, depth: Any, columns: Any) -> bool:
    """Tell whether matrices on the right that are transposed had better be copied, for the reason that ``turned``
    has."""
    return are_known(rows, depth, columns) and min(rows, columns) >= LEAST and rows * depth * columns in FEW


def computing_dtype(equation: Any) -> np.dtype:
    """The dtype in which products are made and summed up."""
    dtypes = [np.dtype(aval.dtype) for aval in (*equation.avals, equation.aval)]
    if all(dtype.itemsize == 2 and dtype.kind not in "biu" for dtype in dtypes):
        return np.dtype("float32")
    small = [np.dtype("float32") if dtype.itemsize < 4 and dtype.kind not in "biu" else dtype for dtype in dtypes]
    if any(dtype.kind not in "biufc" for dtype in small):
        raise Unwritable(f"dot_general: of {dtypes}")
    return np.result_type(*small)


def cast(operand: Operand, old: Any, new: Any) -> Operand:
    """An operand of one dtype as another."""
    return operand if old == new else operand.method("astype", np.dtype(new))


def computed_operands(equation: Any) -> list[Operand]:
    """Both operands in full, of the dtype in which the product is made."""
    dtype = computing_dtype(equation)
    return [cast(equation.full(index), aval.dtype, dtype) for index, aval in enumerate(equation.avals)]


def kept(operand: Operand, summed: Sequence[int], batch: Sequence[int]) -> list[int]:
    """The dimensions that come back in the result."""
    return [axis for axis in range(len(operand.shape)) if axis not in summed and axis not in batch]


def product(sizes: Sequence[Any]) -> Any:
    """A product of lengths, which may be symbols."""
    result: Any = 1
    for size in sizes:
        result = result * size
    return result
