"""Arithmetic and powers: functions of two operands, and the operators ``+ - * / // % **``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.bounds import refuse_elements, zero
from tapegrad._src.bindings.declaration.declarations import ARITHMETIC, InPlace, Out, refuse_wider
from tapegrad._src.bindings.declaration.dunders import dunder, hot_dunder, reverse
from tapegrad._src.bindings.declaration.registry import IN_PLACE, NAMESPACES, public
from tapegrad._src.bindings.declaration.scalars import (
    common_dtype,
    converted,
    element_of,
    floating_operand,
    is_number,
    no_overload,
    operand,
    operands,
    python_number,
    refuse,
    unsupported,
)
from tapegrad._src.bindings.layouts import in_row_major_order
from tapegrad._src.bindings.writes.cached import one_operand
from tapegrad._src.bindings.writes.in_place import check_castable
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL, complex128, float64, int64
from tapegrad._src.execution.recording.capturing import is_dynamic
from tapegrad._src.functions.unary import declare, said_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, comparison
from tapegrad.ops import unary as unary_ops
from tapegrad.ops.kinds import cast
from tapegrad.ops.operator import Operator

BOOL_FROM_BOOL = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
    "instead."
)
FROM_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead."
)


def _is_bool(value: Any) -> bool:
    return value.dtype.category == BOOL if isinstance(value, Tensor) else isinstance(value, bool)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _checked_alpha(alpha: Any, x: Any, y: Any) -> Any:
    alpha, category = python_number(alpha), common_dtype(x, y).category
    if isinstance(alpha, bool) and category != BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, complex)) and category < FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and category < COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return bool(alpha) if category == BOOL else element_of(alpha, common_dtype(x, y))


def _check_target(input: Tensor, other: Any, *, alpha: Any = 1) -> None:
    """Of in-place variants: refuse a target of a lower category before anything is said of ``alpha``."""
    if type(alpha) is not int and not input._spec.requires_grad:
        check_castable(common_dtype(input, other), input.dtype)


@public(
    "torch", "Tensor",
    in_place=InPlace(captured="", fast=(one_operand, arithmetic.add, arithmetic.add_scaled), first=_check_target),
    is_settled=True,
)  # fmt: skip
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``, broadcast; either may be a number.

    Raises:
        RuntimeError: ``alpha`` is of a higher category than the result.

    >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=3)
    tensor([31, 62])
    """
    x, y = operands("add", input, other)
    if type(alpha) is int and alpha == 1:
        return arithmetic.add(x, y)
    return arithmetic.add_scaled(x, y, _checked_alpha(alpha, x, y))


def check_subtraction(x: Any, y: Any) -> None:
    """Refuse what the `-` operator does not take. Raises RuntimeError: booleans."""
    if _is_bool(x) and _is_bool(y):
        raise RuntimeError(BOOL_FROM_BOOL)
    if _is_bool(x) or _is_bool(y):
        raise RuntimeError(FROM_BOOL)


def _check_difference(input: Tensor, other: Any, *, alpha: Any = 1) -> None:
    check_subtraction(input, other)
    _check_target(input, other, alpha=alpha)


@public(
    "torch", "Tensor", aliases=("subtract",),
    in_place=InPlace(
        captured=ARITHMETIC, fast=(one_operand, arithmetic.sub, arithmetic.sub_scaled), first=_check_difference
    ), is_settled=True,
)  # fmt: skip
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``, broadcast; either may be a number.

    Raises:
        RuntimeError: an operand is boolean; ``alpha`` is of a higher category than the result.
    """
    check_subtraction(input, other)
    x, y = operands("sub", input, other)
    if type(alpha) is int and alpha == 1:
        return arithmetic.sub(x, y)
    return arithmetic.sub_scaled(x, y, _checked_alpha(alpha, x, y))


@public("torch", is_settled=True)
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``.

    Raises:
        RuntimeError: an operand is boolean; ``alpha`` is of a higher category than the result.
    """
    check_subtraction(other, input)
    x, y = operands("rsub", input, other)
    if type(alpha) is int and alpha == 1:
        return arithmetic.rsub(x, y) if isinstance(y, Tensor) else arithmetic.rsub_number(x, y)
    op = arithmetic.rsub_scaled if isinstance(y, Tensor) else arithmetic.rsub_number_scaled
    return op(x, y, _checked_alpha(alpha, x, y))


