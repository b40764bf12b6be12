"""``x[...]``, read and written: ints, slices, None, ``...``, truth values, masks, integer tensors, all mixed.

Note [How an index is read]
``selection`` turns an index into *steps*, basic operators applied one after another (select, slice, unsqueeze), and
*places*: the integer tensors that then index some of the remaining dimensions all at once. Reading applies the
steps and one ``index``. Writing without places works out where in memory the part lies that the steps lead to, and
replaces it there (``write_part``); with places it writes to a view.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad._src.bindings.bounds import outside, refuse_elements
from tapegrad._src.bindings.declaration.declarations import InPlace
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import converted, refuse_unfitting
from tapegrad._src.bindings.layouts import both_laid_out
from tapegrad._src.bindings.viewing import geometry_of, view_of
from tapegrad._src.bindings.writes.cached import fast_method
from tapegrad._src.bindings.writes.cached_parts import assigning
from tapegrad._src.bindings.writes.in_place import become, before_write, not_of_integers, refuse_in_place
from tapegrad._src.bindings.writes.overlaps import last_written, refuse_shared_parts
from tapegrad._src.bindings.writes.parts import can_write_part, overwrite, write_part
from tapegrad._src.execution.array_functions.host import from_host, is_readable
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import INTEGRAL, float64, int32, int64, uint8
from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.execution.data.promotion import warn_of_cast
from tapegrad._src.execution.data.sizes import is_symbolic
from tapegrad._src.execution.kernels.deferred_checks import Finding
from tapegrad._src.functions.joining import tensor_list
from tapegrad._src.functions.shape import expanded, viewed
from tapegrad._src.functions.slicing import is_whole, selected, slice_bounds, sliced
from tapegrad._src.functions.sorting import numbers, on_host
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor import geometry
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.refusals import is_example, refuse_examples, refuse_meta
from tapegrad._src.tensor.spec import Spec, core_type_name, legacy_type_name
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.warn import warn
from tapegrad.ops import indexing as ops
from tapegrad.ops import selection as selection_ops
from tapegrad.ops import shape as shape_ops
from tapegrad.ops.kinds import broadcast_shapes

Step = tuple[Any, ...]


class Selection:
    """An index being read, item by item. See Note [How an index is read].

    Attributes:
        steps: ``("select", axis, index)``, ``("slice", axis, start, length, step)`` or ``("unsqueeze", axis)``; an axis
            counts what the steps before have left.
        shape: the shape after the steps.
        indexed: tensors of integers or masks, each with the (first) dimension of that shape which it indexes.
        axis: where in that shape the next item belongs.
        position: which item of the index that is; PyTorch's errors call it a dimension.
    """

    __slots__ = ("axis", "indexed", "position", "shape", "steps", "x")

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.steps: list[Step] = []
        self.shape = list(x.shape)
        self.indexed: list[tuple[int, Tensor]] = []
        self.axis = self.position = 0

    def add_index(self, index: int) -> None:
        """One index of a dimension, which goes away."""
        length = self.shape.pop(self.axis)
        if not -length <= index < length:
            raise IndexError(f"index {index} is out of bounds for dimension {self.position} with size {length}")
        self.steps.append(("select", self.axis, index % length))

    def add_slice(self, item: slice, always: bool) -> None:
        """A slice of a dimension; one of everything that begins at 0 counts only when it is asked for ``always``."""
        length = self.shape[self.axis]
        first, count, step = _bounds(item, length)
        if always or step != 1 or not is_whole(item, length):
            self.steps.append(("slice", self.axis, first, count, step))
            self.shape[self.axis] = count
        self.axis += 1

    def add_dimension(self) -> None:
        """A new dimension of length 1."""
        self.steps.append(("unsqueeze", self.axis))
        self.shape.insert(self.axis, 1)

    def add_tensor(self, tensor: Tensor) -> None:
        """An index tensor for a dimension, or a mask for as many as it has."""
        self.indexed.append((self.axis, tensor))
        self.axis += _dimensions(tensor)

    def places(self, counted: bool = True) -> list[Tensor | None]:
        """For each dimension of the shape, up to the last one indexed, an integer tensor or None."""
        result: list[Tensor | None] = []
        for axis, tensor in self.indexed:
            result.extend([None] * (axis - len(result)))
            result.extend(as_places(tensor, axis, self.shape, counted))
        return result

    def view(self) -> Tensor:
        """The view that is left of the tensor after the steps."""
        result = self.x
        for step in self.steps:
            result = _apply(result, step)
        return result

    def place(self) -> Geometry:
        """The place of that in memory."""
        place = geometry_of(self.x)
        for kind, axis, *rest in self.steps:
            place = _GEOMETRIES[kind](place, axis, *rest)
        return place

    def read(self, item: Any, always: bool) -> None:
        """One item that is not an ellipsis."""
        if isinstance(item, bool):
            self.add_dimension()
            self.add_tensor(numbers(np.zeros(1 if item else 0), self.x))
        elif item is None:
            self.add_dimension()
            self.axis += 1
        elif isinstance(item, int):
            self.add_index(item)
        elif isinstance(item, slice):
            self.add_slice(item, always)
        else:
            self.add_tensor(item)


_GEOMETRIES: dict[str, Any] = {
    "select": geometry.selected, "slice": geometry.sliced, "unsqueeze": geometry.unsqueezed,
}  # fmt: skip


# -- understanding -----------------------------------------------------------------------------------------------------

_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
)
_NOT_AN_INDEX_TENSOR = "tensors used as indices must be long, int, byte or bool tensors"
MASKED = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)
_SCALAR_INDEXED = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)


def items_of(index: Any) -> tuple:
    """An index as a tuple of items; a list that holds more than numbers is read as a tuple, as NumPy once did."""
    if isinstance(index, tuple):
        return index
    nested = (Tensor, Sequence, slice, type(None), type(Ellipsis))
    if isinstance(index, list) and len(index) < 32 and any(isinstance(item, nested) for item in index):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result"
        )
        return tuple(index)
    return (index,)


def simplified(item: Any, of: Tensor) -> Any:
    """An item of an index as one of: bool, int, slice, None, Ellipsis, or an index tensor that is no 0-dim integer.
    Raises IndexError, TypeError: PyTorch's messages, for anything else.
    """
    if type(item) is int or item is None or item is Ellipsis or isinstance(item, (bool, slice)):
        return item
    if isinstance(item, (Tensor, np.ndarray, Sequence)):
        tensor = item if isinstance(item, Tensor) else _tensor_of(item, of)
        dtype = tensor.dtype
        if dtype.category > 1:
            raise IndexError(_NOT_AN_INDEX_TENSOR)
        if tensor.ndim == 0 and not (dtype.category == INTEGRAL and dtype is not uint8 and is_example(tensor)):
            refuse_examples(MASKED, tensor)
            number = tensor.item()
            return bool(number) if dtype in (bool_, uint8) else number
        if dtype is uint8:
            _warn_of_bytes()
        elif dtype not in (int64, int32, bool_):
            raise IndexError(_NOT_AN_INDEX_TENSOR)
        return tensor.to(of.device) if of.device is not tensor.device and tensor.device.is_host else tensor
    if hasattr(item, "__index__") and not isinstance(item, np.bool_):
        return operator.index(item)
    module = "numpy." if type(item).__module__ == "numpy" else ""
    raise IndexError(_NOT_AN_INDEX.format(module + type(item).__name__))


def _tensor_of(sequence: Any, of: Tensor) -> Tensor:
    """A list or an array of indices or of truth values as a tensor."""
    if isinstance(sequence, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(sequence).__name__}'")
    if not isinstance(sequence, np.ndarray):
        sequence = [on_host(item) if isinstance(item, Tensor) else item for item in sequence]
    array = np.array(sequence)
    if array.dtype == bool:
        return fresh(from_host(array, of.device), Spec.of(array.shape, bool_, of.device))
    if array.dtype.kind == "O":
        raise RuntimeError(f"Could not infer dtype of {type(array.flat[0]).__name__}")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"new(): invalid data type '{array.dtype.type.__name__}'")
    return numbers(array, of)


def selection(x: Tensor, index: Any, writing: bool = False) -> Selection:
    """The selection that ``index`` means for ``x``.
    Raises IndexError: out of range, too many, or no index at all; PyTorch's messages. ValueError: a slice with a step
    that is not positive.
    """
    if x.ndim == 0 and type(index) is int:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size 0" if index else _SCALAR_INDEXED)
    if x.ndim == 0 and isinstance(index, slice):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    given, too_many = items_of(index), f"too many indices for tensor of dimension {x.ndim}"
    try:
        items = [simplified(item, x) for item in given]
    except (IndexError, TypeError, RuntimeError):
        if sum(map(_dimensions, given)) > x.ndim:  # PyTorch counts before it looks what they are
            raise IndexError(too_many) from None
        raise
    unused = x.ndim - (1 if type(index) is int else sum(map(_dimensions, items)))
    if unused < 0:
        raise IndexError(too_many)
    result = Selection(x)
    for result.position, item in enumerate(items):
        if item is Ellipsis:
            result.axis, unused = result.axis + unused, 0
        else:
            result.read(item, always=index is item and not writing)
    return result


def _bounds(item: slice, length: int) -> tuple[int, int, int]:
    """The first item of a slice of a dimension, how many there are, and how far apart."""
    if item.step is None and not is_symbolic((length, item.start, item.stop)):
        first, stop, step = item.indices(length)
        return first, max(stop - first, 0), step
    step = 1 if item.step is None else operator.index(item.step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    return *slice_bounds(length, item.start, item.stop, step), step


def _dimensions(item: Any) -> int:
    """The number of dimensions that an item of an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.ndim if isinstance(item, Tensor) and item.dtype in (bool_, uint8) else 1


