"""PyTorch's norms: of vectors, of matrices, and of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import out_writer, public
from tapegrad._src.execution.data.dtypes import FLOATING, dtype
from tapegrad._src.execution.data.promotion import result_dtype
from tapegrad._src.functions.reductions import check_dtype, several_dims
from tapegrad._src.functions.shape import permuted, unsqueeze
from tapegrad._src.functions.solving import check_low_precision
from tapegrad._src.functions.svd import svdvals
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import normalization, reductions
from tapegrad.ops import norms as ops
from tapegrad.ops.kinds import broadcast_shapes, cast

_SAME = Out(EXPECTED, called="linalg_vector_norm")


@public("torch", "Tensor", out=Out(EXPECTED))
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """``input`` with those slices along ``dim`` shrunk whose p-norm is larger than ``maxnorm``.

    Raises:
        RuntimeError: ``p`` is not positive, ``maxnorm`` is negative, the tensor has fewer than 2 dimensions.

    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    check_norm_dtype("vector_norm", input, None)
    axis = wrap_dim(dim, input.ndim)
    axes = tuple(other for other in range(input.ndim) if other != axis)
    return ops.renorm(input, ord=p, axis=axes, limit=float(maxnorm))


def check_norm_dtype(name: str, input: Tensor, wanted: dtype | None) -> None:
    """Refuse integers, and a ``dtype`` in which the norm can't be taken. Raises RuntimeError: PyTorch's messages."""
    own = input.dtype
    if own.category < FLOATING:
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got {own.scalar_name}"
        )
    if wanted is None:
        return
    if wanted.category < FLOATING:
        raise RuntimeError(f"linalg.{name}: dtype should be floating point or complex, but got {wanted.scalar_name}")
    if own.is_complex != wanted.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(f"linalg.{name}: dtype should be {kind} for {kind} inputs, but got {wanted.scalar_name}")
    if result_dtype([(own, 1), (wanted, 1)]) is not wanted:
        raise RuntimeError(
            f"linalg.{name}: the dtype of the input ({own.scalar_name}) should be convertible without narrowing to the "
            f"specified dtype ({wanted.scalar_name})"
        )


def check_identity(input: Tensor, ord: float, dim: Any, axes: tuple[int, ...]) -> None:
    """Refuse norms that are not defined of nothing: those of infinite or negative order.
    Raises RuntimeError: PyTorch's messages.
    """
    if input._spec.numel or not (ord < 0 or ord == math.inf):
        return
    if dim is None or dim == ():
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    for axis in axes:
        if input.shape[axis] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {axis}because this dimension is "
                "empty and the operation does not have an identity"
            )


