"""Functions of one tensor: exponentials, roots, trigonometry, rounding, signs, special functions.

Most are declared in a line: an operator, which dtypes PyTorch refuses, further names.
"""

from __future__ import annotations

from collections.abc import Callable

from tapegrad.execution.dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL
from tapegrad.execution.sizes import check_size
from tapegrad.functions.declarations import FOUND, ORDINARY_IN_PLACE, ORDINARY_OUT, InPlace, Out, refuse_wider
from tapegrad.functions.registry import UNSET, public
from tapegrad.functions.scalars import unsupported
from tapegrad.ops import elementwise, special
from tapegrad.ops.operator import Operator
from tapegrad.tape.modes import thread
from tapegrad.tensor.tensor import Tensor

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
    function.__doc__ = op.__doc__
    return function


def declare(
    function: Callable, *aliases: str, special: tuple[str, ...] = (), in_place: InPlace = ORDINARY_IN_PLACE,
    out: Out = ORDINARY_OUT,
) -> None:  # fmt: skip
    """Declare what calls an operator as function and method; ``special``: what ``torch.special`` calls it."""
    public("torch", "Tensor", aliases=aliases, in_place=in_place, out=out)(function)
    for name in special:
        public("special", name=name, out=Out(called=function.__name__))(function)


# -- integers become floats, complex numbers are taken -----------------------------------------------------------------

declare(unary(elementwise.exp))
declare(unary(elementwise.exp2), special=("exp2",))
declare(unary(elementwise.expm1), special=("expm1",))
declare(unary(elementwise.log))
declare(unary(elementwise.log2))
declare(unary(elementwise.log10))
declare(unary(elementwise.log1p), special=("log1p",))
declare(unary(elementwise.sqrt))
declare(unary(elementwise.rsqrt))
declare(unary(elementwise.reciprocal))
declare(unary(elementwise.sin))
declare(unary(elementwise.cos))
declare(unary(elementwise.tan))
declare(unary(elementwise.asin), "arcsin")
declare(unary(elementwise.acos), "arccos")
declare(unary(elementwise.atan), "arctan")
declare(unary(elementwise.sinh))
declare(unary(elementwise.cosh))
declare(unary(elementwise.asinh), "arcsinh", in_place=InPlace(node="AsinhBackward1"))
declare(unary(elementwise.acosh), "arccosh", in_place=InPlace(node="AcoshBackward1"))
declare(unary(elementwise.atanh), "arctanh", in_place=InPlace(node="AtanhBackward1"))
declare(unary(elementwise.tanh))
declare(unary(elementwise.sigmoid), special=("expit",))
declare(unary(elementwise.angle))
declare(unary(elementwise.sinc), special=("sinc",))


# -- integers become floats, complex numbers are refused ---------------------------------------------------------------

declare(unary(special.erf, {COMPLEX: "erf_vml_cpu"}), special=("erf",))
declare(unary(special.erfc, {COMPLEX: "erfc_vml_cpu"}), special=("erfc",))
declare(unary(special.erfinv, {COMPLEX: "erfinv_vml_cpu"}), special=("erfinv",))
declare(unary(special.lgamma, {COMPLEX: "lgamma_vml_cpu"}), special=("gammaln",))
declare(unary(special.digamma, {COMPLEX: "digamma"}), special=("digamma", "psi"))
declare(unary(special.i0, {COMPLEX: "i0_vml_cpu"}), special=("i0",))
for _op in (special.entr, special.ndtri, special.log_ndtr, special.i0e, special.i1, special.i1e):
    public("special")(unary(_op, {COMPLEX: _op.name}))


# -- the dtype stays, or nearly ----------------------------------------------------------------------------------------


def _whole(name: str) -> Refusals:
    return {BOOL: f"{name}_vml_cpu", COMPLEX: (NotImplementedError, f"{name} is not supported for complex inputs")}


def _refuse_complex(tensor: Tensor, result: Tensor) -> None:
    if tensor.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


declare(unary(elementwise.floor, _whole("floor")), out=Out(FOUND))
declare(unary(elementwise.ceil, _whole("ceil")), out=Out(FOUND))
declare(unary(elementwise.trunc, _whole("trunc")), "fix", out=Out(FOUND))
declare(unary(elementwise.frac, dict.fromkeys((BOOL, INTEGRAL, COMPLEX), "frac_cpu")), out=Out(FOUND))
declare(unary(elementwise.abs, {BOOL: "abs_cpu"}), "absolute", in_place=InPlace(check=_refuse_complex), out=Out(FOUND))
declare(unary(elementwise.neg, {BOOL: (RuntimeError, NEGATED_BOOL)}), "negative", out=Out(FOUND))
declare(unary(elementwise.sgn, {}), out=Out(FOUND))
declare(unary(elementwise.sign, {COMPLEX: (NotImplementedError, COMPLEX_SIGN)}), out=Out(FOUND))
declare(unary(elementwise.deg2rad, {COMPLEX: (RuntimeError, "deg2rad is not supported for complex tensors.")}))
declare(unary(elementwise.rad2deg, {COMPLEX: (RuntimeError, "rad2deg is not supported for complex tensors.")}))


