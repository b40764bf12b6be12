"""PyTorch's decompositions of matrices: eigenvalues, singular values, Cholesky, QR."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.bindings import return_types
from tapegrad.bindings.bounds import batch_element, nan_along, nonzero, not_finite, numbers, refuse_elements
from tapegrad.bindings.matrix_checks import check_floating, check_kernel, check_matrices, check_square
from tapegrad.bindings.registry import public
from tapegrad.errors import LinAlgError, warn_once
from tapegrad.execution.dtypes import FLOATING
from tapegrad.execution.host import may_look
from tapegrad.execution.late import Finding
from tapegrad.functions.shape import adjoint
from tapegrad.ops import cholesky as factors
from tapegrad.ops import eigen
from tapegrad.ops import svd as ops
from tapegrad.ops.kinds import broadcast_shapes
from tapegrad.tape.modes import thread
from tapegrad.tensor.tensor import Tensor


def is_differentiated(input: Tensor) -> bool:
    """Whether anybody may ask for a derivative of what is computed from a tensor."""
    return (input._spec.requires_grad and thread.modes.grad) or bool(input._spec.dual)


def failure(name: str, found: Finding, what: str) -> LinAlgError:
    """PyTorch's words for the first matrix of a batch that a routine could not do."""
    return LinAlgError(f"{name}: {batch_element(found.place, found.ndim)}{what}")


# -- eigenvalues -------------------------------------------------------------------------------------------------------


def _is_lower(UPLO: str) -> bool:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "L"


def _check_convergence(values: Tensor) -> None:
    """Refuse eigenvalues that are nan; LAPACK, and so PyTorch, gives those of small matrices."""
    code = values.shape[-1] - 1
    if code >= 2:
        what = "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated"
        text = f"{what} eigenvalues (error code: {code})."
        refuse_elements(values, nan_along, (-1,), complaint=lambda found: failure("linalg.eigh", found, text))


@public("linalg")
def eigh(input: Tensor, UPLO: str = "L") -> Any:
    """The eigenvalues (real, ascending) and eigenvectors (columns) of Hermitian matrices (..., n, n): a named tuple.

    Only the triangle ``UPLO`` ("L" or "U") is read. Gradients through the vectors are nan where eigenvalues are equal;
    for complex matrices the loss may not depend on the phases of the vectors.

    Raises:
        RuntimeError: no square matrices.
        LinAlgError: the algorithm did not converge (nan, say).
    """
    lower = _is_lower(UPLO)
    check_square("linalg.eigh", input)
    check_kernel("linalg_eigh_cpu", input)
    result = return_types.linalg_eigh(eigen.eigh(input, lower=lower))
    _check_convergence(result[0])
    return result


@public("linalg")
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending: see ``eigh``. Their gradient is finite also where they are
    equal.

    >>> import tapegrad as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    lower = _is_lower(UPLO)
    check_square("linalg.eigh", input)
    check_kernel("linalg_eigh_cpu", input)
    values = eigen.eigh(input, lower=lower)[0] if is_differentiated(input) else eigen.eigvalsh(input, lower=lower)
    _check_convergence(values)
    return values


def _check_eig(name: str, input: Tensor) -> None:
    check_square(name, input)
    if input.dtype.category < FLOATING:
        raise RuntimeError(f"Unknown Complex ScalarType for {input.dtype.scalar_name}")
    check_kernel("linalg_eig_out_cpu", input)
    what = "torch.linalg.eig: input tensor should not contain infs or NaNs."
    refuse_elements(input, not_finite, complaint=lambda _: RuntimeError(what))


@public("linalg")
def eig(input: Tensor) -> Any:
    """The eigenvalues and eigenvectors (columns of length 1) of square matrices: a named tuple, both complex.

    Gradients through the vectors are nan where eigenvalues are equal; the loss may not depend on the vectors' phases.

    Raises:
        RuntimeError: no square matrices; elements that are not finite.
    """
    _check_eig("linalg.eig", input)
    return return_types.linalg_eig(eigen.eig(input))


