"""Sizes of pooling windows, and PyTorch's checks of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.declaration.factory import is_integer
from tapegrad._src.bindings.declaration.parser import type_name
from tapegrad._src.caches import tabulated
from tapegrad.ops.resampling import Sampling

COUNTS = {1: "one", 2: "two", 3: "three"}
LETTERS = {1: "W", 2: "HW", 3: "THW"}


def hashable(value: Any) -> Any:
    """A list as a tuple, and integers of arrays and tensors as Python's; anything else as it is."""
    if isinstance(value, (tuple, list)):
        return tuple(map(hashable, value))
    return operator.index(value) if type(value) is not int and is_integer(value) else value


def several(function: str, name: str, value: Any, dims: int) -> tuple[int, ...]:
    """An int, or a sequence of one or ``dims`` of them, as a tuple of ``dims``.
    Raises RuntimeError: another number of them. TypeError: no ints.
    """
    if isinstance(value, int):
        return (value,) * dims
    if is_integer(value):
        return (operator.index(value),) * dims
    if not isinstance(value, (tuple, list)):
        position = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}.get(name, 2)
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not {type(value).__name__}"
        )
    if len(value) == 1:
        return tuple(value) * dims
    if len(value) != dims:
        raise RuntimeError(_wrong_number(function, name, len(value), dims))
    return tuple(value)


def _wrong_number(function: str, name: str, got: int, dims: int) -> str:
    if function == "max_pool1d":
        expected = {"stride": "None, an int, list of ints, or", "kernel_size": "an int, list of ints or"}.get(
            name, "an int, list of ints, or"
        )
        return f"max_pool1d() {name} must be {expected} tuple of ints of size 1 but got size {got}"
    if dims == 1:
        return f"{function}() argument '{name}' should contain one int (got {got})"
    either = "" if function == "avg_pool3d" else "either "
    omitted = "omitted, " if name == "stride" else ""
    return f"{function}: {name} must {either}be {omitted}a single int, or a tuple of {COUNTS[dims]} ints"


def check_pooled(function: str, shape: Sequence[int], dims: int) -> None:
    """Refuse what is neither a batch nor one of its elements, or has an empty dimension apart from the batch.
    Raises RuntimeError: PyTorch's messages.
    """
    batched = len(shape) == dims + 2
    positive = all(length > 0 for length in (shape[1:] if batched else shape))
    if len(shape) in (dims + 1, dims + 2) and positive:
        return
    if function == "max_pool1d":
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(shape)}"
        )
    if len(shape) in (dims + 1, dims + 2):
        raise RuntimeError(_empty(function, shape, dims))
    if dims == 1:
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {function})"
        )
    if function == "avg_pool2d":
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            + f"{list(shape)}"
        )
    raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")


def _empty(function: str, shape: Sequence[int], dims: int) -> str:
    if dims < 3:
        shown = list(shape) if dims == 2 else [*shape[:-1], 1, shape[-1]]
        return f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{shown}"
    own = list(shape[1:] if len(shape) == dims + 2 else shape)
    name = "max_pool3d_with_indices_out_cpu_template" if function == "max_pool3d" else function
    return (
        f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
        f"{list(shape)} and non-batch dimension {own.index(0)} has length zero!"
    )