IN_PLACE["subtract"] = IN_PLACE["sub"]._replace(captured=None)

_TIMES = InPlace(captured=ARITHMETIC, fast=(one_operand, arithmetic.mul))


@public("torch", "Tensor", aliases=("multiply",), in_place=_TIMES, is_settled=True)
def mul(input: Any, other: Any) -> Tensor:
    """``input * other``, broadcast; either may be a number."""
    return arithmetic.mul(*operands("mul", input, other))


_DIVIDED = InPlace(
    captured=ARITHMETIC, fast=(one_operand, arithmetic.div),
    overloads=lambda other, **given: "Tensor_mode" if given else "Tensor",
)  # fmt: skip


@public("torch", "Tensor", aliases=("divide",), in_place=_DIVIDED)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``, broadcast; either may be a number.

    Integers are divided as floats, unless ``rounding_mode`` is "floor" (downwards) or "trunc" (towards zero).

    Raises:
        RuntimeError: an unknown ``rounding_mode``; an integer divided by 0.

    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="floor")
    tensor([-4,  3])
    """
    if rounding_mode is None:
        return arithmetic.div(*operands("div", input, other, floating_operand))
    x, y = operands("div", input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    refuse(f"div_{rounding_mode}_cpu", (x, y), BOOL, COMPLEX)
    _check_divisor(x, y)
    return arithmetic.div_rounded(x, y, rounding_mode=rounding_mode)


@public("torch", "Tensor", in_place=_DIVIDED, out=Out(called="div"))
def true_divide(input: Any, other: Any) -> Tensor:
    """``input / other``, broadcast; integers are divided as floats."""
    return arithmetic.div(*operands("true_divide", input, other, floating_operand))


def _check_divisor(x: Any, y: Any) -> None:
    """Refuse to divide integers by 0. Raises RuntimeError: PyTorch's message."""
    if common_dtype(x, y).category > INTEGRAL or (isinstance(x, Tensor) and not x._spec.numel):
        return
    if isinstance(y, Tensor):
        refuse_elements(y, zero, complaint=lambda _: RuntimeError("ZeroDivisionError"))
    elif not (y % 2 ** (8 * x.dtype.itemsize) if isinstance(x, Tensor) and x.dtype.category == INTEGRAL else y):
        raise RuntimeError("ZeroDivisionError")


@public("torch", "Tensor", in_place=InPlace(underivable=True), out=Out(history="unknown"))
def floor_divide(input: Any, other: Any) -> Tensor:
    """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0.

    Raises:
        RuntimeError: an integer divided by 0.
    """
    x, y = operands("floor_divide", input, other)
    refuse("div_floor_cpu", (x, y), BOOL, COMPLEX)
    _check_divisor(x, y)
    return arithmetic.floor_divide(x, y)


@public("torch", "Tensor")
def remainder(input: Any, other: Any) -> Tensor:
    """``input`` modulo ``other``, with the sign of ``other``; either may be a number.

    Raises:
        RuntimeError: an integer divided by 0.

    >>> torch.remainder(torch.tensor([-5, 5]), 3)
    tensor([1, 2])
    """
    x, y = operands("remainder", input, other)
    refuse("remainder_cpu", (x, y), BOOL, COMPLEX)
    _check_divisor(x, y)
    if not isinstance(x, Tensor):
        return arithmetic.number_remainder(x, y)
    return arithmetic.remainder(x, y) if isinstance(y, Tensor) else arithmetic.remainder_number(x, y)


@public("torch", "Tensor")
def fmod(input: Tensor, other: Any) -> Tensor:
    """The remainder of ``input / other``, with the sign of ``input``.

    Raises:
        RuntimeError: an integer divided by 0.
    """
    x, y = operands("fmod", input, other)
    refuse("fmod_cpu", (x, y), BOOL, COMPLEX)
    _check_divisor(x, y)
    return arithmetic.fmod(x, y) if isinstance(y, Tensor) else arithmetic.fmod_number(x, y)


# -- powers ------------------------------------------------------------------------------------------------------------

_POW = (
    "Tensor input, Tensor exponent, *, Tensor out = None",
    "Number self, Tensor exponent, *, Tensor out = None",
    "Tensor input, Number exponent, *, Tensor out = None",
)


