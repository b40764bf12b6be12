"""Python and NumPy numbers as operands: which are accepted, what they become before an operator sees them.

Note [Numbers beside tensors]
A number stays a Python number up to the operator: plans know it by its type, kernels take it as an argument, so that
another value needs no other kernel. Here it is only given a form that the kernel can take whatever its size: an int
beside a floating tensor becomes a float, an int beside a narrow integral tensor wraps around as PyTorch's does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings.bounds import numbers
from tapegrad._src.bindings.declaration.parser_table import NUMBERS_AS_TENSORS
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.array_functions.host import filled, length_value, may_look
from tapegrad._src.execution.data.devices import device, get_default_device
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, INTEGRAL, dtype, float32, float64, int64
from tapegrad._src.execution.data.promotion import inferred_dtype, result_dtype
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, wrap

EXACT = 2**53
"""Ints below this are floats, too."""

CPP_NAMES = {
    "bool": "bool", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip
"""The names of dtypes in PyTorch's messages when a number can't be converted to one."""


NUMBER_TYPES: tuple[Any, ...] = (float, int, bool, complex)
"""Python's numbers."""


def is_number(value: Any) -> bool:
    """Tell whether a value is a Python or NumPy number (or truth value), which promotes as PyTorch's wrapped numbers
    do."""
    if isinstance(value, (int, float, complex, SYMBOL)):
        return True
    return isinstance(value, np.generic) and value.dtype.kind in "biufc"


def python_number(value: Any) -> Any:
    """A NumPy number, a tensor without dimensions, or one of a subclass of Python's, as Python's own.

    NumPy's truth values become floats.
    """
    if type(value) in NUMBER_TYPES:
        return value
    if isinstance(value, Tensor) and not value.ndim:
        return value.item()
    if isinstance(value, np.generic):
        return float(value) if isinstance(value, np.bool_) else value.item()
    for number_type in NUMBER_TYPES:
        if isinstance(value, number_type):
            return number_type(value)
    raise TypeError(f"not a number: {value!r}")


def length_tensor(length: Any) -> Tensor:
    """A tensor of one number for a length that is a symbol."""
    on = device("cpu")
    return fresh(length_value(length), Spec.of((), int64, on))


def operand(value: Any, beside: dtype) -> Any:
    """A number as an operator takes it beside a tensor of this dtype. See Note [Numbers beside tensors].
    Raises OverflowError: an int that 64 bits can't hold.
    """
    if type(value) is float:
        return value
    if type(value) is SYMBOL:
        return length_tensor(value)
    value = python_number(value)
    if type(value) is not int:
        return value
    check_64_bits(value)
    if beside.category >= FLOATING:
        return float(value)
    if beside.category == BOOL and value >= 2**63:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Bool and UInt64"
        )
    bits = 64 if beside.is_64bit or beside.category == BOOL else 32
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def floating_operand(value: Any, beside: dtype) -> Any:
    """``operand``, where integers are computed with as floats: an int that 32 bits can't hold is one from the start."""
    number = operand(value, beside)
    large = type(number) is int and not -(2**31) <= python_number(value) < 2**31
    return float(python_number(value)) if large else number


def element_of(value: Any, beside: dtype) -> Any:
    """``operand``, where PyTorch makes an element of a number: an int must fit.
    Raises RuntimeError: PyTorch's message, if it does not.
    """
    exact = beside.category == INTEGRAL and type(value) is int
    return converted(value, beside) if exact else operand(value, beside)


def check_64_bits(value: int) -> None:
    """Refuse an int that is no number of PyTorch's, which have 64 bits, with a sign or without."""
    if value >= 2**64:
        raise OverflowError("int too big to convert")
    if value < -(2**63):
        raise OverflowError("can't convert negative int to unsigned")


FITS_ALL = 2**15
"""Numbers below this fit into all floating types."""


def converted(value: Any, to: dtype) -> Any:
    """A number as an element of a tensor of this dtype: whole, if the tensor is.
    Raises RuntimeError: PyTorch's message, if the dtype can't hold it; infinities and nan fit any floating dtype.
    """
    if to.category == FLOATING and (type(value) is float or type(value) is int) and -FITS_ALL < value < FITS_ALL:
        return float(value)
    value = python_number(value)
    if type(value) is int:
        check_64_bits(value)
    if type(value) is complex and not to.is_complex and not value.imag:
        value = value.real
    if not _fits(value, to):
        raise RuntimeError(f"value cannot be converted to type {CPP_NAMES[to.name]} without overflow")
    if to.category == BOOL:
        return bool(value)
    if to.category == INTEGRAL:
        return int(value) if to.is_signed else int(value) % 2 ** (8 * to.itemsize)
    return float(value) if type(value) is int else value


def refuse_unfitting(value: Tensor, to: dtype) -> None:
    """Refuse a 0-dim tensor whose number is known, and can't be converted to a dtype: see ``converted``."""
    elements = numbers(value) if value.dtype is not to and may_look() else None
    for number in () if elements is None else elements.ravel():
        converted(number.item(), to)


