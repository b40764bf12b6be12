"""What in-place twins have of their own, beside the function that they compute: PyTorch's refusals and names of nodes.

Note [Overlapping memory]
Most operators refuse to write to a tensor that shows one place of its memory several times, and to read from one that
shows some, but not just the same, of the places that are written: what comes out would depend on an order. Some of
PyTorch's don't look, and some only warn. Here nothing depends on an order, for an operator reads what was there before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tapegrad.execution.dtypes import BOOL, complex128, float64
from tapegrad.functions.naming import renamed, underivable
from tapegrad.functions.scalars import common_dtype, unsupported
from tapegrad.functions.viewing import geometry_of
from tapegrad.ops.checks import cpp_name
from tapegrad.tensor.geometry import Geometry, is_dense, overlaps_itself
from tapegrad.tensor.tensor import Tensor

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
        apart: whether operands are refused that share a part of the memory with it.
        check: refuses a tensor and the result computed for it.
        underivable: whether its derivative is refused under its own name.
        unrecorded: whether autograd doesn't look at it: a leaf that requires grad may be given.
        first: refuses a tensor and operands before anything else does.
    """

    node: str | None = None
    overlapping: bool | str = False
    apart: bool = True
    check: Callable[[Tensor, Tensor], None] | None = None
    underivable: bool = False
    unrecorded: bool = False
    first: Callable[[Tensor, Any], None] | None = None

    def apply(self, name: str, tensor: Tensor, result: Tensor) -> Tensor:
        """The result, checked and with a node of the right name."""
        if self.check is not None:
            self.check(tensor, result)
        if self.overlapping == "deprecated":
            warn_of_overlap(name, tensor)
        if self.underivable:
            underivable(result, f"aten::{'floor_divide_' if name == '__ifloordiv__' else name}")
        return result if self.node is None else renamed(result, self.node)


# -- memory ------------------------------------------------------------------------------------------------------------


def refuse_shared_parts(tensor: Tensor, operands: Iterable[Any], place: Geometry | None = None) -> None:
    """Refuse operands that show some, but not just the same, of the places of a tensor's memory that are written.

    See Note [Overlapping memory].

    Args:
        tensor: what is written to.
        operands: what is read; those that are no tensors don't matter.
        place: which part of the tensor's memory is written, if it is not what the tensor shows.

    Raises:
        RuntimeError: PyTorch's message.
    """
    storage = tensor._storage
    for operand in operands:
        if isinstance(operand, (tuple, list)):
            refuse_shared_parts(tensor, operand, place)
        elif not isinstance(operand, Tensor) or operand._storage is not storage or (operand is tensor and not place):
            continue
        elif _share_a_part(place or geometry_of(tensor), tensor.dtype.itemsize, operand):
            raise RuntimeError(SHARED_IN_PART)


def _share_a_part(place: Geometry, itemsize: int, operand: Tensor) -> bool:
    shape, strides, offset = place
    spec = operand._spec
    if 0 in shape or not spec.numel or not (is_dense(shape, strides) and is_dense(spec.shape, spec.layout)):
        return False
    count = 1
    for length in shape:
        count *= length
    first, size = offset * itemsize, count * itemsize
    start = operand._offset * spec.dtype.itemsize
    if (start, spec.numel * spec.dtype.itemsize) == (first, size):
        return spec.layout != strides
    return start < first + size and first < start + spec.numel * spec.dtype.itemsize


def refuse_shown_twice(place: Geometry) -> None:
    """Refuse to write to what shows one place several times.

    Raises:
        RuntimeError: PyTorch's message.
    """
    if overlaps_itself(place.shape, place.strides):
        raise RuntimeError(SHOWN_TWICE)


def warn_of_overlap(name: str, tensor: Tensor) -> None:
    """Say that an operator should no longer be given a tensor that shows a place several times, if it is one."""
    if tensor._spec.strides is not None and overlaps_itself(tensor._spec.shape, tensor._spec.strides):
        what = "tensor" if name == "index_put_" else "scalar"
        index = "indices" if name == "index_put_" else "mask"
        warnings.warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this "
            f"operation. This also applies to advanced indexing e.g. tensor[{index}] = {what}",
            stacklevel=5,
        )


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


# -- the table ---------------------------------------------------------------------------------------------------------

ORDINARY = Rule()

RULES: dict[str, Rule] = {
    **{f"{name}_": Rule(node=f"{node}Backward1") for name, node in {
        "asinh": "Asinh", "arcsinh": "Asinh", "acosh": "Acosh", "arccosh": "Acosh", "atanh": "Atanh",
        "arctanh": "Atanh", "polygamma": "Polygamma",
    }.items()},
    **{f"{name}_": Rule(overlapping="deprecated", apart=apart)
       for name, apart in (("masked_fill", False), ("index_fill", False), ("index_put", True))},
    **{f"{name}_": Rule(overlapping=True, apart=False) for name in ("tril", "triu", "addmv", "baddbmm")},
    **{f"{name}_": Rule(apart=False) for name in ("masked_scatter", "addmm", "addbmm")},
    **{f"{name}_": Rule(check=_abs) for name in ("abs", "absolute")},
    **{f"{name}_": Rule(check=_clamp) for name in ("clamp", "clip", "clamp_min", "clamp_max")},
    **{f"{name}_": Rule(check=_scan(f"{name}_out_cpu")) for name in ("cumsum", "cumprod")},
    **{f"{name}_": Rule(underivable=True) for name in ("floor_divide", "heaviside")},
    "__ifloordiv__": Rule(underivable=True),
    **{f"logical_{name}_": Rule(unrecorded=True) for name in ("not", "and", "or", "xor")},
    "float_power_": Rule(first=_float_power),
    "ldexp_": Rule(check=_ldexp),
    "mvlgamma_": Rule(check=_mvlgamma),
}  # fmt: skip
"""Twins that differ from the others, by name."""
