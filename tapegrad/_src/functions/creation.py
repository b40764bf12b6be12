"""Tensors made from a size or a range: ``zeros``, ``full``, ``arange``, ``linspace``, ``eye`` and their relatives.

Their elements are computed on the host and brought to the device; all take the options ``dtype``, ``device``,
``requires_grad`` and ``out``, and ``layout`` and ``pin_memory`` for PyTorch's sake.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from tapegrad._src.bindings.arguments import refuse_large
from tapegrad._src.bindings.declaration.declarations import MADE, Computes
from tapegrad._src.bindings.declaration.factory import (
    OPTIONS,
    Target,
    TensorOptions,
    cast_array,
    checked_size,
    device_like,
    filling,
    is_integer,
    no_overload,
    size_of_arguments,
    target,
    type_name,
)
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import converted, element, python_number, unsupported
from tapegrad._src.bindings.layouts import checked_format, copy_strides, format_strides, laid_out
from tapegrad._src.execution.array_functions.equal_steps import equal_steps
from tapegrad._src.execution.array_functions.host import counted
from tapegrad._src.execution.data.dtypes import (
    BOOL,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    complex32,
    complex64,
    dtype,
    float32,
    float64,
    get_default_dtype,
    int64,
    uint16,
    uint32,
    uint64,
)
from tapegrad._src.execution.data.promotion import inferred_dtype
from tapegrad._src.execution.data.sizes import SYMBOL, check_size, is_symbolic
from tapegrad._src.tensor.layout import contiguous_format, preserve_format
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

# One number everywhere ----------------------------------------------------------------------------------------------


@public("torch", out=MADE)
def zeros(*size: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """Zeros of a size, of the default dtype if none is given.

    >>> torch.zeros(2, 3, dtype=torch.int64)
    tensor([[0, 0, 0],
            [0, 0, 0]])
    """
    shape = size_of_arguments("zeros", size, options)
    return target("zeros", options).full(shape, 0)


@public("torch", out=MADE)
def ones(*size: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """Ones of a size, of the default dtype if none is given."""
    shape = size_of_arguments("ones", size, options)
    return target("ones", options).full(shape, 1)


@public("torch", out=MADE._replace(makes="nothing"))
def empty(*size: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor of a size whose elements are to be written yet. Here they are zeros.

    Raises:
        RuntimeError: a memory format of tensors with another number of dimensions.
    """
    shape = size_of_arguments("empty", size, options)
    chosen = checked_format("empty", options.get("memory_format"), contiguous_format)
    if chosen is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    return laid_out(target("empty", options, like=True).full(shape, 0), format_strides(chosen, shape))


