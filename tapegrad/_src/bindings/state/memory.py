"""The memory of a tensor's elements, as programs ask for it; views by strides; copies in another order."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import existing_dim
from tapegrad._src.bindings.declaration.factory import is_integer, type_name
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.layouts import (
    checked_format,
    copy_laid_out,
    copy_strides,
    format_strides,
    has_format,
    laid_out,
)
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.viewing import as_view, declare_view, geometry_of
from tapegrad._src.execution.data.boxes import box_forms
from tapegrad._src.execution.data.row_layout import fills
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.geometry import Geometry, Ints, extent, is_dense, overlaps_itself
from tapegrad._src.tensor.layout import channels_last, contiguous_format, memory_format, preserve_format
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.placing import address_of, lie_alike, memory_of, nbytes_of, set_memory
from tapegrad._src.tensor.spec import named_strides
from tapegrad._src.tensor.tensor import Tensor, describe, storage_of, value_of, wrap
from tapegrad.errors import out_of_storage
from tapegrad.ops import shape as ops
from tapegrad.ops import strided

# -- asking ------------------------------------------------------------------------------------------------------------


@public("Tensor")
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The distances, in elements, of neighbours in memory along each dimension, or along one.

    Args:
        dim: one dimension; None for all, as a tuple.

    Raises:
        TypeError: ``dim`` is no int.
        IndexError: ``dim`` is out of range.

    >>> torch.ones(2, 3).t().stride(), torch.ones(2, 3).stride(0)
    ((1, 3), 3)
    """
    strides = self._spec.layout
    if dim is None:
        return strides
    if not is_integer(dim):
        raise TypeError(f"stride(): argument 'dim' (position 1) must be int, not {type_name(dim)}")
    return strides[existing_dim(dim, self.ndim)]


@public("Tensor")
def is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Tell whether elements lie in row-major order without gaps, or as another memory format says."""
    return has_format(self, checked_format("is_contiguous", memory_format))


@public("Tensor")
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, the outermost first.

    Args:
        ambiguity_check: whether another order that is as right is an error; a list of memory formats says that it is
            none if the tensor has exactly one of them.

    Raises:
        TypeError: ``ambiguity_check`` is something else.
        RuntimeError: there is another order.

    >>> import tapegrad as torch
    >>> torch.ones(2, 3, 5, 7).transpose(1, 2).dim_order()
    (0, 2, 1, 3)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(one, memory_format) for one in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = stride(self)
    ambiguous = any(map(operator.eq, strides, strides[1:])) or 1 in self.shape
    if ambiguity_check is not False and ambiguous and sum(has_format(self, one) for one in formats) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    if has_format(self, contiguous_format) != has_format(self, channels_last):
        return tuple(range(self.ndim)) if has_format(self, contiguous_format) else (0, *range(2, self.ndim), 1)
    order = list(reversed(range(self.ndim)))  # from the innermost
    for i in range(1, self.ndim):
        index = i
        for other in reversed(range(i)):
            swaps = _lies_further_out(self, strides, order[other], order[index])
            if swaps:
                order[other], order[index] = order[index], order[other]
                index = other
            elif swaps is not None:
                break
    pairs = itertools.pairwise(order)
    if ambiguity_check and any(_lies_further_out(self, strides, *pair) is not False for pair in pairs):
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(reversed(order))


def _lies_further_out(tensor: Tensor, strides: tuple[int, ...], one: int, other: int) -> bool | None:
    """Tell whether a dimension lies further out than another one; None if nothing says so."""
    if 0 in (strides[one], strides[other]):
        return None
    if strides[one] != strides[other]:
        return strides[one] > strides[other]
    return True if tensor.shape[one] > tensor.shape[other] else None


@public("Tensor")
def storage_offset(self: Tensor) -> int:
    """The place in its storage where a tensor begins, in elements."""
    return self._offset


@public("Tensor")
def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 if there is none. It tells who shares memory with whom, and stays the same.

    >>> x = torch.ones(2, 3)
    >>> x[1].data_ptr() - x.data_ptr(), x.clone().data_ptr() == x.data_ptr()
    (12, False)
    """
    return address_of(storage_of(self)) + self._offset * self.dtype.itemsize if self._spec.numel else 0


