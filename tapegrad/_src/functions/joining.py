"""PyTorch's vocabulary for putting tensors together and taking them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tapegrad._src.bindings.arguments import refuse_large, shape_of_arguments, wrap_dim
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.factory import type_name
from tapegrad._src.bindings.declaration.parser import check_inner
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import no_overload
from tapegrad._src.bindings.viewing import parts_of, views_of
from tapegrad._src.bindings.windows import hashable
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.functions.creation import empty
from tapegrad._src.functions.shape import atleast_1d, atleast_2d, atleast_3d, expanded, reshaped
from tapegrad._src.functions.slicing import slice_bounds, sliced
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import joining as ops
from tapegrad.ops.kinds import broadcast_shapes


def tensor_list(function: str, tensors: Any, argument: str = "tensors") -> tuple[Tensor, ...]:
    """A sequence of tensors as a tuple. Raises TypeError: PyTorch's messages, when it is none."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{argument}' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type_name(tensor)}")
    return tuple(tensors)


# -- together ----------------------------------------------------------------------------------------------------------


def joined(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors one after another along a dimension. Raises RuntimeError: their shapes differ in another dimension."""
    shape = tensors[0]._spec.shape
    if shape != (0,) and shape and {tensor._spec.shape for tensor in tensors} == {shape}:
        return ops.cat(*tensors, axis=wrap_dim(dim, len(shape)))
    for position, tensor in enumerate(tensors):
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    model = next((tensor for tensor in tensors if tuple(tensor.shape) != (0,)), tensors[0])
    axis = wrap_dim(dim, model.ndim) if tuple(model.shape) != (0,) else 0
    for position, tensor in enumerate(tensors):
        if tuple(tensor.shape) == (0,):
            continue
        if tensor.ndim != model.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {model.ndim} and {tensor.ndim}")
        for other in range(model.ndim):
            if other != axis and tensor.shape[other] != model.shape[other]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {model.shape[other]} but "
                    f"got size {tensor.shape[other]} for tensor number {position} in the list."
                )
    return ops.cat(*tensors, axis=axis)


_NOT_CAT = "torch.cat(): input types can't be cast to the desired output type {O}"
_BY_CAT = Out(cast=(TypeError, _NOT_CAT), called="cat")


@public(
    "torch",
    aliases=("concat", "concatenate"),
    out=Out(cast=(TypeError, _NOT_CAT), apart=True, resizes=True),
    is_settled=True,
)
def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors one after another along a dimension; dtypes are promoted, tensors of shape (0,) don't count.

    Args:
        tensors: a tuple or list of tensors.
        dim: the dimension in which they may have different lengths; also given as ``axis``.

    Raises:
        RuntimeError: their shapes differ in another dimension.
        ValueError: there are none.

    >>> torch.cat((torch.ones(2, 1), torch.zeros(2, 2)), dim=1)
    tensor([[1., 0., 0.],
            [1., 0., 0.]])
    """
    tensors = tensor_list("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return joined(tensors, dim if axis is None else axis)


@public("torch", out=Out(cast=(TypeError, _NOT_CAT), apart=True, resizes=True), is_settled=True)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new dimension.

    Args:
        tensors: a tuple or list of tensors.
        dim: where the new dimension, as long as the list, is to be.

    Raises:
        RuntimeError: their shapes differ, or there are none.

    >>> torch.stack((torch.tensor([1, 2]), torch.tensor([3, 4])), dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    tensors = _some("stack", tensors)
    axis = wrap_dim(dim, tensors[0].ndim + 1)
    for position, tensor in enumerate(tensors):
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(tensor.shape)} at entry {position}"
            )
    return ops.stack(*tensors, axis=axis)


def _some(function: str, tensors: Any) -> tuple[Tensor, ...]:
    tensors = tensor_list(function, tensors)
    if not tensors:
        raise RuntimeError(f"{function} expects a non-empty TensorList")
    return tensors


@public("torch", out=_BY_CAT)
def hstack(tensors: Any) -> Tensor:
    """Tensors side by side: along dimension 1, vectors along their only one.

    Args:
        tensors: a tuple or list of tensors; numbers (0-dim) count as vectors.

    >>> torch.hstack((torch.ones(1), torch.zeros(2)))
    tensor([1., 0., 0.])
    """
    tensors = atleast_1d(_some("hstack", tensors))
    return joined(tensors, 0 if tensors[0].ndim == 1 else 1)


@public("torch", aliases=("row_stack",), out=_BY_CAT)
def vstack(tensors: Any) -> Tensor:
    """Tensors one below the other; vectors are rows.

    Args:
        tensors: a tuple or list of tensors; numbers (0-dim) and vectors count as single rows.

    >>> torch.vstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    return joined(atleast_2d(_some("vstack", tensors)), 0)


@public("torch", out=_BY_CAT)
def dstack(tensors: Any) -> Tensor:
    """Tensors one behind the other, along dimension 2.

    Args:
        tensors: a tuple or list of tensors, seen as ``atleast_3d`` gives them.

    >>> torch.dstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[[1, 3],
             [2, 4]]])
    """
    return joined(atleast_3d(_some("dstack", tensors)), 2)


@public("torch", out=_BY_CAT)
def column_stack(tensors: Any) -> Tensor:
    """Tensors side by side; vectors are columns.

    Args:
        tensors: a tuple or list of tensors of as many rows; numbers and vectors count as single columns.

    >>> torch.column_stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    tensors = _some("column_stack", tensors)
    return joined([tensor if tensor.ndim > 1 else reshaped(tensor, (tensor._spec.numel, 1)) for tensor in tensors], 1)


