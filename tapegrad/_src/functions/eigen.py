"""PyTorch's eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.bounds import nan_along, not_finite, refuse_elements
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import check_kernel, check_square, failure, is_differentiated
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import eigen


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


@public("linalg", out=Out(called="_linalg_eigh"))
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending: see ``eigh``. Their gradient is finite also where they are
    equal.

    Args:
        UPLO: ``"L"`` or ``"U"``: which triangle is read.

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
