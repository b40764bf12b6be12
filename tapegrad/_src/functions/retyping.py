"""Views that show the same memory as other numbers: real and imaginary parts, conjugates, other dtypes."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import PROPERTIES, public
from tapegrad._src.bindings.viewing import declare_view, sharing, view_of
from tapegrad._src.dispatch.view_history import in_reals
from tapegrad._src.execution.array_functions.windows import CONJUGATED, NEGATED
from tapegrad._src.execution.data.dtypes import complex32, float16
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import Geometry, Ints
from tapegrad._src.tensor.spec import named_strides
from tapegrad._src.tensor.storage import Counter
from tapegrad._src.tensor.tensor import Tensor, share
from tapegrad.errors import ComplexHalfError
from tapegrad.ops import retyping, slicing
from tapegrad.ops import shape as ops
from tapegrad.ops.kinds import conj as conj_op

# -- complex numbers ---------------------------------------------------------------------------------------------------


@public("torch")
def real(input: Tensor) -> Tensor:
    """The real part, as a view; of a real tensor, the tensor itself."""
    return _part(_pairs(input), 0) if input.dtype.is_complex else input


def _pairs(input: Tensor) -> Tensor:
    """Real and imaginary parts of what is in memory, if that is shown as it is or as conjugates."""
    return view_of(conj(input) if input._view_bits & CONJUGATED else input, retyping.view_as_real)


def _part(pairs: Tensor, which: int) -> Tensor:
    return view_of(pairs, slicing.select, which, axis=pairs.ndim - 1)


@public("torch")
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view.

    Raises:
        RuntimeError: the tensor is not complex.
    """
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    pairs = _pairs(input)
    return _part(_neg_view(pairs) if input._view_bits & CONJUGATED else pairs, 1)




def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


PROPERTIES["real"] = property(real, _set_real, doc="The real part; of a real tensor, the tensor itself. It can be set.")
PROPERTIES["imag"] = property(imag, _set_imag, doc="The imaginary part of a complex tensor. It can be set.")


declare_view(retyping.view_as_real, in_reals)


@public("torch", "Tensor")
def view_as_real(input: Tensor) -> Tensor:
    """The real and imaginary parts of a complex tensor along a new last dimension.

    Raises:
        RuntimeError: it is not complex, or shows conjugates.
    """
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if input._view_bits & CONJUGATED:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )
    return view_of(input, retyping.view_as_real)


def _in_complex(place: Geometry) -> Geometry:
    shape, strides, offset = place
    return Geometry(shape[:-1], tuple(stride // 2 for stride in strides[:-1]), offset // 2)


declare_view(retyping.view_as_complex, _in_complex)


@public("torch", "Tensor")
def view_as_complex(input: Tensor) -> Tensor:
    """A last dimension of length 2, real and imaginary part, as complex numbers.

    Raises:
        RuntimeError: there is no such dimension, or the parts of a number don't lie side by side at even places.
    """
    if input.dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype.scalar_name}"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = input._spec.layout
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(stride % 2 for stride, length in zip(strides[:-1], input.shape[:-1], strict=True) if length != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    if input.dtype is float16:
        raise ComplexHalfError("view_as_complex")
    return view_of(input, retyping.view_as_complex)


declare_view(conj_op, lambda place: place, CONJUGATED)


@public("torch", "Tensor", aliases=("_conj",))
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view of the same memory; of a real tensor, the tensor itself.

    >>> x = torch.tensor([1 + 2j])
    >>> x.conj(), x.conj().is_conj()
    (tensor([1.-2.j]), True)
    """
    return view_of(input, conj_op) if input.dtype.is_complex else input


declare_view(retyping.neg_view, lambda place: place, NEGATED)


@public("torch", "Tensor")
def _neg_view(input: Tensor) -> Tensor:
    """The negative, as a view of the same memory."""
    return view_of(input, retyping.neg_view)


@public("torch", "Tensor")
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if it shows the conjugates of what is in memory."""
    return ops.clone(input) if input._view_bits & CONJUGATED else input


@public("torch", "Tensor")
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if it shows the negatives of what is in memory."""
    return ops.clone(input) if input._view_bits & NEGATED else input


@public("torch", "Tensor")
def is_conj(input: Tensor) -> bool:
    """Tell whether the tensor shows the conjugates of what is in memory."""
    return bool(input._view_bits & CONJUGATED)


@public("torch", "Tensor")
def is_neg(input: Tensor) -> bool:
    """Tell whether the tensor shows the negatives of what is in memory, as ``x.conj().imag`` does."""
    return bool(input._view_bits & NEGATED)


# -- other dtypes ------------------------------------------------------------------------------------------------------


def viewed_as(input: Tensor, dtype: dtype_class) -> Tensor:
    """The bytes of a tensor as another dtype: a new leaf on the same memory, to which no gradients flow.
    Raises RuntimeError: PyTorch's messages, if the sizes of the dtypes differ and elements don't lie side by side, or
    not at places that both have.
    """
    if dtype is complex32:
        raise ComplexHalfError("view")
    if input._view_bits:
        kind = "conjugate view tensors" if input._view_bits & CONJUGATED else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
    if dtype is input.dtype:
        result = sharing(input)
        result._spec = result._spec.replace(inference=thread.modes.inference or input._spec.inference)
    else:
        strides, offset = _place_as(input, dtype)
        result = retyping.bitcast(input, dtype=dtype)
        result._spec = result._spec.replace(strides=named_strides(result.shape, strides))
        share(result, input, offset)
    if result._spec.inference and not input._spec.inference:
        result._counter = Counter()  # writes to it are not counted
        result._counter.untracked = True
    return result


def _place_as(input: Tensor, dtype: dtype_class) -> tuple[Ints, int]:
    """Strides and offset in elements of another dtype."""
    strides, old, new = input._spec.layout, input.dtype.itemsize, dtype.itemsize
    if old == new:
        return strides, input._offset
    how = f"to view {input.dtype.scalar_name} as {dtype.scalar_name} (different element sizes)"
    if not strides:
        raise RuntimeError(f"self.dim() cannot be 0 {how}")
    ratio = max(1, new // old)
    places = [("size(-1)", input.shape[-1]), ("storage_offset()", input._offset)]
    _expect_divisible(places, ratio, how)
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {how}, but got {strides[-1]}")
    if old > new:
        ratio = old // new
        return (*(stride * ratio for stride in strides[:-1]), 1), input._offset * ratio
    _expect_divisible([(f"stride({axis})", stride) for axis, stride in enumerate(strides[:-1])], ratio, how)
    return (*(stride // ratio for stride in strides[:-1]), 1), input._offset // ratio


def _expect_divisible(counts: list[tuple[str, int]], ratio: int, how: str) -> None:
    """Refuse numbers of elements that can't be counted in elements ``ratio`` times as large."""
    for name, count in counts:
        if count % ratio:
            raise RuntimeError(f"self.{name} must be divisible by {ratio} {how}, but got {count}")
