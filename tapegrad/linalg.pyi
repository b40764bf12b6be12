"""Written by ``python -m tapegrad.stubs``: see ``tapegrad/stubs/__init__.py``."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

import jax
import numpy as np

from tapegrad.execution.devices import device as _device
from tapegrad.execution.dtypes import dtype as _dtype
from tapegrad.bindings.generator import Generator
from tapegrad.bindings.storages import TypedStorage, UntypedStorage
from tapegrad.bindings import return_types
from tapegrad.tape.hooks import RemovableHandle
from tapegrad.tape.node import Node
from tapegrad.tensor.layout import layout as _layout
from tapegrad.tensor.layout import memory_format as _memory_format
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor

_Number = _int | _float | _complex
_Scalar = _int | _float | _complex | Tensor

from tapegrad._C import _LinAlgError as LinAlgError
def cholesky(input: Tensor, *, upper: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The lower triangular ``L`` with ``input = L @ L.mH`` of positive definite matrices; its adjoint, if ``upper``."""
def cholesky_ex(input: Tensor, *, upper: _bool = ..., check_errors: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_cholesky_ex:
    """``L`` with ``input = L @ L.mH`` (or its adjoint, if ``upper``) and ``info`` (int32): a named tuple. One triangle"""
@overload
def cond(input: Tensor, p: _Scalar | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The condition numbers of matrices with respect to a matrix norm ``p``: 2 (the default) and -2 from singular"""
@overload
def cond(input: Tensor, p: _str, *, out: Tensor | None = ...) -> Tensor:
    """The condition numbers of matrices with respect to a matrix norm ``p``: 2 (the default) and -2 from singular"""
def cross(input: Tensor, other: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The vectors orthogonal to two vectors of length 3 along ``dim``; the other dimensions broadcast."""
def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
def diagonal(A: Tensor, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A diagonal of the matrices in dimensions ``dim1`` and ``dim2``, as the last dimension: a view."""
def eig(input: Tensor, *, out: Sequence[Tensor] | None = ...) -> return_types.linalg_eig:
    """The eigenvalues and eigenvectors (columns of length 1) of square matrices: a named tuple, both complex."""
def eigh(input: Tensor, UPLO: _str = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.linalg_eigh:
    """The eigenvalues (real, ascending) and eigenvectors (columns) of Hermitian matrices (..., n, n): a named tuple."""
def eigvals(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The eigenvalues of square matrices, complex, in no particular order: see ``eig``."""
def eigvalsh(input: Tensor, UPLO: _str = ..., *, out: Tensor | None = ...) -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending: see ``eigh``. Their gradient is finite also where they are"""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The first n columns of the product of reflectors ``1 - tau_i v_i v_i^H``; v_i lies below the diagonal of column"""
def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverses of square matrices (..., n, n)."""
def inv_ex(A: Tensor, *, check_errors: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_inv_ex:
    """``inv`` that says in ``info`` (int32) which pivot was the first to be zero: a named tuple (inverse, info)."""
def ldl_factor(input: Tensor, *, hermitian: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_ldl_factor:
    """The packed factors of ``A = L D L^T`` (``L D L^H`` if ``hermitian``) and LAPACK's pivots. Not differentiable."""
def ldl_factor_ex(input: Tensor, *, hermitian: _bool = ..., check_errors: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_ldl_factor_ex:
    """``ldl_factor`` that says in ``info`` (int32) which block of D is singular. Not differentiable."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X of ``A X = B``, by what ``ldl_factor(A)`` gives. Not differentiable."""
def lstsq(input: Tensor, b: Tensor, rcond: _float | Tensor | None = ..., *, driver: _str | None = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_lstsq:
    """The smallest ``solution`` of ``input @ solution = b`` in the sense of least squares, a named tuple with"""
def lu(A: Tensor, *, pivot: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_lu:
    """The matrices P (..., m, m), L (..., m, k) and U (..., k, n) with ``A = P L U``: a named tuple. P is a constant."""
def lu_factor(A: Tensor, *, pivot: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_lu_factor:
    """The factors of ``A = P L U`` (..., m, n), packed into one matrix, and pivots (int32, from 1): a named tuple."""
def lu_factor_ex(A: Tensor, *, pivot: _bool = ..., check_errors: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_lu_factor_ex:
    """``lu_factor`` that says in ``info`` (int32) which pivot was the first to be 0."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` unless ``left``), by what ``lu_factor(A)`` gives; with ``adjoint`` of A^H."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The matrix product; a vector is a row on the left and a column on the right, more dimensions are batches."""
def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices (..., n, n)."""
@overload
def matrix_norm(input: Tensor, ord: _Scalar, dim: Sequence[_int] = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The norm of matrices: ``"fro"``, or induced: 1 and -1 (columns), inf and -inf (rows), or of singular values: 2"""
@overload
def matrix_norm(input: Tensor, ord: _str = ..., dim: Sequence[_int] = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The norm of matrices: ``"fro"``, or induced: 1 and -1 (columns), inf and -inf (rows), or of singular values: 2"""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Square matrices (..., k, k) multiplied by themselves; inverted first if ``n`` is negative."""
@overload
def matrix_rank(input: Tensor, *, atol: Tensor | None = ..., rtol: Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The ranks (int64) of matrices: how many singular values are larger than ``max(atol, rtol * the largest)``."""
@overload
def matrix_rank(input: Tensor, *, atol: _float | Tensor | None = ..., rtol: _float | Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The ranks (int64) of matrices: how many singular values are larger than ``max(atol, rtol * the largest)``."""
@overload
def matrix_rank(input: Tensor, tol: Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The ranks (int64) of matrices: how many singular values are larger than ``max(atol, rtol * the largest)``."""
@overload
def matrix_rank(input: Tensor, tol: _float | Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The ranks (int64) of matrices: how many singular values are larger than ``max(atol, rtol * the largest)``."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The product of two or more matrices in the order that multiplies least; the first and last may be vectors."""
@overload
def norm(input: Tensor, ord: _Scalar | None = ..., dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """``vector_norm`` or ``matrix_norm``, as the number of dimensions says; of order 2 over everything without ``ord``."""
@overload
def norm(input: Tensor, ord: _str, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """``vector_norm`` or ``matrix_norm``, as the number of dimensions says; of order 2 over everything without ``ord``."""
@overload
def pinv(input: Tensor, *, atol: Tensor | None = ..., rtol: Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The pseudoinverses of matrices (..., m, n), of shape (..., n, m)."""
@overload
def pinv(input: Tensor, *, atol: _float | Tensor | None = ..., rtol: _float | Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The pseudoinverses of matrices (..., m, n), of shape (..., n, m)."""
@overload
def pinv(input: Tensor, rcond: Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The pseudoinverses of matrices (..., m, n), of shape (..., n, m)."""
@overload
def pinv(input: Tensor, rcond: _float | Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The pseudoinverses of matrices (..., m, n), of shape (..., n, m)."""
def qr(A: Tensor, mode: _str = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.linalg_qr:
    """``Q`` and the upper triangular ``R`` of matrices (..., m, n): a named tuple; ``A = Q @ R``, Q of orthonormal"""
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = ...) -> return_types.linalg_slogdet:
    """The sign of the determinant (of complex matrices: its phase), and the logarithm of its absolute value."""
def solve(A: Tensor, B: Tensor, *, left: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` unless ``left``): square (..., n, n) with (..., n, k) or vectors (..., n)."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = ..., check_errors: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_solve_ex:
    """``solve`` that says in ``info`` (int32) which pivot was the first to be zero: a named tuple (result, info)."""
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The X of ``A X = B`` (``X A = B`` unless ``left``), where A is the upper or the lower triangle of ``input``."""
def svd(A: Tensor, full_matrices: _bool = ..., *, driver: _str | None = ..., out: Sequence[Tensor] | None = ...) -> return_types.linalg_svd:
    """``U``, the singular values ``S`` (real, descending) and ``Vh`` of matrices, a named tuple: ``U @ diag(S) @ Vh``."""
def svdvals(A: Tensor, *, driver: _str | None = ..., out: Tensor | None = ...) -> Tensor:
    """The singular values of matrices, descending: see ``svd``. Their gradient is finite also where they are equal."""
def tensorinv(input: Tensor, ind: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of ``A`` taken as a matrix from its last dimensions to the first ``ind``."""
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[_int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The X of ``tensordot(A, X, X.ndim) = B``; the dimensions ``dims`` of A are moved to its end first."""
def vander(x: Tensor, *, N: _int | Tensor | None = ...) -> Tensor:
    """The powers from 0 to ``N - 1`` of the elements of ``x`` (..., n), as matrices (..., n, N); ``N`` is n by default."""
def vecdot(x: Tensor, y: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The sums of ``conj(x) * y`` along ``dim``; the other dimensions broadcast."""
def vector_norm(input: Tensor, ord: _Scalar = ..., dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The ``ord``-norm of all elements, or over ``dim``: ``(sum |x|^ord)^(1/ord)``; for 0 the number of nonzero"""
