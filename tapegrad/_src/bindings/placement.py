"""Tensors that are put elsewhere in memory: ``set_``, ``resize_``; tensors made with strides."""

from __future__ import annotations

from typing import Any, Unpack

from tapegrad._src.bindings.declaration.factory import (
    Target,
    TensorOptions,
    checked_size,
    is_integer,
    no_overload,
    size_of_arguments,
    target,
    type_name,
)
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.layouts import checked_format, copy_strides, format_strides, laid_out
from tapegrad._src.bindings.outside import OutsideTensor, count_outside, lift_again, outside_of, stays_where_it_is
from tapegrad._src.bindings.state.memory import check_extent, int_tuple
from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage, storage_of_dtype
from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.bindings.writes.in_place import refuse_in_place
from tapegrad._src.dispatch.function_levels import not_further
from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge, refit
from tapegrad._src.dispatch.nodes.error import Error
from tapegrad._src.dispatch.view_history import refuse_view, take_history
from tapegrad._src.execution.array_functions.host import filled
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Edge
from tapegrad._src.tensor.geometry import Geometry, contiguous_strides, extent, is_dense
from tapegrad._src.tensor.layout import contiguous_format, preserve_format
from tapegrad._src.tensor.lifted import Lifted, fresh
from tapegrad._src.tensor.placing import nbytes_of, resize_memory, set_memory
from tapegrad._src.tensor.refusals import is_example_here, refuse_captured, refuse_to_change
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, leave, refuse_inference, storage_of, value_of
from tapegrad.errors import NO_FORWARD, NotDifferentiableError
from tapegrad.ops.checks import cpp_name
from tapegrad.ops.shape import alias

# -- other memory ------------------------------------------------------------------------------------------------------

_SET = (
    "",
    "torch.Storage source",
    "torch.Storage source, int storage_offset, tuple of ints size, tuple of ints stride = None",
    "Tensor source",
    "Tensor source, int storage_offset, tuple of ints size, tuple of ints stride = None",
)


NO_DERIVATIVE = "derivative for set_ is not implemented"


class NotImplementedNode(Error):
    """Stands in the graph for what has no derivative."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::NotImplemented"


@public("Tensor")
def set_(self: Tensor, source: Any = None, storage_offset: Any = None, size: Any = None, stride: Any = None) -> Tensor:
    """Let this tensor show the memory of another tensor, or a storage; without a source, no memory at all.

    Args:
        source: a tensor of the same dtype, whose elements are shown as it shows them, or a storage.
        storage_offset, size, stride: which elements are shown instead; without strides, in row-major order.

    Raises:
        RuntimeError: a leaf that requires grad, in grad mode; a source of another dtype.
        NotDifferentiableError: the tensor or the source is dual.

    >>> x, y = torch.zeros(2), torch.arange(4.0)
    >>> x.set_(y, 1, (2,))
    tensor([1., 2.])
    >>> y[2] = 7
    >>> x
    tensor([1., 7.])
    """
    if not _is_overload(source, storage_offset, size):
        given = [arg for arg in (source, storage_offset, size, stride) if arg is not None]
        raise no_overload("set_", given, {}, _SET)
    refuse_to_change(_called(source, size), self)
    refuse_in_place(self, overlapping=True)
    if thread.modes.forward_grad and (_is_dual(self) or (isinstance(source, Tensor) and source._spec.dual)):
        raise NotDifferentiableError(NO_FORWARD.format("set_"))
    _check_source(self, source)
    if isinstance(source, Tensor) and source._spec.level > self._spec.level and is_example_here(source):
        refuse_captured("set_", self, source)
    if stays_where_it_is(self):
        self._value = value_of(not_further(self, NO_DERIVATIVE))
        return self
    known = outside_of(self)
    if known is not None:
        count_outside(known)
    spot = _spot(self, source, storage_offset, size, stride)
    storage = _memory_of_source(self, source)
    if extent(spot) * self.dtype.itemsize > nbytes_of(storage):
        resize_memory(storage, extent(spot) * self.dtype.itemsize)
    recorded = thread.modes.grad and (self._spec.requires_grad or (size is None and _requires_grad(source)))
    ends = (self, source) if isinstance(source, Tensor) else (self,)
    edges = [gradient_edge(tensor) for tensor in ends] if recorded else []
    if size is not None:
        edges = [edge for edge in edges if edge is not None]
    edge = (NotImplementedNode(NO_DERIVATIVE, edges, 1), 0)
    if recorded and self._view is not None:
        refuse_view(self)
        take_history(self, edge)
    refit(self, Spec.of(spot.shape, self.dtype, self.device))
    self._accumulator = None  # what was recorded before leads to the old one, which still adds to ``.grad``
    move(self, storage, spot, source._view_bits if isinstance(source, Tensor) else 0)
    if recorded and self._view is None:
        set_history(self, edge)
    return self


def _is_dual(tensor: Tensor) -> bool:
    """Tell whether a tensor has a tangent, at its level or further out."""
    value = value_of(tensor) if tensor._spec.level else None
    if tensor._spec.dual or not (isinstance(value, Lifted) and value.level in thread.levels[-1:]):
        return tensor._spec.dual
    with value.level.outside():
        return _is_dual(value.tensor)


def _called(source: Any, size: Any) -> str:
    """PyTorch's name of the overload."""
    if source is None:
        return "set_"
    type_shown = "Tensor" if isinstance(source, Tensor) else "Storage"
    return f"set_.source_{type_shown}" + ("" if size is None else "_storage_offset")


