"""PyTorch's linear equations: ``solve``, ``inv``, ``solve_triangular``, ``tensorsolve``, ``tensorinv``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.bounds import batch_element, nonzero, refuse_elements
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.layouts import in_column_major_order
from tapegrad._src.bindings.matrix_checks import check_floating, check_kernel, check_matrices, check_square
from tapegrad._src.functions.shape import movedim, reshape
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import LinAlgError, warn_once
from tapegrad.ops import solving as ops
from tapegrad.ops.kinds import broadcast_shapes, cast

# -- checks ------------------------------------------------------------------------------------------------------------


def refuse_failure(info: Tensor, complaint: Callable[[str, int], Exception]) -> None:
    """Refuse the result of a routine that noted a number for a matrix.

    It waits for the result. Inside somebody's ``jax.jit`` nothing is known yet, and nothing fails.

    Args:
        info: 0, or a number that says what failed, for each matrix.
        complaint: makes the error of which matrix failed first, as PyTorch says it, and the number that was noted.
    """
    refuse_elements(
        info, nonzero, anywhere=True,
        complaint=lambda found: complaint(batch_element(found.element, found.ndim), found.number),
    )  # fmt: skip


def check_solved(name: str, info: Tensor) -> None:
    """Refuse the solution of an equation with a singular matrix. Raises LinAlgError: PyTorch's message."""
    what = "The solver failed because the input matrix is singular."
    refuse_failure(info, lambda where, _: LinAlgError(f"{name}: {where}{what}"))


def check_inverted(name: str, info: Tensor) -> None:
    """Refuse the inverse of a singular matrix. Raises LinAlgError: PyTorch's message."""
    refuse_failure(
        info,
        lambda where, number: LinAlgError(
            f"{name}: {where}The diagonal element {number} is zero, the inversion could not be completed "
            "because the input matrix is singular."
        ),
    )


def check_equation(name: str, A: Tensor, rows: int, columns: int, left: bool) -> None:
    """Refuse a right-hand side with matrices of this many rows and columns, if the lengths don't fit.
    Raises RuntimeError: PyTorch's message.
    """
    if A.shape[-2] != (rows if left else columns):
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {rows}x{columns})"
        )


def check_low_precision(name: str, A: Tensor) -> None:
    """Refuse integers and the half types. Raises RuntimeError: PyTorch's messages."""
    check_floating(name, A)
    if A.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {A.dtype.scalar_name}")


def is_vector(A: Tensor, B: Tensor) -> bool:
    """Tell whether ``B`` is a vector, or a batch of as many vectors as ``A`` has matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


def _solved(name: str, A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    check_floating("linalg.solve", A)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype.scalar_name} and B "
            f"of type {B.dtype.scalar_name} instead"
        )
    vector = is_vector(A, B)
    check_square("linalg.solve", A)
    if not vector:
        check_matrices("linalg.solve", B, "B")
    rows, columns = (B.shape[-1], 1) if vector else B.shape[-2:]
    check_equation("linalg.solve", A, rows, columns, left)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    broadcast_shapes([B.shape[:-1] if vector else B.shape[:-2], A.shape[:-2]])
    check_kernel("lu_cpu", A)
    out, _, _, info = ops.solve_ex(A, B, left=left, vector=vector)
    return in_column_major_order(out) if left and not vector else out, info


# -- equations ---------------------------------------------------------------------------------------------------------


@public("linalg", out=Out(called="_linalg_solve_ex"))
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` unless ``left``): square (..., n, n) with (..., n, k) or vectors (..., n).

    Batches broadcast. Raises:
        RuntimeError: shapes or dtypes that don't fit.
        LinAlgError: a singular matrix.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 1.0]))
    tensor([1.0000, 0.2500])
    """
    out, info = _solved("torch.linalg.solve", A, B, left)
    check_solved("torch.linalg.solve", info)
    return out


@public("linalg")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """``solve`` that says in ``info`` (int32) which pivot was the first to be zero: a named tuple (result, info).

    Args:
        A, B, left: as for ``solve``.

    Raises:
        RuntimeError: as ``solve``.
        LinAlgError: a singular matrix, with ``check_errors``.

    >>> torch.linalg.solve_ex(torch.tensor([[2.0]]), torch.tensor([[4.0]]))
    torch.return_types.linalg_solve_ex(
    result=tensor([[2.]]),
    info=tensor(0, dtype=torch.int32))
    """
    out, info = _solved("torch.linalg.solve_ex", A, B, left)
    if check_errors:
        check_solved("torch.linalg.solve_ex", info)
    return return_types.linalg_solve_ex((out, info))