def _check_numbers(function: str, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> None:
    if function == "max_pool1d":
        _check_numbers_1d(kernel[0], stride[0], padding[0], dilation[0])
        return
    letters = LETTERS[len(kernel)]
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if d > 0 and p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    if any(number <= 0 for number in kernel):
        shown = " ".join(f"k{letter}: {number}" for letter, number in zip(letters, kernel, strict=True))
        raise RuntimeError(f"kernel size should be greater than zero, but got {shown}")
    if any(number <= 0 for number in stride):
        shown = " ".join(f"d{letter}: {number}" for letter, number in zip(letters, stride, strict=True))
        raise RuntimeError(f"stride should be greater than zero, but got {shown}")
    if any(number <= 0 for number in dilation):
        shown = " ".join(f"dilation{letter}: {number}" for letter, number in zip(letters, dilation, strict=True))
        raise RuntimeError(f"dilation should be greater than zero, but got {shown}")


def _check_numbers_1d(kernel: int, stride: int, padding: int, dilation: int) -> None:
    for name, number in (("kernel_size", kernel), ("stride", stride)):
        if number <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {number}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")


def pooled_length(length: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """Count the windows that there are along one dimension.

    With ``ceil_mode`` one that starts inside, or in the padding in front, counts though it ends outside.

    >>> pooled_length(5, 2, 2, 0, 1, False), pooled_length(5, 2, 2, 0, 1, True)
    (2, 3)
    """
    rest = length + 2 * p - d * (k - 1) - 1
    count = (rest + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= length + p else count


@tabulated(4096)
def windows(
    function: str, dims: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, counted: str, divisor: int | None,
) -> tuple[Sampling, ...]:  # fmt: skip
    """The windows of a pooling function along each of the last ``dims`` dimensions of a shape, checked.
    Raises RuntimeError: PyTorch's messages.
    """
    kernel = several(function, "kernel_size", kernel_size, dims)
    strides = kernel if stride is None or stride == () else several(function, "stride", stride, dims)
    paddings = several(function, "padding", padding, dims)
    dilations = several(function, "dilation", dilation, dims)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if function == "max_pool1d":
        check_pooled(function, shape, dims)
    _check_numbers(function, kernel, strides, paddings, dilations)
    check_pooled(function, shape, dims)
    lengths = shape[-dims:]
    numbers = list(zip(lengths, kernel, strides, paddings, dilations, strict=True))
    sizes = [pooled_length(*each, ceil_mode) for each in numbers]
    _check_sizes(function, shape, dims, kernel, sizes)
    return tuple(
        Sampling(
            "window",
            size,
            kernel=k,
            stride=s,
            low=p,
            dilation=d,
            high=p,
            counted="" if divisor else counted,
            divisor=divisor if divisor and i == 0 else 1,
        )
        for i, ((_, k, s, p, d), size) in enumerate(zip(numbers, sizes, strict=True))
    )


def _check_sizes(function: str, shape: tuple[int, ...], dims: int, kernel: tuple, sizes: Sequence[int]) -> None:
    if all(size > 0 for size in sizes):
        return
    if function == "max_pool1d":
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {sizes[0]}")
    before = [shape[-dims - 1], *([1] if dims == 1 else [])]
    given = "x".join(map(str, [*before, *shape[-dims:]]))
    actual = "x".join(map(str, [*before, *sizes]))
    raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({actual}). Output size is too small")


@tabulated(4096)
def adaptive(function: str, dims: int, shape: tuple[int, ...], output_size: Any) -> tuple[Sampling, ...]:
    """The windows of an adaptive pooling function, checked; None stands for the length as it is.
    Raises RuntimeError: PyTorch's messages.
    """
    sizes = _adaptive_sizes(function, dims, shape, output_size)
    lacks_batch = len(shape) == dims + 1
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(_wrong_dimensions(function, dims, shape))
    first = 0 if lacks_batch else 1
    if function in ("adaptive_avg_pool1d", "adaptive_avg_pool2d"):
        first = len(shape) - dims
    shown = [*shape[:-1], 1, shape[-1]] if function == "adaptive_avg_pool1d" else list(shape)
    name = "adaptive_avg_pool2d" if function == "adaptive_avg_pool1d" else function
    for axis in range(first, len(shape)):
        if shape[axis] == 0:
            axis += len(shown) - len(shape)
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shown} "
                f"with dimension {axis} being empty"
            )
    lengths = shape[len(shape) - dims :]
    each = [length // size if size and length % size == 0 else 1 for size, length in zip(sizes, lengths, strict=True)]
    return tuple(Sampling("adaptive", size, one, one) for size, one in zip(sizes, each, strict=True))


def _check_lengths(function: str, output_size: Any, may_be_none: int) -> None:
    """Refuse elements that are no ints; what is no sequence is refused in Python's words, by PyTorch's function too."""
    for axis in range(len(output_size)):
        length = output_size[axis]
        if not hasattr(length, "__index__") and not (length is None and may_be_none):
            raise TypeError(
                f"{function}(): argument 'output_size' (position 2) must be tuple of ints, but found element of type "
                f"{type_name(length)} at pos {axis}"
            )


def _adaptive_sizes(function: str, dims: int, shape: tuple[int, ...], output_size: Any) -> tuple[int, ...]:
    if not isinstance(output_size, int):
        _check_lengths(function, output_size, min(dims, 2) - 1)
    sizes = (output_size,) * dims if isinstance(output_size, int) else tuple(output_size)
    if dims > 1 and not isinstance(output_size, int) and len(shape) <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    if len(sizes) != dims:
        if dims == 1:
            raise RuntimeError(f"{function}() argument 'output_size' should contain one int (got {len(sizes)})")
        prefix = (
            f"{function}(): internal error: output_size.size()" if "max" in function else f"{function}: output_size"
        )
        raise RuntimeError(f"{prefix} must be {dims}")
    full = tuple(shape[axis - dims] if size is None else size for axis, size in enumerate(sizes))
    if any(size < 0 for size in full):
        ones = (1, *full) if dims == 1 else full
        if "max" in function:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(full)}: {[*shape[: len(shape) - dims], *ones]}"
            )
        joined = ", ".join(map(str, ones)) if dims < 3 else f"{full[0]}, {full[1]},{full[2]}"
        name = "adaptive_avg_pool2d" if dims == 1 else function
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{joined}}}"
        )
    return full


def _wrong_dimensions(function: str, dims: int, shape: tuple[int, ...]) -> str:
    if dims == 1:
        return (
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {function})"
        )
    colon = ":" if "max" in function else ""
    return f"{function}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(shape)}"
