"""Rules of factorizations and solutions of linear systems: LAPACK's.

Where there is no result (a matrix that is not positive definite, an iteration that doesn't converge), it is nan.
XLA calls SciPy's LAPACK. So do these, matrix by matrix, where NumPy has none or takes longer: an LU factorization by
other means would be rounded in another way, and whether a matrix is singular is told by whether a number is exactly 0.
LAPACK has matrices column by column, so that what it is given are transposed ones, and it writes where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.operands import Unwritable, call, method, rule
from tapegrad._src.execution.numpy_backend.parts import compiled

PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


@cache
def lapack(name: str, dtype: np.dtype, of: str = "lapack") -> Callable:
    """A routine of SciPy's LAPACK (or BLAS) for a dtype. See ``parts.py``.

    >>> lapack("getrf", np.dtype("float32"))(np.array([[0., 1], [2, 3]], "float32"))[1:]
    (array([1, 1], dtype=int32), 0)
    """
    routine = PREFIXES[dtype.name] + name
    function = getattr(compiled(f"scipy.linalg.{of}"), routine, None)
    return function or getattr(import_module(f"scipy.linalg.{of}"), routine)


def by_columns(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A copy of matrices, and a list of them that LAPACK reads, and writes, where they lie."""
    copied = np.array(matrices.mT, order="C")
    return copied.mT, copied.reshape(math.prod(copied.shape[:-2]), *copied.shape[-2:]).mT


def or_nan(function: Callable, matrices: np.ndarray, *settings: Any) -> tuple[np.ndarray, ...]:
    """The result of a function of NumPy's for each matrix; nan for those at which it fails.

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
    results = writer.several(call(or_nan, function, equation.full(0), *settings), len(order))
    pairs = zip(order, equation.results, strict=True)
    return tuple([method(results[number], "astype", aval.dtype, copy=False) for number, aval in pairs])


def _refuse_halves(equation: Any) -> None:
    """Leave what LAPACK has not to XLA."""
    if np.dtype(equation.results[0].dtype).name not in PREFIXES:
        raise Unwritable(f"{equation.primitive}: of 16-bit numbers")


@rule("cholesky")
def cholesky(writer: Any, equation: Any) -> Any:
    """The lower factor."""
    _refuse_halves(equation)
    return call(lower_factor, equation.full(0))


def lower_factor(matrices: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor of each matrix; nan for those that have none.

    >>> lower_factor(np.array([[[4.]], [[-1.]]])).ravel()
    array([ 2., nan])
    """
    factors, each = by_columns(matrices)
    routine = lapack("potrf", factors.dtype)
    for matrix in each if factors.size else ():
        if routine(matrix, lower=True, overwrite_a=True)[1]:
            matrix[...] = np.nan
    return factors


@rule("lu")
def lu(writer: Any, equation: Any) -> Any:
    """Packed factors, pivots and the permutation that they make."""
    _refuse_halves(equation)
    return writer.several(call(packed_factors, equation.full(0)), 3)


def packed_factors(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The factors L and U of each matrix, in one, the pivots, from 0, and the permutation of the rows.

    >>> packed_factors(np.array([[0., 1], [2, 3]]))
    (array([[2., 3.],
           [0., 1.]]), array([1, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    factors, each = by_columns(matrices)
    pivots = np.zeros((*matrices.shape[:-2], min(matrices.shape[-2:])), np.int32)
    rows, routine = pivots.reshape(len(each), pivots.shape[-1]), lapack("getrf", factors.dtype)
    for row, matrix in zip(rows, each, strict=True) if factors.size else ():
        row[...] = routine(matrix, overwrite_a=True)[1]
    return factors, pivots, permutation_of(pivots, matrices.shape[-2])


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
    _refuse_halves(equation)
    return writer.several(call(eigensystems, equation.full(0), bool(params["lower"]), equation.wanted[0]), 2)


def eigensystems(matrices: np.ndarray, lower: bool, vectors: bool) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvectors of Hermitian matrices, if they are wanted, and their eigenvalues, ascending.

    >>> eigensystems(np.array([[2., 0], [9, 1]]), False, True)[1]
    array([1., 2.])
    """
    systems, each = by_columns(matrices)
    values = np.zeros(matrices.shape[:-1], matrices.real.dtype)
    routine = lapack("syevd" if values.dtype == matrices.dtype else "heevd", matrices.dtype)
    for row, matrix in zip(values.reshape(each.shape[:-1]), each, strict=True) if systems.size else ():
        row[...], _, failed = routine(matrix, vectors, lower, overwrite_a=True)
        if failed:
            row[...] = matrix[...] = np.nan
    return systems, values


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


@rule("triangular_solve")
def triangular_solve(writer: Any, equation: Any) -> Any:
    """Substitution."""
    params = equation.params
    _refuse_halves(equation)
    words = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    return call(triangular_solution, *equation.inputs(), *[bool(params[word]) for word in words])


def triangular_solution(
    a: np.ndarray, b: np.ndarray, left_side: bool, lower: bool, transpose: bool, conjugate: bool, unit: bool
) -> np.ndarray:
    """``x`` with ``op(a) x = b``, or ``x op(a) = b``: LAPACK's ``trsm``.

    >>> triangular_solution(np.array([[2., 9], [1, 4]]), np.array([[2.], [9]]), True, True, False, False, False)
    array([[1.],
           [2.]])
    """
    if not transpose or a.dtype.kind != "c":
        a, conjugate = a.conj() if conjugate and a.dtype.kind == "c" else a, False
    lies_turned = a.strides[-1] > a.strides[-2] and not conjugate  # the equation is turned: ``x^T op(a)^T = b^T``
    matrices, transpose, lower = (a, not transpose, lower) if lies_turned else (a.mT, transpose, not lower)
    solution = np.array(b, order="C")
    routine, how = lapack("trsm", b.dtype, "blas"), 2 if conjugate else int(transpose)
    if solution.size:
        each = matrices.reshape(-1, *a.shape[-2:]), solution.reshape(-1, *b.shape[-2:]).mT
        for matrix, right in zip(*each, strict=True):
            routine(1, matrix, right, left_side, lower, how, unit, True)
    return solution


@rule("lu_pivots_to_permutation")
def lu_pivots_to_permutation(writer: Any, equation: Any) -> Any:
    """The permutation that a sequence of exchanges of rows makes."""
    return call(permutation_of, equation.full(0), equation.params["permutation_size"])


def permutation_of(pivots: np.ndarray, size: int) -> np.ndarray:
    """A permutation for each row of pivots.

    >>> permutation_of(np.array([2, 2], "int32"), 3)
    array([2, 0, 1], dtype=int32)
    """
    permutations = []
    for row in pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1]).tolist():
        order = list(range(size))
        for index, other in enumerate(row):
            if other != index:
                order[index], order[other] = order[other], order[index]
        permutations.append(order)
    return np.array(permutations, pivots.dtype).reshape(*pivots.shape[:-1], size)
