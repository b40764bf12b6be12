"""PyTorch's LU decompositions, and equations solved by given factors."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.bounds import refuse_elements
from tapegrad._src.bindings.declaration.declarations import EXPECTED, ORDINARY_OUT, Out
from tapegrad._src.bindings.declaration.registry import out_writer, public
from tapegrad._src.bindings.matrix_checks import check_floating, check_kernel, check_matrices, check_square
from tapegrad._src.execution.data.dtypes import int32
from tapegrad._src.functions.solving import check_equation, refuse_failure
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import lu as ops
from tapegrad.ops.kinds import broadcast_shapes, zeros_of


def _check_decomposed(name: str, A: Tensor, pivot: bool) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    check_kernel("lu_cpu", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _check_pivots(name: str, info: Tensor) -> None:
    refuse_failure(
        info,
        lambda where, number: RuntimeError(
            f"torch.linalg.{name}: {where}U[{number},{number}] is zero and using it on lu_solve would "
            "result in a division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        ),
    )


@public("linalg")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """The factors of ``A = P L U`` (..., m, n), packed into one matrix, and pivots (int32, from 1): a named tuple.

    Raises:
        RuntimeError: fewer than two dimensions; a pivot that is 0; ``pivot=False``.
        NotImplementedError: integers, half types.
    """
    _check_decomposed("torch.lu_factor", A, pivot)
    lu, pivots, info = ops.lu_factor(A)
    _check_pivots("lu_factor", info)
    return return_types.linalg_lu_factor((lu, pivots))


@public("linalg")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """``lu_factor`` that says in ``info`` (int32) which pivot was the first to be 0.

    Args:
        A: matrices (..., m, n).

    Raises:
        RuntimeError: as ``lu_factor``; a pivot that is 0, with ``check_errors``.
    """
    _check_decomposed("torch.lu_factor", A, pivot)
    lu, pivots, info = ops.lu_factor(A)
    if check_errors:
        _check_pivots("lu_factor_ex", info)
    return return_types.linalg_lu_factor_ex((lu, pivots, info))


@public("torch", "functional", "Tensor", name="lu", in_place=False, out=False)
def packed_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """``linalg.lu_factor_ex`` as it was once called: (LU, pivots), and ``info`` with ``get_infos``.

    Args:
        A: matrices (..., m, n).

    Raises:
        RuntimeError: fewer than two dimensions; ``pivot=False``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.tensor([[2.0, 1.0], [1.0, 1.0]]).lu()
    (tensor([[2.0000, 1.0000],
            [0.5000, 0.5000]]), tensor([1, 2], dtype=torch.int32))
    """
    if out is not None:
        return out_writer.content("lu", ORDINARY_OUT, packed_lu, out, (A, pivot, get_infos), {})
    warn_once(OLD_LU)
    _check_decomposed("torch.lu_factor", A, pivot)
    lu, pivots, info = ops.lu_factor(A)
    return return_types._lu_with_info((lu, pivots, info)) if get_infos else (lu, pivots)


OLD_LU = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
    "future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
    "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)


@public("linalg")
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """The matrices P (..., m, m), L (..., m, k) and U (..., k, n) with ``A = P L U``: a named tuple. P is a constant.

    Raises:
        RuntimeError: fewer than two dimensions; ``pivot=False``.
        NotImplementedError: integers, half types.
    """
    _check_decomposed("linalg.lu", A, pivot)
    lower, upper, pivots = ops.lu(A)
    permutation = ops.permutation_matrix(pivots, rows=A.shape[-2], dtype=A.dtype)
    return return_types.linalg_lu((permutation, lower, upper))


def _check_range(pivots: Tensor, rows: int, low: str, high: str) -> None:
    refuse_elements(pivots, _below, 1, complaint=lambda _: RuntimeError(low))
    refuse_elements(pivots, _above, rows, complaint=lambda _: RuntimeError(high))


def _below(pivots: Any, least: int) -> Any:
    return pivots < least


def _above(pivots: Any, most: int) -> Any:
    return pivots > most


@public("torch")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The matrices P, L and U out of what ``lu_factor`` gives; those that are not wanted are empty.

    Args:
        LU_data, LU_pivots: both factors in one (..., m, n), and which row each was exchanged with, from 1 on (int32).
        unpack_data: whether L and U are wanted.
        unpack_pivots: whether P is wanted.

    Raises:
        RuntimeError: pivots of another type than int32, or out of range.

    >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[2.0, 1.0], [1.0, 1.0]])))
    >>> L, U
    (tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]]), tensor([[2.0000, 1.0000],
            [0.0000, 0.5000]]))
    """
    if unpack_pivots and LU_pivots.dtype is not int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if LU_data.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    rows, dtype = LU_data.shape[-2], LU_data.dtype
    if unpack_pivots:
        why = (
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the "
            "result of lu_factor?"
        )
        _check_range(LU_pivots, rows, why, why)
        permutation = ops.permutation_matrix(LU_pivots, rows=rows, dtype=dtype)
    else:
        permutation = zeros_of(LU_data, shape=(0,), dtype=dtype)
    return return_types.lu_unpack((permutation, *ops.lu_unpack(LU_data, data=bool(unpack_data))))


def _check_solved(LU: Tensor, pivots: Tensor, B: Tensor, left: bool) -> None:
    name = "linalg.lu_solve"
    check_floating(f"torch.{name}", LU)
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type {LU.dtype.scalar_name} and B of "
            f"type {B.dtype.scalar_name} instead"
        )
    if pivots.dtype is not int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_square(f"torch.{name}", LU)
    check_matrices(name, B, "B")
    check_equation(name, LU, B.shape[-2], B.shape[-1], left)
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    check_batch(name, "LU", LU, pivots)
    broadcast_shapes([B.shape[:-2], LU.shape[:-2]])


def check_batch(name: str, argument: str, matrices: Tensor, pivots: Tensor) -> None:
    if tuple(matrices.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            f"{name}: Expected {argument}.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )


@public("linalg", name="lu_solve")
def solve_by_factors(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` unless ``left``), by what ``lu_factor(A)`` gives; with ``adjoint`` of A^H.

    Args:
        LU, pivots: what ``linalg.lu_factor`` gives: (..., n, n) and (..., n), int32.
        B: right sides (..., n, k).
        left, adjoint: which equation.

    Raises:
        RuntimeError: shapes, dtypes or pivots that don't fit.

    >>> A = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(A), torch.tensor([[2.0], [8.0]]))
    tensor([[1.],
            [2.]])
    """
    _check_solved(LU, pivots, B, left)
    check_kernel("lu_solve_cpu", LU)
    _check_range(
        pivots, LU.shape[-2],
        "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?",
        "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of "
        "lu_factor?",
    )  # fmt: skip
    return ops.lu_solve(LU, pivots, B, left=left, adjoint=adjoint)


@public("torch", "Tensor", out=Out(EXPECTED, called="linalg_lu_solve"))
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The X of ``A X = input``, by what ``lu_factor(A)`` gives: ``linalg.lu_solve``.

    Args:
        LU_data, LU_pivots: what ``linalg.lu_factor`` gives.
    """
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch "
        "release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return solve_by_factors(LU_data, LU_pivots, input)
