"""PyTorch's vocabulary for shapes: views, the order of dimensions, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import existing_dim, shape_of_arguments, squeeze_axes, wrap_dim
from tapegrad._src.bindings.declaration.parser import check_given
from tapegrad._src.bindings.declaration.registry import PROPERTIES, public
from tapegrad._src.bindings.layouts import copy_laid_out, has_format
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.viewing import declare_view, geometry_of, view_of
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.functions.retyping import viewed_as
from tapegrad._src.tensor import geometry
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.layout import contiguous_format
from tapegrad._src.tensor.spec import Size, core_type_name
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import shape as ops
from tapegrad.ops.kinds import broadcast_to as broadcast_to_op
from tapegrad.ops.kinds import conj as conj_op

# -- asking ------------------------------------------------------------------------------------------------------------


@public("Tensor")
def _is_view(self: Tensor) -> bool:
    """Tell whether this is a view of another tensor's memory."""
    return self._view is not None


@public("Tensor")
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the length of one dimension.

    Args:
        dim: the dimension whose length is wanted, an int; None for all, as a ``torch.Size``.
    """
    return self.shape if dim is None else self.shape[existing_dim(dim, self.ndim)]


@public("Tensor", aliases=("ndimension",))
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self.ndim


@public("Tensor", aliases=("nelement",))
def numel(self: Tensor) -> int:
    """The number of elements."""
    return self._spec.numel


@public("Tensor")
def __len__(self: Tensor) -> int:
    """The length of the first dimension."""
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


# -- the same elements in another shape --------------------------------------------------------------------------------


def infer_shape(shape: Sequence[int], count: int) -> tuple[int, ...]:
    """``shape`` with its -1 replaced so that it holds ``count`` elements.

    Raises:
        RuntimeError: PyTorch's messages, when there is no such shape or more than one.

    >>> infer_shape((2, -1), 6)
    (2, 3)
    """
    shape = tuple(shape)
    for position, length in enumerate(shape):
        if length < -1:
            raise RuntimeError(f"invalid shape dimension {length} at index {position} of shape {list(shape)}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 not in shape:
        if Size(shape).numel() != count:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        return shape
    known = -Size(shape).numel()
    if known == 0 and count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if known == 0 or count % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return tuple(count // known if length == -1 else length for length in shape)


def reshaped(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The elements of ``input`` in this shape, which may contain one -1: a view, or a copy where strides forbid it."""
    target = infer_shape(shape, input._spec.numel)
    if has_format(input, contiguous_format):
        return view_of(input, ops.view, shape=target)
    if geometry.viewed(geometry_of(input), target) is None:
        return ops.unsafe_view(ops.clone(input), shape=target)
    return renamed(view_of(input, ops.view, shape=target), "ReshapeAliasBackward0")


declare_view(ops.view, lambda place, shape: geometry.viewed(place, tuple(shape)))