@public("torch", "Tensor", is_settled=True)
def pow(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent``, broadcast; either may be a number.

    Raises:
        RuntimeError: integers to a negative power that is a number.

    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if isinstance(input, Tensor) and isinstance(exponent, Tensor):
        refuse("pow", (input, exponent), BOOL)
        return arithmetic.pow(input, exponent)
    if isinstance(input, Tensor) and is_number(exponent):
        return _to_number(input, exponent)
    if isinstance(exponent, Tensor) and is_number(input):
        base = operand(input, exponent.dtype)
        refuse("pow", (base, exponent), BOOL)
        return in_row_major_order(arithmetic.number_pow(base, exponent))
    raise no_overload("pow", (input, exponent), _POW)


def _to_number(x: Tensor, exponent: Any) -> Tensor:
    """A power to a number. Small whole and half exponents are compiled in; they are few and much faster so."""
    if isinstance(exponent, int) and x.dtype.category < FLOATING and 2**63 <= exponent < 2**64:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    exponent = operand(exponent, float64 if x.dtype.category >= FLOATING else int64)
    if x.dtype.category < FLOATING:
        if x.dtype.category == BOOL and isinstance(exponent, bool):
            return comparison.logical_or(x, not exponent)
        refuse("pow", (x, exponent), BOOL)
        return arithmetic.pow_number(x, _whole_exponent(x, exponent) if isinstance(exponent, int) else exponent)
    if isinstance(exponent, complex) and not (x.dtype.is_complex and exponent.imag == 0):
        return arithmetic.pow_number(x, exponent)
    exponent = float(exponent.real)
    if is_dynamic(exponent) or not (-4 <= exponent <= 4 and (2 * exponent).is_integer()):
        return arithmetic.pow_number(x, exponent)
    return unary_ops.power(x, exponent=int(exponent) if exponent.is_integer() else exponent)


def _whole_exponent(x: Tensor, exponent: int) -> Any:
    """The exponent of integers, which must be one of their dtype."""
    if exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return converted(exponent, common_dtype(x, exponent))


@public("torch", "Tensor", out=Out(called="pow"), is_settled=True)
def square(input: Tensor) -> Tensor:
    """``input ** 2``; of booleans int64."""
    return _to_number(input, 2.0 if input.dtype.category >= FLOATING else 2)


def _refuse_narrow_base(tensor: Tensor, exponent: Any) -> None:
    wide = _wide_enough(tensor, exponent)
    if tensor.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {tensor.dtype.scalar_name} but the operation's result requires "
            f"dtype {wide.scalar_name}"
        )


def _wide_enough(*operands: Any) -> Any:
    return complex128 if common_dtype(*operands).is_complex else float64


