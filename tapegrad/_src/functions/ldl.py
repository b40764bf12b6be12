"""PyTorch's LDL decompositions of symmetric matrices, and equations solved by given factors."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import check_floating, check_kernel, check_square
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.lu import check_batch
from tapegrad._src.functions.solving import check_pair, refuse_failure
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import ldl
from tapegrad.ops.kinds import broadcast_shapes


def _ldl_factored(name: str, A: Tensor, hermitian: bool, check_errors: bool) -> tuple[Tensor, Tensor, Tensor]:
    check_square("torch.linalg.ldl_factor_ex", A)
    check_floating("torch.linalg.ldl_factor_ex", A)
    check_kernel("ldl_factor_kernel_cpu", A)
    factor, pivots, info = ldl.ldl_factor(A, hermitian=hermitian)
    if check_errors:
        text = f"torch.linalg.{name}: "
        refuse_failure(info, lambda where, number: RuntimeError(f"{text}{where}Unknown error code: {number}."))
    return factor, pivots, info


@public("linalg")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """The packed factors of ``A = L D L^T`` (``L D L^H`` if ``hermitian``) and LAPACK's pivots. Not differentiable.

    Raises:
        RuntimeError: no square matrices; integers; a block of D that is singular.
    """
    return return_types.linalg_ldl_factor(_ldl_factored("ldl_factor", A, hermitian, True)[:2])


@public("linalg")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """``ldl_factor`` that says in ``info`` (int32) which block of D is singular. Not differentiable.

    Args:
        A: Hermitian matrices (..., n, n), of which the lower triangles are read; symmetric ones unless ``hermitian``.

    Raises:
        RuntimeError: no square matrices; integers; a block of D that is singular, with ``check_errors``.
    """
    return return_types.linalg_ldl_factor_ex(_ldl_factored("ldl_factor_ex", A, hermitian, check_errors))


@public("linalg")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The X of ``A X = B``, by what ``ldl_factor(A)`` gives. Not differentiable.

    Args:
        LD, pivots: the factors (..., n, n), and how rows were exchanged (..., n), int32.
        B: right sides (..., n, k).
        hermitian: whether A is Hermitian; else it is symmetric.

    Raises:
        RuntimeError: shapes, dtypes or pivots that don't fit.

    >>> A = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A), torch.tensor([[2.0], [8.0]]))
    tensor([[1.],
            [2.]])
    """
    name = "torch.linalg.ldl_solve"
    check_square(name, LD)
    check_floating(name, LD)
    if B.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    check_pair(B, LD, name)
    check_batch(name, "LD", LD, pivots)
    if pivots.dtype.category >= FLOATING:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype.scalar_name}")
    broadcast_shapes([B.shape[:-2], LD.shape[:-2]])
    check_kernel("ldl_solve_kernel_cpu", LD)
    return ldl.ldl_solve(LD, pivots, B, hermitian=hermitian)