def _warn_of_bytes() -> None:
    warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")


def as_places(tensor: Tensor, axis: int, shape: Sequence[int], counted: bool = True) -> list[Tensor]:
    """An index tensor as it is; a mask of dimensions of a shape, from ``axis`` on, as integer tensors, one for each.

    Without data there are no places; unless they are ``counted``, that makes no difference to what is written there.

    Raises:
        IndexError: the mask has another shape.
    """
    if tensor.dtype not in (bool_, uint8):
        return [tensor]
    check_mask(tensor, axis, shape)
    refuse_examples(MASKED, tensor)
    if tensor.device is META and not counted:
        return [numbers(np.zeros(0), tensor)] * tensor.ndim
    refuse_meta("nonzero", tensor)
    return [numbers(places, tensor) for places in np.nonzero(on_host(tensor))]


def check_mask(mask: Tensor, axis: int, shape: Sequence[int]) -> None:
    """Refuse a mask of other dimensions than those of a shape from ``axis`` on. Raises IndexError: it has others."""
    for dim, length in enumerate(mask.shape):
        if length != shape[axis + dim]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {dim} does not match the shape of the indexed "
                f"tensor {list(shape)} at index {axis + dim}"
            )


def check_places(places: Sequence[Tensor | None], shape: Sequence[int]) -> tuple[int, ...]:
    """Refuse index tensors that don't broadcast or are out of range; give their common shape.
    Raises IndexError: PyTorch's messages.
    """
    if len(places) == 1 and places[0] is not None and 0 not in shape:
        length = shape[0]
        refuse_elements(places[0], outside, -length, length, complaint=partial(_out_of_bounds, 0, length))
        return places[0]._spec.shape
    tensors = [(tensor, length) for tensor, length in zip(places, shape, strict=False) if tensor is not None]
    try:
        common = broadcast_shapes([tensor.shape for tensor, _ in tensors])
    except RuntimeError:
        shapes = ", ".join(str(list(tensor.shape)) for tensor, _ in tensors)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    if math.prod(common) and any(length == 0 for _, length in tensors):
        raise IndexError("index is out of bounds for dimension with size 0")
    indexed = {axis for axis, tensor in enumerate(places) if tensor is not None}
    if 0 in common or any(length == 0 for axis, length in enumerate(shape) if axis not in indexed):
        return common  # nothing is read or written: PyTorch looks at no index
    for position, (tensor, length) in enumerate(tensors):
        refuse_elements(tensor, outside, -length, length, complaint=partial(_out_of_bounds, position, length))
    return common


