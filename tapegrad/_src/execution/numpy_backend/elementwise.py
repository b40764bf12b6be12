"""Rules of arithmetic, comparisons, bits and selection: NumPy's ufuncs, and what is said with two or three of them.

Note [Where NumPy and XLA differ]
Dtypes, infinities, nan and whatever an integer can do are XLA's. Of floating-point numbers some things are NumPy's, and
no worse: subnormal numbers, which XLA flushes to zero; which zero the maximum or minimum of 0 and -0 is; functions of
complex numbers at infinities and nan, where NumPy follows C, as PyTorch does; the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.expression import Attribute
from tapegrad._src.execution.numpy_backend.operands import (
    RULES,
    Operand,
    Unwritable,
    are_known,
    broadcast_shape,
    by_ufunc,
    call,
    constant,
    mapped,
    number,
    rule,
)
from tapegrad._src.execution.numpy_backend.vectorized import LIMITS, clipped

UFUNCS = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "abs": np.absolute, "floor": np.floor, "ceil": np.ceil, "is_finite": np.isfinite,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "max": np.maximum, "min": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "shift_left": np.left_shift,
}  # fmt: skip
"""Primitives that a ufunc computes, with the same dtypes and the same special cases."""

NEUTRAL = {"mul": (1, True), "div": (1, False), "sub": (0, False), "max": (-np.inf, True), "min": (np.inf, True)}
"""The number that changes nothing on the right, and whether it doesn't on the left either; to add 0 changes -0."""

REAL_UFUNCS = {"cbrt": np.cbrt, "atan2": np.arctan2}
"""Those of real numbers alone."""


def _rule_of(ufunc: np.ufunc, *, real: bool) -> Any:
    def written(writer: Any, equation: Any) -> Operand:
        if real and is_complex(equation.avals[0].dtype):
            raise Unwritable(f"{equation.primitive}: of complex numbers")
        return by_ufunc(ufunc, equation)

    return written


RULES.update({name: _rule_of(ufunc, real=False) for name, ufunc in UFUNCS.items() if name not in NEUTRAL})
RULES.update({name: _rule_of(ufunc, real=True) for name, ufunc in REAL_UFUNCS.items()})


@rule("square")
def square(writer: Any, equation: Any) -> Operand:
    """``numpy.square``."""
    return by_ufunc(np.square, equation, [of_same_square(equation)])


def of_same_square(equation: Any) -> Operand:
    """The number to be squared; of a real number's absolute value the number."""
    made = equation.operands[0].origin
    if made is not None and made.primitive == "abs" and not is_complex(made.avals[0].dtype):
        return made.operands[0]
    return equation.operands[0]


def is_float(dtype: Any) -> bool:
    """Tell whether a dtype is one of real floating-point numbers, also one that NumPy doesn't know."""
    return jnp.issubdtype(dtype, jnp.floating)


def is_complex(dtype: Any) -> bool:
    """Tell whether a dtype is one of complex numbers."""
    return jnp.issubdtype(dtype, jnp.complexfloating)


def is_integer(dtype: Any) -> bool:
    """Tell whether a dtype is one of integers, with a sign or without."""
    return jnp.issubdtype(dtype, jnp.integer)


@rule("stop_gradient", "copy", "copy_p", "optimization_barrier")
def identity(writer: Any, equation: Any) -> Any:
    """Leave an operand as it was."""
    return tuple(equation.operands)


# -- arithmetic --------------------------------------------------------------------------------------------------------


@rule("mul", "sub", "max", "min")
def arithmetic(writer: Any, equation: Any) -> Operand:
    """A ufunc; nothing, if one of two real numbers is a constant that changes nothing; ``numpy.clip``, if the minimum
    of a number and a maximum is sought."""
    kept = unchanged(equation) or (bounded_both_ways(equation) if equation.primitive == "min" else None)
    return by_ufunc(UFUNCS[equation.primitive], equation) if kept is None else kept


def bounded_both_ways(equation: Any) -> Operand | None:
    """The minimum of a number and the maximum of a number and an array, in one call; None of anything else."""
    high, bounded = equation.operands if equation.operands[0].shape == () else equation.operands[::-1]
    made = bounded.origin
    if high.shape != () or made is None or made.primitive != "max" or np.dtype(equation.aval.dtype) not in LIMITS:
        return None
    low, x = made.operands if made.operands[0].shape == () else made.operands[::-1]
    return by_ufunc(clipped, equation, [low, x, high]) if low.shape == () != x.shape else None


