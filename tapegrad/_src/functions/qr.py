"""PyTorch's QR decompositions, and the Householder reflectors behind them."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import check_floating, check_kernel, check_matrices
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import qr as ops

# -- QR ----------------------------------------------------------------------------------------------------------------


@public("linalg")
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """``Q`` and the upper triangular ``R`` of matrices (..., m, n): a named tuple; ``A = Q @ R``, Q of orthonormal
    columns.

    ``mode``: "reduced" has min(m, n) columns of Q, "complete" m; "r" has no Q (and no gradient).

    Raises:
        RuntimeError: integers, fewer than two dimensions, an unknown mode; in backward, what has no derivative.

    >>> torch.linalg.qr(torch.tensor([[3.0], [4.0]]), mode="r").R.abs()
    tensor([[5.]])
    """
    check_matrices("linalg.qr", A)
    check_floating("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_kernel("geqrf_cpu", A)
    return return_types.linalg_qr(ops.qr(A, mode=mode))


QR_IS_OLD = (
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
    "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
)


@public("torch", "Tensor", name="qr", out=Out(called="linalg_qr"))
def torch_qr(input: Tensor, some: bool = True) -> Any:
    """``linalg.qr`` under its older name, deprecated: "reduced" if ``some``, else "complete"."""
    warn_once(QR_IS_OLD)
    return return_types.qr(tuple(qr(input, "reduced" if some else "complete")))


_OF_GEQRF = Out(
    cast="torch.geqrf: Expected a to be safely castable from {R} dtype, but got a with dtype {O}", rows="elements"
)
_OF_ORMQR = Out(
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{R} and result has dtype {O}",
    rows="elements",
)


@public("torch", "Tensor", out=_OF_GEQRF)
def geqrf(input: Tensor) -> Any:
    """The QR decomposition as LAPACK leaves it: a named tuple of ``a`` (R, and reflectors below it) and ``tau``.

    Raises:
        RuntimeError: fewer than two dimensions; a complex tensor that requires grad.
        NotImplementedError: in backward.
    """
    check_matrices_of("torch.geqrf", input)
    check_kernel("geqrf_cpu", input)
    if input.dtype.is_complex and input._spec.requires_grad and thread.modes.grad:
        raise RuntimeError("geqrf does not support automatic differentiation for outputs with complex dtype.")
    return return_types.geqrf(ops.geqrf(input))


def check_matrices_of(name: str, input: Tensor) -> None:
    """Refuse what has fewer than two dimensions. Raises RuntimeError: PyTorch's message."""
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")


# -- reflectors --------------------------------------------------------------------------------------------------------


@public("linalg")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of reflectors ``1 - tau_i v_i v_i^H``; v_i lies below the diagonal of column
    i of ``input`` (..., m, n), and is 1 on it. See ``geqrf``.

    Args:
        tau: the factors of the reflectors (..., k).

    Raises:
        RuntimeError: shapes or dtypes that don't fit.
    """
    name = "torch.linalg.householder_product"
    check_matrices_of(name, input)
    rows, columns = input.shape[-2:]
    if rows < columns:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if columns < (tau.shape[-1] if tau.ndim else 1):
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_factors(name, input, tau)
    if tau.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {tau.dtype.scalar_name} does not match input dtype {input.dtype.scalar_name}"
        )
    check_kernel("orgqr_cpu", input)
    return ops.householder_product(input, tau)


def _check_factors(name: str, input: Tensor, tau: Tensor) -> None:
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {input.ndim}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )


@public("torch", "Tensor")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """``linalg.householder_product`` under LAPACK's name.

    Args:
        input2: ``tau``.
    """
    return householder_product(input, input2)


@public("torch", "Tensor", out=_OF_ORMQR)
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """``Q @ input3`` (``input3 @ Q`` unless ``left``; of the adjoint of Q, if ``transpose``), where Q (m, m) is the
    product of the reflectors in ``input`` (..., m, k) and ``input2``: see ``geqrf``.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.

    >>> reflectors, tau = torch.geqrf(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> torch.ormqr(reflectors, tau, torch.eye(2)).abs().round()
    tensor([[0., 1.],
            [1., 0.]])
    """
    _check_ormqr(input, input2, input3, left)
    check_kernel("ormqr_cpu", input)
    return ops.ormqr(input, input2, input3, left=bool(left), transpose=bool(transpose))


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    check_matrices_of("torch.ormqr", input)
    if other.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    _check_factors("torch.ormqr", input, tau)
    if other.ndim != input.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{other.ndim} and input.ndim is equal to {input.ndim}"
        )
    if other.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(
            "torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other.shape[:-2])}"
        )
    for name, operand in (("tau", tau), ("other", other)):
        if operand.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype"
                f"{input.dtype.scalar_name} and {name} has dtype {operand.dtype.scalar_name}"
            )