def element(value: Any, to: dtype, shape: Sequence[int] = ()) -> Any:
    """``converted``, where a tensor of this shape is filled: a half that is alone takes all, as infinity if need be.
    Raises RuntimeError: as ``converted``.
    """
    if to.category == FLOATING and to.itemsize < 4 and math.prod(shape) == 1:
        return cast_number(converted(value, float64) if isinstance(value, complex) else value, to)
    return converted(value, to)


def computed_with(value: Any, beside: dtype) -> Any:
    """A number as PyTorch's kernels compute with it beside elements of a floating dtype: half ones count as float32.
    Raises RuntimeError: PyTorch's message, if it does not fit.
    """
    return converted(value, float32 if beside.category == FLOATING and not beside.is_64bit else beside)


def cast_number(value: Any, to: dtype) -> Any:
    """A number as copying it into a tensor of this dtype makes it: integers wrap around, floats become infinite."""
    value = python_number(value)
    if type(value) is int:
        check_64_bits(value)
    if type(value) is complex and not to.is_complex:
        value = value.real
    if type(value) is complex or _fits(value, to):
        return converted(value, to)
    with np.errstate(over="ignore", invalid="ignore"):
        return converted(np.asarray(value).astype(to.numpy).astype(float if to.is_floating_point else int).item(), to)


def _fits(value: Any, to: dtype) -> bool:
    if to.category == BOOL:
        return True
    if type(value) is complex:
        return to.is_complex and _fits(value.real, to) and _fits(value.imag, to)
    if to.category >= FLOATING:
        return not math.isfinite(value) or abs(value) <= _LARGEST.get(to.to_real().name, math.inf)
    limits = np.iinfo(to.numpy)
    low = limits.min if to.is_signed or type(value) is float else -limits.max  # a negative int wraps around
    return math.isfinite(value) and int(low) <= value <= int(limits.max)


_LARGEST = {
    "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}  # fmt: skip


def operands(
    function: str, input: Any, other: Any, operand: Callable[[Any, dtype], Any] = operand
) -> tuple[Any, Any]:
    """Two operands of which one may be a number, which ``operand`` converts.
    Raises TypeError: PyTorch's message, if there is no tensor among them or one is neither tensor nor number.
    """
    if isinstance(input, Tensor):
        if isinstance(other, Tensor):
            return input, other
        if is_number(other):
            return input, operand(other, input.dtype)
        raise wrong_type(function, "other", 2, other)
    if isinstance(other, Tensor) and is_number(input):
        return operand(input, other.dtype), other
    if function in NUMBERS_AS_TENSORS and is_number(input) and is_number(other):  # both become tensors, as in PyTorch
        return tuple(_made(python_number(number)) for number in (input, other))  # type: ignore[return-value]
    raise wrong_type(function, "input", 1, input)


def _made(number: Any) -> Tensor:
    as_dtype, on = inferred_dtype(type(number)), get_default_device()
    return wrap(filled((), number, as_dtype, on), Spec.of((), as_dtype, on))


def wrong_type(function: str, argument: str, position: int, value: Any, expected: str = "Tensor") -> TypeError:
    """PyTorch's error for an argument of the wrong type."""
    module = "numpy." if type(value).__module__ == "numpy" else ""
    got = module + type(value).__name__
    return TypeError(f"{function}(): argument '{argument}' (position {position}) must be {expected}, not {got}")


def no_overload(function: str, arguments: Sequence[Any], signatures: Sequence[str]) -> TypeError:
    """PyTorch's error for arguments that fit none of a function's overloads."""
    got = ", ".join(type(argument).__name__ for argument in arguments)
    expected = "".join(f" * ({signature})\n" for signature in signatures)
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({got}), but expected one of:\n{expected}"
    )


def common_dtype(*values: Any) -> dtype:
    """PyTorch's result type of tensors and numbers."""
    return result_dtype([(value.dtype, value.ndim) if isinstance(value, Tensor) else type(value) for value in values])


def unsupported(kernel: str, of: dtype) -> NotImplementedError:
    """PyTorch's error for a dtype that a kernel was not written for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{of.scalar_name}'")


def refuse(kernel: str, values: Sequence[Any], *categories: int) -> None:
    """Raise PyTorch's error if the common dtype of operands is of a category that its kernel was not written for."""
    dtype = common_dtype(*values)
    if dtype.category in categories:
        raise unsupported(kernel, dtype)


@public("torch")
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of a result of arithmetic on two operands, tensors or numbers.

    Args:
        tensor1, tensor2: the operands, of which numbers and 0-dim tensors count only if they are of a higher
            category.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    for number in (tensor1, tensor2):
        if type(number) is int:
            check_64_bits(number)
    return common_dtype(tensor1, tensor2)