@public("torch", "Tensor", out=Out(FOUND))
def round(input: Tensor, *, decimals: int = UNSET) -> Tensor:
    """The nearest whole number, the even one of two; with ``decimals``, rounded to so many digits after the point.

    Raises:
        NotImplementedError: for booleans and complex numbers; for integers with ``decimals``.

    >>> import tapegrad as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    kernel = "round_vml_cpu" if decimals is UNSET or decimals == 0 else "round_cpu"
    check(input, {BOOL: kernel, COMPLEX: kernel})
    if decimals is UNSET:
        return elementwise.round(input)
    check(input, {INTEGRAL: kernel})
    return elementwise.round_decimals(input, decimals=decimals)


public("special", out=Out(FOUND))(round)


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
    return elementwise.logit(input, eps=None if eps is None else float(eps))


public("special")(logit)


def polygamma(n: int, input: Tensor) -> Tensor:
    """The ``n``-th derivative of ``digamma``.

    Raises:
        RuntimeError: ``n`` is negative.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    check(input, {COMPLEX: "trigamma" if n == 1 else "polygamma"})
    return special.polygamma(input, n=n)


public("torch", "special")(polygamma)


@public("Tensor", name="polygamma", in_place=InPlace(node="PolygammaBackward1"))
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The ``n``-th derivative of ``digamma``."""
    return polygamma(n, self)


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of ``p`` variables; inf or nan where ``input <= (p - 1) / 2``.

    Raises:
        RuntimeError: ``p`` is less than 1.
    """
    check(input, {BOOL: (RuntimeError, "The input tensor may not be a boolean tensor."), COMPLEX: "arange_cpu"})
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    check_size((*input.shape, p), input.dtype.itemsize)  # a term for each
    return special.mvlgamma(input, p=p)


_NOT_CAST = "mvlgamma: result type {%s} can't be cast to the desired output type {R}"

public(
    "torch", "Tensor", in_place=InPlace(check=refuse_wider(_NOT_CAST % "O")), out=Out(cast=_NOT_CAST % "R")
)(mvlgamma)  # fmt: skip
public("special", name="multigammaln", out=Out(called="mvlgamma"))(mvlgamma)


@public("special")
def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the standard normal distribution."""
    if input.dtype.category == COMPLEX:
        raise unsupported("erf_vml_cpu", input.dtype)
    return special.times(special.erfc(input * -(0.5**0.5)), 0.5)


@public("torch", "Tensor", out=Out("nan_to_num: dtype of out: {O} should be same as input: {R}"))
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """``input`` with 0, the greatest and the least finite number (or those given) for nan, inf and -inf.

    >>> import tapegrad as torch
    >>> torch.nan_to_num(torch.tensor([float("nan"), float("inf")]), posinf=1.0)
    tensor([0., 1.])
    """
    dtype = input.dtype
    if dtype.category < FLOATING:
        return elementwise.trunc(input)  # which is a copy
    largest = _largest_finite(dtype.to_real().name)
    if dtype.is_complex and input._spec.requires_grad and thread.modes.grad:
        raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
    chosen = (
        0.0 if nan is None else nan,
        largest if posinf is None else posinf,
        -largest if neginf is None else neginf,
    )
    return elementwise.nan_to_num(input, *[float(value) for value in chosen])


def _largest_finite(name: str) -> float:
    return {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}.get(
        name, 1.7976931348623157e308
    )


# -- complex numbers ---------------------------------------------------------------------------------------------------


@public("torch", "Tensor", out=Out(FOUND))
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate; of a real tensor, the tensor itself."""
    return elementwise.conj_physical(input) if input.dtype.is_complex else input


_OF_PARTS = Out("Expected object of scalar type {R} but got scalar type {O} for argument 'out'")


@public("torch", out=_OF_PARTS)
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex tensor of these parts, broadcast together.

    Raises:
        RuntimeError: the parts are not floating, or not of one dtype.
    """
    _check_parts("complex", real, imag)
    return elementwise.complex(real, imag)


@public("torch", out=_OF_PARTS)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex tensor of these absolute values and angles, broadcast together.

    Raises:
        RuntimeError: the parts are not floating, or not of one dtype.
    """
    _check_parts("polar", abs, angle)
    return elementwise.polar(abs, angle)


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