def _out_of_bounds(position: int, length: int, found: Finding) -> IndexError:
    return IndexError(f"index {found.number} is out of bounds for dimension {position} with size {length}")


# -- reading -----------------------------------------------------------------------------------------------------------


@public("Tensor", is_settled=True)
def __getitem__(self: Tensor, index: Any) -> Tensor:
    """The part of the tensor that an index names; PyTorch's rules, which are mostly NumPy's.

    Raises:
        IndexError: out of range, too many, or no index at all.
        ValueError: a slice with a step that is not positive.
    """
    kind, spec = type(index), self._spec
    if kind is Tensor and spec.ndim and index._spec.ndim and index._spec.dtype in (int64, int32):
        if index._spec.device is spec.device:
            return picked(self, (index,), check_places((index,), spec.shape))
    elif spec.ndim and (kind is int or kind is slice):
        length = tuple.__getitem__(spec.shape, 0)
        if kind is slice:
            return sliced(self, 0, *_bounds(index, length))
        if -length <= index < length:
            return selected(self, 0, index % length)
    chosen = selection(self, index)
    result = chosen.view()
    if chosen.indexed:
        places = chosen.places()
        if len(chosen.indexed) == 1 and chosen.indexed[0][1]._spec.dtype is bool_ and places[-1] is not None:
            return picked(result, places, places[-1]._spec.shape)  # the places of a mask are within it
        return picked(result, places, check_places(places, chosen.shape))
    return result if chosen.steps else view_of(self, shape_ops.alias)