@public("linalg")
def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex, in no particular order: see ``eig``."""
    _check_eig("linalg.eigvals", input)
    return eigen.eig(input)[0] if is_differentiated(input) else eigen.eigvals(input)


# -- singular values ---------------------------------------------------------------------------------------------------


def _check_svd(input: Tensor) -> None:
    check_floating("linalg.svd", input)
    check_matrices("linalg.svd", input)
    check_kernel("linalg_svd_cpu", input)


def check_singular_values(results: Tensor, input: Tensor, axes: tuple[int, ...] = (-1,)) -> None:
    """Refuse results that are nan, as they are if the matrix was not finite.

    Raises:
        LinAlgError: PyTorch's messages, for nan and for inf.
    """
    what, code = "The algorithm failed to converge because the input matrix", min(input.shape[-2:]) - 1
    ill = f"{what} is ill-conditioned or has too many repeated singular values (error code: {code})."
    not_a_number = f"{what} contained non-finite values."
    if not may_look():
        refuse_elements(input, nan_along, (-2, -1), complaint=lambda found: failure("linalg.svd", found, not_a_number))
        refuse_elements(results, nan_along, axes, complaint=lambda found: failure("linalg.svd", found, ill))
        return

    def complaint(found: Finding) -> Exception:
        given = numbers(input)
        return failure("linalg.svd", found, not_a_number if given is not None and np.isnan(given).any() else ill)

    refuse_elements(results, nan_along, axes, complaint=complaint)


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@public("linalg")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """``U``, the singular values ``S`` (real, descending) and ``Vh`` of matrices, a named tuple: ``U @ diag(S) @ Vh``.

    U and Vh are square, or of min(m, n) columns and rows unless ``full_matrices``. Gradients through them are nan where
    singular values are equal; for complex matrices the loss may not depend on their phases.

    Raises:
        RuntimeError: integers, fewer than two dimensions.
        LinAlgError: elements that are not finite.
    """
    _check_svd(A)
    _check_driver(driver)
    result = return_types.linalg_svd(ops.svd(A, full_matrices=bool(full_matrices)))
    check_singular_values(result[1], A)
    return result


@public("linalg")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, descending: see ``svd``. Their gradient is finite also where they are equal.

    >>> import tapegrad as torch
    >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor([4., 3.])
    """
    _check_svd(A)
    _check_driver(driver)
    values = ops.svd(A, full_matrices=False)[1] if is_differentiated(A) else ops.svdvals(A)
    check_singular_values(values, A)
    return values


@public("torch", "Tensor", name="svd")
def torch_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """``U``, ``S`` and ``V`` (not its adjoint) of matrices: ``linalg.svd`` in its older form.

    Without ``compute_uv`` U and V are zeros, square.

    Raises:
        RuntimeError: as ``linalg.svd``.
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead"
        )
    if compute_uv:
        u, s, vh = svd(input, not some)
        return return_types.svd((u, s, adjoint(vh)))
    s, (*batch, rows, columns) = svdvals(input), input.shape
    return return_types.svd((input.new_zeros(*batch, rows, rows), s, input.new_zeros(*batch, columns, columns)))


# -- Cholesky ----------------------------------------------------------------------------------------------------------


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


@public("linalg", name="cholesky")
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular ``L`` with ``input = L @ L.mH`` of positive definite matrices; its adjoint, if ``upper``.

    Only one triangle is read; the gradient is Hermitian.

    Raises:
        RuntimeError: integers, no square matrices.
        LinAlgError: a matrix that is not positive definite.

    >>> import tapegrad as torch
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


@public("torch", "Tensor")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """``linalg.cholesky`` under its older name, deprecated.

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


@public("torch", "Tensor")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverses of matrices whose Cholesky factors are given.

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


@public("torch", "Tensor")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solutions of equations ``A @ out = input`` where the Cholesky factors ``input2`` of A are given.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.
    """
    for name, operand in (("b", input), ("u", input2)):
        if operand.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {operand.ndim} dimensions instead")
    _check_factored(input, input2)
    check_kernel("cholesky_solve_cpu", input)
    return factors.cholesky_solve(input, input2, upper=bool(upper))