@public("torch", out=MADE)
def full(size: Any, fill_value: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor of a size whose every element is ``fill_value``; the dtype is that of the number if none is given.

    Raises:
        RuntimeError: the dtype can't hold the number.

    >>> torch.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    shape = checked_size("full", size)
    number = filling("full", fill_value)
    kind = fill_value.dtype if isinstance(fill_value, Tensor) else inferred_dtype(number.__class__)
    kind = complex64 if kind is complex32 and not isinstance(fill_value, Tensor) else kind
    made = target("full", options, kind)
    return made.full(shape, element(number, made.dtype, shape))


def _like(function: str, input: Tensor, options: TensorOptions, number: Any) -> Tensor:
    made = target(function, options, input.dtype, device_like(input), like=True)
    strides = copy_strides(function, input, options.get("memory_format"))
    return laid_out(made.full(tuple(input.shape), element(number, made.dtype, input.shape), input), strides)


@public("torch")
def zeros_like(input: Tensor, **options: Unpack[TensorOptions]) -> Tensor:
    """Zeros of the size, dtype and device of ``input``; they don't require grad unless asked to."""
    return _like("zeros_like", input, options, 0)


@public("torch")
def ones_like(input: Tensor, **options: Unpack[TensorOptions]) -> Tensor:
    """Ones of the size, dtype and device of ``input``; they don't require grad unless asked to."""
    return _like("ones_like", input, options, 1)


@public("torch")
def empty_like(input: Tensor, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor to be written yet, of the size, dtype and device of ``input``; here zeros."""
    return _like("empty_like", input, options, 0)


@public("torch")
def full_like(input: Tensor, fill_value: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor of the size, dtype and device of ``input`` whose every element is ``fill_value``."""
    return _like("full_like", input, options, filling("full_like", fill_value))


@public("Tensor")
def new_zeros(self: Tensor, *size: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """Zeros of a size, of this tensor's dtype and device."""
    shape = size_of_arguments("new_zeros", size, options)
    return target("new_zeros", options, self.dtype, device_like(self, shape)).full(shape, 0, self)


@public("Tensor")
def new_ones(self: Tensor, *size: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """Ones of a size, of this tensor's dtype and device."""
    shape = size_of_arguments("new_ones", size, options)
    return target("new_ones", options, self.dtype, device_like(self, shape)).full(shape, 1, self)


@public("Tensor")
def new_empty(self: Tensor, *size: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor of a size, to be written yet, of this tensor's dtype and device; here zeros."""
    shape = size_of_arguments("new_empty", size, options)
    return target("new_empty", options, self.dtype, device_like(self, shape)).full(shape, 0, self)


@public("Tensor")
def new_full(self: Tensor, size: Any, fill_value: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor of a size whose every element is ``fill_value``, of this tensor's dtype and device.

    >>> torch.ones(1, dtype=torch.float64).new_full((2,), 3)
    tensor([3., 3.], dtype=torch.float64)
    """
    shape = checked_size("new_full", size)
    made = target("new_full", options, self.dtype, device_like(self, shape))
    return made.full(shape, element(filling("new_full", fill_value), made.dtype, shape), self)


# Ranges -------------------------------------------------------------------------------------------------------------

_RANGED = MADE._replace(makes="as many")
_OTHER_COUNT = (
    "The number of elements in the out tensor of shape {old} is {count} which does not match the computed number of "
    "elements {length}. Note that this may occur as a result of rounding error. The out tensor will be resized to a "
    "tensor of shape ({length},)."
)

_ARANGE = (
    f"Number end, *, Tensor out = None, {OPTIONS}",
    f"Number start, Number end, *, {OPTIONS}",
    f"Number start, Number end, Number step = 1, *, Tensor out = None, {OPTIONS}",
)


COUNTED = _RANGED._replace(computes=Computes(BOOL, "arange_cpu", real=True), resized=_OTHER_COUNT)
"""Of functions that count into the target."""


@public("torch", out=COUNTED._replace(computes=Computes(INTEGRAL, "arange_cpu", real=True)))
def arange(*bounds: Any, **options: Any) -> Tensor:
    """``arange(end)``, ``arange(start, end, step=1)``: the numbers from ``start`` up to, not including, ``end``.

    The dtype is int64 if all are integers, else the default one.

    Raises:
        RuntimeError: a step of zero or of the wrong sign, or bounds that are not finite.

    >>> torch.arange(4), torch.arange(1, 2, 0.5)
    (tensor([0, 1, 2, 3]), tensor([1.0000, 1.5000]))
    """
    start, end, step = _bounds("arange", bounds, options, _ARANGE)
    exact = all(isinstance(number, (int, SYMBOL)) for number in (start, end, step))
    made = target("arange", options, int64 if exact else get_default_dtype())
    if made.dtype.category not in (INTEGRAL, FLOATING):
        raise unsupported("arange_cpu", made.dtype)
    return _progression(made, start, end, step, inclusive=False)


@public("torch", name="range", out=_RANGED._replace(computes=Computes(INTEGRAL, "range_cpu", real=True)))
def range_(start: Any = 0, end: Any = None, step: Any = 1, **options: Unpack[TensorOptions]) -> Tensor:
    """The numbers from ``start`` to ``end``, both included. Deprecated in favour of ``arange``.

    Args:
        start, end: numbers.
        step: how far apart they are; negative, if ``end`` is below ``start``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    start, end, step = (
        _number("range", number) for number in ((0, start, step) if end is None else (start, end, step))
    )
    return _progression(target("range", options, float32), start, end, step, inclusive=True)


def _bounds(function: str, bounds: tuple, options: dict, signatures: tuple) -> list:
    names = ("end",) if len(bounds) == 1 and "end" not in options else ("start", "end", "step")
    given = dict(zip(names, bounds, strict=False))
    for name in ("start", "end", "step"):
        if name in options and name not in given:
            given[name] = options.pop(name)
    if len(bounds) == 1 and "end" in given and not _is_number(given["end"]):
        raise TypeError(f"{function}(): argument 'end' (position 1) must be Number, not {type_name(given['end'])}")
    if "end" not in given or len(bounds) > 3 or not all(map(_is_number, given.values())):
        raise no_overload(
            function, bounds, {name: given[name] for name in given if name not in names[: len(bounds)]}, signatures
        )
    return [_number(function, given.get(name, default)) for name, default in (("start", 0), ("end", 0), ("step", 1))]


def _is_number(value: Any) -> bool:
    is_plain = isinstance(value, (int, float, complex, np.generic, SYMBOL))
    return is_plain or (isinstance(value, Tensor) and value.ndim == 0)


def _number(function: str, value: Any) -> Any:
    if not _is_number(value):
        raise TypeError(f"{function}(): argument 'end' must be Number, not {type_name(value)}")
    number = _plain(value)
    if isinstance(number, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if isinstance(number, int):
        _check_int64(number)
    return number


def _plain(value: Any) -> Any:
    if type(value) is SYMBOL:
        return value
    return value.item() if isinstance(value, Tensor) else python_number(value)


def _check_int64(number: int) -> None:
    if not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert")
    if number >= 2**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")


def _progression(made: Target, start: Any, end: Any, step: Any, inclusive: bool) -> Tensor:
    """start, start + step, ...: in whole numbers for an integral dtype, else in float64 up to the last rounding."""
    whole = made.dtype.category == INTEGRAL
    if is_symbolic((start, end)) and not inclusive and isinstance(step, int) and step > 0:
        return made.wrap(counted(start, max((end - start + step - 1) // step, 0), step, made.dtype))
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if made.dtype is int64 or (whole and inclusive):
        start, end, step = int(start), int(end), int(step) if math.isfinite(step) else step
        if not step:
            raise ValueError("step must be nonzero")
        count = -((start - end) // step) if not inclusive else (end - start) // step + 1
    else:
        steps = (end - start) / step
        count = math.floor(steps) + 1 if inclusive else math.ceil(steps)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    made.room(count)
    if whole:
        return made.tensor(int(start) + np.arange(count, dtype=np.int64) * int(step))
    return made.tensor(start + np.arange(count, dtype=np.float64) * step)


_LINSPACE = tuple(
    f"{start} start, {end} end, int steps, *, Tensor out = None, {OPTIONS}"
    for start, end in (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))
)


@public("torch", out=_RANGED)
def linspace(start: Any, end: Any, steps: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances.

    The bounds are numbers or 0-dim tensors. The default dtype if none is given, or its complex one.

    Raises:
        RuntimeError: a negative number of steps, or complex bounds for a real dtype.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    first, last, count = _ends("linspace", start, end, steps, _LINSPACE)
    made = _spaced_target("linspace", first, last, count, options)
    if made.dtype.category == INTEGRAL:
        first, last = (converted(bound, made.dtype) for bound in (first, last))
    made.room(count)
    return made.tensor(_spaced(first, last, count, made.dtype))


_LOGSPACE = tuple(signature.replace("int steps", "int steps, float base = 10.0") for signature in _LINSPACE)


@public("torch", out=_RANGED)
def logspace(start: Any, end: Any, steps: Any = None, base: float = 10.0, **options: Unpack[TensorOptions]) -> Tensor:
    """``steps`` powers of ``base``, their exponents at equal distances from ``start`` to ``end``.

    >>> torch.logspace(0, 2, 3), torch.logspace(0, 3, 4, base=2)
    (tensor([  1.,  10., 100.]), tensor([1., 2., 4., 8.]))
    """
    first, last, count = _ends("logspace", start, end, steps, _LOGSPACE)
    made = _spaced_target("logspace", first, last, count, options)
    made.room(count)
    kind = made.dtype.numpy.type if made.dtype.is_complex else np.float64
    low, high = (kind(made.dtype.numpy.type(converted(bound, made.dtype))) for bound in (first, last))
    with np.errstate(all="ignore"):
        if count < 2:
            return made.tensor(np.power(base, np.full(count, first)))
        exponents = equal_steps(low, high, count, kind, fused=False)
        if made.dtype.is_complex:  # as C has it, also where exponents are whole
            return made.tensor(np.exp(exponents * np.log(kind(base))))
        return made.tensor(np.power(np.longdouble(base), exponents).astype(np.float64))


def _ends(function: str, start: Any, end: Any, steps: Any, signatures: tuple) -> tuple[Any, Any, int]:
    bounds = [(name, bound) for name, bound in (("start", start), ("end", end)) if isinstance(bound, Tensor)]
    if any(bound.ndim for _, bound in bounds):
        got = " and ".join(f"{name} with {bound.ndim} dimension(s)" for name, bound in bounds)
        raise RuntimeError(f"{function} only supports 0-dimensional start and end tensors, but got {got}.")
    if not (_is_number(start) and _is_number(end) and is_integer(steps)):
        raise no_overload(function, [start, end] if steps is None else [start, end, steps], {}, signatures)
    count = int(steps)
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")
    return _plain(start), _plain(end), count


def _spaced_target(function: str, first: Any, last: Any, count: int, options: TensorOptions) -> Target:
    complex_bounds = isinstance(first, complex) or isinstance(last, complex)
    default = get_default_dtype().to_complex() if complex_bounds else get_default_dtype()
    made = target(function, options, default)
    if complex_bounds and made.dtype.category != COMPLEX:
        raise RuntimeError(
            f"torch.{function}(): inferred dtype c10::complex<{'double' if default.is_64bit else 'float'}> can't be "
            f"safely cast to passed dtype {made.dtype.scalar_name}"
        )
    if count > 1 and (made.dtype.category == BOOL or made.dtype in (uint16, uint32, uint64)):
        raise unsupported(f"{function}_cpu", made.dtype)
    return made


def _spaced(first: Any, last: Any, count: int, d: dtype) -> np.ndarray:
    """Equal steps, counted from the nearer end, in the arithmetic of the dtype (float64 for an integral one)."""
    integral = d.category == INTEGRAL
    kind = (float64 if integral else d).numpy.type
    low, high = (kind(int(bound) if integral else bound) for bound in (first, last))
    if count < 2:
        return np.full(count, low)
    numbers = equal_steps(low, high, count, kind)
    return cast_array(np.trunc(numbers) if integral else numbers, d)


# Matrices -----------------------------------------------------------------------------------------------------------


@public("torch", out=MADE)
def eye(n: Any, m: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """The matrix of ``n`` rows and ``m`` columns (``n`` if not given) with ones on its diagonal.

    Raises:
        RuntimeError: a negative number of rows or columns.
    """
    if not is_integer(n):
        raise TypeError(f"eye(): argument 'n' (position 1) must be int, not {type_name(n)}")
    if m is not None and not is_integer(m):
        out = "Tensor out = None, "
        raise no_overload("eye", [n, m], {}, (f"int n, *, {out}{OPTIONS}", f"int n, int m, *, {out}{OPTIONS}"))
    rows, columns = int(n), int(n) if m is None else int(m)
    for name, length in (("n", rows), ("m", columns)):
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    made = target("eye", options)
    check_size((rows, columns), made.dtype.itemsize, owned=False)
    made.room(rows, columns)
    return made.tensor(np.eye(rows, columns, dtype=made.dtype.numpy))


def _triangle(function: str, row: Any, col: Any, offset: int, lower: bool, options: TensorOptions) -> Tensor:
    for place, (name, length) in enumerate((("row", row), ("col", col)), 1):
        if not is_integer(length):
            raise TypeError(f"{function}(): argument '{name}' (position {place}) must be int, not {type_name(length)}")
        refuse_large(length)
        if length < 0:
            raise RuntimeError(f"{name} must be non-negative, got{length}")
    made = target(function, options, int64)
    if made.dtype.category != INTEGRAL:
        raise unsupported(function, made.dtype)
    made.room(2, _inside(row, col, offset if lower else offset - 1, lower))
    row, col = (row, min(col, max(row + offset, 0))) if lower else (min(row, max(col - offset, 0)), col)
    inside = np.tri(row, col, offset if lower else offset - 1, dtype=bool)
    return made.tensor(np.stack(np.nonzero(inside if lower else ~inside)))


def _inside(rows: int, columns: int, offset: int, lower: bool) -> int:
    """The number of elements of a matrix that are on and below a diagonal, or above it."""
    whole = min(max(rows + offset - columns, 0), rows)  # rows at the bottom that are below as a whole
    first = min(max(-offset, 0), rows)  # rows at the top of which nothing is
    some = max(rows - first - whole, 0)
    below = whole * columns + some * (2 * max(offset + first + 1, 0) + some - 1) // 2
    return below if lower else rows * columns - below


@public("torch")
def tril_indices(row: Any, col: Any, offset: int = 0, **options: Unpack[TensorOptions]) -> Tensor:
    """The rows and columns of the elements on and below a diagonal, of shape (2, count).

    Args:
        row, col: how many rows and columns the matrix has.
        offset: which diagonal, counted upwards from the main one; below it, if negative. int64, if no dtype is given.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle("tril_indices", row, col, offset, True, options)


@public("torch")
def triu_indices(row: Any, col: Any, offset: int = 0, **options: Unpack[TensorOptions]) -> Tensor:
    """The rows and columns of the elements on and above a diagonal, of shape (2, count).

    Args:
        row, col: how many rows and columns the matrix has.
        offset: which diagonal, counted upwards from the main one; below it, if negative. int64, if no dtype is given.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle("triu_indices", row, col, offset, False, options)