@public("Tensor")
def const_data_ptr(self: Tensor) -> int:
    """``data_ptr()``, for who only reads there.

    >>> x = torch.ones(2)
    >>> x.const_data_ptr() == x.data_ptr()
    True
    """
    return data_ptr(self)


@public("Tensor")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Tell whether two tensors show the same memory in the same way.

    Args:
        tensor: the other one.
    """
    same_memory = self is tensor or storage_of(self) is storage_of(tensor)
    return same_memory and geometry_of(self) == geometry_of(tensor)


# -- copies in an order ------------------------------------------------------------------------------------------------


@public("torch", "Tensor")
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, with gradients flowing back to ``input``; its elements lie as those of ``input``, if no format is given.

    Raises:
        RuntimeError: the format is one of tensors with another number of dimensions.
    """
    if memory_format is None:
        return ops.clone(input)
    strides = copy_strides("clone", input, memory_format)
    return copy_laid_out(input, strides)


@public("Tensor")
def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in row-major order (or as a memory format says), else a copy.

    Args:
        memory_format: ``torch.contiguous_format``, ``torch.channels_last`` or ``torch.channels_last_3d``.

    Raises:
        RuntimeError: ``torch.preserve_format``, or a format of tensors with another number of dimensions.

    >>> x = torch.ones(2, 3)
    >>> x.contiguous() is x, x.t().contiguous().stride()
    (True, (2, 1))
    """
    chosen = checked_format("contiguous", memory_format, contiguous_format)
    if has_format(self, chosen):
        return self
    if chosen is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return copy_laid_out(self, format_strides(chosen, tuple(self.shape)))


# -- views by strides --------------------------------------------------------------------------------------------------


declare_view(strided.as_strided, lambda set_memory, offset, shape, strides: Geometry(shape, strides, offset))


@public("torch", "Tensor")
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """The view of a tensor's memory with this shape, strides and offset, whatever part of it the tensor itself shows.

    Args:
        size, stride: of the view; strides are in elements, and may let elements overlap.
        storage_offset: where it begins in the memory; where ``input`` does, if not given.

    Raises:
        RuntimeError: it reaches beyond the memory, or has a negative stride.

    >>> torch.arange(6.0).as_strided((2, 2), (3, 1), 1)
    tensor([[1., 2.],
            [4., 5.]])
    """
    geometry = checked_geometry(input, size, stride, storage_offset)
    arguments, settings = strided_arguments(input, geometry)
    result = strided.as_strided(input, *arguments, **settings)
    as_view(input, result, named_strides(geometry.shape, geometry.strides), geometry.offset)
    if input._spec.dual and result._spec.dual:
        set_tangent(result, tangent_window(input, geometry, settings))
    return result


def tangent_window(input: Tensor, geometry: Geometry, settings: dict[str, Any]) -> Tensor:
    """The tangent of a window on the memory of a dual tensor: zeros of what isn't the tensor's own."""
    tangent: Any = tangent_of(input)
    if lie_alike(tangent, input):
        return as_strided(tangent, *geometry)
    return strided.as_strided(tangent, geometry.offset, input._offset, None, **settings)


def strided_arguments(input: Tensor, geometry: Geometry) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the operator ``as_strided``, besides the tensor."""
    size = nbytes_of(storage_of(input)) // input.dtype.itemsize
    settings = window_settings(input, geometry, size)
    if fills(tuple(input.shape), input._spec.layout, size):
        return (geometry.offset, 0, None), settings
    row = memory_of(input)
    return (geometry.offset, input._offset, wrap(row, describe(row, on=input.device))), settings


def window_settings(input: Tensor, geometry: Geometry, size: int) -> dict[str, Any]:
    """The settings of operators on a window on a tensor's memory, which has so many elements."""
    own = geometry_of(input)
    box, x_box = box_forms(size, geometry, own)
    return {"shape": geometry.shape, "strides": geometry.strides, "x_strides": own.strides, "size": size, "box": box,
            "x_box": x_box}  # fmt: skip


