"""Rules of factorizations and solutions of linear systems: LAPACK's, which NumPy calls as XLA does.

Where there is no result (a matrix that is not positive definite, an iteration that doesn't converge), it is nan.
Those that NumPy doesn't have are left to XLA: an LU factorization by other means would be rounded in another way,
and whether a matrix is singular is told by whether a number is exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.execution.host_tier.rules import Unwritable, rule


def or_nan(function: Callable, matrices: np.ndarray, *settings: Any) -> tuple[np.ndarray, ...]:
    """What a function of NumPy's gives for each matrix; nan for those at which it fails.

    >>> or_nan(np.linalg.cholesky, np.array([[[4.]], [[-1.]]]))[0].ravel()
    array([ 2., nan])
    """
    try:
        return several_of(function(matrices, *settings))
    except np.linalg.LinAlgError:
        if matrices.ndim > 2:
            parts = [or_nan(function, matrix, *settings) for matrix in matrices]
            return tuple(np.stack(results) for results in zip(*parts, strict=True))
        identity = np.eye(*matrices.shape, dtype=matrices.dtype)
        return tuple(np.full_like(result, np.nan) for result in several_of(function(identity, *settings)))


def several_of(results: Any) -> tuple[np.ndarray, ...]:
    """One result or several, as a tuple."""
    return tuple(results) if isinstance(results, tuple) else (results,)


def factorized(writer: Any, equation: Any, function: Callable, *settings: Any, order: tuple[int, ...] = (0,)) -> Any:
    """A call of a function of NumPy's, whose results come in some order, with the dtypes that XLA's have."""
    words = "".join(f", {setting!r}" for setting in settings)
    call = f"{writer.helper(or_nan)}({writer.helper(function)}, {writer.full(equation, 0)}{words})"
    results = writer.assigned(call)
    cast = [f".astype({writer.dtype(aval.dtype)}, copy=False)" for aval in equation.results]
    return tuple(f"{results}[{place}]{suffix}" for place, suffix in zip(order, cast, strict=True))


@rule("cholesky")
def cholesky(writer: Any, equation: Any) -> Any:
    """The lower factor."""
    return factorized(writer, equation, np.linalg.cholesky)


@rule("qr")
def qr(writer: Any, equation: Any) -> Any:
    """Orthogonal and upper triangular factors."""
    if equation.params.get("pivoting") or equation.params.get("use_magma"):
        raise Unwritable("qr: with pivots")
    mode = "complete" if equation.params["full_matrices"] else "reduced"
    return factorized(writer, equation, np.linalg.qr, mode, order=(0, 1))


@rule("svd")
def svd(writer: Any, equation: Any) -> Any:
    """Singular values, and both sides' vectors if they are wanted."""
    params = equation.params
    if params.get("subset_by_index") is not None or params.get("algorithm") is not None:
        raise Unwritable("svd: by another algorithm, or a part of it")
    if params["compute_uv"]:
        return factorized(writer, equation, np.linalg.svd, bool(params["full_matrices"]), True, order=(1, 0, 2))
    return factorized(writer, equation, np.linalg.svd, False, False)


@rule("eigh")
def eigh(writer: Any, equation: Any) -> Any:
    """Eigenvectors and eigenvalues of symmetric matrices."""
    params = equation.params
    if params.get("subset_by_index") is not None or params.get("algorithm") is not None:
        raise Unwritable("eigh: by another algorithm, or a part of it")
    return factorized(writer, equation, np.linalg.eigh, "L" if params["lower"] else "U", order=(1, 0))


@rule("eig")
def eig(writer: Any, equation: Any) -> Any:
    """Eigenvalues and right eigenvectors."""
    params = equation.params
    if params["compute_left_eigenvectors"] or params.get("implementation") is not None:
        raise Unwritable("eig: left eigenvectors, or by another algorithm")
    if params["compute_right_eigenvectors"]:
        return factorized(writer, equation, np.linalg.eig, order=(0, 1))
    return factorized(writer, equation, np.linalg.eigvals)


# -- triangular systems ------------------------------------------------------------------------------------------------

BLOCK = 32
"""Systems of more unknowns are solved by halves."""

