"""What in-place twins have of their own, beside the function that they compute: PyTorch's refusals and names of nodes.

Note [Overlapping memory]
Most operators refuse to write to a tensor that shows one place of its memory several times, and to read from one that
shows some, but not just the same, of the places that are written: what comes out would depend on an order. Some of
PyTorch's don't look, and some only warn. Here nothing depends on an order, for an operator reads what was there before.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tapegrad.execution.dtypes import BOOL, complex128, float64
from tapegrad.functions.naming import renamed, underivable
from tapegrad.functions.scalars import common_dtype, unsupported
from tapegrad.functions.viewing import geometry_of
from tapegrad.ops import shape as shape_ops
from tapegrad.ops.checks import cpp_name
from tapegrad.ops.comparison import ne
from tapegrad.ops.elementwise import where
from tapegrad.ops.kinds import broadcast_to
from tapegrad.tape.modes import switched
from tapegrad.tensor import placing
from tapegrad.tensor.geometry import Geometry, extent, is_dense, overlaps_itself
from tapegrad.tensor.tensor import Tensor, storage_of, value_of, wrap

SHOWN_TWICE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
SHARED_IN_PART = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


class Rule(NamedTuple):
    """How a twin differs from the others.

    Attributes:
        node: the name of its node, if the function has a node of another name.
        overlapping: whether it takes a tensor that shows a place several times; ``"deprecated"``: with a warning.
        apart: whether operands are refused that share a part of the memory with it; ``"strictly"``: or all of it.
        check: refuses a tensor and the result computed for it.
        underivable: whether its derivative is refused under its own name.
        unrecorded: whether autograd doesn't look at it: a leaf that requires grad may be given.
        first: refuses a tensor and operands before anything else does.
    """

    node: str | None = None
    overlapping: bool | str = False
    apart: bool | str = True
    check: Callable[[Tensor, Tensor], None] | None = None
    underivable: bool = False
    unrecorded: bool = False
    first: Callable[..., None] | None = None

    def apply(self, name: str, tensor: Tensor, before: Tensor, result: Tensor) -> Tensor:
        """The result, checked and with a node of the right name."""
        if self.check is not None:
            self.check(tensor, result)
        if self.overlapping == "deprecated":
            result = settled(name, tensor, before, result)
        if self.underivable:
            underivable(result, f"aten::{'floor_divide_' if name == '__ifloordiv__' else name}")
        return result if self.node is None else renamed(result, self.node)


# -- memory ------------------------------------------------------------------------------------------------------------


def shows_the_same(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors show the same places of one memory in the same way."""
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


def _bytes_of(place: Geometry, tensor: Tensor) -> tuple[int, int]:
    """Where the bytes of a block of memory begin and end."""
    itemsize = tensor.dtype.itemsize
    return place.offset * itemsize, (place.offset + math.prod(place.shape)) * itemsize


def refuse_shown_twice(place: Geometry) -> None:
    """Refuse to write to what shows one place several times.

    Raises:
        RuntimeError: PyTorch's message.
    """
    if overlaps_itself(place.shape, place.strides):
        raise RuntimeError(SHOWN_TWICE)


def settled(name: str, tensor: Tensor, before: Tensor, result: Tensor) -> Tensor:
    """The result for a tensor that may show a place several times, which is deprecated: what was written there last."""
    spec = tensor._spec
    if spec.strides is None or not overlaps_itself(spec.shape, spec.strides):
        return result
    what, index = ("tensor", "indices") if name == "index_put_" else ("scalar", "mask")
    warnings.warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
        f"This also applies to advanced indexing e.g. tensor[{index}] = {what}",
        stacklevel=5,
    )
    with switched(grad=False):
        for axis, (length, stride) in enumerate(zip(spec.shape, spec.strides, strict=True)):
            if not stride and length > 1:
                last = shape_ops.select(before, 0, axis=axis)
                for position in range(length):
                    one = shape_ops.select(result, position, axis=axis)
                    last = where(ne(one, shape_ops.select(before, position, axis=axis)), one, last)
                everywhere = broadcast_to(shape_ops.unsqueeze(last, axis=axis), shape=tuple(result.shape))
                result = wrap(value_of(everywhere), result._spec, result._edge)
    return result


# -- dtypes ------------------------------------------------------------------------------------------------------------


def _abs(tensor: Tensor, result: Tensor) -> None:
    if tensor.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


def _float_power(tensor: Tensor, exponent: Any) -> None:
    wide = complex128 if common_dtype(tensor, exponent).is_complex else float64
    if tensor.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {tensor.dtype.scalar_name} but the operation's result requires "
            f"dtype {wide.scalar_name}"
        )


def _clamp(tensor: Tensor, result: Tensor) -> None:
    if result.dtype.category > tensor.dtype.category:
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type {cpp_name(tensor.dtype)}"
        )


def _ldexp(tensor: Tensor, result: Tensor) -> None:
    if result.dtype.category > tensor.dtype.category:
        raise RuntimeError(f"ldexp can't be cast to the desired output type {tensor.dtype.scalar_name}")


