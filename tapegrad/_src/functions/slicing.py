"""PyTorch's vocabulary for parts of a tensor that need no index tensor: slices, diagonals, windows, triangles."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import EXPECTED, InPlace, Out
from tapegrad._src.bindings.declaration.factory import whole
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import no_overload
from tapegrad._src.bindings.state.memory import on_copied_memory
from tapegrad._src.bindings.viewing import declare_view, view_of
from tapegrad._src.bindings.writes.in_place import not_of_integers
from tapegrad._src.execution.data.dtypes import INTEGRAL, dtype
from tapegrad._src.execution.data.promotion import can_cast
from tapegrad._src.execution.data.sizes import is_symbolic, slice_extent
from tapegrad._src.functions.shape import ravel
from tapegrad._src.tensor import geometry
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import slicing

declare_view(slicing.select, lambda place, index, axis: geometry.selected(place, axis, index))
declare_view(slicing.slice_, lambda place, start, axis, length, step: geometry.sliced(place, axis, start, length, step))


def selected(input: Tensor, axis: int, index: int) -> Tensor:
    """The slice of ``input`` at a non-negative ``index`` of a dimension."""
    return view_of(input, slicing.select, index, axis=axis)


def sliced(input: Tensor, axis: int, start: int, length: int, step: int = 1) -> Tensor:
    """``length`` items of a dimension from ``start`` on; all in range."""
    return view_of(input, slicing.slice_, start, axis=axis, length=length, step=step)


@public("torch", "Tensor", is_settled=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice of ``input`` at ``index`` of dimension ``dim``, without that dimension.

    Raises:
        IndexError: out of range.
    """
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis, index = wrap_dim(dim, input.ndim), operator.index(index)
    return selected(input, axis, _index_in_range(input, axis, index))


def _index_in_range(input: Tensor, axis: int, index: int) -> int:
    length = input.shape[axis]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {axis}"
        )
    return index % length


