"""PyTorch's singular values and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.bounds import nan_along, numbers, refuse_elements
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import (
    check_floating,
    check_kernel,
    check_matrices,
    failure,
    is_differentiated,
)
from tapegrad._src.execution.array_functions.host import may_look
from tapegrad._src.execution.kernels.deferred_checks import Finding
from tapegrad._src.functions.shape import adjoint
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import svd as ops


def _check_svd(input: Tensor) -> None:
    check_matrices("linalg.svd", input)
    check_floating("linalg.svd", input)
    check_kernel("linalg_svd_cpu", input)


def check_singular_values(results: Tensor, input: Tensor, axes: tuple[int, ...] = (-1,)) -> None:
    """Refuse results that are nan, as they are if the matrix was not finite.
    Raises LinAlgError: PyTorch's messages, for nan and for inf.
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

    Args:
        A: matrices (..., m, n).
        driver: refused, as PyTorch does on CPUs.

    Raises:
        RuntimeError: integers, fewer than two dimensions.
        LinAlgError: elements that are not finite.
    """
    _check_svd(A)
    _check_driver(driver)
    result = return_types.linalg_svd(ops.svd(A, full_matrices=bool(full_matrices)))
    check_singular_values(result[1], A)
    return result


@public("linalg", out=Out(called="_linalg_svd"))
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, descending: see ``svd``. Their gradient is finite also where they are equal.

    Args:
        A, driver: as for ``svd``.

    >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor([4., 3.])
    """
    _check_svd(A)
    _check_driver(driver)
    values = ops.svd(A, full_matrices=False)[1] if is_differentiated(A) else ops.svdvals(A)
    check_singular_values(values, A)
    return values


@public("torch", "Tensor", name="svd", out=Out(history="copied"))
def torch_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """``U``, ``S`` and ``V`` (not its adjoint) of matrices: ``linalg.svd`` in its older form.

    Without ``compute_uv`` U and V are zeros, square.

    Args:
        some: whether U and V have min(m, n) columns only; else they are square.

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
