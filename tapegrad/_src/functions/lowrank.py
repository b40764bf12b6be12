"""PyTorch's decompositions of a few vectors only: of low rank, from random directions, and ``lobpcg``."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.cholesky import linalg_cholesky
from tapegrad._src.functions.eigen import eigh
from tapegrad._src.functions.matmul import matmul
from tapegrad._src.functions.qr import qr
from tapegrad._src.functions.random import randn
from tapegrad._src.functions.reductions import mean
from tapegrad._src.functions.shape import adjoint
from tapegrad._src.functions.slicing import narrow
from tapegrad._src.functions.solving import solve_triangular
from tapegrad._src.functions.svd import svd
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic
from tapegrad.ops.arrangement import flip


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns that nearly span what ``A - M`` reaches most: of random directions, by ``niter`` powers.

    Source: Halko, Martinsson and Tropp, "Finding structure with randomness", 2009, algorithm 4.4.
    """

    def times(x: Tensor, transposed: bool) -> Tensor:
        product = matmul(adjoint(A) if transposed else A, x)
        return product if M is None else arithmetic.sub(product, matmul(adjoint(M) if transposed else M, x))

    directions = randn(A.shape[-1], q, dtype=A.dtype if A.dtype.category >= FLOATING else None, device=A.device)
    basis = qr(times(directions, False))[0]
    for _ in range(niter):
        basis = qr(times(basis, True))[0]
        basis = qr(times(basis, False))[0]
    return basis


@public("torch")
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple:
    """``(U, S, V)`` of the ``q`` largest singular values of ``A`` (``A - M``), nearly, from random directions.

    It costs less than ``svd`` where ``q`` is small beside the lengths of ``A`` (..., m, n).

    Args:
        A: of floating or complex numbers.
        q: how many singular values.
        niter: how often the directions are improved by products with A and its adjoint.
        M: what is subtracted from ``A``; of its shape.

    >>> U, S, V = torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 0.0])), q=2)
    >>> S.round()
    tensor([3., 2.])
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    if M is not None:
        M = M.expand(A.shape)
    wide = rows < columns
    if wide:
        A, M = adjoint(A), None if M is None else adjoint(M)
    basis = _basis(A, q, niter, M)
    small = matmul(adjoint(basis), A)
    if M is not None:
        small = arithmetic.sub(small, matmul(adjoint(basis), M))
    u, s, vh = svd(small, False)
    u, v = matmul(basis, u), adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@public("torch")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple:
    """``(U, S, V)``: the principal components V of the rows of ``A`` (m, n), of which the mean is subtracted if
    ``center``.

    Raises:
        ValueError: ``q`` beyond the lengths of ``A``; a negative ``niter``.

    >>> U, S, V = torch.pca_lowrank(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), q=1)
    >>> V.abs().round()
    tensor([[1.],
            [0.]])
    """
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = arithmetic.sub(A, mean(A, -2, True))
    return svd_lowrank(A, q, niter)


@public("torch")
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Any = None, ortho_iparams: dict | None = None,
    ortho_fparams: dict | None = None, ortho_bparams: dict | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The ``k`` largest (or smallest) eigenvalues, and the eigenvectors, of symmetric matrices ``A`` (..., m, m), or of
    ``A x = e B x`` with a positive definite ``B``.

    All are computed, directly: what says how PyTorch's iteration starts, goes on and ends (``X`` but for its number of
    columns, ``n``, ``iK``, ``niter``, ``tol``, ``method``, ``tracker``, ``ortho_...``) changes nothing. Unlike
    PyTorch's, it can be differentiated with respect to ``B``.

    That is also said of ``ortho_iparams``, ``ortho_fparams`` and ``ortho_bparams``.

    Raises:
        ValueError: fewer than ``3 k`` rows, as in PyTorch.
        RuntimeError: no square matrices; no real floating ones.

    >>> torch.lobpcg(torch.diag(torch.tensor([3.0, 1.0, 2.0])), k=1)[0]
    tensor([3.])
    """
    rows = A.shape[-2]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    if rows < 3 * k:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={k})"
        )
    if B is None:
        values, vectors = eigh(A)
    else:
        factor = linalg_cholesky(B)
        reduced = solve_triangular(factor, A, upper=False)
        values, vectors = eigh(solve_triangular(adjoint(factor), reduced, upper=True, left=False))
        vectors = solve_triangular(adjoint(factor), vectors, upper=True)
    if largest is None or largest:
        values, vectors = flip(values, axes=(values.ndim - 1,)), flip(vectors, axes=(vectors.ndim - 1,))
    return narrow(values, -1, 0, k), narrow(vectors, -1, 0, k)