@public("torch", "Tensor", is_settled=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` items of dimension ``dim``, from ``start`` on.

    Raises:
        RuntimeError: the dimension is shorter than that.

    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    if isinstance(start, float):
        overloads = [f"Tensor input, int dim, {kind} start, int length" for kind in ("Tensor", "int")]
        raise no_overload("narrow", (input, dim, start, length), overloads)
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    length = whole(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    axis = wrap_dim(dim, input.ndim)
    start = start if is_symbolic((start,)) else operator.index(start)
    available = input.shape[axis]
    if not -available <= start <= available:
        raise IndexError(
            f"start out of range (expected to be in range of [{-available}, {available}], but got {start})"
        )
    start = start + available if start < 0 else start
    if start + length > available:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({available}).")
    return sliced(input, axis, start, length)


def slice_bounds(length: int, start: Any, end: Any, step: int) -> tuple[int, int]:
    """The first item of a Python slice of a dimension, and how many there are."""
    return slice_extent(length, start, end, step)


def is_whole(item: slice, length: int) -> bool:
    """Tell whether a slice of step 1 reads as a whole dimension; one that counts from the end doesn't, whatever it
    gives."""
    start, stop = item.start, item.stop
    if is_symbolic((length, start, stop)):
        return start in (None, 0) and stop is None
    return (start is None or operator.index(start) == 0) and (stop is None or operator.index(stop) >= length)


@public("torch", "Tensor")
@not_of_integers
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """``input`` with ``src`` at ``index`` of dimension ``dim``, as a new tensor.

    >>> torch.zeros(2, 3).select_scatter(torch.ones(2), 1, 0)
    tensor([[1., 0., 0.],
            [1., 0., 0.]])
    """
    axis = wrap_dim(dim, input.ndim)
    index = _index_in_range(input, axis, operator.index(index))
    _check_source(src, (*input.shape[:axis], *input.shape[axis + 1 :]))
    return on_copied_memory(slicing.select_scatter(input, src, index, axis=axis), input)


@public("torch", "Tensor", out=Out(EXPECTED, history="unknown"))
@not_of_integers
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """``input`` with ``src`` in place of a slice of dimension ``dim``, as a new tensor.

    Args:
        start, end, step: the slice, as in ``input[start:end:step]`` of the dimension.

    >>> torch.zeros(5).slice_scatter(torch.ones(2), start=0, end=4, step=2)
    tensor([1., 0., 1., 0., 0.])
    """
    axis = wrap_dim(dim, input.ndim)
    first, length = slice_bounds(input.shape[axis], start, end, step)
    _check_source(src, (*input.shape[:axis], length, *input.shape[axis + 1 :]))
    return on_copied_memory(slicing.slice_scatter(input, src, first, axis=axis, length=length, step=step), input)


@public("torch", "Tensor")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """``input`` with ``src`` on a diagonal, as a new tensor.

    Args:
        offset, dim1, dim2: which diagonal, as for ``diagonal``.

    >>> torch.zeros(2, 2).diagonal_scatter(torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    axis1, axis2 = _diagonal_dims(input.ndim, dim1, dim2)
    rows, columns = input.shape[axis1] - max(-offset, 0), input.shape[axis2] - max(offset, 0)
    rest = [length for axis, length in enumerate(input.shape) if axis not in (axis1, axis2)]
    _check_source(src, (*rest, max(min(rows, columns), 0)))
    return on_copied_memory(slicing.diagonal_scatter(input, src, offset=offset, axis1=axis1, axis2=axis2), input)


def _check_source(src: Tensor, shape: Sequence[int]) -> None:
    if tuple(src.shape) != tuple(shape):
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(shape)}"
        )


declare_view(slicing.diagonal, lambda place, offset, axis1, axis2: geometry.diagonal(place, offset, axis1, axis2))


@public("torch", "Tensor", is_settled=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of the matrices in dimensions ``dim1`` and ``dim2``, as the last dimension.

    Args:
        offset: how far above the main diagonal; below it, if negative.

    >>> torch.arange(6).view(2, 3).diagonal(1)
    tensor([1, 5])
    """
    axis1, axis2 = _diagonal_dims(input.ndim, dim1, dim2)
    return view_of(input, slicing.diagonal, offset=offset, axis1=axis1, axis2=axis2)


def _diagonal_dims(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    axis1, axis2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return axis1, axis2


def _of_diag(arguments: tuple, target: dtype) -> str:
    """The message about a target of another dtype."""
    fits = arguments[0].ndim != 1 or can_cast(arguments[0].dtype, target)
    return EXPECTED if fits else "diag: result type {R} can't be cast to the desired out= type {O}"


@public("torch", "Tensor", out=Out(_of_diag, history="unknown"))
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix's diagonal, or the matrix that has a vector on its diagonal; a new tensor.

    Args:
        diagonal: which one, counted upwards from the main diagonal; below it, if negative.

    Raises:
        RuntimeError: neither one nor two dimensions.

    >>> torch.diag(torch.tensor([1, 2])), torch.diag(torch.arange(4).view(2, 2))
    (tensor([[1, 0],
            [0, 2]]), tensor([0, 3]))
    """
    if input.ndim == 1:
        return slicing.diag_embed(input, offset=diagonal, axis1=0, axis2=1)
    if input.ndim == 2:
        return slicing.diagonal_copy(input, offset=diagonal)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")


@public("torch", "Tensor")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in dimensions ``dim1`` and ``dim2`` of the result that have the last dimension on a diagonal.

    Args:
        offset: how far above the main diagonal the elements are to be; below it, if negative.

    >>> torch.diag_embed(torch.tensor([1, 2]), offset=1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    ndim = input.ndim + 1
    axis1, axis2 = _diagonal_dims(ndim, dim1, dim2)
    return slicing.diag_embed(input, offset=offset, axis1=axis1, axis2=axis2)


@public("torch", "Tensor")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix that has all elements on a diagonal.

    Args:
        offset: how far above the main diagonal the elements are to be; below it, if negative.
    """
    return slicing.diag_embed(ravel(input), offset=offset, axis1=0, axis2=1)


declare_view(slicing.unfold, lambda place, axis, size, step: geometry.unfolded(place, axis, size, step))


@public("Tensor")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` items of a dimension, ``step`` apart; the items of a window are the last dimension.

    Args:
        dimension: which one; its place is then taken by the number of windows.

    Raises:
        RuntimeError: a negative ``size`` or one beyond the dimension; ``step`` is not positive.

    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    axis = wrap_dim(dimension, self.ndim)
    length = self.shape[axis] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return view_of(self, slicing.unfold, axis=axis, size=size, step=step)


@public("torch", "Tensor", in_place=InPlace(overlapping=True, apart=False), out=Out(EXPECTED), is_settled=True)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangles of matrices, up to a diagonal; the rest is zero.

    Args:
        diagonal: the last that is kept, counted upwards from the main diagonal; below it, if negative.

    Raises:
        RuntimeError: fewer than two dimensions.

    >>> torch.tril(torch.ones(2, 3))
    tensor([[1., 0., 0.],
            [1., 1., 0.]])
    """
    if input.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return slicing.tril(input, diagonal=diagonal)


@public("torch", "Tensor", in_place=InPlace(overlapping=True, apart=False), out=Out(EXPECTED), is_settled=True)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangles of matrices, from a diagonal on; the rest is zero.

    Args:
        diagonal: the first that is kept, counted upwards from the main diagonal; below it, if negative.

    Raises:
        RuntimeError: fewer than two dimensions.

    >>> torch.triu(torch.ones(2, 3), diagonal=1)
    tensor([[0., 1., 1.],
            [0., 0., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    return slicing.triu(input, diagonal=diagonal)