def _mvlgamma(tensor: Tensor, result: Tensor) -> None:
    if result.dtype.category > tensor.dtype.category:
        raise RuntimeError(
            f"mvlgamma: result type {tensor.dtype.scalar_name} can't be cast to the desired output type "
            f"{result.dtype.scalar_name}"
        )


def _scan(kernel: str) -> Callable[[Tensor, Tensor], None]:
    def check(tensor: Tensor, result: Tensor) -> None:
        if tensor.dtype.category == BOOL:
            raise unsupported(kernel, tensor.dtype)

    return check


# -- shapes ------------------------------------------------------------------------------------------------------------


def _same_shape(tensor: Tensor, result: Tensor) -> None:
    if tensor.shape != result.shape:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(tensor.shape)} and output tensor size {list(result.shape)} "
            "should match"
        )


def _addmm(tensor: Tensor, mat1: Tensor, mat2: Tensor, **scales: Any) -> None:
    if mat1.ndim == mat2.ndim == 2 and mat1.shape[1] == mat2.shape[0]:
        shape = (mat1.shape[0], mat2.shape[1])
        if tensor.shape != shape:
            raise RuntimeError(
                f"Bad in-place call: input tensor size {list(tensor.shape)} and output tensor size {list(shape)} "
                "should match"
            )


def _addr(tensor: Tensor, vec1: Tensor, vec2: Tensor, **scales: Any) -> None:
    if tensor.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {tensor.ndim}D tensor for input")
    if vec1.ndim == vec2.ndim == 1 and tuple(tensor.shape) != (*vec1.shape, *vec2.shape):
        raise RuntimeError(
            f"size mismatch, input: {list(tensor.shape)}, v1: {list(vec1.shape)}, v2: {list(vec2.shape)}"
        )


def _masked_scatter(tensor: Tensor, mask: Tensor, source: Tensor) -> None:
    if mask.ndim > tensor.ndim:
        raise RuntimeError(
            f"expand(CPUBoolType{{{list(mask.shape)}}}, size={list(tensor.shape)}): the number of sizes provided "
            f"({tensor.ndim}) must be greater or equal to the number of dimensions in the tensor ({mask.ndim})"
        )


def resize_for(result: Tensor, target: Tensor) -> None:
    """Give a tensor that is about to be written to the shape of the result; its memory is made larger if need be."""
    spot = Geometry(tuple(result.shape), result._spec.fresh.layout, target._offset)
    storage = storage_of(target)
    if extent(spot) * target.dtype.itemsize > placing.nbytes_of(storage):
        placing.resize_memory(storage, extent(spot) * target.dtype.itemsize)
    placing.place(target, storage, spot, target.dtype, target._view_bits)


def _addbmm(tensor: Tensor, result: Tensor) -> None:
    if tensor.shape != result.shape:  # as PyTorch does here, and nowhere else
        resize_for(result, tensor)


# -- the table ---------------------------------------------------------------------------------------------------------

ORDINARY = Rule()

RULES: dict[str, Rule] = {
    **{f"{name}_": Rule(node=f"{node}Backward1") for name, node in {
        "asinh": "Asinh", "arcsinh": "Asinh", "acosh": "Acosh", "arccosh": "Acosh", "atanh": "Atanh",
        "arctanh": "Atanh", "polygamma": "Polygamma",
    }.items()},
    **{f"{name}_": Rule(overlapping="deprecated", apart=apart)
       for name, apart in (("masked_fill", False), ("index_fill", False), ("index_put", "strictly"))},
    **{f"{name}_": Rule(apart="strictly")
       for name in ("index_add", "index_copy", "index_reduce", "put", "scatter_add", "scatter_reduce")},
    **{f"{name}_": Rule(overlapping=True, apart=False) for name in ("tril", "triu")},
    **{f"{name}_": Rule(overlapping=True, apart=False, check=_same_shape) for name in ("addmv", "baddbmm")},
    "masked_scatter_": Rule(apart=False, first=_masked_scatter), "addmm_": Rule(apart=False, first=_addmm),
    "addbmm_": Rule(apart=False, check=_addbmm), "addr_": Rule(first=_addr),
    **{f"{name}_": Rule(check=_abs) for name in ("abs", "absolute")},
    **{f"{name}_": Rule(check=_clamp) for name in ("clamp", "clip", "clamp_min", "clamp_max")},
    **{f"{name}_": Rule(check=_scan(f"{name}_out_cpu")) for name in ("cumsum", "cumprod")},
    **{f"{name}_": Rule(underivable=True) for name in ("floor_divide", "heaviside")},
    "scatter_": Rule(apart="strictly", underivable=True),
    "__ifloordiv__": Rule(underivable=True),
    **{f"logical_{name}_": Rule(unrecorded=True) for name in ("not", "and", "or", "xor")},
    "float_power_": Rule(first=_float_power),
    "ldexp_": Rule(check=_ldexp),
    "mvlgamma_": Rule(check=_mvlgamma),
}  # fmt: skip
"""Twins that differ from the others, by name."""
