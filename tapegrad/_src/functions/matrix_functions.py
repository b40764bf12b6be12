"""PyTorch's functions of matrices, and of vectors in space: powers, the exponential, Vandermonde, the cross product."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.arguments import refuse_large, wrap_dim
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.matrix_checks import check_floating, check_square
from tapegrad._src.bindings.state.memory import clone
from tapegrad._src.bindings.writes.in_place import copy_
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, int64
from tapegrad._src.functions.arrangement import flip
from tapegrad._src.functions.creation import eye, ones
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.matmul import matmul
from tapegrad._src.functions.scans import cumprod
from tapegrad._src.functions.shape import expand, unsqueeze
from tapegrad._src.functions.slicing import diagonal as diagonal_of
from tapegrad._src.functions.slicing import narrow
from tapegrad._src.functions.solving import inv
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import matrix_functions as ops
from tapegrad.ops.checks import expect_same_scalar_type, refuse_dtypes
from tapegrad.ops.kinds import broadcast_shapes


@public("linalg", "torch", "Tensor", out=Out(called=("mm", "matmul")))
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Square matrices (..., k, k) multiplied by themselves; inverted first if ``n`` is negative.

    Args:
        A: the matrices.

    Raises:
        RuntimeError: no square matrices; integers to a negative power.
        LinAlgError: a singular matrix to a negative power.

    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 3)
    tensor([[1, 3],
            [0, 1]])
    """
    check_square("linalg.matrix_power", A)
    refuse_large(n)
    if n == 0:
        return copy_(clone(A), eye(A.shape[-1], dtype=A.dtype, device=A.device))
    if n == 1:
        return clone(A)
    return _repeated(inv(A) if n < 0 else A, abs(n))


def _repeated(A: Tensor, n: int) -> Tensor:
    """A positive power, by squaring."""
    if n == 3:
        return matmul(matmul(A, A), A)
    power, result = A, None
    while True:
        if n % 2:
            result = power if result is None else matmul(result, power)
        n //= 2
        if n == 0:
            return result  # type: ignore[return-value]
        power = matmul(power, power)


@public("linalg", "torch", "Tensor")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices (..., n, n).

    Args:
        A: floating or complex.

    Raises:
        RuntimeError: no square matrices; integers.

    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_floating("linalg.matrix_exp", A)
    check_square("linalg.matrix_exp", A)
    return ops.matrix_exp(A)


@public("linalg", name="diagonal")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A diagonal of the matrices in dimensions ``dim1`` and ``dim2``, as the last dimension: a view.

    Args:
        offset: how far above the main diagonal; below it, if negative.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return diagonal_of(A, offset, dim1, dim2)


# -- Vandermonde -------------------------------------------------------------------------------------------------------


@public("linalg", name="vander")
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers from 0 to ``N - 1`` of the elements of ``x`` (..., n), as matrices (..., n, N); ``N`` is n by default.

    Raises:
        RuntimeError: ``N`` is less than 2; booleans, half types.
    """
    if x.dtype.category == BOOL or (x.dtype.category == FLOATING and x.dtype.itemsize < 4):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype.scalar_name}"
        )
    x = x if x.ndim else unsqueeze(x, 0)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = cumprod(expand(unsqueeze(x, -1), (*x.shape, count - 1)), -1)
    return cat([ones((*x.shape, 1), dtype=x.dtype, device=x.device), powers], -1)


@public("torch")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector (n,) as a matrix (n, N): falling to 0, or ``increasing`` from 0 on.

    Integers are multiplied in int64. Raises:
        RuntimeError: ``x`` is no vector; ``N`` is negative.

    >>> torch.vander(torch.tensor([1, 2, 3]), 2)
    tensor([[1, 1],
            [2, 1],
            [3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    result = ones((x.shape[0], count), dtype=x.dtype if x.dtype.category >= FLOATING else int64, device=x.device)
    if count > 1:
        powers = narrow(result, 1, 1, count - 1)
        copy_(powers, unsqueeze(x, 1))
        copy_(powers, cumprod(powers, 1))
    return result if increasing else flip(result, (1,))


# -- the cross product -------------------------------------------------------------------------------------------------


@public("linalg", name="cross", out=Out(EXPECTED, called="linalg_cross", apart=True))
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vectors orthogonal to two vectors of length 3 along ``dim``; the other dimensions broadcast.

    Raises:
        RuntimeError: numbers of dimensions or dtypes that differ; another length than 3.
        IndexError: ``dim`` out of range.
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, input.ndim)
    if not input.shape[axis] == other.shape[axis] == 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    broadcast_shapes([input.shape, other.shape])
    expect_same_scalar_type(input, other)
    refuse_dtypes("cross", input, bool=True)
    return ops.cross(input, other, axis=axis)


@public("torch", "Tensor", out=Out(EXPECTED, called="linalg_cross", apart=True))
def cross(input: Tensor, other: Tensor, dim: Any = None) -> Tensor:
    """The cross product along ``dim``, or along the first dimension of length 3.

    Raises:
        RuntimeError: there is none; shapes or dtypes that don't fit.
    """
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release."
        )
        dim = next((axis for axis, length in enumerate(input.shape) if length == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)