def _is_overload(source: Any, storage_offset: Any, size: Any) -> bool:
    types = (type(None), Tensor, UntypedStorage, TypedStorage)
    alone = storage_offset is None and size is None
    return isinstance(source, types) and (alone or (source is not None and storage_offset is not None
                                                    and isinstance(size, (tuple, list))))  # fmt: skip


def _check_source(self: Tensor, source: Any) -> None:
    if source is not None and source.device is not self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{source.device}".  This is no longer allowed; the devices must match.'
        )
    if isinstance(source, Tensor) and source.dtype is not self.dtype:
        names = cpp_name(source.dtype), cpp_name(self.dtype)
        raise RuntimeError(f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}")
    if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {self.dtype.scalar_name.lower()} or an UntypedStorage, but got type "
            f"{source.dtype.scalar_name} for argument 1 'storage'"
        )


def _spot(self: Tensor, source: Any, storage_offset: Any, size: Any, stride: Any) -> Geometry:
    """The place in its new memory where a tensor is put."""
    if source is None:
        return Geometry((0,), (1,), 0)
    if size is None:
        if isinstance(source, Tensor):
            return geometry_of(source)
        return Geometry((source.nbytes() // self.dtype.itemsize,), (1,), 0)
    shape = int_tuple("set_", "size", size)
    strides = contiguous_strides(shape) if stride is None else int_tuple("set_", "stride", stride)
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    start = source._offset if isinstance(source, Tensor) else 0
    spot = Geometry(shape, strides, start + int(storage_offset))
    check_extent(spot, self.dtype.itemsize)
    return spot


def _memory_of_source(self: Tensor, source: Any) -> Storage:
    if source is None:
        return storage_of_dtype(0, self.dtype, self.device)
    return storage_of(source) if isinstance(source, Tensor) else source.untyped().storage


def _requires_grad(source: Any) -> bool:
    return isinstance(source, Tensor) and source._spec.requires_grad


def move(tensor: Tensor, storage: Storage, spot: Geometry, view_bits: int = 0) -> None:
    """Put a tensor elsewhere, which counts as a write to it."""
    counter = leave(tensor)
    set_memory(tensor, storage, spot, tensor.dtype, view_bits)
    tensor._counter = None if counter is storage.counter else counter
    counter.bump()


def set_history(tensor: Tensor, edge: Edge) -> None:
    """Give a tensor that was moved a place in the graph. A view that gets none looks for one, as after a write."""
    tensor._edge = edge
    tensor._spec = tensor._spec.replace(requires_grad=True)
    if tensor._view is not None:
        tensor._view.version = tensor._version


# -- another size ------------------------------------------------------------------------------------------------------


@public("Tensor")
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give this tensor another shape, in place: its memory is read in row-major order from where it begins.

    Memory that is too small is made larger (here new elements are zeros); other tensors that show it see that.

    Args:
        size: the lengths, one by one or as one tuple.

    Raises:
        RuntimeError: the tensor requires grad, or is dual.

    >>> torch.arange(4.0).resize_(3)
    tensor([0., 1., 2.])
    """
    chosen = checked_format("resize_", memory_format, contiguous_format)
    if size and not (isinstance(size[0], (tuple, list, int)) or is_integer(size[0])):
        raise TypeError(f"resize_(): argument 'size' (position 1) must be tuple of ints, not {type_name(size[0])}")
    given = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if any(isinstance(length, int) and length < 0 for length in given):
        raise RuntimeError("numel: integer multiplication overflow")
    shape = size_of_arguments("resize_", size, {})
    return resized(self, shape, memory_format and chosen)


def resized(tensor: Tensor, shape: tuple[int, ...], chosen: Any = None, called: str = "resize_") -> Tensor:
    """``tensor``, with another shape from now on; ``called`` so where it is refused."""
    check_size(shape, tensor.dtype.itemsize, tensor.device.type, owned=False)
    check_size(shape, tensor.dtype.itemsize, tensor.device.type)
    if tensor._spec.level < thread.modes.level and not thread.levels[-1].maps:
        refuse_captured(called, tensor, alias(tensor))
    _refuse_to_resize(tensor)
    if shape != tuple(tensor._spec.shape):
        refuse_inference(tensor)
    if chosen is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    strides = format_strides(chosen or contiguous_format, shape)
    if shape == tuple(tensor.shape) and (chosen is None or strides == tensor._spec.layout):
        return tensor
    known = outside_of(tensor, own=True)
    if known is not None:
        return _resized_outside(tensor, known, shape, chosen)
    spot, storage = Geometry(shape, strides, tensor._offset), storage_of(tensor)
    if extent(spot) * tensor.dtype.itemsize > nbytes_of(storage):
        if isinstance(storage.value, Lifted):
            raise NotImplementedError("resize_ of a view of what was computed inside a function transform")
        resize_memory(storage, extent(spot) * tensor.dtype.itemsize)
    move(tensor, storage, spot, tensor._view_bits)
    return tensor


def _refuse_to_resize(tensor: Tensor) -> None:
    """Refuse what is differentiated, at its level or further out."""
    if tensor._spec.requires_grad and not thread.modes.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if tensor._spec.dual and thread.modes.forward_grad:
        raise RuntimeError("cannot resize variables that has a forward grad")
    value = value_of(tensor) if tensor._spec.level else None
    if isinstance(value, Lifted) and value.level in thread.levels[-1:]:
        with value.level.outside():
            _refuse_to_resize(value.tensor)


def _resized_outside(tensor: Tensor, known: OutsideTensor, shape: tuple[int, ...], chosen: Any) -> Tensor:
    """``resized`` of what is a tensor outside: its memory is read in order there, through all examples."""
    if known.dim:
        raise RuntimeError("resize_: the examples that vmap maps over must be in the first dimension of the tensor")
    whole = shape if known.level.size is None or known.dim is None else (known.level.size, *shape)
    with known.level.outside():
        resized(known.tensor, whole, chosen)
    return lift_again(tensor, known)


@public("torch", "Tensor")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the shape of another tensor; with ``torch.preserve_format``, also to its order in memory.

    Args:
        the_template: the other tensor.
    """
    chosen = checked_format("resize_as_", memory_format, contiguous_format)
    _refuse_to_resize(input)
    if stays_where_it_is(input):
        return input
    result = resized(input, tuple(the_template.shape), called="resize_as_")
    if memory_format is not None:
        strides = copy_strides("resize_as_", the_template, chosen)
        if strides != result._spec.layout:
            move(result, storage_of(result), Geometry(tuple(result.shape), strides, result._offset), result._view_bits)
    return result


# -- made with strides -------------------------------------------------------------------------------------------------


@public("torch")
def empty_strided(size: Any, stride: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor of a size whose elements lie in memory as strides say, to be written yet. Here they are zeros.

    Args:
        size, stride: tuples of as many ints.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return _strided("empty_strided", size, stride, target("empty_strided", options))


@public("Tensor")
def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """``empty_strided``, of this tensor's dtype and device.

    Args:
        size, stride: tuples of as many ints.

    >>> torch.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    made = target("new_empty_strided", options, self.dtype, self.device)
    return _strided("new_empty_strided", size, stride, made, self)


def _strided(function: str, size: Any, stride: Any, made: Target, like: Tensor | None = None) -> Tensor:
    shape, strides = checked_size(function, int_tuple(function, "size", size)), int_tuple(function, "stride", stride)
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    spot = Geometry(shape, strides)
    check_extent(spot, made.dtype.itemsize)
    if is_dense(shape, strides) and all(shape):
        return laid_out(made.full(shape, 0, like), strides)
    row = filled((extent(spot),), 0, made.dtype, made.device)
    result = fresh(None, Spec.of(shape, made.dtype, made.device, made.requires_grad))
    return set_memory(result, Storage(row), spot, made.dtype)


@public("torch")
def empty_permuted(size: Any, physical_layout: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A tensor to be written yet, whose dimensions lie in memory in an order that is given, the outermost first.

    Args:
        size: a tuple of lengths.
        physical_layout: the dimensions in that order.

    Raises:
        RuntimeError: not as many as lengths, or one of them twice.

    >>> torch.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
    (15, 1, 3)
    """
    shape, order = checked_size("empty_permuted", size), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    strides = [0] * len(shape)
    steps = contiguous_strides(tuple(shape[axis] for axis in _checked_order(order)))
    for axis, step in zip(order, steps, strict=True):
        strides[axis] = step
    return _strided("empty_permuted", shape, tuple(strides), target("empty_permuted", options))


def _checked_order(order: tuple[int, ...]) -> tuple[int, ...]:
    for index, axis in enumerate(order):
        if not 0 <= axis < len(order):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(order) - 1}, but got {axis} at index "
                f"{index}).  NB: negative dims not currently supported; file an issue if you want it."
            )
        if axis in order[:index]:
            raise RuntimeError("Duplicate dim not allowed")
    return order