def viewed(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The view of ``input`` with this shape, which may contain one -1.
    Raises RuntimeError: strides can't say where its elements lie.
    """
    target = infer_shape(shape, input._spec.numel)
    if input._spec.strides is not None and geometry.viewed(geometry_of(input), target) is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return view_of(input, ops.view, shape=target)


@public("Tensor", is_settled=True)
def view(self: Tensor, *args: Any, size: Any = None, dtype: dtype_class | None = None) -> Tensor:
    """The elements in another shape (one length may be -1), or their bytes as another dtype.

    Args:
        size: the lengths, one by one or as one tuple.

    Raises:
        RuntimeError: the shape holds another number of elements.

    >>> x = torch.arange(6)
    >>> x.view(2, -1), x.view(3, 2)[0]
    (tensor([[0, 1, 2],
            [3, 4, 5]]), tensor([0, 1]))
    """
    args = args or ((size,) if size is not None else (dtype,) if dtype is not None else ())
    if len(args) == 1 and isinstance(args[0], dtype_class):
        return viewed_as(self, args[0])
    try:
        if not args:
            raise TypeError
        shape = shape_of_arguments(args)
    except TypeError:
        got = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(
            f"view() received an invalid combination of arguments - got ({got}), but expected one of:\n"
            " * (torch.dtype dtype)\n * (tuple of ints size)\n"
        ) from None
    return viewed(self, shape)


@public("torch", "Tensor", is_settled=True)
def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The elements, in row-major order, in another shape (one length may be -1).

    Raises:
        RuntimeError: the shape holds another number of elements.
    """
    if not args and shape is None:
        raise TypeError('reshape() missing 1 required positional arguments: "shape"')
    return reshaped(input, shape_of_arguments(args or (shape,)))


@public("Tensor")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view`` with the shape of ``other``."""
    return viewed(self, other.shape)


@public("Tensor")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape`` to the shape of ``other``."""
    return reshaped(self, other.shape)


@public("torch", "Tensor", is_settled=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` as one; a 0-dim tensor gets one dimension.

    Raises:
        IndexError: a dimension is out of range.
        RuntimeError: ``start_dim`` comes after ``end_dim``.

    >>> torch.ones(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    start, end = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.ndim == 0:
        return reshaped(input, (1,))
    if start == end:
        return input
    shape = input.shape
    return reshaped(input, (*shape[:start], shape[start : end + 1].numel(), *shape[end + 1 :]))


@public("torch", "Tensor", is_settled=True)
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """The dimension ``dim`` spread over several of lengths ``sizes``, one of which may be -1.

    Raises:
        RuntimeError: no dimensions; ``sizes`` is empty, or its product is not the length of ``dim``.

    >>> torch.ones(2, 6).unflatten(1, (3, -1)).shape
    torch.Size([2, 3, 2])
    """
    axis = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    sizes = shape_of_arguments((sizes,))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        sizes = infer_shape(sizes, input.shape[axis])
    except RuntimeError as error:
        if "is invalid for" not in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} "
            f"({input.shape[axis]}) in the input tensor"
        ) from None
    return viewed(input, (*input.shape[:axis], *sizes, *input.shape[axis + 1 :]))


@public("torch", "Tensor")
def ravel(input: Tensor) -> Tensor:
    """All elements along one dimension: a view, of a copy where they don't lie in row-major order."""
    if not has_format(input, contiguous_format):
        input = copy_laid_out(input, geometry.contiguous_strides(tuple(input.shape)))
    return view_of(input, ops.view, shape=(input._spec.numel,))


def _squeezed(place: Geometry, axis: Any = None) -> Geometry:
    axes = range(len(place.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return geometry.squeezed(place, tuple(axes))


for _op in (ops.squeeze, ops.squeeze_axis, ops.squeeze_axes):
    declare_view(_op, _squeezed)


@public("torch", "Tensor", is_settled=True)
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """``input`` without its dimensions of length 1, or without those among ``dim``."""
    if dim is None:
        return view_of(input, ops.squeeze)
    if isinstance(dim, (tuple, list)):
        return view_of(input, ops.squeeze_axes, axis=squeeze_axes(dim, input.ndim))
    return view_of(input, ops.squeeze_axis, axis=wrap_dim(dim, input.ndim))


declare_view(ops.unsqueeze, lambda place, axis: geometry.unsqueezed(place, axis))


@public("torch", "Tensor", is_settled=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """``input`` with a dimension of length 1 inserted at ``dim``."""
    return view_of(input, ops.unsqueeze, axis=wrap_dim(dim, input.ndim + 1))


def _atleast(ndim: int, tensors: tuple) -> Any:
    """Every tensor with at least ``ndim`` dimensions; one tensor, or a tuple for a list or several."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return _with_dimensions(tensors[0], ndim)
    listed = tensors[0] if len(tensors) == 1 else tensors
    check_given(f"atleast_{ndim}d", listed)
    return tuple(_with_dimensions(tensor, ndim) for tensor in listed)


def _with_dimensions(tensor: Tensor, ndim: int) -> Tensor:
    if tensor.ndim >= ndim:
        return tensor
    if tensor.ndim == 0:
        return reshaped(tensor, (1,) * ndim)
    if tensor.ndim == 1:
        tensor = unsqueeze(tensor, 0)
    return unsqueeze(tensor, -1) if ndim == 3 else tensor


@public("torch", "functional")
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension.

    Args:
        tensors: one, of which the result is a tensor; or several, or a tuple or list of them, of which it is a tuple.
    """
    return _atleast(1, tensors)


@public("torch", "functional")
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions, new ones in front.

    Args:
        tensors: one, of which the result is a tensor; or several, or a tuple or list of them, of which it is a tuple.
    """
    return _atleast(2, tensors)


@public("torch", "functional")
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: vectors become (1, N, 1), matrices (M, N, 1).

    Args:
        tensors: one, of which the result is a tensor; or several, or a tuple or list of them, of which it is a tuple.

    >>> torch.atleast_3d(torch.ones(2)).shape
    torch.Size([1, 2, 1])
    """
    return _atleast(3, tensors)


# -- the order of dimensions -------------------------------------------------------------------------------------------


declare_view(ops.transpose, lambda place, axis0, axis1: geometry.transposed(place, axis0, axis1))


def transposed(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """``input`` with two dimensions exchanged."""
    return view_of(input, ops.transpose, axis0=wrap_dim(dim0, input.ndim), axis1=wrap_dim(dim1, input.ndim))


@public("torch", "Tensor", aliases=("swapdims",), is_settled=True)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """``input`` with two dimensions exchanged.

    Args:
        dim0, dim1: the two dimensions; negative ones count from the end.

    >>> torch.ones(2, 3, 4).transpose(0, -1).shape
    torch.Size([4, 3, 2])
    """
    return transposed(input, dim0, dim1)


@public("torch", "Tensor", is_settled=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """``input`` with two dimensions exchanged.

    Args:
        axis0, axis1: the two dimensions; negative ones count from the end.
    """
    return transposed(input, axis0, axis1)


declare_view(ops.t, lambda place: geometry.transposed(place, 0, 1) if len(place.shape) == 2 else place)


@public("torch", "Tensor", is_settled=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is.

    Raises:
        RuntimeError: more than two dimensions.
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return view_of(input, ops.t)


declare_view(ops.permute, lambda place, axes: geometry.permuted(place, axes))


def permuted(input: Tensor, axes: Sequence[int]) -> Tensor:
    """``input`` with its dimensions in the order ``axes``."""
    return view_of(input, ops.permute, axes=tuple(axes))


@public("torch", "Tensor", is_settled=True)
def permute(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """``input`` with its dimensions in the order given.

    Args:
        dims: for each dimension of the result, which one of ``input`` it is: ints, or one tuple of them.

    Raises:
        RuntimeError: not as many as ``input`` has, or one of them twice.

    >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    order = shape_of_arguments(args or (dims,))
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(order)}"
        )
    axes = [wrap_dim(axis, input.ndim) for axis in order]
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return permuted(input, axes)


declare_view(ops.alias, lambda place: place)


@public("torch", "Tensor", aliases=("moveaxis",), is_settled=True)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order.

    Args:
        source, destination: an int each, or tuples of as many ints.

    Raises:
        RuntimeError: another number of sources than of destinations, or one of them twice.

    >>> torch.ones(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
    source, destination = ((dims,) if isinstance(dims, int) else tuple(dims) for dims in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
            f"number of dims as destination ({list(destination)} dims)"
        )
    positions = []
    for name, dims in (("source", source), ("destination", destination)):
        wrapped = [wrap_dim(dim, input.ndim) for dim in dims]
        if len(set(wrapped)) != len(wrapped):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
        positions.append(wrapped)
    if input.ndim == 0:
        return view_of(input, ops.alias)
    rest = iter(axis for axis in range(input.ndim) if axis not in positions[0])
    targets = dict(zip(positions[1], positions[0], strict=True))
    return permuted(input, [targets[axis] if axis in targets else next(rest) for axis in range(input.ndim)])


def _conjugated(input: Tensor) -> Tensor:
    return view_of(input, conj_op) if input.dtype.is_complex else input


@public("torch", "Tensor")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transposes of matrices in the last two dimensions."""
    return _matrix_adjoint(input, "tensor.adjoint()")


def _matrix_adjoint(input: Tensor, name: str) -> Tensor:
    return _conjugated(_matrix_transpose(input, name))


def _warn_of_number(name: str) -> None:
    called = name.removeprefix("tensor.") if name.endswith("()") else f"T{name[1:]}"
    hint = "This function is the identity in these cases" if name.endswith("T") else "Consider using x.conj()"
    warn_once(f"{called} is deprecated on 0-D tensors. {hint}.")


def _matrix_transpose(self: Tensor, name: str) -> Tensor:
    if self.ndim == 0:
        _warn_of_number(name)
        return self
    if self.ndim == 1:
        raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transposed(self, -2, -1)


def _transpose_all(self: Tensor) -> Tensor:
    """The tensor with its dimensions reversed."""
    if self.ndim == 0:
        _warn_of_number("tensor.T")
    elif self.ndim != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return permuted(self, range(self.ndim - 1, -1, -1))


def _conjugate_transpose(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{hint}")
    return _matrix_adjoint(self, "tensor.H")


PROPERTIES.update(
    T=property(_transpose_all),
    mT=property(lambda self: _matrix_transpose(self, "tensor.mT"), doc="The transposes of matrices."),
    H=property(_conjugate_transpose),
    mH=property(lambda self: _matrix_adjoint(self, "tensor.mH"), doc="The conjugate transposes of matrices."),
)


# -- broadcasting ------------------------------------------------------------------------------------------------------


declare_view(broadcast_to_op, lambda place, shape: geometry.expanded(place, tuple(shape)))


def expanded(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``input`` broadcast to ``shape``, in which -1 keeps a length.
    Raises RuntimeError: PyTorch's messages, when a length is neither 1 nor the one asked for.
    """
    extra = len(shape) - input.ndim
    if extra < 0:
        raise RuntimeError(
            f"expand({core_type_name(input._spec)}{{{list(input.shape)}}}, size={list(shape)}): the number of sizes "
            f"provided ({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({input.ndim})"
        )
    target = list(shape)
    for axis, length in reversed(list(enumerate(shape))):  # the last first, as in PyTorch
        existing = input.shape[axis - extra] if axis >= extra else None
        if length == -1:
            if existing is None:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {axis}"
                )
            target[axis] = existing
        elif (existing is not None and existing not in (1, length)) or length < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({length}) must match the existing size ({existing}) at "
                f"non-singleton dimension {axis}.  Target sizes: {list(shape)}.  Tensor sizes: {list(input.shape)}"
            )
    return view_of(input, broadcast_to_op, shape=tuple(target))


@public("Tensor", is_settled=True)
def expand(self: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """The tensor broadcast to a larger shape; -1 keeps a length.

    Args:
        sizes, size: the lengths, one by one or as one tuple; new dimensions come in front.
        implicit: changes nothing; PyTorch's interpreter sets it.

    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expanded(self, shape_of_arguments(sizes or (size,)))


@public("Tensor")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor broadcast to the shape of ``other``."""
    return expanded(self, other.shape)


@public("torch")
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """``input`` broadcast to a shape.

    Args:
        size: the shape, as a tuple; -1 keeps a length.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expanded(input, shape_of_arguments((size,)))


@public("Tensor", name="broadcast_to")
def _broadcast_to(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The tensor broadcast to a shape: ``x.broadcast_to(2, 3)`` or ``x.broadcast_to((2, 3))``.

    Args:
        sizes, size: the lengths, one by one or as one tuple.

    Raises:
        TypeError: no lengths.
        RuntimeError: the tensor does not broadcast to them.
    """
    if not sizes and size is None:
        raise TypeError('broadcast_to() missing 1 required positional arguments: "size"')
    return expanded(self, shape_of_arguments(sizes or (size,)))


@public("torch", "functional", asks="nobody")
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to; an int stands for one length.

    Raises:
        RuntimeError: they don't broadcast.
        ValueError: a negative length.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for position, shape in enumerate(shapes):
        if shape is None:
            continue
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}"
            )
        lengths = [shape] if isinstance(shape, int) else list(shape)
        result[:0] = [1] * (len(lengths) - len(result))
        for axis in range(-1, -len(lengths) - 1, -1):
            if lengths[axis] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if lengths[axis] in (1, result[axis]):
                continue
            if result[axis] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {lengths[axis]} at {axis}! Mismatching argument "
                    f"at index {position} had {tuple(lengths)}; but expected shape should be broadcastable to {result}"
                )
            result[axis] = lengths[axis]
    return Size(result)
