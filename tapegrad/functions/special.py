"""``torch.special``: Bessel functions, orthogonal polynomials, ``erfcx``; and ``frexp``.

Those that live in ``torch`` too, and ``entr``, ``i1`` and the like, are declared in ``unary.py`` and ``arithmetic.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.bindings import return_types
from tapegrad.bindings.declarations import Out
from tapegrad.bindings.registry import public
from tapegrad.bindings.scalars import common_dtype, is_number, no_overload, operands, unsupported
from tapegrad.execution.dtypes import COMPLEX, FLOATING
from tapegrad.ops import bessel, polynomials, special
from tapegrad.ops.operator import Operator
from tapegrad.tensor.tensor import Tensor


def _check(kernel: str, *values: Any) -> None:
    """Refuse halves and complex numbers."""
    d = common_dtype(*values)
    if d.category == COMPLEX or (d.category == FLOATING and d.itemsize < 4):
        raise unsupported(kernel, d)


def _of_input(op: Operator) -> Callable:
    def function(input: Tensor) -> Tensor:
        _check(f"{op.name}_cpu", input)
        return op(input)

    return function


def _of_x(op: Operator) -> Callable:
    def function(x: Tensor) -> Tensor:
        _check(f"{op.name}_cpu", x)
        return op(x)

    return function


def _declare(function: Callable, op: Operator) -> None:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.__doc__
    public("special", out=Out(derivative=bool(op.formulas)))(function)


for _op in (
    special.erfcx, bessel.bessel_j0, bessel.bessel_j1, bessel.bessel_y0, bessel.bessel_y1, bessel.modified_bessel_i0,
    bessel.modified_bessel_i1, bessel.modified_bessel_k0, bessel.modified_bessel_k1,
):  # fmt: skip
    _declare(_of_input(_op), _op)
for _op in (
    bessel.airy_ai, bessel.scaled_modified_bessel_k0, bessel.scaled_modified_bessel_k1, bessel.spherical_bessel_j0
):  # fmt: skip
    _declare(_of_x(_op), _op)


def _polynomial(op: Operator) -> Callable:
    function_name = f"special_{op.name}"
    signatures = [f"{x} x, {n} n, *, Tensor out = None" for x, n in
                  (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"))]  # fmt: skip

    def function(x: Any, n: Any) -> Tensor:
        tensors = isinstance(x, Tensor), isinstance(n, Tensor)
        if not any(tensors) or not (tensors[0] or is_number(x)) or not (tensors[1] or is_number(n)):
            raise no_overload(function_name, (x, n), signatures)
        x, n = operands(function_name, x, n)
        _check(f"{op.name}_cpu", x, n)
        return op(x, n)

    return function


for _op in (*polynomials.CHEBYSHEV.values(), *polynomials.OTHERS.values()):
    _declare(_polynomial(_op), _op)


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
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number."""
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
    _check("zeta_cpu", x, y)
    if not isinstance(x, Tensor):
        return special.number_zeta(x, y)
    return special.zeta(x, y) if isinstance(y, Tensor) else special.zeta_number(x, y)


@public("torch", "Tensor")
def frexp(input: Tensor) -> Any:
    """``input`` as ``mantissa * 2 ** exponent``: a named tuple. The exponent is int32, and 0 of inf and nan.

    Raises:
        RuntimeError: integers and complex numbers.

    >>> import tapegrad as torch
    >>> torch.frexp(torch.tensor([1.0, -12.0])).mantissa
    tensor([ 0.5000, -0.7500])
    """
    if input.dtype.category != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return return_types.frexp(special.frexp(input))