@public("linalg", out=_SAME, is_settled=True)
def vector_norm(
    input: Tensor, ord: float | Tensor = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The ``ord``-norm of all elements, or over ``dim``: ``(sum |x|^ord)^(1/ord)``; for 0 the number of nonzero
    elements, for inf and -inf the largest and the smallest absolute value. Real, also of complex elements.

    Where it has no gradient (at 0, say), the gradient is 0.

    Raises:
        RuntimeError: integers; a ``dtype`` that can't hold ``input``; nothing to reduce where the norm has no identity.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0])), torch.linalg.vector_norm(torch.tensor([3.0, 4.0]), 1)
    (tensor(5.), tensor(7.))
    """
    if isinstance(ord, Tensor):
        ord = ord.item()
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' must be Number, not {type(ord).__name__}")
    check_dtype("linalg_vector_norm", dtype)
    check_norm_dtype("vector_norm", input, dtype)
    axes = several_dims("linalg_vector_norm", dim, input.ndim)
    check_identity(input, ord, dim, axes)
    return ops.vector_norm(input, ord=number(ord), axis=axes, keepdims=keepdim, dtype=dtype)


def number(ord: float) -> float:
    """An order, as an int if it is whole.

    >>> number(2.0), number(0.5)
    (2, 0.5)
    """
    ord = float(ord)
    return int(ord) if ord.is_integer() else ord


def check_matrix_dims(x: Tensor, dim: Any) -> tuple[int, int]:
    """The two dimensions of the matrices, not negative.
    Raises RuntimeError: fewer dimensions, or other than two different ones.
    """
    if x.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(dim, int) or len(dim) != 2:
        shown = dim if isinstance(dim, int) else " ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (wrap_dim(axis, x.ndim) for axis in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


@public("linalg", out=Out(history="copied"))
def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """The norm of matrices: ``"fro"``, or induced: 1 and -1 (columns), inf and -inf (rows), or of singular values: 2
    (the largest), -2 (the smallest), ``"nuc"`` (their sum).

    Args:
        ord: which norm.
        dim: the two dimensions of the matrices.

    Raises:
        RuntimeError: integers, fewer than two dimensions, an unknown order; half types where singular values are
        needed.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]])), torch.linalg.matrix_norm(torch.eye(2), 1)
    (tensor(5.), tensor(1.))
    """
    check_dtype("linalg_matrix_norm", dtype)
    check_norm_dtype("matrix_norm", input, dtype)
    if ord not in ("fro", "nuc") and (isinstance(ord, str) or abs(ord) not in (1, 2, math.inf)):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord if isinstance(ord, str) else f'{ord:g}'} not supported.")
    rows, columns = check_matrix_dims(input, dim)
    if ord == "fro":
        return vector_norm(input, 2, (rows, columns), keepdim, dtype=dtype)
    if ord == "nuc" or abs(ord) == 2:
        return _of_singular_values(input if dtype is None else cast(input, dtype=dtype), ord, rows, columns, keepdim)
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(input, 1, summed, keepdim, dtype=dtype)
    if not keepdim and chosen > summed:
        chosen -= 1
    if sums.shape[chosen] == 0:
        return _largest_of_none(sums, ord, chosen, keepdim)
    return (reductions.amax if ord > 0 else reductions.amin)(sums, axis=(chosen,), keepdims=keepdim)


def _largest_of_none(sums: Tensor, ord: float, axis: int, keepdim: bool) -> Tensor:
    """The largest of no sums, which is 0. Raises IndexError: the smallest is asked for."""
    if ord < 0:
        raise IndexError(f"amin(): Expected reduction dim {axis} to have non-zero size.")
    return reductions.sum(sums, axis=(axis,), keepdims=keepdim)


def _of_singular_values(x: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    """The sum, the largest or the smallest of the singular values of the matrices in two dimensions."""
    check_low_precision("linalg.matrix_norm", x)
    others = [axis for axis in range(x.ndim) if axis not in (rows, columns)]
    values = svdvals(permuted(x, (*others, rows, columns)))
    last = (values.ndim - 1,)
    if values.shape[-1] == 0 and ord == -2 and values.shape != (0,) * (values.ndim > 1):
        raise IndexError("amin(): Expected reduction dim -1 to have non-zero size.")
    if ord == "nuc" or values.shape[-1] == 0:
        result = reductions.sum(values, axis=last, keepdims=keepdim)
    else:
        result = (reductions.amax if ord > 0 else reductions.amin)(values, axis=last, keepdims=keepdim)
    if not keepdim:
        return result
    places = {axis: place for place, axis in enumerate((*others, rows, columns))}
    return permuted(unsqueeze(result, -1), [places[axis] for axis in range(x.ndim)])


@public("linalg", name="norm", out=Out("linalg.norm expected out tensor dtype {R} but got: {O}", history="copied"))
def linalg_norm(
    input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """``vector_norm`` or ``matrix_norm``, as the number of dimensions says; of order 2 over everything without ``ord``.

    Raises:
        RuntimeError: as those two, and for other than one or two dimensions.
    """
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is None:
        return vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if dims is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    if isinstance(ord, str):
        if dims is not None and len(dims) == 1:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dims[0]}")
        return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    if input.ndim == 1 if dims is None else len(dims) == 1:
        return vector_norm(input, ord, dims, keepdim, dtype=dtype)
    return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)


@public("torch", "functional", is_settled=True)
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: dtype | None = None
) -> Tensor:
    """The norm of all elements, or over ``dim``: of any order ``p``; ``"fro"`` is 2.

    Raises:
        RuntimeError: integers, an unknown order.

    >>> torch.norm(torch.tensor([3.0, 4.0])), torch.norm(torch.tensor([[3.0, 4.0]]), p=1, dim=1)
    (tensor(5.), tensor([7.]))
    """
    if out is not None:
        return out_writer.content("norm", _SAME, norm, out, (input, p, dim, keepdim, None, dtype), {})
    p = 2 if p is None or (isinstance(p, str) and p == "fro") else p
    if isinstance(p, str):
        return matrix_norm(input, p, tuple(range(input.ndim)) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


@public("Tensor", name="norm", is_settled=True)
def tensor_norm(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: dtype | None = None
) -> Tensor:
    """The norm of all elements, or over ``dim``: see ``torch.norm``."""
    return norm(self, p, dim, keepdim, None, dtype)


@public("torch", "Tensor")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of all of ``input - other``, which are broadcast.

    Raises:
        RuntimeError: integers.
    """
    own = result_dtype([(input.dtype, input.ndim), (other.dtype, other.ndim)])
    if own.category < FLOATING:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {own.scalar_name} instead."
        )
    broadcast_shapes([input.shape, other.shape])
    return ops.dist(input, other, ord=number(p))


