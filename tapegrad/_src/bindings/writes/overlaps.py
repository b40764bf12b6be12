"""Memory that is written to: what may not overlap, and how a tensor gets another shape.

Note [Overlapping memory]
Most operators refuse to write to a tensor that shows one place of its memory several times, and to read from one that
shows some, but not just the same, of the places that are written: what comes out would depend on an order. Some of
PyTorch's don't look, and some only warn. Here nothing depends on an order, for an operator reads what was there before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.dispatch.nodes.accumulate_grad import refit
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor import placing
from tapegrad._src.tensor.geometry import Geometry, extent, is_dense, overlaps_itself
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, storage_of, value_of, wrap
from tapegrad._src.warn import warn
from tapegrad.errors import SHOWN_TWICE
from tapegrad.ops import shape as shape_ops
from tapegrad.ops import slicing
from tapegrad.ops.comparison import ne
from tapegrad.ops.kinds import broadcast_to
from tapegrad.ops.selection import where

SHARED_IN_PART = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


def shows_the_same(tensor: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors show the same places of one memory in the same way."""
    if tensor is other:
        return True
    same = tensor._storage is not None and tensor._storage is other._storage and tensor._view_bits == other._view_bits
    return same and tensor.dtype is other.dtype and geometry_of(tensor) == geometry_of(other)


def refuse_shared_parts(tensor: Tensor, operands: Iterable[Any], strict: bool = False) -> None:
    """Refuse operands that show some, but not just the same, of the places that a tensor shows.

    See Note [Overlapping memory].

    Args:
        tensor: what is written to.
        operands: what is read; those that are no tensors don't matter.
        strict: whether to refuse also what shows just the same places.

    Raises:
        RuntimeError: PyTorch's message.
    """
    storage = tensor._storage
    for operand in operands if strict or storage is not None else ():
        if isinstance(operand, (tuple, list)):
            refuse_shared_parts(tensor, operand, strict)
        elif operand is tensor:
            if strict:
                raise RuntimeError(SHARED_IN_PART)
        elif isinstance(operand, Tensor) and operand._storage is storage is not None:
            refuse_overlap(geometry_of(tensor), tensor, geometry_of(operand), operand, strict)


def refuse_overlap(written: Geometry, tensor: Tensor, read: Geometry, operand: Tensor, strict: bool = False) -> None:
    """Refuse to read some, but (unless ``strict``) not just the same, of the places of a memory that are written.

    Args:
        written, tensor: the places that are written, and the tensor that they belong to.
        read, operand: the places that are read, and the tensor that shows them.

    Raises:
        RuntimeError: PyTorch's message.
    """
    if 0 in written.shape or 0 in read.shape or not (is_dense(*written[:2]) and is_dense(*read[:2])):
        return
    (first, end), (start, stop) = _bytes_of(written, tensor), _bytes_of(read, operand)
    same = (start, stop) == (first, end) and read.strides == written.strides
    if start < end and first < stop and (strict or not same):
        raise RuntimeError(SHARED_IN_PART)


def _bytes_of(geometry: Geometry, tensor: Tensor) -> tuple[int, int]:
    """The first byte of a block of memory, and the one behind the last."""
    itemsize = tensor.dtype.itemsize
    return geometry.offset * itemsize, (geometry.offset + math.prod(geometry.shape)) * itemsize


def refuse_shown_twice(geometry: Geometry) -> None:
    """Refuse to write to what shows one place several times. Raises RuntimeError: PyTorch's message."""
    if overlaps_itself(geometry.shape, geometry.strides):
        raise RuntimeError(SHOWN_TWICE)


def last_written(name: str, tensor: Tensor, before: Tensor, result: Tensor) -> Tensor:
    """The result for a tensor that may show a place several times, which is deprecated: what was written there last."""
    spec = tensor._spec
    if spec.strides is None or not overlaps_itself(spec.shape, spec.strides):
        return result
    what, index = ("tensor", "indices") if name == "index_put_" else ("scalar", "mask")
    warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. tensor[{index}] = {what}"
    )
    with switched(grad=False):
        for axis, (length, stride) in enumerate(zip(spec.shape, spec.strides, strict=True)):
            if not stride and length > 1:
                last = slicing.select(before, 0, axis=axis)
                for position in range(length):
                    one = slicing.select(result, position, axis=axis)
                    last = where(ne(one, slicing.select(before, position, axis=axis)), one, last)
                everywhere = broadcast_to(shape_ops.unsqueeze(last, axis=axis), shape=tuple(result.shape))
                result = wrap(value_of(everywhere), result._spec, result._edge)
    return result


def resize_for(result: Tensor, target: Tensor) -> None:
    """Give a tensor that is about to be written to the shape of the result; its memory is made larger if need be."""
    spot = Geometry(tuple(result.shape), result._spec.fresh.layout, target._offset)
    storage = storage_of(target)
    mismatched = refit(target, Spec.of(spot.shape, target.dtype, target.device))  # it keeps its place in the graph
    if extent(spot) * target.dtype.itemsize > placing.nbytes_of(storage):
        placing.resize_memory(storage, extent(spot) * target.dtype.itemsize)
    placing.set_memory(target, storage, spot, target.dtype, target._view_bits)
    target._spec = target._spec.replace(mismatched=mismatched)