def unchanged(equation: Any) -> Operand | None:
    """The operand that the result is, if the other one is a number that changes nothing."""
    neutral, commutes = NEUTRAL[equation.primitive]
    left, right = equation.operands
    if is_complex(equation.aval.dtype):
        return None
    if _is_number(right, neutral):
        return left
    return right if commutes and _is_number(left, neutral) else None


def _is_number(operand: Operand, neutral: float) -> bool:
    value = operand.known
    if value is None or value.ndim or value.dtype.kind == "b":
        return False
    return bool(value == neutral) and bool(np.signbit(value)) == (neutral < 0)


@rule("div")
def div(writer: Any, equation: Any) -> Operand:
    """``numpy.divide``; integers towards zero, complex numbers as C has it where infinities are divided."""
    kept, dtype = unchanged(equation), equation.aval.dtype
    if kept is not None:
        return kept
    if is_float(dtype):
        return by_ufunc(np.divide, equation)
    return mapped(integer_quotient if is_integer(dtype) else complex_quotient, equation)


@rule("rem")
def rem(writer: Any, equation: Any) -> Operand:
    """``numpy.fmod``: the remainder has the dividend's sign."""
    divisor = equation.operands[1].known
    if is_float(equation.aval.dtype) or (divisor is not None and divisor.all()):
        return by_ufunc(np.fmod, equation)
    return mapped(integer_remainder, equation)


def integer_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Towards zero; what is divided by zero has all bits set; the least number over -1 is itself.

    >>> with np.errstate(all="ignore"):
    ...     integer_quotient(np.array([7, -7, 5, -5]), np.array([2, 2, 0, 0]))
    array([ 3, -3, -1, -1])
    """
    if not x.ndim and not y.ndim and int(y) > 0:  # a place: Python divides it sooner than NumPy
        return np.asarray(int(x) // int(y) if x >= 0 else -(-int(x) // int(y)), x.dtype)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "i":
        quotient = quotient + ((quotient * y != x) & ((x < 0) != (y < 0)))
    quotient = np.where(y == 0, ~np.zeros_like(y), quotient)
    return np.where(y == -1, -x, quotient) if x.dtype.kind == "i" else quotient


def integer_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the quotient towards zero; what is divided by zero remains.

    >>> with np.errstate(all="ignore"):
    ...     integer_remainder(np.array([7, -7, 5]), np.array([2, 2, 0]))
    array([ 1, -1,  5])
    """
    if not x.ndim and not y.ndim and int(x) >= 0 and int(y) > 0:
        return np.asarray(int(x) % int(y), x.dtype)
    return np.where(y == 0, x, np.fmod(x, y))


def complex_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``numpy.divide``, but what C (Annex G.5.1) says where that is nan, and of zeros below.

    >>> complex_quotient(np.array([1 + 1j]), np.array([complex(np.inf, 1)]))
    array([0.+0.j])
    """
    quotient = np.asarray(np.divide(x, y))
    odd = (np.isnan(quotient.real) & np.isnan(quotient.imag)) | (y == 0)
    if odd.any():
        x, y = np.broadcast_arrays(x, y)
        quotient[odd] = _odd_quotient(x[odd], y[odd], quotient[odd])
    return quotient


def _odd_quotient(x: np.ndarray, y: np.ndarray, quotient: np.ndarray) -> np.ndarray:
    a, b, c, d = x.real, x.imag, y.real, y.imag
    infinite_x, infinite_y = np.isinf(a) | np.isinf(b), np.isinf(c) | np.isinf(d)
    grows = infinite_x & np.isfinite(c) & np.isfinite(d)
    vanishes = infinite_y & np.isfinite(a) & np.isfinite(b)
    p, q, r, s = (np.copysign(np.isinf(part), part) for part in (a, b, c, d))
    zero = (y == 0) & ~(np.isnan(a) & np.isnan(b))
    unbounded = np.copysign(np.inf, c)
    result = np.empty_like(quotient)
    conditions = [zero, grows, vanishes]
    result.real = np.select(
        conditions, [unbounded * a, np.inf * (p * c + q * d), 0 * (a * r + b * s)], quotient.real
    )
    result.imag = np.select(
        conditions, [unbounded * b, np.inf * (q * c - p * d), 0 * (b * r - a * s)], quotient.imag
    )
    return result


def direction(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The quotients of complex numbers and their absolute values, 0 at 0; nan of those that are infinite."""
    size = np.absolute(x)
    return np.divide(x, np.where(size == 0, 1, size), out=out)


