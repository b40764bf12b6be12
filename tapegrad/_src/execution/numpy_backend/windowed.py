"""Rules of convolutions and windows that slide.

What all windows show is one array with strides of its own, over padded memory: a convolution is a product of matrices
with it, and a pooling reduces some of its dimensions. Convolutions of some kinds have quicker ways: see Note [Ways of a
convolution] in ``convolutions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.caches import remembered
from tapegrad._src.execution.numpy_backend import convolutions, single_positions
from tapegrad._src.execution.numpy_backend.channels_innermost import by_rows, images_by_rows, kernel_by_rows, rows
from tapegrad._src.execution.numpy_backend.contractions import cast, computed_operands, computing_dtype
from tapegrad._src.execution.numpy_backend.convolutions import (
    FORWARD,
    IMAGES,
    KERNEL,
    ConvolutionForm,
    ConvolutionSettings,
    seen_in,
    settings_of,
    ways_of,
    windows_along,
)
from tapegrad._src.execution.numpy_backend.expression import Constant, Lambda, Name
from tapegrad._src.execution.numpy_backend.images_innermost import by_columns, images_by_columns, kernel_by_columns
from tapegrad._src.execution.numpy_backend.operands import Operand, Unwritable, are_known, call, constant, rule
from tapegrad._src.execution.numpy_backend.shapes import transposed
from tapegrad._src.execution.numpy_backend.shares import shares, together
from tapegrad._src.execution.numpy_backend.swept import sweep, swept, swept_between
from tapegrad._src.execution.numpy_backend.winograd import tiles, winograd, winograd_between
from tapegrad._src.tape.mechanisms import WINOGRAD

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
    counts = [*map(windows_along, array.shape[2:], dilations[0], padding, dilations[1], width, strides)]
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
    operands, dtype = computed_operands(equation), computing_dtype(equation)
    result = _by_its_way(equation, operands, dtype) or _windowed(equation, operands)
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
    (convolutions.PLANES, FORWARD): swept,
    (convolutions.PLANES, KERNEL): swept_between,
    (convolutions.TILES, FORWARD): winograd,
    (convolutions.TILES, KERNEL): winograd_between,
}
"""Functions by the ways of Note [Ways of a convolution] and what they compute."""

WITH_OTHERWISE = (swept, swept_between, winograd, winograd_between)
"""Those that are given a function, too, for numbers that they can't compute with."""


class Choice(NamedTuple):
    """A function that computes a convolution, and how windows lie in it."""

    function: Callable
    how: Any


def _how(way: str, seen: ConvolutionForm) -> Any:
    if way == convolutions.TILES:
        return tiles(seen.images, seen.outputs, seen.padding)
    if way == convolutions.PLANES:
        return sweep(seen.images, seen.outputs, seen.width, seen.padding)
    return rows(seen.images, seen.width, seen.positions, seen.padding, seen.strides, seen.apart)


@remembered("convolutions")
def choices(
    settings: ConvolutionSettings, left: tuple[int, ...], right: tuple[int, ...], dtype: np.dtype, winograd_off: bool
) -> tuple[Choice, ...]:
    """The quickest way for these shapes, and behind one with numbers that it can't compute with the next; or none."""
    seen, chosen = seen_in(settings, left, right), list[Choice]()
    if seen is None:
        return ()
    for way in ways_of(seen, dtype):
        function = WAYS.get((way.name, seen.direction))
        if function is None:
            break
        chosen.append(Choice(function, _how(way.name, seen)))
        if function not in WITH_OTHERWISE:
            break
    return tuple(chosen)


def by_lengths(left: np.ndarray, right: np.ndarray, settings: ConvolutionSettings, otherwise: Callable) -> np.ndarray:
    """The convolution by the way that is likely to be the quickest for arrays of these lengths."""
    chosen = choices(settings, left.shape, right.shape, left.dtype, WINOGRAD.off)
    return _by_first(chosen, left, right, otherwise)


def _by_first(chosen: Sequence[Choice], left: np.ndarray, right: np.ndarray, otherwise: Callable) -> np.ndarray:
    if not chosen:
        return otherwise(left, right)
    (function, how), *others = chosen
    if function in WITH_OTHERWISE:
        return function(left, right, how, lambda left, right: _by_first(others, left, right, otherwise))
    return function(left, right, how)


def _by_its_way(equation: Any, operands: Sequence[Operand], dtype: Any) -> Operand | None:
    """A convolution by a way that is made for it; None if there is no quicker one than the others."""
    settings, shape = settings_of(equation.params), tuple(equation.aval.shape)
    if settings is None or len(shape) < 3:
        return None
    names, shapes = (Name("a"), Name("b")), [tuple(operand.shape) for operand in operands]
    given = [Operand(name, shape) for name, shape in zip(names, shapes, strict=True)]
    otherwise = Lambda(names, _windowed(equation, given).expression)
    if not are_known(*shapes[0], *shapes[1]):
        return Operand(call(by_lengths, *operands, Constant(settings), otherwise), shape)
    chosen = choices(settings, *shapes, np.dtype(dtype), WINOGRAD.off)
    for choice in reversed(chosen[1:]):
        otherwise = Lambda(names, _called(choice, given, otherwise))
    return Operand(_called(chosen[0], operands, otherwise), shape) if chosen else None


def _called(choice: Choice, operands: Sequence[Operand], otherwise: Lambda) -> Any:
    more = (otherwise,) if choice.function in WITH_OTHERWISE else ()
    return call(choice.function, *operands, Constant(choice.how), *more)


def _windowed(equation: Any, operands: Sequence[Operand]) -> Operand:
    """A convolution of any kind, whichever order its dimensions have."""
    params = equation.params
    left, right, out = map(tuple, params["dimension_numbers"])
    arranged = [transposed(operand, spec) for operand, spec in zip(operands, (left, right), strict=True)]
    settings = (
        tuple(params["window_strides"]), tuple(map(tuple, params["padding"])),
        (tuple(params["lhs_dilation"]), tuple(params["rhs_dilation"])),
        params["feature_group_count"], params["batch_group_count"],
    )  # fmt: skip
    shape = tuple(equation.aval.shape[axis] for axis in out)
    result = Operand(call(convolved, *arranged, *settings), shape)
    return transposed(result, [out.index(axis) for axis in range(len(out))])


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
