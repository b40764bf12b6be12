"""PyTorch's Cholesky factors, and what is computed from factors."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.bounds import nonzero, refuse_elements
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import check_floating, check_kernel, check_square, failure
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import cholesky as factors
from tapegrad.ops.kinds import broadcast_shapes


def _check_factorization(name: str, info: Tensor) -> None:
    what = "The factorization could not be completed because the input is not positive-definite"
    refuse_elements(
        info, nonzero,
        complaint=lambda found: failure(
            name, found, f"{what} (the leading minor of order {found.number} is not positive-definite)."
        ),
    )  # fmt: skip


@public("linalg")
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """``L`` with ``input = L @ L.mH`` (or its adjoint, if ``upper``) and ``info`` (int32): a named tuple. One triangle
    of the matrices is read.

    ``info`` is 0, or the order of the first leading minor that is not positive; then ``L`` has no meaning.

    Raises:
        RuntimeError: integers, no square matrices.
        LinAlgError: a matrix that is not positive definite, with ``check_errors``.
    """
    check_square("linalg.cholesky", input)
    check_floating("linalg.cholesky", input)
    check_kernel("cholesky_cpu", input)
    result = return_types.linalg_cholesky_ex(factors.cholesky_ex(input, upper=bool(upper)))
    if check_errors:
        _check_factorization("linalg.cholesky_ex", result[1])
    return result


@public("linalg", name="cholesky", out=Out(called="linalg_cholesky_ex"))
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular ``L`` with ``input = L @ L.mH`` of positive definite matrices; its adjoint, if ``upper``.

    Only one triangle is read; the gradient is Hermitian.

    Raises:
        RuntimeError: integers, no square matrices.
        LinAlgError: a matrix that is not positive definite.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    factor, info = cholesky_ex(input, upper=upper)
    _check_factorization("linalg.cholesky", info)
    return factor


CHOLESKY_IS_OLD = (
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
    "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs."
)


def _out(name: str, rows: bool | str = True) -> Out:
    """The way in which functions that PyTorch has had for long write into targets."""
    uncast = f"{name}: Expected result to be safely castable from {{R}} dtype, but got result with dtype {{O}}"
    return Out(cast=uncast, rows=rows)


@public("torch", "Tensor", out=_out("cholesky"))
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """``linalg.cholesky`` under its older name, deprecated.

    Args:
        upper: whether the factors are upper triangles.

    Raises:
        RuntimeError: no square matrices.
        LinAlgError: a matrix that is not positive definite.
    """
    warn_once(CHOLESKY_IS_OLD)
    check_square("cholesky", input)
    check_kernel("cholesky_cpu", input)
    factor, info = factors.cholesky(input, upper=bool(upper))
    _check_factorization("cholesky", info)
    return factor


@public("torch", "Tensor", out=_out("cholesky_inverse", rows="elements"))
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverses of matrices whose Cholesky factors are given.

    Args:
        upper: whether the factors are upper triangles.

    Raises:
        RuntimeError: no square matrices.
    """
    check_square("cholesky_inverse", input)
    check_kernel("cholesky_inverse_out_cpu", input)
    return factors.cholesky_inverse(input, upper=bool(upper))


def _check_factored(b: Tensor, factor: Tensor) -> None:
    rows, columns = factor.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if b.shape[-2] != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {rows} but each b matrix is "
            f"{b.shape[-2]} by {b.shape[-1]}"
        )
    if b.dtype is not factor.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b.dtype.scalar_name} and A of type "
            f"{factor.dtype.scalar_name} instead."
        )
    broadcast_shapes([b.shape[:-2], factor.shape[:-2]])


@public("torch", "Tensor", out=_out("cholesky_solve"))
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solutions of equations ``A @ out = input`` where the Cholesky factors ``input2`` of A are given.

    Args:
        upper: whether the factors are upper triangles.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.

    >>> torch.cholesky_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]]))
    tensor([[1.]])
    """
    for name, operand in (("b", input), ("u", input2)):
        if operand.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {operand.ndim} dimensions instead")
    _check_factored(input, input2)
    check_kernel("cholesky_solve_cpu", input)
    return factors.cholesky_solve(input, input2, upper=bool(upper))
