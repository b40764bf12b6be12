"""Rules of convolutions and windows that slide.

What all windows show is one array with strides of its own, over padded memory: a convolution is a product of matrices
with it, and a pooling reduces some of its dimensions. Convolutions of some kinds have quicker ways: see Note [Ways of a
convolution] in ``convolutions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend import convolutions, single_positions
from tapegrad._src.execution.numpy_backend.channels_innermost import by_rows, images_by_rows, kernel_by_rows, rows
from tapegrad._src.execution.numpy_backend.contractions import cast, computed_operands, computing_dtype
from tapegrad._src.execution.numpy_backend.convolutions import FORWARD, IMAGES, KERNEL, seen_in, way_of
from tapegrad._src.execution.numpy_backend.expression import Constant, Lambda, Name
from tapegrad._src.execution.numpy_backend.images_innermost import by_columns, images_by_columns, kernel_by_columns
from tapegrad._src.execution.numpy_backend.operands import Operand, Unwritable, are_known, call, constant, rule
from tapegrad._src.execution.numpy_backend.shapes import transposed
from tapegrad._src.execution.numpy_backend.shares import shares, together
from tapegrad._src.execution.numpy_backend.swept import sweep, swept, swept_between
from tapegrad._src.execution.numpy_backend.winograd import tiles, winograd, winograd_between

Pairs = Sequence[tuple[int, int]]
Numbers = Sequence[int]


def padded(array: np.ndarray, padding: Pairs, dilation: Numbers, fill: Any) -> np.ndarray:
    """The last dimensions of an array with their elements spread apart, and padding around; less, where it is negative.

    >>> padded(np.array([1, 2]), [(1, -1)], [2], 0)
    array([0, 1, 0])
    """
    if all(pair == (0, 0) for pair in padding) and all(step == 1 for step in dilation):
        return np.ascontiguousarray(array)
    first = array.ndim - len(padding)
    sizes = [max((size - 1) * step + 1, 0) for size, step in zip(array.shape[first:], dilation, strict=True)]
    widths = [(max(low, 0), max(high, 0)) for low, high in padding]
    shape = [low + size + high for size, (low, high) in zip(sizes, widths, strict=True)]
    whole = np.full((*array.shape[:first], *shape), fill, array.dtype)
    inside: list[Any] = [
        slice(low, low + size, step) for size, (low, _), step in zip(sizes, widths, dilation, strict=True)
    ]
    whole[(..., *inside)] = array
    cut: list[Any] = [
        slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(shape, padding, strict=True)
    ]
    return np.ascontiguousarray(whole[(..., *cut)])


def sliding(array: np.ndarray, width: Numbers, strides: Numbers, dilation: Numbers) -> np.ndarray:
    """All windows on the last dimensions of a contiguous array: dimensions for places in windows, and for windows.

    >>> sliding(np.arange(4), (2,), (1,), (1,))
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    first = array.ndim - len(width)
    steps = array.strides[first:]
    counts = [
        max((size - (extent - 1) * apart - 1) // stride + 1, 0)
        for size, extent, stride, apart in zip(array.shape[first:], width, strides, dilation, strict=True)
    ]
    shape = (*array.shape[:first], *width, *counts)
    within = [step * apart for step, apart in zip(steps, dilation, strict=True)]
    between = [step * stride for step, stride in zip(steps, strides, strict=True)]
    if 0 in shape:
        return np.zeros(shape, array.dtype)
    return np.ndarray(shape, array.dtype, array, 0, (*array.strides[:first], *within, *between))


def convolved(
    array: np.ndarray,
    kernel: np.ndarray,
    strides: Numbers,
    padding: Pairs,
    dilations: tuple[Numbers, Numbers],
    groups: int,
    batch_groups: int,
) -> np.ndarray:
    """A convolution of ``(batch, channels, ...)`` by ``(outputs, channels of a group, ...)``.

    Args:
        dilations: how far elements of the array, and of the kernel, are apart.
        groups: in how many parts channels and outputs are taken.
        batch_groups: in how many parts the batch and the outputs are taken, instead.
    """
    if batch_groups > 1:
        batch, channels, *sizes = array.shape
        parts = array.reshape(batch_groups, batch // batch_groups, channels, *sizes)
        array, groups = (
            parts.swapaxes(0, 1).reshape(batch // batch_groups, batch_groups * channels, *sizes),
            batch_groups,
        )
    outputs, depth, *width = kernel.shape
    ends = zip(array.shape[2:], padding, dilations[0], dilations[1], width, strides, strict=True)
    counts = [
        max((max((size - 1) * between + 1, 0) + low + high - apart * (reach - 1) - 1) // stride + 1, 0)
        for size, (low, high), between, apart, reach, stride in ends
    ]
    result = np.empty((len(array), outputs, *counts), array.dtype)

    def compute(share: slice) -> None:
        """The same of some images."""
        windows = sliding(padded(array[share], padding, dilations[0], 0), width, strides, dilations[1])
        columns = windows.reshape(len(windows), groups, depth * prod(width), prod(counts))
        matrix = kernel.reshape(groups, outputs // groups, depth * prod(width))
        np.matmul(matrix, columns, result[share].reshape(len(windows), groups, outputs // groups, prod(counts)))

    together(compute, shares(len(array), result.size * depth * prod(width)))
    return result


@rule("conv_general_dilated")
def conv_general_dilated(writer: Any, equation: Any) -> Operand:
    """A product of the kernel and what all windows show."""
    operands, numbers = computed_operands(equation), tuple(map(tuple, equation.params["dimension_numbers"]))
    dtype = computing_dtype(equation)
    result = (
        _by_its_way(equation, operands, dtype) or _swept(equation, operands) or _windowed(equation, operands, *numbers)
    )
    return cast(result, dtype, equation.aval.dtype)


WAYS: dict[tuple[str, str], Callable] = {
    (convolutions.COLUMNS, FORWARD): by_columns,
    (convolutions.COLUMNS, IMAGES): images_by_columns,
    (convolutions.COLUMNS, KERNEL): kernel_by_columns,
    (convolutions.ROWS, FORWARD): by_rows,
    (convolutions.ROWS, IMAGES): images_by_rows,
    (convolutions.ROWS, KERNEL): kernel_by_rows,
    (convolutions.SINGLE, FORWARD): single_positions.at_positions,
    (convolutions.SINGLE, IMAGES): single_positions.images_at_positions,
    (convolutions.SINGLE, KERNEL): single_positions.kernel_at_positions,
    (convolutions.TILES, FORWARD): winograd,
    (convolutions.TILES, KERNEL): winograd_between,
}
"""Functions by the ways of Note [Ways of a convolution] and what they compute."""


def _by_its_way(equation: Any, operands: Sequence[Operand], dtype: Any) -> Operand | None:
    """A convolution of known lengths by a way that is made for it; None if there is no quicker one than the others."""
    seen = seen_in(equation.params, operands[0].shape, operands[1].shape, equation.aval.shape)
    if seen is None:
        return None
    way = way_of(seen, dtype).name
    function = WAYS.get((way, seen.direction))
    if function is None:
        return None
    shape = tuple(equation.aval.shape)
    if way != convolutions.TILES:
        how: Any = rows(seen.images, seen.width, seen.positions, seen.padding, seen.strides, seen.apart)
        return Operand(call(function, *operands, Constant(how)), shape)
    names = Name("a"), Name("b")
    given = [Operand(name, operand.shape) for name, operand in zip(names, operands, strict=True)]
    direct = _swept(equation, given)
    assert direct is not None, "a convolution by tiles has windows that move by one"
    how = tiles(seen.images, seen.outputs, seen.padding)
    return Operand(call(function, *operands, Constant(how), Lambda(names, direct.expression)), shape)


def _windowed(equation: Any, operands: Sequence[Operand], left: Any, right: Any, out: Any) -> Operand:
    """A convolution of any kind; ``left``, ``right`` and ``out`` say in which order the dimensions are."""
    params = equation.params
    arranged = [transposed(operand, spec) for operand, spec in zip(operands, (left, right), strict=True)]
    settings = (
        tuple(params["window_strides"]), tuple(map(tuple, params["padding"])),
        (tuple(params["lhs_dilation"]), tuple(params["rhs_dilation"])),
        params["feature_group_count"], params["batch_group_count"],
    )  # fmt: skip
    shape = tuple(equation.aval.shape[axis] for axis in out)
    result = Operand(call(convolved, *arranged, *settings), shape)
    return transposed(result, [out.index(axis) for axis in range(len(out))])


def _swept(equation: Any, operands: Sequence[Operand]) -> Operand | None:
    """A convolution whose windows move by one element, or the gradient of its kernel. See Note [Swept planes]."""
    params, numbers = equation.params, tuple(map(tuple, equation.params["dimension_numbers"]))
    steps = (*params["window_strides"], *params["lhs_dilation"], *params["rhs_dilation"])
    groups = params["feature_group_count"], params["batch_group_count"]
    order = tuple(range(equation.aval.ndim))
    turned = (1, 0, *order[2:])
    width = tuple((equation.avals[1] if numbers == (order,) * 3 else equation.aval).shape[2:])
    if numbers not in ((order,) * 3, (turned,) * 3) or any(one != 1 for one in (*steps, *groups)) or len(order) < 3:
        return None
    if all(size == 1 for size in width):  # a product as it is
        return None
    images, padding = tuple(operands[0].shape), tuple(map(tuple, params["padding"]))
    outputs = operands[1].shape[numbers[1][0]]
    known = are_known(*images, outputs, *width)
    how = Constant(sweep(images, outputs, width, padding)) if known else call(sweep, images, outputs, width, padding)
    names = Name("a"), Name("b")
    given = [Operand(name, operand.shape) for name, operand in zip(names, operands, strict=True)]
    otherwise = Lambda(names, _windowed(equation, given, *numbers).expression)
    function = swept if numbers[0] == order else swept_between
    return Operand(call(function, *operands, how, otherwise), tuple(equation.aval.shape))


# -- pooling -----------------------------------------------------------------------------------------------------------

POOLED: dict[str, np.ufunc] = {
    "reduce_window_sum": np.add,
    "reduce_window_max": np.maximum,
    "reduce_window_min": np.minimum,
}


def pooled(
    array: np.ndarray, reduce: Callable, width: Numbers, strides: Numbers, padding: Pairs, dilations: Any, fill: Any
) -> np.ndarray:
    """The elements in each window, reduced; padding has a number that doesn't count."""
    windows = sliding(padded(array, padding, dilations[0], fill), width, strides, dilations[1])
    return np.asarray(reduce(windows, tuple(range(len(width))), array.dtype))


@rule(*POOLED)
def reduce_window(writer: Any, equation: Any) -> Any:
    """A reduction of each window."""
    params, dtype = equation.params, np.dtype(equation.aval.dtype)
    if dtype.kind not in "iuf" or dtype.itemsize < 4:
        raise Unwritable(f"{equation.primitive}: of {dtype}")
    words = [
        POOLED[equation.primitive].reduce, tuple(params["window_dimensions"]), tuple(params["window_strides"]),
        tuple(map(tuple, params["padding"])), (tuple(params["base_dilation"]), tuple(params["window_dilation"])),
        constant(neutral(equation.primitive, dtype)),
    ]  # fmt: skip
    return call(pooled, equation.full(0), *words)


def neutral(primitive: str, dtype: np.dtype) -> np.ndarray:
    """The number that doesn't change a reduction."""
    if primitive == "reduce_window_sum":
        return np.zeros((), dtype)
    largest = primitive == "reduce_window_min"
    if dtype.kind == "f":
        return np.asarray(np.inf if largest else -np.inf, dtype)
    limits = np.iinfo(dtype)
    return np.asarray(limits.max if largest else limits.min, dtype)
