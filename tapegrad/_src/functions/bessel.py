"""``torch.special``: Bessel functions, and Airy's."""

from __future__ import annotations

from collections.abc import Callable

from tapegrad._src.functions.special import declare_as_special, of_input, refuse_halves
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import bessel
from tapegrad.ops.operator import Operator


def _of_x(op: Operator) -> Callable:
    def function(x: Tensor) -> Tensor:
        refuse_halves(f"{op.name}_cpu", x)
        return op(x)

    return function


for _op in (
    bessel.bessel_j0, bessel.bessel_j1, bessel.bessel_y0, bessel.bessel_y1, bessel.modified_bessel_i0,
    bessel.modified_bessel_i1, bessel.modified_bessel_k0, bessel.modified_bessel_k1,
):  # fmt: skip
    declare_as_special(of_input(_op), _op)
for _op in (
    bessel.airy_ai, bessel.scaled_modified_bessel_k0, bessel.scaled_modified_bessel_k1, bessel.spherical_bessel_j0
):  # fmt: skip
    declare_as_special(_of_x(_op), _op)