_FOR_JIT = (
    "at::{name} is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch "
    "release. Please use `{instead}` instead"
)


@public("torch", out=True, in_place=False, native=True)
def frobenius_norm(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over dimensions; over all of them, if none is given. Deprecated.

    Args:
        input: numbers.
        dim: a dimension, or several.
        keepdim: whether they stay, with length 1.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    warn_once(_FOR_JIT.format(name="frobenius_norm", instead="linalg.vector_norm(A, 2., dim, keepdim)"))
    return vector_norm(input, 2, None if dim == [] or dim == () else dim, keepdim)


@public("torch", out=True, in_place=False, native=True)
def nuclear_norm(input: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix, or of those in two dimensions. Deprecated.

    Args:
        input: a matrix, or several.
        dim: the two dimensions of the matrices.
        keepdim: whether they stay, with length 1.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc").round()
    tensor(7.)
    """
    warn_once(_FOR_JIT.format(name="nuclear_norm", instead="linalg.matrix_norm(A, 'nuc', dim, keepdim)"))
    return matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim)


# Weights of a given length ------------------------------------------------------------------------------------------


@public("torch")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but ``dim``, which stay with length 1; over all, without dimensions, if it is -1.

    Args:
        v: a tensor of floating point or complex numbers.
        pow: the order of the norm.
        dim: the dimension that keeps its length.

    Raises:
        IndexError: there is no such dimension.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0)
    tensor([[5.],
            [1.]])
    """
    if dim == -1:
        return vector_norm(v, pow)
    axis = wrap_dim(dim, v.ndim)
    return vector_norm(v, pow, [other for other in range(v.ndim) if other != axis], True)


@public("torch")
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """``v`` with norms ``g`` instead of its own over all dimensions but ``dim``.

    Raises:
        RuntimeError: ``g`` has another dtype.
    """
    if v.dtype is not g.dtype:
        raise RuntimeError(f"expected scalar type {v.dtype.scalar_name} but found {g.dtype.scalar_name}")
    axis = wrap_dim(dim, v.ndim)
    shape = tuple(length if other == axis else 1 for other, length in enumerate(v.shape))
    if dim == -1 or axis not in (0, v.ndim - 1) or tuple(g.shape) != shape or v.dtype.is_complex:
        scale: Any = g / norm_except_dim(v, 2, dim)
        return v * scale
    return normalization.weight_norm(v, g, axes=tuple(other for other in range(v.ndim) if other != axis))
