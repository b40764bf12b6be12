"""``torch.special``: orthogonal polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.scalars import is_number, no_overload, operands
from tapegrad._src.functions.special import declare_as_special, refuse_halves
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import polynomials
from tapegrad.ops.operator import Operator


def _polynomial(op: Operator) -> Callable:
    function_name = f"special_{op.name}"
    signatures = [f"{x} x, {n} n, *, Tensor out = None" for x, n in
                  (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"))]  # fmt: skip

    def function(x: Any, n: Any) -> Tensor:
        tensors = isinstance(x, Tensor), isinstance(n, Tensor)
        if not any(tensors) or not (tensors[0] or is_number(x)) or not (tensors[1] or is_number(n)):
            raise no_overload(function_name, (x, n), signatures)
        x, n = operands(function_name, x, n)
        refuse_halves(f"{op.name}_cpu", x, n)
        return op(x, n)

    family, _, letter = op.name.partition("_polynomial_")
    family = family.title().replace("Shifted_", "shifted ")
    function.__doc__ = f"""The {family} polynomial {letter.capitalize()} of degree ``n`` at ``x``, broadcast.

    Either may be a number. What follows the point of ``n`` is cut off; of a negative degree the result is 0. By the
    recurrences of DLMF 18.9. The result does not require grad.

    Raises:
        TypeError: two numbers, or what is neither a tensor nor a number.
        NotImplementedError: half types, complex numbers.

    >>> torch.special.{op.name}(0.5, torch.tensor([0, -1]))
    tensor([1., 0.])
    """
    return function


for _op in (*polynomials.CHEBYSHEV.values(), *polynomials.OTHERS.values()):
    declare_as_special(_polynomial(_op), _op)