@public("torch", "functional")
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a large one; vectors are rows.

    Args:
        tensors: of up to two dimensions each; dtypes are promoted.

    Raises:
        RuntimeError: a tensor of more than two dimensions.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([3]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    tensors = tensor_list("block_diag", tensors)
    for position, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {tensor.ndim} dimensions"
            )
    backwards = atleast_2d(tensors[::-1])  # the first is the last to be made, so the first to have its gradient
    return ops.block_diag(*backwards[::-1]) if tensors else empty(1, 0)


@public("torch", "functional")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, all broadcast to their common shape."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    tensors = tensor_list("broadcast_tensors", listed)
    shape = broadcast_shapes([tensor.shape for tensor in tensors])
    return tuple(tensor if tensor.shape == shape else expanded(tensor, shape) for tensor in tensors)


@public("torch", "functional")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid: one tensor for each vector, all of the grid's shape.

    ``indexing="ij"``: the i-th vector runs along dimension i; ``"xy"``: the first two dimensions are exchanged.

    Args:
        tensors: vectors (or numbers, which count as vectors of one element), of one dtype.

    >>> x, y = torch.meshgrid(torch.tensor([1, 2, 3]), torch.tensor([4, 5]), indexing="ij")
    >>> x.shape, y
    (torch.Size([3, 2]), tensor([[4, 5],
            [4, 5],
            [4, 5]]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    tensors = _some("meshgrid", tensors)
    _check_grid(tensors, indexing)
    exchanged = indexing == "xy" and len(tensors) >= 2
    vectors = (tensors[1], tensors[0], *tensors[2:]) if exchanged else tensors
    shape = tuple(vector._spec.numel for vector in vectors)
    grids = [
        expanded(reshaped(vector, (*(1,) * axis, -1, *(1,) * (len(shape) - axis - 1))), shape)
        for axis, vector in enumerate(vectors)
    ]
    if not exchanged:
        return tuple(grids)
    return (grids[1], grids[0], *grids[2:])


def _check_grid(tensors: Sequence[Tensor], indexing: str | None) -> None:
    for tensor in tensors:
        if tensor.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: a tensor of shape "
                f"{list(tensor.shape)}"
            )
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    elif indexing not in ("xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')


# -- apart -------------------------------------------------------------------------------------------------------------


@public("torch", "Tensor", is_settled=True)
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, without that dimension.

    Args:
        dim: the dimension that is taken apart.

    Raises:
        IndexError: ``dim`` is out of range, or ``input`` has no dimensions.

    >>> torch.tensor([[1, 2], [3, 4]]).unbind(1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {wrap_dim(dim, 0)} but tensor has no dimensions")
    axis = wrap_dim(dim, input.ndim)
    return views_of(input, ops.unbind, axis=axis) if input.shape[axis] else ()


@public("Tensor", asks="nobody")
def __iter__(self: Tensor) -> Iterator[Tensor]:
    """Over the first dimension. Classes and modes override ``unbind``."""
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _piece_length(input: Tensor, split_size: int, dim: int) -> tuple[int, int]:
    """The axis and the length of the pieces of ``split``."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    axis = wrap_dim(dim, input.ndim)
    if split_size == 0 and input.shape[axis]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {input.shape[axis]}"
        )
    return axis, split_size


@public("torch", "functional", is_settled=True)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a dimension: of one length (the last may be shorter), or of the lengths in a list.

    Args:
        tensor: what is cut.
        split_size_or_sections: the length of each piece, or a list of all lengths, which add up to the dimension.
        dim: the dimension that is cut.

    Raises:
        RuntimeError: the lengths don't add up to the dimension.

    >>> torch.split(torch.arange(5), 2), torch.split(torch.arange(5), [1, 4])
    ((tensor([0, 1]), tensor([2, 3]), tensor([4])), (tensor([0]), tensor([1, 2, 3, 4])))
    """
    if isinstance(split_size_or_sections, Tensor) and split_size_or_sections._spec.numel == 1:
        split_size_or_sections = int(split_size_or_sections)
    if not isinstance(split_size_or_sections, int):  # in PyTorch's words for what is no sequence, either
        return split_with_sizes(tensor, split_size_or_sections, dim)
    check_inner("unsafe_split", {"split_size": split_size_or_sections, "dim": dim})
    axis, size = _piece_length(tensor, split_size_or_sections, dim)
    return views_of(tensor, ops.split, axis=axis, size=size)


@public("Tensor", name="split", is_settled=True)
def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """``torch.split`` of this tensor.

    Args:
        split_size: the length of each piece, or a list of all lengths.
        dim: the dimension that is cut.
    """
    return split(self, split_size, dim)


@public("torch", "Tensor")
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``split`` into tensors that are not views for autograd, which may be written to if ``input`` isn't used then.

    Args:
        split_size: how long each piece is; the last may be shorter.
        dim: the dimension that is cut.
    """
    axis, size = _piece_length(input, split_size, dim)
    return parts_of(input, ops.unsafe_split, axis=axis, size=size)


@public("torch", "Tensor", is_settled=True)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a dimension, of these lengths.

    Args:
        split_sizes: the lengths, which add up to the dimension.
        dim: the dimension that is cut.
    """
    axis, sizes = _piece_lengths(input, split_sizes, dim)
    return views_of(input, ops.split_with_sizes, axis=axis, sizes=sizes) if sizes else ()


@public("torch", "Tensor")
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """``split_with_sizes`` into tensors that are not views for autograd.

    Args:
        split_sizes: the lengths, which add up to the dimension.
        dim: the dimension that is cut.
    """
    axis, sizes = _piece_lengths(input, split_sizes, dim)
    return parts_of(input, ops.unsafe_split_with_sizes, axis=axis, sizes=sizes) if sizes else ()


def _piece_lengths(input: Tensor, split_sizes: Sequence[int], dim: int) -> tuple[int, tuple[int, ...]]:
    """The axis and the lengths of the pieces of ``split_with_sizes``."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = wrap_dim(dim, input.ndim)
    sizes = shape_of_arguments((split_sizes,))
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != input.shape[axis]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[axis]} (input tensor's size at "
            f"dimension {axis}), but got split_sizes={list(sizes)}"
        )
    return axis, tuple(sizes)


def _chunks(input: Tensor, chunks: int, dim: int) -> tuple[int, tuple[int, ...] | int]:
    """The axis, and the length of the pieces or, for an empty dimension, their lengths."""
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = wrap_dim(dim, input.ndim)
    length = input.shape[axis]
    return axis, -(-length // chunks) if length else (0,) * chunks


@public("torch", "Tensor", is_settled=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """A dimension in at most so many pieces of equal length (the last may be shorter).

    Args:
        chunks: how many pieces at most.
        dim: the dimension that is cut.

    >>> torch.chunk(torch.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    refuse_large(chunks)
    axis, size = _chunks(input, chunks, dim)
    if isinstance(size, tuple):
        return split_with_sizes(input, size, axis)
    return views_of(input, ops.split, axis=axis, size=size)


@public("torch", "Tensor")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``chunk`` into tensors that are not views for autograd.

    Args:
        chunks: how many pieces at most.
        dim: the dimension that is cut.
    """
    axis, size = _chunks(input, chunks, dim)
    if isinstance(size, tuple):
        return parts_of(input, ops.unsafe_split_with_sizes, axis=axis, sizes=size)
    return parts_of(input, ops.unsafe_split, axis=axis, size=size)


@public("torch")
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """A dimension in so many pieces as equal as can be, or cut before each of these indices.

    Args:
        indices_or_sections: how many pieces, or a tuple, list or 1-dim int64 tensor of the indices where each but the
            first begins.
        dim: the dimension that is cut.

    >>> torch.tensor_split(torch.arange(5), 2), torch.tensor_split(torch.arange(5), (1, 3))
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2]), tensor([3, 4])))
    """
    return _cut(input, indices_or_sections, dim)


@public("Tensor", name="tensor_split")
def tensor_split_method(self: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """``torch.tensor_split``."""
    return _cut(self, indices_or_sections, dim)


_PIECE = 64  # bytes: at least so many takes a tensor, whatever it shows


def _cut(input: Tensor, where: Any, dim: int) -> tuple[Tensor, ...]:
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = wrap_dim(dim, input.ndim)
    length = input.shape[axis]
    if isinstance(where, Tensor):
        if not where.device.is_host:
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {where.device}"
            )
        if where.dtype is not int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{where.dtype.scalar_name}"
            )
        if where.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                f"but got a tensor with {where.ndim} dims"
            )
        where = where.tolist()
    where = hashable(where)
    _check_cuts("tensor_split", input, where)
    if isinstance(where, (tuple, list)):
        cuts = (None, *shape_of_arguments((where,)), None)
        bounds = [slice_bounds(length, start, end, 1) for start, end in pairwise(cuts)]
    else:
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        check_size((where,), _PIECE)
        size, longer = divmod(length, where)
        bounds = [(i * size + min(i, longer), size + (i < longer)) for i in range(where)]
    return tuple(sliced(input, axis, start, count) for start, count in bounds)


def _check_cuts(name: str, input: Tensor, where: Any) -> None:
    """Refuse what is neither a number of pieces nor a sequence of indices. Raises TypeError: PyTorch's messages."""
    if isinstance(where, bool) or not isinstance(where, (int, tuple, list)):
        overloads = [f"Tensor input, {kind}" for kind in ("int sections", "tuple of ints indices")]
        raise no_overload(name, (input, where), overloads)
    for position, index in enumerate(where if isinstance(where, (tuple, list)) else ()):
        if not isinstance(index, (int, Tensor)):
            raise TypeError(
                f"{name}(): argument 'indices' failed to unpack the object at pos {position + 1} with error "
                f'"type must be tuple of ints,but got {type(index).__name__}"'
            )