@rule("sign")
def sign(writer: Any, equation: Any) -> Operand:
    """``numpy.sign``, which gives 0 for -0: the sign is copied; and 1 for a complex number with one infinite part."""
    if equation.aval.dtype.kind == "c":
        return by_ufunc(direction, equation)
    if not is_float(equation.aval.dtype):
        return by_ufunc(np.sign, equation)
    x = writer.named(equation.operands[0])
    return by_ufunc(np.copysign, equation, [by_ufunc(np.sign, equation, [x]), x])


@rule("nextafter")
def nextafter(writer: Any, equation: Any) -> Operand:
    """``numpy.nextafter``, which of 0 and -0 gives the second, as XLA; not so that of 16-bit floats."""
    if equation.aval.dtype.itemsize == 2:
        raise Unwritable("nextafter: of 16-bit floats")
    return by_ufunc(np.nextafter, equation)


@rule("round")
def round_(writer: Any, equation: Any) -> Operand:
    """``numpy.rint``, or halves away from zero."""
    if equation.params["rounding_method"].name == "TO_NEAREST_EVEN":
        return by_ufunc(np.rint, equation)
    return mapped(rounded_away, equation)


def rounded_away(x: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from zero.

    >>> rounded_away(np.array([0.5, -2.5, 0.49999999999999994]))
    array([ 1., -3.,  0.])
    """
    whole = np.trunc(x)
    return whole + np.copysign((np.absolute(x - whole) >= 0.5).astype(x.dtype), x)


@rule("clamp")
def clamp(writer: Any, equation: Any) -> Operand:
    """``numpy.clip`` by numbers; else the minimum of a maximum."""
    low, x, high = equation.operands
    if low.shape == high.shape == () != x.shape and np.dtype(equation.aval.dtype) in LIMITS:
        return by_ufunc(clipped, equation)
    return by_ufunc(np.minimum, equation, [by_ufunc(np.maximum, equation, [x, low]), high])


# -- powers ------------------------------------------------------------------------------------------------------------


@rule("integer_pow")
def integer_pow(writer: Any, equation: Any) -> Operand:
    """A chain of products, which is quicker than ``numpy.power``."""
    exponent, dtype = int(equation.params["y"]), equation.aval.dtype
    power = writer.named(equation.operands[0])
    if exponent == 0:
        return number(1, dtype)
    factors, left = [power] if exponent & 1 else [], abs(exponent) >> 1
    while left:
        power = by_ufunc(np.square, equation, [power])
        power = writer.named(power) if left > 1 else power
        factors += [power] if left & 1 else []
        left >>= 1
    result = reduce(lambda one, other: by_ufunc(np.multiply, equation, [one, other]), factors)
    if exponent > 0:
        return result
    return by_ufunc(np.divide, equation, [number(1, dtype), result])


@rule("pow")
def pow_(writer: Any, equation: Any) -> Operand:
    """``numpy.power`` of two numbers of one dtype."""
    x, y = equation.operands
    dtype = equation.aval.dtype
    if equation.avals[1].dtype != dtype:
        y = y.method("astype", dtype)
    return by_ufunc(np.power, equation, [x, y])


@rule("exp2")
def exp2(writer: Any, equation: Any) -> Operand:
    """``numpy.exp2``; of complex numbers an exponential."""
    if not is_complex(equation.aval.dtype):
        return by_ufunc(np.exp2, equation)
    log_2 = number(np.log(2), equation.aval.dtype)
    scaled = by_ufunc(np.multiply, equation, [*equation.operands, log_2])
    return by_ufunc(np.exp, equation, [scaled])


@rule("rsqrt")
def rsqrt(writer: Any, equation: Any) -> Operand:
    """One over the root."""
    one = number(1, equation.aval.dtype)
    return by_ufunc(np.divide, equation, [one, by_ufunc(np.sqrt, equation)])


@rule("logistic")
def logistic(writer: Any, equation: Any) -> Operand:
    """``1 / (1 + exp(-x))``."""
    one = number(1, equation.aval.dtype)
    power = by_ufunc(np.exp, equation, [by_ufunc(np.negative, equation)])
    return by_ufunc(np.divide, equation, [one, by_ufunc(np.add, equation, [power, one])])


# -- complex numbers ---------------------------------------------------------------------------------------------------


@rule("real", "imag")
def part(writer: Any, equation: Any) -> Operand:
    """A view of a part."""
    return part_of(equation.operands[0], equation.primitive)


def part_of(operand: Operand, name: str) -> Operand:
    """A view of the real or the imaginary part."""
    return Operand(Attribute(operand.expression, name), operand.shape)


@rule("conj")
def conj(writer: Any, equation: Any) -> Operand:
    """``numpy.conjugate``; of real numbers the complex ones that they are."""
    if is_complex(equation.avals[0].dtype):
        return by_ufunc(np.conjugate, equation)
    return equation.operands[0].method("astype", equation.aval.dtype)


@rule("complex")
def complex_(writer: Any, equation: Any) -> Operand:
    """Both parts are written into a new array."""
    return mapped(paired, equation, equation.aval.dtype)


def paired(real: np.ndarray, imag: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The complex numbers with these parts; a product with ``1j`` would lose infinities and the signs of zeros.

    >>> paired(np.array([1.0, -0.0]), np.array(np.inf), np.dtype("complex128"))
    array([ 1.+infj, -0.+infj])
    """
    numbers = np.empty(np.broadcast(real, imag).shape, dtype)
    numbers.real = real
    numbers.imag = imag
    return numbers


# -- bits --------------------------------------------------------------------------------------------------------------


def unsigned(dtype: Any) -> np.dtype:
    """The unsigned integers of a dtype's size."""
    return np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")


def viewed(operand: Operand, old: Any, new: Any) -> Operand:
    """An operand's bits as another dtype of the same size."""
    return operand if old == new else operand.method("view", new)


@rule("shift_right_logical", "shift_right_arithmetic")
def shift_right(writer: Any, equation: Any) -> Operand:
    """The shift of unsigned integers, or of those with a sign, whatever they are."""
    dtype = equation.aval.dtype
    bits = unsigned(dtype) if equation.primitive == "shift_right_logical" else np.dtype(f"int{8 * dtype.itemsize}")
    operands = [viewed(operand, dtype, bits) for operand in equation.operands]
    return viewed(by_ufunc(np.right_shift, equation, operands), bits, dtype)


@rule("population_count")
def population_count(writer: Any, equation: Any) -> Operand:
    """``numpy.bitwise_count`` of unsigned integers."""
    dtype = equation.aval.dtype
    operand = viewed(equation.operands[0], dtype, unsigned(dtype))
    counts = by_ufunc(np.bitwise_count, equation, [operand])
    return counts if dtype == np.uint8 else counts.method("astype", dtype)


@rule("clz")
def clz(writer: Any, equation: Any) -> Operand:
    """See ``leading_zeros``."""
    return mapped(leading_zeros, equation)


def leading_zeros(x: np.ndarray) -> np.ndarray:
    """Count the bits that are zero, from the highest one down: those of the bits below it that are made one.

    >>> leading_zeros(np.array([0, 1, -1], "int32"))
    array([32, 31,  0], dtype=int32)
    """
    bits, size = x.view(unsigned(x.dtype)), 8 * x.dtype.itemsize
    shift = 1
    while shift < size:
        bits = bits | bits >> shift
        shift *= 2
    return (size - np.bitwise_count(bits)).astype(x.dtype)


# -- comparisons in a total order --------------------------------------------------------------------------------------


@rule("eq_to", "lt_to", "le_to")
def total_comparison(writer: Any, equation: Any) -> Operand:
    """A comparison in which -nan < -inf < ... < -0 < 0 < ... < inf < nan."""
    ufunc = {"eq_to": np.equal, "lt_to": np.less, "le_to": np.less_equal}[equation.primitive]
    dtype = equation.avals[0].dtype
    if is_complex(dtype):
        raise Unwritable(f"{equation.primitive}: of complex numbers")
    if not is_float(dtype):
        return by_ufunc(ufunc, equation)
    operands = [Operand(call(ranks, operand), operand.shape) for operand in equation.operands]
    return by_ufunc(ufunc, equation, operands)


def ranks(x: np.ndarray) -> np.ndarray:
    """Integers in the total order of floating-point numbers.

    >>> ranks(np.array([-np.inf, -0.0, 0.0, np.nan])).argsort()
    array([0, 1, 2, 3])
    """
    bits = x.view(f"int{8 * x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


# -- selection ---------------------------------------------------------------------------------------------------------


@rule("select_n")
def select_n(writer: Any, equation: Any) -> Operand:
    """``numpy.where``; of several cases in halves, so that places out of range choose the first or the last."""
    which, *cases = equation.operands
    if len(cases) == 2 and equation.avals[0].dtype.kind == "b":
        if is_infinite(cases[0]):  # perhaps of a softmax, which then reads what is masked
            equation.operands[2] = cases[1] = writer.named(cases[1])
        shorter = _masked(which, cases, equation.aval) or _bound(equation, which, cases)
        return _where(equation, which, cases[1], cases[0]) if shorter is None else shorter
    return _chosen(equation, writer.named(which), 0, cases)


def is_infinite(operand: Operand) -> bool:
    """Tell whether an operand is the number -inf."""
    value = operand.known
    return value is not None and not value.ndim and bool(value == -np.inf)


def _chosen(equation: Any, which: Operand, first: int, cases: Sequence[Operand]) -> Operand:
    if len(cases) == 1:
        return cases[0]
    half = len(cases) // 2
    bound = number(first + half, equation.avals[0].dtype)
    below = by_ufunc(np.less, equation, [which, bound])
    low = _chosen(equation, which, first, cases[:half])
    return _where(equation, below, low, _chosen(equation, which, first + half, cases[half:]))


def _masked(which: Operand, cases: Sequence[Operand], aval: Any) -> Operand | None:
    """A choice between an array and zero by a constant: ``and`` of their bits, which is twice as quick; or None.

    >>> import jax
    >>> from tapegrad._src.execution.numpy_backend.writer import written
    >>> written(jnp.tril, [jax.ShapeDtypeStruct((2, 2), "float32")]).source.partition("return ")[2]
    'bitwise_and(x0.view(dtype_int32), c3).view(dtype_float32)'
    """
    mask, integer = which.known, INTEGERS.get(aval.dtype.itemsize)
    values = [case.known for case in cases]
    zeros = [value is not None and not value.ndim and not any(value.tobytes()) for value in values]
    if mask is None or integer is None or sum(zeros) != 1 or not mask.ndim:
        return None
    kept = cases[zeros.index(False)]
    if not mask.shape == tuple(kept.shape) == tuple(aval.shape) or mask.size >= BY_BITS:
        return None
    bits = constant(-(mask if zeros[0] else ~mask).astype(integer))
    operands = [viewed(kept, aval.dtype, integer), bits]
    return viewed(by_ufunc(np.bitwise_and, None, operands), integer, aval.dtype)


def _bound(equation: Any, which: Operand, cases: Sequence[Operand]) -> Operand | None:
    """The minimum or maximum that a choice is: of an array, and a number where it is greater, or less; or None."""
    array, number = cases
    made = which.origin
    ufunc = None if made is None else _BOUNDING.get(made.primitive)
    if ufunc is None or number.shape != () or array.shape == () or number.known is None:
        return None
    x, bound = made.operands
    same = x.expression is array.expression and bound.shape == () and bound.known == number.known
    dtype = equation.aval.dtype
    return by_ufunc(ufunc, equation, [array, number], dtype) if same and is_float(dtype) else None


_BOUNDING = {"gt": np.minimum, "ge": np.minimum, "lt": np.maximum, "le": np.maximum}


def _where(equation: Any, condition: Operand, yes: Operand, no: Operand) -> Operand:
    shape = broadcast_shape([condition.shape, yes.shape, no.shape])
    function = np.where if are_known(*shape) and prod(shape) < BY_BITS else chosen
    return Operand(call(function, condition, yes, no), shape, np.dtype(equation.aval.dtype))


BY_BITS = 1 << 13
"""From how many elements on ``chosen`` is quicker than ``numpy.where``."""

INTEGERS = {integer.itemsize: integer for integer in map(np.dtype, ("int8", "int16", "int32", "int64"))}


def chosen(condition: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    """``numpy.where`` of two arrays of one dtype; of many elements by their bits, without a branch for each.

    >>> chosen(np.arange(10_000) > 9_998, np.float32(2) * np.ones(10_000, "float32"), np.zeros((), "float32"))[-2:]
    array([0., 2.], dtype=float32)
    """
    integer = INTEGERS.get(yes.dtype.itemsize)
    if integer is None or condition.size < BY_BITS:
        return np.where(condition, yes, no)
    ones, others = yes.view(integer), no.view(integer)
    shape = np.broadcast_shapes(condition.shape, yes.shape, no.shape)
    if _is_zero(ones):
        mask, other = np.subtract(condition.view(np.int8), _ONE).astype(integer), others
    else:
        mask, other = np.negative(condition.view(np.int8)).astype(integer), ones
    zero = other is others or _is_zero(others)
    result = mask.view(yes.dtype) if zero and mask.shape == shape else np.empty(shape, yes.dtype)
    bits = result.view(integer)
    if zero:
        np.bitwise_and(mask, other, bits)
    else:
        np.bitwise_xor(ones, others, bits)
        np.bitwise_and(bits, mask, bits)
        np.bitwise_xor(bits, others, bits)
    return result


_ONE = np.int8(1)


def _is_zero(bits: np.ndarray) -> bool:
    return bits.ndim == 0 and bits == 0