@public("linalg")
def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` unless ``left``), where A is the upper or the lower triangle of ``input``.

    With ``unitriangular`` its diagonal counts as ones. Batches broadcast. A zero on the diagonal gives inf or nan.

    Raises:
        RuntimeError: shapes that don't fit.
        NotImplementedError: integers, half types.

    >>> torch.linalg.solve_triangular(torch.tensor([[2.0, 9.0], [0.0, 4.0]]), torch.tensor([[2.0], [4.0]]), upper=False)
    tensor([[1.],
            [1.]])
    """
    check_square("linalg.solve_triangular", input)
    check_matrices("linalg.solve_triangular", B, "B")
    check_equation("linalg.solve_triangular", input, B.shape[-2], B.shape[-1], left)
    broadcast_shapes([B.shape[:-2], input.shape[:-2]])
    check_kernel("triangular_solve_cpu", input)
    B = B if B.dtype is input.dtype else cast(B, dtype=input.dtype)
    return ops.solve_triangular(input, B, upper=upper, left=left, unitriangular=unitriangular)


@public("torch", "Tensor")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The X of ``A X = input`` for the upper or the lower triangle of A, or its ``transpose``: (solution, cloned A).

    Args:
        unitriangular: whether the diagonal counts as ones.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.
        NotImplementedError: integers, half types.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.triangular_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]])).solution
    tensor([[2.]])
    """
    for name, one in (("b", input), ("A", A)):
        if one.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {one.ndim} "
                "dimensions instead"
            )
    check_pair(input, A)
    broadcast_shapes([input.shape[:-2], A.shape[:-2]])
    check_kernel("triangular_solve_cpu", A)
    warn_once(OLD_TRIANGULAR)
    result = ops.triangular_solve(input, A, upper=upper, transpose=transpose, unitriangular=unitriangular)
    return return_types.triangular_solve(result)


def check_pair(b: Tensor, A: Tensor, name: str = "triangular_solve") -> None:
    """Refuse a right-hand side and a matrix that don't fit, in the words of the older functions.
    Raises RuntimeError: dtypes or shapes that differ.
    """
    if b.dtype is not A.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b.dtype.scalar_name} and A of type "
            f"{A.dtype.scalar_name} instead."
        )
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if columns != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {columns} by {columns} but each b matrix is "
            f"{b.shape[-2]} by {b.shape[-1]}"
        )


OLD_TRIANGULAR = (
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
    "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of "
    "the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B)."
)


# -- inverses ----------------------------------------------------------------------------------------------------------


def _inverted(A: Tensor) -> tuple[Tensor, Tensor]:
    check_square("linalg.inv", A)
    check_low_precision("linalg.inv", A)
    return ops.inv(A)


@public("linalg", out=Out(called="linalg_inv_ex"))
def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices (..., n, n).

    Args:
        A: floating or complex.

    Raises:
        RuntimeError: no square matrices; integers or half types.
        LinAlgError: a singular matrix.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    out, info = _inverted(A)
    check_inverted("linalg.inv", info)
    return out


@public("torch", "Tensor", out=Out(called="linalg_inv_ex"))
def inverse(input: Tensor) -> Tensor:
    """The inverses of square matrices: ``linalg.inv``."""
    return inv(input)


@public("linalg")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """``inv`` that says in ``info`` (int32) which pivot was the first to be zero: a named tuple (inverse, info).

    Args:
        A: floating or complex square matrices (..., n, n).

    Raises:
        RuntimeError: as ``inv``.
        LinAlgError: a singular matrix, with ``check_errors``.
    """
    out, info = _inverted(A)
    if check_errors:
        check_inverted("linalg.inv_ex", info)
    return return_types.linalg_inv_ex((out, info))


# -- equations of tensors ----------------------------------------------------------------------------------------------


@public("linalg", out=Out(history="copied"))
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of ``A`` taken as a matrix from its last dimensions to the first ``ind``.

    Raises:
        RuntimeError: both are not of the same size; ``ind`` is not positive; integers.
        LinAlgError: it is singular.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > A.ndim:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {A.ndim}")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    size, other = math.prod(last), math.prod(first)
    if size != other:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{size} != {other}"
        )
    out, info = _inverted(reshape(A, (other, size)))
    check_inverted("inv", info)
    return reshape(out, last + first)


@public("linalg", out=Out(history="copied"))
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """The X of ``tensordot(A, X, X.ndim) = B``; the dimensions ``dims`` of A are moved to its end first.

    Raises:
        RuntimeError: shapes that don't fit; integers.
        LinAlgError: A, taken as a matrix, is singular.
    """
    if dims is not None:
        moved = [wrap_dim(dim, A.ndim) for dim in dims]
        A = movedim(A, tuple(moved), tuple(range(A.ndim - len(moved), A.ndim)))
    shape = tuple(A.shape[B.ndim :])
    size, other = math.prod(shape), B._spec.numel
    if size != other:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {size} != {other}"
        )
    return reshape(solve(reshape(A, (other, size)), reshape(B, (-1,))), shape)
