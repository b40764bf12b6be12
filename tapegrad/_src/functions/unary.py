"""Functions of one tensor: exponentials, roots, trigonometry, rounding, signs, special functions.

Most are declared in a line: an operator, which dtypes PyTorch refuses, further names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tapegrad._src.bindings.declaration.declarations import ORDINARY_IN_PLACE, ORDINARY_OUT, OTHER_DTYPE, InPlace, Out
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.writes.in_place import refuse_in_place
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype, float16
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import ComplexHalfError
from tapegrad.ops import unary as ops
from tapegrad.ops.operator import Operator

NEGATED_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)

COMPLEX_SIGN = "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."

Refusals = dict[int, str | tuple[type[Exception], str]]
"""For each category of dtypes that is refused: the error, or only the name of the kernel that PyTorch has not got."""


def check(input: Tensor, refusals: Refusals) -> None:
    """Raise PyTorch's error if the tensor's dtype is of a category that is refused."""
    refusal = refusals.get(input.dtype.category)
    if refusal is None:
        return
    if isinstance(refusal, str):
        raise unsupported(refusal, input.dtype)
    error, text = refusal
    raise error(text)


ELEMENTS = {BOOL: "booleans", INTEGRAL: "integers", FLOATING: "floating elements", COMPLEX: "complex elements"}
"""The names of elements of each category of dtypes."""


def said_of(refusals: Refusals, **errors: str) -> str:
    """The paragraph of a docstring under ``Raises:``, of refusals and of other errors by their names."""
    for category, refusal in sorted(refusals.items()):
        error, elements = "NotImplementedError" if isinstance(refusal, str) else refusal[0].__name__, ELEMENTS[category]
        errors[error] = f"{errors[error]}; {elements}" if error in errors else elements
    lines = "".join(f"        {error}: {when}.\n" for error, when in errors.items())
    return f"\n\n    Raises:\n{lines}    " if errors else ""


def unary(op: Operator, refusals: Refusals | None = None) -> Callable[[Tensor], Tensor]:
    """The function of PyTorch's vocabulary that calls an operator of one input."""
    if refusals is None:

        def function(input: Tensor) -> Tensor:
            return op(input)

    else:

        def function(input: Tensor) -> Tensor:
            check(input, refusals)
            return op(input)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.__doc__}{said_of(refusals or {})}"
    return function


def declare(
    function: Callable, *aliases: str, special: tuple[str, ...] = (), in_place: InPlace = ORDINARY_IN_PLACE,
    out: Out = ORDINARY_OUT,
) -> None:  # fmt: skip
    """Declare what calls an operator as function and method; ``special``: what ``torch.special`` calls it."""
    public("torch", "Tensor", aliases=aliases, in_place=in_place, out=out, is_settled=True)(function)
    for name in special:
        public("special", name=name, out=Out(called=function.__name__), is_settled=True)(function)


# -- integers become floats, complex numbers are taken -----------------------------------------------------------------

declare(unary(ops.exp))
declare(unary(ops.exp2), special=("exp2",))
declare(unary(ops.expm1), special=("expm1",))
declare(unary(ops.log))
declare(unary(ops.log2))
declare(unary(ops.log10))
declare(unary(ops.log1p), special=("log1p",))
declare(unary(ops.sqrt))
declare(unary(ops.rsqrt))
declare(unary(ops.reciprocal))
declare(unary(ops.sin))
declare(unary(ops.cos))
declare(unary(ops.tan))
declare(unary(ops.asin), "arcsin")
declare(unary(ops.acos), "arccos")
declare(unary(ops.atan), "arctan")
declare(unary(ops.sinh))
declare(unary(ops.cosh))
declare(unary(ops.asinh), "arcsinh", in_place=InPlace(node="AsinhBackward1"))
declare(unary(ops.acosh), "arccosh", in_place=InPlace(node="AcoshBackward1"))
declare(unary(ops.atanh), "arctanh", in_place=InPlace(node="AtanhBackward1"))
declare(unary(ops.tanh))
declare(unary(ops.sigmoid), special=("expit",))
declare(unary(ops.angle), out=Out(rows="complex"))
declare(unary(ops.sinc), special=("sinc",))


# -- the dtype stays, or nearly ----------------------------------------------------------------------------------------


def _whole(name: str) -> Refusals:
    return {BOOL: f"{name}_vml_cpu", COMPLEX: (NotImplementedError, f"{name} is not supported for complex inputs")}


def _refuse_complex(tensor: Tensor, result: Tensor) -> None:
    if tensor.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


def _not_of_abs(arguments: tuple, target: dtype) -> str | None:
    """The message about a target: absolute values of complex numbers are cast, or written as such numbers."""
    own = arguments[0].dtype
    if not own.is_complex:
        return OTHER_DTYPE
    return None if target is own or not target.is_complex else OTHER_DTYPE.replace("{R}", own.scalar_name)


declare(unary(ops.floor, _whole("floor")), out=Out(OTHER_DTYPE))
declare(unary(ops.ceil, _whole("ceil")), out=Out(OTHER_DTYPE))
declare(unary(ops.trunc, _whole("trunc")), "fix", out=Out(OTHER_DTYPE))
declare(unary(ops.frac, dict.fromkeys((BOOL, INTEGRAL, COMPLEX), "frac_cpu")), out=Out(OTHER_DTYPE))
declare(
    unary(ops.abs, {BOOL: "abs_cpu"}), "absolute", in_place=InPlace(check=_refuse_complex),
    out=Out(_not_of_abs, rows="complex"),
)  # fmt: skip
declare(unary(ops.neg, {BOOL: (RuntimeError, NEGATED_BOOL)}), "negative", out=Out(OTHER_DTYPE))
declare(unary(ops.sgn, {}), out=Out(OTHER_DTYPE))
declare(unary(ops.sign, {COMPLEX: (NotImplementedError, COMPLEX_SIGN)}), out=Out(OTHER_DTYPE))
declare(unary(ops.deg2rad, {COMPLEX: (RuntimeError, "deg2rad is not supported for complex tensors.")}))
declare(unary(ops.rad2deg, {COMPLEX: (RuntimeError, "rad2deg is not supported for complex tensors.")}))