def picked(x: Tensor, places: Sequence[Tensor | None], common: tuple[int, ...]) -> Tensor:
    """The elements that index tensors pick, which have been checked and have a common shape, laid out as by PyTorch."""
    made = ops.index(x, *places)
    if all(tensor is None or tensor._spec.strides is None for tensor in (x, *places)):
        return made
    where = [None if tensor is None else (tuple(tensor.shape), tensor._spec.layout) for tensor in places]
    return both_laid_out(made, geometry.picked_strides(tuple(x.shape), x._spec.layout, where, common))


def _apply(x: Tensor, step: Step) -> Tensor:
    kind, axis, *rest = step
    if kind == "select":
        return selected(x, axis, *rest)
    if kind == "slice":
        return sliced(x, axis, *rest)
    return view_of(x, shape_ops.unsqueeze, axis=axis)


# -- writing -----------------------------------------------------------------------------------------------------------


@fast_method(assigning)
@public("Tensor")
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    """Replace the part of the tensor that an index names by a number or a tensor, which is broadcast.

    Raises:
        IndexError, ValueError: as for reading.
        RuntimeError: the value does not fit, or the tensor may not be written to.
        TypeError: the value is neither a number nor a tensor.
    """
    value = _assignable(value, self)
    if index is False:
        return
    index = None if index is True else index
    chosen = selection(self, index, writing=True)
    if chosen.indexed:
        _put(self if not chosen.steps else chosen.view(), chosen, value)
        return
    direct = bool(chosen.steps) and can_write_part(self, value)
    part = self if direct or not chosen.steps else chosen.view()
    if isinstance(value, Tensor):
        warn_of_cast(value.dtype, self.dtype)
        if value.shape != tuple(chosen.shape) and value.ndim:
            value = _broadcast(value, chosen.shape, by_kernel=direct)
    if direct:
        write_part(self, chosen.place(), value)
    else:
        overwrite(part, value)


@public("Tensor", asks="nobody")
def __delitem__(self: Tensor, index: Any) -> None:
    """Raise TypeError: a tensor has all of its elements."""
    raise TypeError("Tensor does not support deleting items")