@public(
    "torch", "Tensor", in_place=InPlace(first=_refuse_narrow_base, composed=True),
    out=Out(
        "the output given to float_power has dtype {O} but the operation's result requires dtype {R}", called="pow"
    ),
)  # fmt: skip
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` in float64, or complex128 if either operand is complex."""
    for number in (input, exponent):
        if isinstance(number, int):
            operand(number, int64)
    wide = _wide_enough(input, exponent)
    return pow(*[_widened(value, wide) for value in (input, exponent)])


def _widened(value: Any, wide: Any) -> Any:
    if not isinstance(value, Tensor):
        return float(value) if isinstance(value, int) else value
    return value if value.dtype is wide else cast(value, dtype=wide)


# -- the operators of Python -------------------------------------------------------------------------------------------


def _divided_by(self: Tensor, other: Any) -> Tensor:
    """``other / self``."""
    return unary_ops.reciprocal(self) * other


hot_dunder("__add__", arithmetic.add, add, augmented=("__iadd__",))
hot_dunder("__radd__", arithmetic.add, add)
hot_dunder("__sub__", arithmetic.sub, sub, augmented=("__isub__",))
hot_dunder("__mul__", arithmetic.mul, mul, augmented=("__imul__",))
hot_dunder("__rmul__", arithmetic.mul, mul)
hot_dunder("__truediv__", arithmetic.div, div, augmented=("__itruediv__", "__idiv__"))
hot_dunder("__rsub__", arithmetic.rsub_number, rsub, asks="python")
NAMESPACES["Tensor"]["__rtruediv__"] = dunder("__rdiv__", _divided_by, asks="python", foreign=_divided_by)
dunder("__floordiv__", floor_divide, asks="python", augmented=("__ifloordiv__",))
dunder("__rfloordiv__", reverse(floor_divide), asks="python")
dunder("__mod__", remainder, augmented=("__imod__",))
dunder("__rmod__", reverse(remainder), asks="python")
dunder("__pow__", pow, asks="python", augmented=("__ipow__",)).__name__ = "pow"  # as PyTorch's is called
dunder("__rpow__", reverse(pow), asks="python")
NAMESPACES["Tensor"]["__div__"] = NAMESPACES["Tensor"]["__truediv__"]
NAMESPACES["Tensor"]["__neg__"] = NAMESPACES["Tensor"]["neg"]
NAMESPACES["Tensor"]["__pos__"] = NAMESPACES["Tensor"]["positive"]
NAMESPACES["Tensor"]["__abs__"] = NAMESPACES["Tensor"]["abs"]


# -- pairs of tensors --------------------------------------------------------------------------------------------------


Refusal = str | tuple[type[Exception], str]


def pair(op: Operator, refusals: dict[int, Refusal]) -> Callable[[Tensor, Tensor], Tensor]:
    def function(input: Tensor, other: Tensor) -> Tensor:
        dtype = common_dtype(input, other)
        refusal = refusals.get(dtype.category)
        if isinstance(refusal, str):
            raise unsupported(refusal, dtype)
        if refusal is not None:
            raise refusal[0](refusal[1])
        return op(input, other)

    function.__name__ = function.__qualname__ = op.name
    operands = "\n\n    ``x`` is ``input``, ``y`` is ``other``; they are broadcast, and their dtypes promoted."
    function.__doc__ = f"{op.__doc__}{operands}{said_of(refusals, RuntimeError='shapes that do not broadcast')}"
    return function


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``.

    Raises:
        NotImplementedError: floating elements times powers that are truth values.
    """
    if input.dtype.category == FLOATING and other.dtype.category == BOOL:
        raise unsupported("ldexp_cpu_exp", other.dtype)
    return arithmetic.ldexp(input, other)


_NO_LDEXP = "ldexp can't be cast to the desired output type {O}"
declare(pair(arithmetic.atan2, {COMPLEX: "atan2_cpu"}), "arctan2", in_place=InPlace(captured=""))
declare(pair(arithmetic.hypot, dict.fromkeys((BOOL, INTEGRAL, COMPLEX), "hypot_cpu")))
declare(pair(arithmetic.logaddexp, dict.fromkeys((BOOL, INTEGRAL), "logaddexp_cpu")))
declare(pair(arithmetic.logaddexp2, dict.fromkeys((BOOL, INTEGRAL, COMPLEX), "logaddexp2_cpu")))
declare(ldexp, in_place=InPlace(apart=False, check=refuse_wider(_NO_LDEXP)), out=Out(cast=_NO_LDEXP))


@public("torch", "Tensor", in_place=InPlace(captured=""))
def copysign(input: Tensor, other: Any) -> Tensor:
    """``input`` with the sign of ``other``, a tensor or a number; integers become floats."""
    x, y = operands("copysign", input, other, floating_operand)
    refuse("copysign_cpu", (x, y), COMPLEX)
    return arithmetic.copysign(x, y) if isinstance(y, Tensor) else arithmetic.copysign_number(x, y)


@public(
    "torch", "Tensor", in_place=InPlace(underivable=True),
    out=Out("heaviside is not yet implemented for tensors with different dtypes.", history="unknown"),
)  # fmt: skip
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where ``input`` is negative, 1 where it is positive, ``values`` where it is 0. Not differentiable.

    Raises:
        RuntimeError: complex elements, or two dtypes.
    """
    if common_dtype(input, values).is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return arithmetic.heaviside(input, values)


@public("torch", "Tensor")
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The number after each of ``input`` in the direction of ``other`` that their dtype can hold.

    Raises:
        NotImplementedError: other than floating elements.

    >>> torch.nextafter(torch.tensor(1.0), torch.tensor(2.0)) - 1 == torch.finfo(torch.float32).eps
    tensor(True)
    """
    dtype = common_dtype(input, other)
    if dtype.category != FLOATING:
        raise unsupported("nextafter_cpu", dtype)
    x, y = (value if value.dtype is dtype else cast(value, dtype=dtype) for value in (input, other))
    return arithmetic.nextafter(x, y)