def checked_geometry(input: Tensor, size: Any, stride: Any, offset: Any, function: str = "as_strided") -> Geometry:
    """The geometry of a view by strides, checked.
    Raises TypeError, RuntimeError: PyTorch's messages. NotImplementedError: a function transform got a part of the
    memory, and what is asked of is all of it.
    """
    if input._spec.level and not lies_as_outside(input, offset is not None):
        raise NotImplementedError(OF_A_PART.format(function))
    geometry = Geometry(
        int_tuple(function, "size", size), int_tuple(function, "stride", stride),
        input._offset if offset is None else int(offset),
    )  # fmt: skip
    if len(geometry.shape) != len(geometry.strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in geometry.strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(geometry.strides)}"
        )
    check_extent(geometry, input.dtype.itemsize)
    itemsize, available = input.dtype.itemsize, nbytes_of(storage_of(input))
    if extent(geometry) * itemsize > available:
        raise RuntimeError(out_of_storage(*geometry, itemsize, available))
    return geometry


OF_A_PART = (
    "{} inside a function transform (vmap, grad, jvp, ...): the tensor shows a part of some memory, with gaps or not "
    "from its beginning, and the transform has that part only. Call it on a contiguous() copy, or outside of the "
    "transform"
)


def lies_as_outside(tensor: Tensor, from_the_beginning: bool) -> bool:
    """Tell whether a lifted tensor lies in memory as what it was lifted from, without gaps.

    ``from_the_beginning``: whether it has to begin at the same place, too.
    """
    if tensor._spec.level and not is_dense(tensor._spec.shape, tensor._spec.layout):
        return False
    while isinstance(value := value_of(tensor), Lifted):
        outside = value.tensor
        strides = outside._spec.strides
        if strides is not None and strides[value.batched :] != tensor._spec.layout:
            return False
        if from_the_beginning and outside._offset != tensor._offset:
            return False
        tensor = outside
    return True


def check_extent(geometry: Geometry, itemsize: int) -> None:
    """Refuse a shape, strides and an offset that no memory can have. Raises RuntimeError: PyTorch's messages."""
    shape, strides, offset = geometry
    if any(length < 0 for length in shape) or any(step < 0 for step in strides):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {geometry.offset}")


def int_tuple(function: str, name: str, given: Any) -> Ints:
    """A sequence of ints given to a function. Raises TypeError: PyTorch's message, for anything else."""
    position = {"size": 1, "stride": 2}[name]
    if not isinstance(given, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not {type_name(given)}"
        )
    for pos, number in enumerate(given):
        if not is_integer(number):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be tuple of ints, but found element of "
                f"type {type_name(number)} at pos {pos}"
            )
    return tuple(int(number) for number in given)


@public("torch", "Tensor")
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of ``input`` with ``src`` in place of what ``as_strided`` shows.

    The gradient of ``input`` is zero in the window and passes elsewhere; PyTorch 2.13 has it the other way round.

    Args:
        src: of the shape ``size``.
        size, stride, storage_offset: the window, as for ``as_strided``.

    Raises:
        RuntimeError: ``src`` has another shape than that, or the window reaches beyond the memory.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    if overlaps_itself(tuple(input.shape), input._spec.layout):
        input = ops.clone(input)
    window = checked_geometry(input, size, stride, storage_offset)
    if tuple(src.shape) != window.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(window.shape)}"
        )
    settings = window_settings(input, window, max(extent(window), extent(geometry_of(input))))
    result = strided.copy_slices(input, src, window.offset, input._offset, **settings)
    result = renamed(laid_out(result, copy_strides("as_strided_scatter", input, None)), "AsStridedScatterBackward0")
    return on_copied_memory(result, input, src, window)


def on_copied_memory(
    result: Tensor, input: Tensor, written: Tensor | None = None, window: Geometry | None = None
) -> Tensor:
    """A result that nobody has seen yet, at the place where the input lies, on a copy of all of its memory.

    If the input shows a place several times, or there is more to it than its elements, the result has a memory of
    its own.

    Args:
        result, input: tensors of one shape and dtype.
        written, window: what is written to the copy, and where; if not given, the result itself.
    """
    spot, size = geometry_of(input), nbytes_of(storage_of(input)) // input.dtype.itemsize
    alone = overlaps_itself(spot.shape, spot.strides) or result._spec.level or result._spec.dual
    if alone or fills(spot.shape, spot.strides, size):
        return result
    memory = memory_of(input)
    row = wrap(memory, describe(memory, on=input.device))
    with switched(grad=False):
        window = window or spot
        settings = window_settings(row, window, size)
        row = strided.copy_slices(row, result if written is None else written, window.offset, 0, **settings)
    return set_memory(result, storage_of(row), spot, result.dtype)