def _assignable(value: Any, x: Tensor) -> Any:
    """A value in the form in which it can be put: a number of the right type, or a tensor."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "__index__") and not isinstance(value, np.ndarray):
        value = operator.index(value)
        if not -(2**63) <= value < 2**63:
            raise ValueError("Overflow when unpacking long long")
    if isinstance(value, (bool, int, float, complex)):
        half = x.dtype.is_floating_point and x.dtype.itemsize == 2  # what is too large for it becomes infinite
        return converted(value, float64 if half else x.dtype)
    module = "numpy." if type(value).__module__ == "numpy" else ""
    raise TypeError(f"can't assign a {module}{type(value).__name__} to a {legacy_type_name(x._spec)}")


def _broadcast(value: Tensor, target: Sequence[int], by_kernel: bool) -> Tensor:
    """A value as it is copied to a part of this shape. Where a gradient passes, the steps on the way have nodes;
    otherwise the kernel may broadcast."""
    stripped = _without_leading_ones(value)
    _check_expandable(stripped, target)
    if by_kernel and not (thread.modes.grad and value.requires_grad):
        return value if value.ndim <= len(target) else stripped
    return stripped if stripped.shape == tuple(target) else expanded(stripped, tuple(target))


def _put(part: Tensor, chosen: Selection, value: Any) -> None:
    """Write to the places of a part that index tensors name."""
    refuse_in_place(part, overlapping=True)
    if isinstance(value, Tensor) and value.ndim and value.shape[0] == 1:
        value = _without_leading_ones(value)
    masked = _is_masked_fill(chosen, value)
    if part._storage is not None or not masked:
        indices = [index for _, index in chosen.indexed if masked or index.dtype not in (bool_, uint8)]
        refuse_shared_parts(part, indices, strict=not masked)
    if isinstance(value, Tensor) and not masked:
        refuse_shared_parts(part, (value,), strict=True)
    if masked:
        _check_fill(chosen, value, part)
    if _is_chosen_by_mask(part, chosen, value):
        before = before_write(part)
        result = _chosen_by_mask(before, chosen, value)
    else:
        places = chosen.places(counted=not masked)
        put = value if isinstance(value, Tensor) and not masked else None
        check_written(put, part, places, chosen.shape)
        before = before_write(part)
        result = ops.index_put(before, value, *places, accumulate=False)
    become(part, last_written("masked_fill_" if masked else "index_put_", part, before, result), "index_put_")


def _is_masked_fill(chosen: Selection, value: Any) -> bool:
    """Tell whether one element is put wherever one mask is set, which PyTorch leaves to ``masked_fill_``."""
    one = not isinstance(value, Tensor) or value._spec.numel == 1
    return one and len(chosen.indexed) == 1 and chosen.indexed[0][1].dtype in (bool_, uint8)


def _is_chosen_by_mask(part: Tensor, chosen: Selection, value: Any) -> bool:
    """Tell whether a mask that can't be read (yet) is the only index, and what is put does not depend on how often it
    holds: then old elements and new ones can be chosen among, and no places need be known."""
    (axis, mask), *others = chosen.indexed
    if others or mask.dtype is not bool_ or mask.device is META or is_readable(value_of(mask)):
        return False
    return not is_example(mask) and _is_for_each(value, part.ndim - axis - mask.ndim)


def _is_for_each(value: Any, behind: int) -> bool:
    """Tell whether the same is put wherever a mask holds that has so many dimensions behind it."""
    return not isinstance(value, Tensor) or value._spec.numel == 1 or value.ndim <= behind


def _chosen_by_mask(before: Tensor, chosen: Selection, value: Any) -> Tensor:
    """The elements there were, and a value wherever the mask holds that is the only index."""
    ((axis, mask),) = chosen.indexed
    check_mask(mask, axis, chosen.shape)
    behind = before.shape[axis + mask.ndim :]
    mask = viewed(mask, (*mask.shape, *(1 for _ in behind)))
    if not isinstance(value, Tensor):
        return selection_ops.masked_fill(before, mask, value)
    if value._spec.numel == 1:
        value = viewed(value, ())
    else:
        check_put(value, before, behind)
    return selection_ops.masked_fill_tensor(before, mask, value)


def _check_fill(chosen: Selection, value: Any, part: Tensor) -> None:
    """Refuse what PyTorch's ``masked_fill_`` does: a mask of bytes, an element that the dtype can't hold."""
    if chosen.indexed[0][1].dtype is uint8:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    if isinstance(value, Tensor):
        refuse_unfitting(value, part.dtype)


def indexed_shape(places: Sequence[Tensor | None], shape: Sequence[int], common: tuple[int, ...]) -> list[int]:
    """The shape of ``x[places]`` for an ``x`` of this shape and index tensors of a common shape."""
    axes = [axis for axis, tensor in enumerate(places) if tensor is not None]
    first = axes[0] if axes[-1] - axes[0] + 1 == len(axes) else 0
    rest = [length for axis, length in enumerate(shape) if axis not in axes]
    return [*rest[:first], *common, *rest[first:]]


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = tuple(value.shape)
    while shape and shape[0] == 1:
        shape = shape[1:]
    return viewed(value, shape)


def _check_expandable(value: Tensor, target: Sequence[int]) -> None:
    target = list(target)
    if value.ndim > len(target):
        raise RuntimeError(
            f"expand({core_type_name(value._spec)}{{{list(value.shape)}}}, size={target}): the number of sizes "
            f"provided ({len(target)}) must be greater or equal to the number of dimensions in the tensor "
            f"({value.ndim})"
        )
    for axis in range(-1, -value.ndim - 1, -1):
        if value.shape[axis] not in (1, target[axis]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[axis]}) must match the existing size ({value.shape[axis]}) "
                f"at non-singleton dimension {len(target) + axis}.  Target sizes: {target}.  "
                f"Tensor sizes: {list(value.shape)}"
            )


def check_written(value: Tensor | None, x: Tensor, places: Sequence[Tensor | None], shape: Sequence[int]) -> None:
    """Refuse places that are none of an ``x`` of this shape, and a value that can't be put there: that first.
    Raises RuntimeError, IndexError: PyTorch's messages.
    """
    given = [place._spec.shape for place in places if place is not None]
    try:
        common = check_places(places, shape)
    except IndexError:
        if value is not None and len(set(given)) == 1 and 0 not in shape:
            check_put(value, x, indexed_shape(places, shape, given[0]))
        raise
    if value is not None:
        check_put(value, x, indexed_shape(places, shape, common))


def check_put(value: Tensor, x: Tensor, target: Sequence[int]) -> None:
    """Refuse a value that can't be put at places of ``x`` of this shape.
    Raises RuntimeError: another dtype, or a shape that doesn't broadcast.
    """
    padded = (1,) * (len(target) - value.ndim) + tuple(value.shape)
    if len(padded) > len(target) or any(a not in (1, b) for a, b in zip(padded, target, strict=True)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of "
            f"shape {list(target)}"
        )
    if value.dtype is not x.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{x.dtype.scalar_name} for the destination and {value.dtype.scalar_name} for the source."
        )


# -- as functions ------------------------------------------------------------------------------------------------------


@public("torch", "Tensor", in_place=InPlace(overlapping="deprecated", apart="strictly", captured="index_put_"))
@not_of_integers
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``values`` (broadcast) put, or added, where ``input[indices]`` (a tuple of tensors) would read.

    Args:
        accumulate: whether ``values`` are added, also where an index is repeated.

    Raises:
        IndexError: out of range, or too many indices.
        RuntimeError: ``values`` has another dtype, or does not broadcast.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor(1.0))
    tensor([1., 0., 1.])
    """
    tensors = tensor_list("index_put", indices, "indices")
    if not tensors:
        raise RuntimeError("index_put(): expected at least one index")
    for tensor in tensors:
        if tensor.dtype not in (int64, int32, bool_, uint8):
            raise IndexError(_NOT_AN_INDEX_TENSOR)
        if tensor.dtype is uint8:
            if not accumulate and values._spec.numel == 1 and len(tensors) == 1:
                raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
            _warn_of_bytes()
    places: list[Tensor] = []
    for tensor in tensors:
        left = input.ndim - len(places)
        if _dimensions(tensor) > left:
            count = sum(map(_dimensions, tensors))
            raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {count})")
        places.extend(as_places(tensor, len(places), input.shape))
    put = values if accumulate or len(tensors) > 1 or tensors[0].dtype is not bool_ or values._spec.numel != 1 else None
    check_written(put, input, places, input.shape)
    return ops.index_put(input, values, *places, accumulate=bool(accumulate))
