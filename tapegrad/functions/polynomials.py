"""``torch.special``: orthogonal polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.bindings.scalars import is_number, no_overload, operands
from tapegrad.functions.special import declare_as_special, refuse_halves
from tapegrad.ops import polynomials
from tapegrad.ops.operator import Operator
from tapegrad.tensor.tensor import Tensor


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

    return function


for _op in (*polynomials.CHEBYSHEV.values(), *polynomials.OTHERS.values()):
    declare_as_special(_polynomial(_op), _op)
