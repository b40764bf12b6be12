"""``torch.special``, and its functions that live in ``torch`` too: error functions, gamma functions, entropies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.declaration.declarations import InPlace, Out, refuse_wider
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import (
    common_dtype,
    floating_operand,
    is_number,
    no_overload,
    operands,
    refuse,
    unsupported,
)
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.functions.arithmetic import pair
from tapegrad._src.functions.unary import check, declare, unary
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import special
from tapegrad.ops.operator import Operator


def refuse_halves(kernel: str, *values: Any) -> None:
    """Refuse halves and complex numbers."""
    d = common_dtype(*values)
    if d.category == COMPLEX or (d.category == FLOATING and d.itemsize < 4):
        raise unsupported(kernel, d)


def of_input(op: Operator) -> Callable:
    def function(input: Tensor) -> Tensor:
        refuse_halves(f"{op.name}_cpu", input)
        return op(input)

    return function


def declare_as_special(function: Callable, op: Operator) -> None:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = function.__doc__ or op.__doc__
    public("special", out=Out(history="refused" if op.formulas else "none"))(function)


declare_as_special(of_input(special.erfcx), special.erfcx)


def _of_two(name: str, input: Any, other: Any) -> tuple[Any, Any]:
    """Two operands, of which one may be a number."""
    tensors = isinstance(input, Tensor), isinstance(other, Tensor)
    if not any(tensors) or not (tensors[0] or is_number(input)) or not (tensors[1] or is_number(other)):
        first, second = "Tensor input, Tensor other", "Number self, Tensor other"
        raise no_overload(f"special_{name}", (input, other), [
            f"{kinds}, *, Tensor out = None" for kinds in (first, second, "Tensor input, Number other")
        ])  # fmt: skip
    return operands(f"special_{name}", input, other)


@public("special")
def xlog1py(input: Any, other: Any) -> Tensor:
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number.

    Raises:
        NotImplementedError: complex elements.
    """
    x, y = _of_two("xlog1py", input, other)
    if common_dtype(x, y).category == COMPLEX:
        raise unsupported("xlog1py_cpu", common_dtype(x, y))
    if not isinstance(x, Tensor):
        return special.number_xlog1py(x, y)
    return special.xlog1py(x, y) if isinstance(y, Tensor) else special.xlog1py_number(x, y)


@public("special")
def zeta(input: Any, other: Any) -> Tensor:
    """The Hurwitz zeta function: the sum of ``(k + other) ** -input`` over whole numbers ``k``.

    Either may be a number. Differentiable in ``other`` only.
    """
    x, y = _of_two("zeta", input, other)
    refuse_halves("zeta_cpu", x, y)
    if not isinstance(x, Tensor):
        return special.number_zeta(x, y)
    return special.zeta(x, y) if isinstance(y, Tensor) else special.zeta_number(x, y)


@public("torch", "Tensor", out=Out("torch.frexp() expects mantissa to have dtype {r} but got {o}"))
def frexp(input: Tensor) -> Any:
    """``input`` as ``mantissa * 2 ** exponent``: a named tuple. The exponent is int32, and 0 of inf and nan.

    Raises:
        RuntimeError: integers and complex numbers.

    >>> torch.frexp(torch.tensor([1.0, -12.0])).mantissa
    tensor([ 0.5000, -0.7500])
    """
    if input.dtype.category != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return return_types.frexp(special.frexp(input))


# -- integers become floats, complex numbers are refused ---------------------------------------------------------------


declare(unary(special.erf, {COMPLEX: "erf_vml_cpu"}), special=("erf",))
declare(unary(special.erfc, {COMPLEX: "erfc_vml_cpu"}), special=("erfc",))
declare(unary(special.erfinv, {COMPLEX: "erfinv_vml_cpu"}), special=("erfinv",))
declare(unary(special.lgamma, {COMPLEX: "lgamma_vml_cpu"}), special=("gammaln",))
declare(unary(special.digamma, {COMPLEX: "digamma"}), special=("digamma", "psi"))
declare(unary(special.i0, {COMPLEX: "i0_vml_cpu"}), special=("i0",))
for _op in (special.ndtri, special.log_ndtr):
    declare_as_special(of_input(_op), _op)
for _op in (special.entr, special.i0e, special.i1, special.i1e):
    public("special")(unary(_op, {COMPLEX: _op.name}))


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
    for shape in ((p,), (*input.shape, p)):  # the steps, and a term for each
        check_size(shape, input.dtype.itemsize)
    return special.mvlgamma(input, p=p)


_NOT_CAST = "mvlgamma: result type {%s} can't be cast to the desired output type {R}"
public(
    "torch", "Tensor", in_place=InPlace(check=refuse_wider(_NOT_CAST % "O")), out=Out(cast=_NOT_CAST % "R")
)(mvlgamma)  # fmt: skip
public("special", name="multigammaln", out=Out(called="mvlgamma"))(mvlgamma)


@public("special")
def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the standard normal distribution.

    Raises:
        NotImplementedError: complex elements.
    """
    if input.dtype.category == COMPLEX:
        raise unsupported("erf_vml_cpu", input.dtype)
    return special.times(special.erfc(input * -(0.5**0.5)), 0.5)


# -- of two ------------------------------------------------------------------------------------------------------------


@public("torch", "Tensor", in_place=InPlace(overloads=("Scalar_Other", "Tensor")))
def xlogy(input: Any, other: Any) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
    x, y = operands("xlogy", input, other, floating_operand)
    refuse("xlogy_cpu", (x, y), COMPLEX)
    if not isinstance(x, Tensor):
        return special.number_xlogy(x, y)
    return special.xlogy(x, y) if isinstance(y, Tensor) else special.xlogy_number(x, y)


public("special")(xlogy)


declare(pair(special.igamma, dict.fromkeys((BOOL, INTEGRAL, COMPLEX), "igamma_cpu")), special=("gammainc",))
declare(pair(special.igammac, dict.fromkeys((BOOL, INTEGRAL, COMPLEX), "igammac_cpu")), special=("gammaincc",))