@public(
    "torch", "Tensor", out=Out(OTHER_DTYPE), in_place=InPlace(overloads=lambda **given: "decimals" if given else "")
)  # fmt: skip
def round(input: Tensor, *, decimals: int = UNSET) -> Tensor:
    """The nearest whole number, the even one of two; with ``decimals``, rounded to so many digits after the point.

    Raises:
        NotImplementedError: for booleans and complex numbers; for integers with ``decimals``.

    >>> torch.round(torch.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    kernel = "round_vml_cpu" if decimals is UNSET or decimals == 0 else "round_cpu"
    check(input, {BOOL: kernel, COMPLEX: kernel})
    if decimals is UNSET:
        return ops.round(input)
    check(input, {INTEGRAL: kernel})
    return ops.round_decimals(input, decimals=decimals)


@public("special", name="round", out=Out(OTHER_DTYPE, called="round"))
def special_round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest number with so many digits after the point, of two the one whose last digit is even.

    Raises:
        NotImplementedError: for booleans, integers and complex numbers.

    >>> torch.special.round(torch.tensor([1.25, 2.5]), decimals=1)
    tensor([1.2000, 2.5000])
    """
    return round(input, decimals=decimals)


@public("torch", "Tensor")
def positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        RuntimeError: for booleans.
    """
    check(input, {BOOL: (RuntimeError, "The `+` operator, on a bool tensor is not supported.")})
    return input


@public("torch", "Tensor")
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(x / (1 - x))``, of ``input`` clamped to ``[eps, 1 - eps]`` if ``eps`` is given."""
    check(input, {COMPLEX: "logit_cpu"})
    return ops.logit(input, eps=None if eps is None else float(eps))


public("special")(logit)


def _real_derivative(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function without derivatives of complex numbers; its in-place variant, ``unchecked``, has them."""

    @wraps(function)
    def checked(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if input.dtype.is_complex and input._spec.requires_grad and thread.modes.grad:
            name = function.__name__
            raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")
        return function(input, *args, **kwargs)

    checked.unchecked = function  # type: ignore[attr-defined]
    return checked


def _refuse_shown_twice(input: Tensor, *_: Any, **__: Any) -> None:
    """Refuse places that are shown twice, where something is put there: integers stay as they are."""
    if input.dtype.category >= FLOATING:
        refuse_in_place(input)


@public(
    "torch", "Tensor", in_place=InPlace(overlapping=True, first=_refuse_shown_twice),
    out=Out("nan_to_num: dtype of out: {O} should be same as input: {R}"),
)  # fmt: skip
@_real_derivative
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """``input`` with 0, the greatest and the least finite number (or those given) for nan, inf and -inf.

    Args:
        nan, posinf, neginf: numbers; None: 0 and the dtype's limits.

    Raises:
        RuntimeError: complex elements that require grad, but not if they are written to.

    >>> torch.nan_to_num(torch.tensor([torch.nan, torch.inf]), posinf=1.0)
    tensor([0., 1.])
    """
    dtype = input.dtype
    if dtype.category < FLOATING:
        return ops.trunc(input)  # which is a copy
    largest = _largest_finite(dtype.to_real().name)
    chosen = (
        0.0 if nan is None else nan,
        largest if posinf is None else posinf,
        -largest if neginf is None else neginf,
    )
    return ops.nan_to_num(input, *[float(value) for value in chosen])


def _largest_finite(name: str) -> float:
    return {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}.get(
        name, 1.7976931348623157e308
    )


# -- complex numbers ---------------------------------------------------------------------------------------------------


@public("torch", "Tensor", out=Out(OTHER_DTYPE, history="unknown"))
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate; of a real tensor, the tensor itself."""
    return ops.conj_physical(input) if input.dtype.is_complex else input


@public("Tensor")
def _conj_physical(self: Tensor) -> Tensor:
    """``conj_physical``, under the name that it has inside."""
    return conj_physical(self)


_OF_PARTS = Out("Expected object of scalar type {R} but got scalar type {O} for argument 'out'")


@public("torch", out=_OF_PARTS)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex tensor of these parts, broadcast together.

    Args:
        real, imag: tensors of one floating dtype.

    Raises:
        RuntimeError: the parts are not floating, or not of one dtype.

    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts("complex", real, imag)
    if real.dtype is float16:
        raise ComplexHalfError("complex")
    return ops.complex(real, imag)


@public("torch", out=_OF_PARTS)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex tensor of these absolute values and angles, broadcast together.

    Args:
        abs, angle: tensors of one floating dtype; angles in radians.

    Raises:
        RuntimeError: the parts are not floating, or not of one dtype.

    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts("polar", abs, angle)
    if abs.dtype is float16:
        raise unsupported("polar_cpu", float16)
    return ops.polar(abs, angle)


def _check_parts(function: str, first: Tensor, second: Tensor) -> None:
    parts = (first.dtype, second.dtype)
    if any(dtype.name not in ("float16", "float32", "float64") for dtype in parts):
        got = " and ".join(dtype.scalar_name for dtype in parts)
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {got}")
    if parts[0] is not parts[1]:
        raise RuntimeError(
            f"Expected object of scalar type {parts[0].scalar_name} but got scalar type {parts[1].scalar_name} for "
            "second argument"
        )