def _split_along(name: str, input: Tensor, where: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    if input.ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} "
            "dimensions!"
        )
    _check_cuts(name, input, where)
    if isinstance(where, int) and (where == 0 or input.shape[dim] % where):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input.shape[dim]} is not divisible by the split_size {where}!"
        )
    return _cut(input, where, dim)


@public("torch", "Tensor")
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along dimension 1 (of a vector along its only one), all of one length or cut at indices.

    Args:
        indices_or_sections: how many pieces of equal length, or the indices where each but the first begins.
    """
    return _split_along("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1, 1)


@public("torch", "Tensor")
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along dimension 0.

    Args:
        indices_or_sections: how many pieces of equal length, or the indices where each but the first begins.
    """
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@public("torch", "Tensor")
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along dimension 2.

    Args:
        indices_or_sections: how many pieces of equal length, or the indices where each but the first begins.
    """
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


@public("torch", out=Out(cast=(TypeError, _NOT_CAT), history="unknown"))
def _chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Tensor:
    """Tensors, each padded with zeros at the end of dimension ``dim`` and cut into as many chunks, of which those with
    one number stand side by side, flattened. Not differentiable: backward raises.

    Raises:
        RuntimeError: no tensors, empty ones, or dtypes or shapes that differ.
    """
    tensors = tensor_list("_chunk_cat", tensors)
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if not all(tensor._spec.numel for tensor in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if any(tensor.dtype is not tensors[0].dtype for tensor in tensors):
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if dim < 0 and any(tensor.ndim != tensors[0].ndim for tensor in tensors):
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    axis = wrap_dim(dim, tensors[0].ndim)
    for tensor in tensors:
        if tensor.ndim < axis + 1:
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if tensor.shape[:axis] != tensors[0].shape[:axis]:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    return ops.chunk_cat(*tensors, axis=axis, num_chunks=num_chunks)