IDENTITY = np.eye(BLOCK, dtype=np.int8)
UPPER = np.tri(BLOCK, dtype=bool).T, np.tri(BLOCK, k=-1, dtype=bool).T
"""What lies above the diagonal, with it and without."""


@rule("triangular_solve")
def triangular_solve(writer: Any, equation: Any) -> str:
    """Substitution."""
    params = equation.params
    if np.dtype(equation.aval.dtype).kind not in "fc":
        raise Unwritable("triangular_solve: of 16-bit numbers")
    words = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    settings = ", ".join(str(bool(params[word])) for word in words)
    inputs = f"{writer.full(equation, 0)}, {writer.full(equation, 1)}"
    return f"{writer.helper(triangular_solution)}({inputs}, {settings})"


def triangular_solution(
    a: np.ndarray, b: np.ndarray, left_side: bool, lower: bool, transpose: bool, conjugate: bool, unit: bool
) -> np.ndarray:
    """``x`` with ``op(a) x = b``, or ``x op(a) = b``: LAPACK's ``trsm``.

    >>> triangular_solution(np.array([[2., 9], [1, 4]]), np.array([[2.], [9]]), True, True, False, False, False)
    array([[1.],
           [2.]])
    """
    if conjugate:
        a = a.conj()
    if transpose:
        a, lower = a.mT, not lower
    if not left_side:
        return triangular_solution(a.mT, b.mT, True, not lower, False, False, unit).mT
    if lower:
        return substituted(a, b, unit)
    return substituted(a[..., ::-1, ::-1], b[..., ::-1, :], unit)[..., ::-1, :]


def substituted(a: np.ndarray, b: np.ndarray, unit: bool) -> np.ndarray:
    """``x`` with ``a x = b``, where ``a`` is lower triangular."""
    size = a.shape[-1]
    if size > BLOCK:
        half = size // 2
        first = substituted(a[..., :half, :half], b[..., :half, :], unit)
        rest = b[..., half:, :] - a[..., half:, :half] @ first
        return np.concatenate((first, substituted(a[..., half:, half:], rest, unit)), -2)
    if a.size and b.size:
        upper = np.where(UPPER[unit][:size, :size], a[..., ::-1, ::-1], IDENTITY[:size, :size])
        try:  # LAPACK's elimination, which has nothing to eliminate there
            found = np.linalg.solve(upper, b[..., ::-1, :])
        except np.linalg.LinAlgError:
            pass
        else:
            if np.isfinite(found).all():
                return found[..., ::-1, :]
    return _row_by_row(a, b, unit)


def _row_by_row(a: np.ndarray, b: np.ndarray, unit: bool) -> np.ndarray:
    """The same, also where it is not finite."""
    solution = np.empty(b.shape, b.dtype)
    for row in range(a.shape[-1]):
        known = a[..., row : row + 1, :row] @ solution[..., :row, :]
        value = b[..., row : row + 1, :] - known if row else b[..., :1, :]
        solution[..., row : row + 1, :] = value if unit else value / a[..., row : row + 1, row : row + 1]
    return solution


@rule("lu_pivots_to_permutation")
def lu_pivots_to_permutation(writer: Any, equation: Any) -> str:
    """The permutation that a sequence of exchanges of rows makes."""
    size = writer.size(equation.params["permutation_size"])
    return f"{writer.helper(permutation_of)}({writer.full(equation, 0)}, {size})"


def permutation_of(pivots: np.ndarray, size: int) -> np.ndarray:
    """A permutation for each row of pivots.

    >>> permutation_of(np.array([2, 2], "int32"), 3)
    array([2, 0, 1], dtype=int32)
    """
    flat = pivots.reshape(int(np.prod(pivots.shape[:-1])), pivots.shape[-1])
    permutations = np.tile(np.arange(size, dtype=pivots.dtype), (len(flat), 1))
    rows = np.arange(len(flat))
    for place in range(pivots.shape[-1]):
        other = flat[:, place]
        there, here = permutations[rows, other], permutations[:, place].copy()
        permutations[rows, other], permutations[:, place] = here, there
    return permutations.reshape(*pivots.shape[:-1], size)
