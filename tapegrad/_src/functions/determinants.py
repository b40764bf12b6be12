"""PyTorch's determinants: ``det``, ``slogdet``, ``logdet``."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import check_floating, check_kernel, check_square
from tapegrad._src.functions.solving import check_low_precision
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, comparison, selection, unary
from tapegrad.ops import determinants as ops


@public("linalg", "torch", "Tensor", out=Out(EXPECTED, called="_linalg_det"))
def det(A: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n).

    Args:
        A: of floating or complex numbers.

    Raises:
        RuntimeError: no square matrices; integers.

    >>> torch.linalg.det(torch.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
    check_square("linalg.det", A)
    check_floating("linalg.det", A)
    check_kernel("lu_cpu", A)
    return ops.det(A)[0]


def _signed_logarithm(name: str, A: Tensor) -> tuple[Tensor, Tensor]:
    check_square(name, A)
    check_low_precision(name, A)
    return ops.slogdet(A)[:2]


@public("linalg", name="slogdet")
def linalg_slogdet(A: Tensor) -> Any:
    """The sign of the determinant (of complex matrices: its phase), and the logarithm of its absolute value.

    Args:
        A: square matrices (..., n, n) of floating or complex numbers.

    Raises:
        RuntimeError: no square matrices; integers.

    >>> torch.linalg.slogdet(torch.tensor([[2.0, 0.0], [0.0, -1.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.6931))
    """
    return return_types.linalg_slogdet(_signed_logarithm("linalg.slogdet", A))


@public("torch", "Tensor", out=Out(called="_linalg_slogdet"))
def slogdet(input: Tensor) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value: ``linalg.slogdet``."""
    return return_types.slogdet(_signed_logarithm("linalg.slogdet", input))


@public("torch", "Tensor")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where that is negative, -inf where it is 0.

    Raises:
        RuntimeError: no square matrices; integers.
    """
    sign, logarithm = _signed_logarithm("logdet", input)
    if input.dtype.is_complex:
        return arithmetic.add(unary.log(sign), logarithm)
    return selection.where(comparison.eq(sign, -1.0), math.nan, logarithm)
