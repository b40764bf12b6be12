"""Written by ``python -m tapegrad.stubs``: see ``tapegrad/stubs/__init__.py``."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

import jax
import numpy as np

from tapegrad.execution.devices import device as _device
from tapegrad.execution.dtypes import dtype as _dtype
from tapegrad.bindings.generator import Generator
from tapegrad.bindings.storages import TypedStorage, UntypedStorage
from tapegrad.bindings import return_types
from tapegrad.tape.hooks import RemovableHandle
from tapegrad.tape.node import Node
from tapegrad.tensor.layout import layout as _layout
from tapegrad.tensor.layout import memory_format as _memory_format
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor

_Number = _int | _float | _complex
_Scalar = _int | _float | _complex | Tensor

class TensorMethods:
    def __abs__(self) -> Tensor:
        """The absolute value; real, of complex numbers too."""
    def __add__(self, other: Any) -> Tensor:
        """``input + alpha * other``, broadcast; either may be a number."""
    def __and__(self, other: Any) -> Tensor:
        """The bits set in both. Broadcast; either may be a number."""
    def __array__(self, dtype: Any = ..., copy: _bool | None = ...) -> np.ndarray:
        """The elements as an array, which shares their memory if no other dtype is wanted; raises as ``numpy`` does."""
    def __array_wrap__(self, array: np.ndarray, context: Any = ..., return_scalar: _bool = ...) -> Tensor:
        """What NumPy's functions make of their result when they are given tensors: a tensor, which nothing recorded."""
    def __bool__(self) -> _bool:
        """Whether the only element is not zero."""
    def __complex__(self) -> _complex:
        """The only element as a complex number."""
    def __contains__(self, element: Any) -> _bool:
        """Whether any element equals a number or (broadcast) tensor."""
    def __copy__(self) -> Tensor:
        """A leaf of the same class that shares the data, with the same attributes."""
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor:
        """A leaf with data, gradient and attributes of its own; tensors that share data still do in the copy."""
    def __delitem__(self, index: Any) -> None:
        """Raise TypeError: a tensor has all of its elements."""
    def __dir__(self) -> list[_str]:
        """The names of attributes, without those that only warn, and those that only other tensors have."""
    def __div__(self, other: Any) -> Any:
        """``input / other``, broadcast; either may be a number."""
    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: _bool | None = ...) -> Any:
        """A DLPack capsule that shares the data with other libraries: on the CPU writes are seen on both sides."""
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """DLPack's type and index of the device."""
    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        """Whether equal; never, if nan. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    def __float__(self) -> _float:
        """The only element as a float."""
    def __floordiv__(self, other: Any) -> Tensor:
        """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0."""
    def __format__(self, format_spec: _str) -> _str:
        """The number of a 0-dim tensor in the format given; otherwise the text of the tensor, which takes none."""
    def __ge__(self, other: Any) -> Tensor:
        """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    def __getitem__(self, index: Any) -> Tensor:
        """The part of the tensor that an index names; PyTorch's rules, which are mostly NumPy's."""
    def __gt__(self, other: Any) -> Tensor:
        """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    def __iadd__(self, other: Any) -> Self:
        """In-place version of ``add``."""
    def __iand__(self, other: Any) -> Self:
        """In-place version of ``__and__``."""
    def __idiv__(self, other: Any) -> Self:
        """In-place version of ``div``."""
    def __ifloordiv__(self, other: Any) -> Self:
        """In-place version of ``floor_divide``."""
    def __ilshift__(self, other: Any) -> Self:
        """In-place version of ``__lshift__``."""
    def __imod__(self, other: Any) -> Self:
        """In-place version of ``remainder``."""
    def __imul__(self, other: Any) -> Self:
        """In-place version of ``mul``."""
    def __index__(self) -> _int:
        """The only element of an integral or boolean tensor, to index sequences with."""
    def __int__(self) -> _int:
        """The only element as an int, cut off towards zero; nan and infinity raise as Python's do."""
    def __invert__(self) -> Tensor:
        """All bits flipped; of booleans, "not"."""
    def __ior__(self, other: Any) -> Self:
        """In-place version of ``__or__``."""
    def __ipow__(self, other: Any) -> Self:
        """In-place version of ``pow``."""
    def __irshift__(self, other: Any) -> Self:
        """In-place version of ``__rshift__``."""
    def __isub__(self, other: Any) -> Self:
        """In-place version of ``sub``."""
    def __iter__(self) -> Iterator[Tensor]:
        """Over the first dimension. Classes and modes override ``unbind``."""
    def __itruediv__(self, other: Any) -> Self:
        """In-place version of ``div``."""
    def __ixor__(self, other: Any) -> Self:
        """In-place version of ``__xor__``."""
    def __jax_array__(self) -> jax.Array:
        """What jax's functions see of a tensor that is given to them: its array, if no history would be lost."""
    def __le__(self, other: Any) -> Tensor:
        """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    def __len__(self) -> _int:
        """The length of the first dimension."""
    def __long__(self) -> _int:
        """The only element as an int, cut off towards zero; nan and infinity raise as Python's do."""
    def __lshift__(self, other: Any) -> Tensor:
        """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
    def __lt__(self, other: Any) -> Tensor:
        """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    def __matmul__(self, other: Any) -> Tensor:
        """The matrix product; a vector is a row on the left and a column on the right, more dimensions are batches."""
    def __mod__(self, other: Any) -> Tensor:
        """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
    def __mul__(self, other: Any) -> Tensor:
        """``input * other``, broadcast; either may be a number."""
    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    def __neg__(self) -> Tensor:
        """``-x``."""
    def __nonzero__(self) -> _bool:
        """Whether the only element is not zero."""
    def __or__(self, other: Any) -> Tensor:
        """The bits set in either. Broadcast; either may be a number."""
    def __pos__(self) -> Tensor:
        """The tensor itself."""
    def __pow__(self, other: Any) -> Tensor:
        """``input ** exponent``, broadcast; either may be a number."""
    def __radd__(self, other: Any) -> Tensor:
        """``input + alpha * other``, broadcast; either may be a number."""
    def __rand__(self, other: Any) -> Tensor:
        """The bits set in both. Broadcast; either may be a number."""
    def __rdiv__(self, other: Any) -> Any:
        """``other / self``."""
    def __reduce_ex__(self, proto: _int) -> tuple:
        """How a tensor is pickled: data, whether it requires grad, attributes; no gradient and no history."""
    def __repr__(self, *, tensor_contents: Any = ...) -> _str:
        """PyTorch's text of a tensor: its numbers, and what of its dtype, device and history is not obvious."""
    def __reversed__(self) -> Tensor:
        """The tensor with its first dimension flipped; a 0-dim one as it is."""
    def __rfloordiv__(self, other: Any) -> Tensor:
        """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0."""
    def __rlshift__(self, other: Any) -> Tensor:
        """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
    def __rmatmul__(self, other: Any) -> Tensor:
        """The matrix product; a vector is a row on the left and a column on the right, more dimensions are batches."""
    def __rmod__(self, other: Any) -> Tensor:
        """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
    def __rmul__(self, other: Any) -> Tensor:
        """``input * other``, broadcast; either may be a number."""
    def __ror__(self, other: Any) -> Tensor:
        """The bits set in either. Broadcast; either may be a number."""
    def __rpow__(self, other: Any) -> Tensor:
        """``input ** exponent``, broadcast; either may be a number."""
    def __rrshift__(self, other: Any) -> Tensor:
        """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
    def __rshift__(self, other: Any) -> Tensor:
        """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
    def __rsub__(self, other: Any) -> Tensor:
        """``other - alpha * input``."""
    def __rtruediv__(self, other: Any) -> Tensor:
        """``other / self``."""
    def __rxor__(self, other: Any) -> Tensor:
        """The bits set in one only. Broadcast; either may be a number."""
    def __setitem__(self, index: Any, value: Any) -> None:
        """Replace the part of the tensor that an index names by a number or a tensor, which is broadcast."""
    def __setstate__(self, state: Any) -> None:
        """Restore the attributes of a pickled tensor."""
    def __sub__(self, other: Any) -> Tensor:
        """``input - alpha * other``, broadcast; either may be a number."""
    def __truediv__(self, other: Any) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    def __xor__(self, other: Any) -> Tensor:
        """The bits set in one only. Broadcast; either may be a number."""
    def _coalesced_(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def _conj(self) -> Tensor:
        """The complex conjugate, as a view of the same memory; of a real tensor, the tensor itself."""
    def _dimI(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def _dimV(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def _indices(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def _is_view(self) -> _bool:
        """Whether this is a view of another tensor's memory."""
    def _neg_view(self) -> Tensor:
        """The negative, as a view of the same memory."""
    def _nnz(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def _repr_html_(self) -> _str:
        """A piece of HTML that shows this, whole in itself."""
    def _values(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def abs(self) -> Tensor:
        """The absolute value; real, of complex numbers too."""
    def abs_(self) -> Self:
        """In-place version of ``abs``."""
    def absolute(self) -> Tensor:
        """The absolute value; real, of complex numbers too."""
    def absolute_(self) -> Self:
        """In-place version of ``absolute``."""
    def acos(self) -> Tensor:
        """The inverse cosine."""
    def acos_(self) -> Self:
        """In-place version of ``acos``."""
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(self) -> Self:
        """In-place version of ``acosh``."""
    def add(self, other: Tensor | _Number, *, alpha: _Scalar = ...) -> Tensor:
        """``input + alpha * other``, broadcast; either may be a number."""
    def add_(self, other: Tensor | _Number, *, alpha: _Scalar = ...) -> Self:
        """In-place version of ``add``."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Tensor:
        """``beta * input + alpha * sum(batch1 @ batch2)``, the sum over the batch."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Self:
        """In-place version of ``addbmm``."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Scalar = ...) -> Tensor:
        """``input + value * tensor1 / tensor2``, broadcast, for a number ``value``."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Scalar = ...) -> Self:
        """In-place version of ``addcdiv``."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Scalar = ...) -> Tensor:
        """``input + value * tensor1 * tensor2``, broadcast, for a number ``value``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Scalar = ...) -> Self:
        """In-place version of ``addcmul``."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``; where ``beta`` is 0, ``input`` is not read."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Self:
        """In-place version of ``addmm``."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Self:
        """In-place version of ``addmv``."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Self:
        """In-place version of ``addr``."""
    def adjoint(self) -> Tensor:
        """The conjugate transposes of matrices in the last two dimensions."""
    @overload
    def all(self) -> Tensor:
        """Whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
    @overload
    def all(self, dim: Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
    @overload
    def all(self, dim: _int, keepdim: _bool = ...) -> Tensor:
        """Whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
    def allclose(self, other: Tensor, rtol: _float | Tensor = ..., atol: _float | Tensor = ..., equal_nan: _bool = ...) -> _bool:
        """Whether ``isclose`` holds everywhere. Waits for the data."""
    def amax(self, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The largest elements over ``dim`` (all if it is empty); equal ones share the gradient."""
    def amin(self, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The smallest elements over ``dim`` (all if it is empty); equal ones share the gradient."""
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ...) -> return_types.aminmax:
        """The smallest and the largest elements, of all or over ``dim``: a named tuple ``(min, max)``."""
    def angle(self) -> Tensor:
        """The angle of a complex number; of a real one 0 or pi, or nan."""
    @overload
    def any(self) -> Tensor:
        """Whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
    @overload
    def any(self, dim: Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor:
        """Whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
    @overload
    def any(self, dim: _int, keepdim: _bool = ...) -> Tensor:
        """Whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
    def apply_(self, callable: Callable) -> Self:
        """Replace each element by what a Python function makes of it. No gradient passes, and it does not count as a write."""
    def arccos(self) -> Tensor:
        """The inverse cosine."""
    def arccos_(self) -> Self:
        """In-place version of ``arccos``."""
    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(self) -> Self:
        """In-place version of ``arccosh``."""
    def arcsin(self) -> Tensor:
        """The inverse sine."""
    def arcsin_(self) -> Self:
        """In-place version of ``arcsin``."""
    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Self:
        """In-place version of ``arcsinh``."""
    def arctan(self) -> Tensor:
        """The inverse tangent."""
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle of the point with ordinate ``x`` and abscissa ``y``."""
    def arctan2_(self, other: Tensor) -> Self:
        """In-place version of ``arctan2``."""
    def arctan_(self) -> Self:
        """In-place version of ``arctan``."""
    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(self) -> Self:
        """In-place version of ``arctanh``."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The index (int64) of the first largest element over ``dim``, or in the flattened tensor; nan is the largest."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor:
        """The index (int64) of the first smallest element over ``dim``, or in the flattened tensor; nan is the smallest."""
    @overload
    def argsort(self, *, stable: _bool, dim: _int = ..., descending: _bool = ...) -> Tensor:
        """The indices (int64) that sort ``input`` along ``dim``; equal elements keep their order."""
    @overload
    def argsort(self, dim: _int = ..., descending: _bool = ...) -> Tensor:
        """The indices (int64) that sort ``input`` along ``dim``; equal elements keep their order."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not zero: int64 of shape (number, ndim)."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ...) -> Tensor:
        """The view of a tensor's memory with this shape, strides and offset, whatever part of it the tensor itself shows."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ...) -> Self:
        """``as_strided`` in place: from now on the tensor shows that part of its memory."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ...) -> Tensor:
        """A copy of ``input`` with ``src`` in place of what ``as_strided`` shows."""
    def as_subclass(self, cls: Any) -> Tensor:
        """This tensor as an instance of a subclass of Tensor: a view of all of it."""
    def asin(self) -> Tensor:
        """The inverse sine."""
    def asin_(self) -> Self:
        """In-place version of ``asin``."""
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> Self:
        """In-place version of ``asinh``."""
    def atan(self) -> Tensor:
        """The inverse tangent."""
    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point with ordinate ``x`` and abscissa ``y``."""
    def atan2_(self, other: Tensor) -> Self:
        """In-place version of ``atan2``."""
    def atan_(self) -> Self:
        """In-place version of ``atan``."""
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(self) -> Self:
        """In-place version of ``atanh``."""
    def backward(self, gradient: Any = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ...) -> None:
        """Accumulate the gradients of this tensor into the leaves of its graph; see ``autograd.backward``."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)``, of batches of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Self:
        """In-place version of ``baddbmm``."""
    @overload
    def bernoulli(self, *, generator: Generator | None = ...) -> Tensor:
        """1 with the probability that ``input`` has there, else 0; with a number ``p``, that probability everywhere."""
    @overload
    def bernoulli(self, p: _float | Tensor, *, generator: Generator | None = ...) -> Tensor:
        """1 with the probability that ``input`` has there, else 0; with a number ``p``, that probability everywhere."""
    @overload
    def bernoulli_(self, p: Tensor, *, generator: Generator | None = ...) -> Self:
        """Fill with 1 with the probability ``p``, else 0; ``p`` is a number, or a tensor that broadcasts to this one."""
    @overload
    def bernoulli_(self, p: _float | Tensor = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with 1 with the probability ``p``, else 0; ``p`` is a number, or a tensor that broadcasts to this one."""
    def bfloat16(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.bfloat16``; itself if it has it."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int | Tensor = ...) -> Tensor:
        """How often each number occurs in a 1-dimensional tensor of integers that are not negative, or the sums of its"""
    @overload
    def bitwise_and(self, other: Tensor) -> Tensor:
        """The bits set in both. Broadcast; either may be a number."""
    @overload
    def bitwise_and(self, other: _Scalar) -> Tensor:
        """The bits set in both. Broadcast; either may be a number."""
    @overload
    def bitwise_and_(self, other: Tensor) -> Self:
        """In-place version of ``bitwise_and``."""
    @overload
    def bitwise_and_(self, other: _Scalar) -> Self:
        """In-place version of ``bitwise_and``."""
    @overload
    def bitwise_left_shift(self, other: Tensor) -> Tensor:
        """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
    @overload
    def bitwise_left_shift(self, other: _Scalar) -> Tensor:
        """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
    @overload
    def bitwise_left_shift_(self, other: Tensor) -> Self:
        """In-place version of ``bitwise_left_shift``."""
    @overload
    def bitwise_left_shift_(self, other: _Scalar) -> Self:
        """In-place version of ``bitwise_left_shift``."""
    def bitwise_not(self) -> Tensor:
        """All bits flipped; of booleans, "not"."""
    def bitwise_not_(self) -> Self:
        """In-place version of ``bitwise_not``."""
    @overload
    def bitwise_or(self, other: Tensor) -> Tensor:
        """The bits set in either. Broadcast; either may be a number."""
    @overload
    def bitwise_or(self, other: _Scalar) -> Tensor:
        """The bits set in either. Broadcast; either may be a number."""
    @overload
    def bitwise_or_(self, other: Tensor) -> Self:
        """In-place version of ``bitwise_or``."""
    @overload
    def bitwise_or_(self, other: _Scalar) -> Self:
        """In-place version of ``bitwise_or``."""
    @overload
    def bitwise_right_shift(self, other: Tensor) -> Tensor:
        """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
    @overload
    def bitwise_right_shift(self, other: _Scalar) -> Tensor:
        """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
    @overload
    def bitwise_right_shift_(self, other: Tensor) -> Self:
        """In-place version of ``bitwise_right_shift``."""
    @overload
    def bitwise_right_shift_(self, other: _Scalar) -> Self:
        """In-place version of ``bitwise_right_shift``."""
    @overload
    def bitwise_xor(self, other: Tensor) -> Tensor:
        """The bits set in one only. Broadcast; either may be a number."""
    @overload
    def bitwise_xor(self, other: _Scalar) -> Tensor:
        """The bits set in one only. Broadcast; either may be a number."""
    @overload
    def bitwise_xor_(self, other: Tensor) -> Self:
        """In-place version of ``bitwise_xor``."""
    @overload
    def bitwise_xor_(self, other: _Scalar) -> Self:
        """In-place version of ``bitwise_xor``."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices, (b, n, k) and (b, k, m); the batches don't broadcast."""
    def bool(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.bool``; itself if it has it."""
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """The tensor broadcast to a shape: ``x.broadcast_to(2, 3)`` or ``x.broadcast_to((2, 3))``."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor:
        """The tensor broadcast to a shape: ``x.broadcast_to(2, 3)`` or ``x.broadcast_to((2, 3))``."""
    def byte(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.uint8``; itself if it has it."""
    def cauchy_(self, median: _float | Tensor = ..., sigma: _float | Tensor = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with Cauchy numbers."""
    def ccol_indices(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse column compressed ones."""
    def cdouble(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.complex128``; itself if it has it."""
    def ceil(self) -> Tensor:
        """The next whole number above."""
    def ceil_(self) -> Self:
        """In-place version of ``ceil``."""
    def cfloat(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.complex64``; itself if it has it."""
    def chalf(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: complex64 is the smallest complex dtype."""
    def char(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.int8``; itself if it has it."""
    def cholesky(self, upper: _bool = ...) -> Tensor:
        """``linalg.cholesky`` under its older name, deprecated."""
    def cholesky_inverse(self, upper: _bool = ...) -> Tensor:
        """The inverses of matrices whose Cholesky factors are given."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = ...) -> Tensor:
        """The solutions of equations ``A @ out = input`` where the Cholesky factors ``input2`` of A are given."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """A dimension in at most so many pieces of equal length (the last may be shorter)."""
    @overload
    def clamp(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
        """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
    @overload
    def clamp(self, min: _Scalar | None = ..., max: _Scalar | None = ...) -> Tensor:
        """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
    @overload
    def clamp_(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Self:
        """In-place version of ``clamp``."""
    @overload
    def clamp_(self, min: _Scalar | None = ..., max: _Scalar | None = ...) -> Self:
        """In-place version of ``clamp``."""
    @overload
    def clamp_max(self, max: Tensor) -> Tensor:
        """The smaller of ``input`` and ``max``, a number or a tensor; a tie's gradient goes to ``input``."""
    @overload
    def clamp_max(self, max: _Scalar) -> Tensor:
        """The smaller of ``input`` and ``max``, a number or a tensor; a tie's gradient goes to ``input``."""
    @overload
    def clamp_max_(self, max: Tensor) -> Self:
        """In-place version of ``clamp_max``."""
    @overload
    def clamp_max_(self, max: _Scalar) -> Self:
        """In-place version of ``clamp_max``."""
    @overload
    def clamp_min(self, min: Tensor) -> Tensor:
        """The greater of ``input`` and ``min``, a number or a tensor; a tie's gradient goes to ``input``."""
    @overload
    def clamp_min(self, min: _Scalar) -> Tensor:
        """The greater of ``input`` and ``min``, a number or a tensor; a tie's gradient goes to ``input``."""
    @overload
    def clamp_min_(self, min: Tensor) -> Self:
        """In-place version of ``clamp_min``."""
    @overload
    def clamp_min_(self, min: _Scalar) -> Self:
        """In-place version of ``clamp_min``."""
    @overload
    def clip(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
        """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
    @overload
    def clip(self, min: _Scalar | None = ..., max: _Scalar | None = ...) -> Tensor:
        """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
    @overload
    def clip_(self, min: Tensor | None = ..., max: Tensor | None = ...) -> Self:
        """In-place version of ``clip``."""
    @overload
    def clip_(self, min: _Scalar | None = ..., max: _Scalar | None = ...) -> Self:
        """In-place version of ``clip``."""
    def clone(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """A copy, with gradients flowing back to ``input``; its elements lie as those of ``input``, if no format is given."""
    def coalesce(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def col_indices(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse row compressed ones."""
    def conj(self) -> Tensor:
        """The complex conjugate, as a view of the same memory; of a real tensor, the tensor itself."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate; of a real tensor, the tensor itself."""
    def conj_physical_(self) -> Self:
        """Replace the elements by their complex conjugates."""
    def contiguous(self, *, memory_format: _memory_format = ...) -> Tensor:
        """The tensor itself if its elements lie in row-major order (or as a memory format says), else a copy."""
    def copy_(self, other: Tensor | _Number, non_blocking: _bool = ...) -> Self:
        """Replace the elements by those of ``src`` (a tensor or a number), broadcast and cast as need be."""
    @overload
    def copysign(self, other: Tensor) -> Tensor:
        """``input`` with the sign of ``other``, a tensor or a number; integers become floats."""
    @overload
    def copysign(self, other: _Scalar) -> Tensor:
        """``input`` with the sign of ``other``, a tensor or a number; integers become floats."""
    @overload
    def copysign_(self, other: Tensor) -> Self:
        """In-place version of ``copysign``."""
    @overload
    def copysign_(self, other: _Scalar) -> Self:
        """In-place version of ``copysign``."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables, the rows of ``input`` (n, observations): (n, n), between -1 and 1."""
    def cos(self) -> Tensor:
        """The cosine, of radians."""
    def cos_(self) -> Self:
        """In-place version of ``cos``."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Self:
        """In-place version of ``cosh``."""
    @overload
    def count_nonzero(self, dim: _int | None = ...) -> Tensor:
        """How many elements are not zero, of all or over ``dim``; int64."""
    @overload
    def count_nonzero(self, dim: Sequence[_int]) -> Tensor:
        """How many elements are not zero, of all or over ``dim``; int64."""
    @overload
    def count_nonzero(self, *dim: _int) -> Tensor:
        """How many elements are not zero, of all or over ``dim``; int64."""
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """The covariances of variables, the rows of ``input`` (n, observations): (n, n); of a vector, its variance."""
    def cpu(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on the CPU."""
    def cross(self, other: Tensor, dim: _int | None = ...) -> Tensor:
        """The cross product along ``dim``, or along the first dimension of length 3."""
    def crow_indices(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse row compressed ones."""
    def cuda(self, device: _device | _str | _int | None = ..., non_blocking: _bool = ..., *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor on a GPU, the first if none is named."""
    def cummax(self, dim: _int) -> return_types.cummax:
        """The largest elements so far along ``dim``: a named tuple of ``values`` and ``indices``, the latest of equals."""
    def cummin(self, dim: _int) -> return_types.cummin:
        """The smallest elements so far along ``dim``: a named tuple of ``values`` and ``indices``, the latest of equals."""
    def cumprod(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """The products of all elements up to each along ``dim``; of booleans and integers in int64 without a ``dtype``."""
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = ...) -> Self:
        """In-place version of ``cumprod``."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
        """The sums of all elements up to each along ``dim``; of booleans and integers in int64 without a ``dtype``."""
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = ...) -> Self:
        """In-place version of ``cumsum``."""
    def data_ptr(self) -> _int:
        """The address of the first element; 0 if there is none. It tells who shares memory with whom, and stays the same."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Self:
        """In-place version of ``deg2rad``."""
    def dense_dim(self) -> _int:
        """The number of dimensions, all of which are dense."""
    def dequantize(self) -> Tensor:
        """The tensor in float32: it is not quantized."""
    def det(self) -> Tensor:
        """The determinants of square matrices (..., n, n)."""
    def detach(self) -> Tensor:
        """The same data as a leaf that does not require grad; a write to one is seen on the other, and counted."""
    def detach_(self) -> Self:
        """Make this tensor a leaf that does not require grad. In inference mode it does nothing, as PyTorch's."""
    def diag(self, diagonal: _int = ...) -> Tensor:
        """A matrix's diagonal, or the matrix that has a vector on its diagonal; a new tensor."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Matrices in dimensions ``dim1`` and ``dim2`` of the result that have the last dimension on a diagonal."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """The matrix that has all elements on a diagonal."""
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """A diagonal of the matrices in dimensions ``dim1`` and ``dim2``, as the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """``input`` with ``src`` on a diagonal, as a new tensor."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ...) -> Tensor:
        """The differences of neighbours along ``dim``, ``n`` times over; "different from" for booleans."""
    def digamma(self) -> Tensor:
        """The derivative of ``lgamma``."""
    def digamma_(self) -> Self:
        """In-place version of ``digamma``."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, *, ambiguity_check: Any = ...) -> tuple[_int, ...]:
        """The dimensions in the order in which they lie in memory, the outermost first."""
    def dist(self, other: Tensor, p: _Scalar = ...) -> Tensor:
        """The ``p``-norm of all of ``input - other``, which are broadcast."""
    @overload
    def div(self, other: Tensor | _Number) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def div(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def div(self, other: _Scalar, *, rounding_mode: _str | None) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def div_(self, other: Tensor | _Number) -> Self:
        """In-place version of ``div``."""
    @overload
    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Self:
        """In-place version of ``div``."""
    @overload
    def div_(self, other: _Scalar, *, rounding_mode: _str | None) -> Self:
        """In-place version of ``div``."""
    @overload
    def divide(self, other: Tensor | _Number) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def divide(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def divide(self, other: _Scalar) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def divide(self, other: _Scalar, *, rounding_mode: _str | None) -> Tensor:
        """``input / other``, broadcast; either may be a number."""
    @overload
    def divide_(self, other: Tensor | _Number) -> Self:
        """In-place version of ``divide``."""
    @overload
    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None) -> Self:
        """In-place version of ``divide``."""
    @overload
    def divide_(self, other: _Scalar) -> Self:
        """In-place version of ``divide``."""
    @overload
    def divide_(self, other: _Scalar, *, rounding_mode: _str | None) -> Self:
        """In-place version of ``divide``."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements; complex ones are not conjugated."""
    def double(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.float64``; itself if it has it."""
    @overload
    def dsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Pieces along dimension 2."""
    @overload
    def dsplit(self, indices: Sequence[_int]) -> tuple[Tensor, ...]:
        """Pieces along dimension 2."""
    @overload
    def dsplit(self, *indices: _int) -> tuple[Tensor, ...]:
        """Pieces along dimension 2."""
    def element_size(self) -> _int:
        """The number of bytes of one element."""
    @overload
    def eq(self, other: Tensor) -> Tensor:
        """Whether equal; never, if nan. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def eq(self, other: _Scalar) -> Tensor:
        """Whether equal; never, if nan. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def eq_(self, other: Tensor) -> Self:
        """In-place version of ``eq``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def eq_(self, other: _Scalar) -> Self:
        """In-place version of ``eq``: zeros and ones of this dtype. The gradient is zero."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and equal elements. Waits for the data."""
    def erf(self) -> Tensor:
        """The error function."""
    def erf_(self) -> Self:
        """In-place version of ``erf``."""
    def erfc(self) -> Tensor:
        """``1 - erf(x)``, accurate far to the right."""
    def erfc_(self) -> Self:
        """In-place version of ``erfc``."""
    def erfinv(self) -> Tensor:
        """The inverse error function; in float64 with a step of Newton's, which XLA's needs close to 1."""
    def erfinv_(self) -> Self:
        """In-place version of ``erfinv``."""
    def exp(self) -> Tensor:
        """``e ** x``."""
    def exp2(self) -> Tensor:
        """``2 ** x``."""
    def exp2_(self) -> Self:
        """In-place version of ``exp2``."""
    def exp_(self) -> Self:
        """In-place version of ``exp``."""
    @overload
    def expand(self, size: Sequence[_int], *, implicit: _bool = ...) -> Tensor:
        """The tensor broadcast to a larger shape; -1 keeps a length."""
    @overload
    def expand(self, *size: _int, implicit: _bool = ...) -> Tensor:
        """The tensor broadcast to a larger shape; -1 keeps a length."""
    def expand_as(self, other: Tensor) -> Tensor:
        """The tensor broadcast to the shape of ``other``."""
    def expm1(self) -> Tensor:
        """``e ** x - 1``, accurate near 0."""
    def expm1_(self) -> Self:
        """In-place version of ``expm1``."""
    def exponential_(self, lambd: _float | Tensor = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with exponential numbers of the mean 1 / lambd."""
    @overload
    def fill_(self, value: Tensor) -> Self:
        """Replace every element by ``value``, a number or a 0-dim tensor."""
    @overload
    def fill_(self, value: _Scalar) -> Self:
        """Replace every element by ``value``, a number or a 0-dim tensor."""
    def fill_diagonal_(self, fill_value: _Scalar, wrap: _bool = ...) -> Self:
        """Put a number on the main diagonal; in a tall matrix, if ``wrap``, again below each square."""
    def fix(self) -> Tensor:
        """The next whole number towards 0."""
    def fix_(self) -> Self:
        """In-place version of ``fix``."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """The dimensions from ``start_dim`` to ``end_dim`` as one; a 0-dim tensor gets one dimension."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor:
        """``input`` with the order of the items of some dimensions reversed."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """``input`` with the order of the items of some dimensions reversed."""
    def fliplr(self) -> Tensor:
        """``input`` with its columns (dimension 1) reversed."""
    def flipud(self) -> Tensor:
        """``input`` with its rows (dimension 0) reversed."""
    def float(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.float32``; itself if it has it."""
    @overload
    def float_power(self, exponent: Tensor) -> Tensor:
        """``input ** exponent`` in float64, or complex128 if either operand is complex."""
    @overload
    def float_power(self, exponent: _Scalar) -> Tensor:
        """``input ** exponent`` in float64, or complex128 if either operand is complex."""
    @overload
    def float_power_(self, exponent: Tensor) -> Self:
        """In-place version of ``float_power``."""
    @overload
    def float_power_(self, exponent: _Scalar) -> Self:
        """In-place version of ``float_power``."""
    def floor(self) -> Tensor:
        """The next whole number below."""
    def floor_(self) -> Self:
        """In-place version of ``floor``."""
    @overload
    def floor_divide(self, other: Tensor | _Number) -> Tensor:
        """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0."""
    @overload
    def floor_divide(self, other: _Scalar) -> Tensor:
        """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0."""
    @overload
    def floor_divide_(self, other: Tensor | _Number) -> Self:
        """In-place version of ``floor_divide``."""
    @overload
    def floor_divide_(self, other: _Scalar) -> Self:
        """In-place version of ``floor_divide``."""
    def fmax(self, other: Tensor) -> Tensor:
        """The greater of two, the other one if one is nan; a tie's gradient goes to ``x``."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of two, the other one if one is nan; a tie's gradient goes to ``x``."""
    @overload
    def fmod(self, other: Tensor) -> Tensor:
        """The remainder of ``input / other``, with the sign of ``input``."""
    @overload
    def fmod(self, other: _Scalar) -> Tensor:
        """The remainder of ``input / other``, with the sign of ``input``."""
    @overload
    def fmod_(self, other: Tensor) -> Self:
        """In-place version of ``fmod``."""
    @overload
    def fmod_(self, other: _Scalar) -> Self:
        """In-place version of ``fmod``."""
    def frac(self) -> Tensor:
        """``x - trunc(x)``."""
    def frac_(self) -> Self:
        """In-place version of ``frac``."""
    def frexp(self) -> return_types.frexp:
        """``input`` as ``mantissa * 2 ** exponent``: a named tuple. The exponent is int32, and 0 of inf and nan."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ...) -> Tensor:
        """``out[i, j] = input[index[i, j], j]`` for ``dim=0``: an element for each index."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of integers. Broadcast."""
    def gcd_(self, other: Tensor) -> Self:
        """In-place version of ``gcd``."""
    @overload
    def ge(self, other: Tensor) -> Tensor:
        """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def ge(self, other: _Scalar) -> Tensor:
        """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def ge_(self, other: Tensor) -> Self:
        """In-place version of ``ge``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def ge_(self, other: _Scalar) -> Self:
        """In-place version of ``ge``: zeros and ones of this dtype. The gradient is zero."""
    def geometric_(self, p: _float | Tensor, *, generator: Generator | None = ...) -> Self:
        """Fill with the number of trials of probability ``p`` up to the first success."""
    def geqrf(self) -> return_types.geqrf:
        """The QR decomposition as LAPACK leaves it: a named tuple of ``a`` (R, and reflectors below it) and ``tau``."""
    def ger(self, vec2: Tensor) -> Tensor:
        """The product of every element of one vector with every element of another, (n, m)."""
    def get_device(self) -> _int:
        """The index of the tensor's accelerator; -1 on the CPU, and on ``meta``."""
    def graph(self, names: Mapping[_str, Tensor] | None = ..., *, inputs: Any = ..., title: _str | None = ..., fold: _bool = ..., most: _int = ...) -> Any:
        """The picture of this tensor's graph; see ``torch.viz.graph``."""
    @overload
    def greater(self, other: Tensor) -> Tensor:
        """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def greater(self, other: _Scalar) -> Tensor:
        """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def greater_(self, other: Tensor) -> Self:
        """In-place version of ``greater``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def greater_(self, other: _Scalar) -> Self:
        """In-place version of ``greater``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def greater_equal(self, other: Tensor) -> Tensor:
        """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def greater_equal(self, other: _Scalar) -> Tensor:
        """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def greater_equal_(self, other: Tensor) -> Self:
        """In-place version of ``greater_equal``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def greater_equal_(self, other: _Scalar) -> Self:
        """In-place version of ``greater_equal``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def gt(self, other: Tensor) -> Tensor:
        """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def gt(self, other: _Scalar) -> Tensor:
        """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def gt_(self, other: Tensor) -> Self:
        """In-place version of ``gt``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def gt_(self, other: _Scalar) -> Self:
        """In-place version of ``gt``: zeros and ones of this dtype. The gradient is zero."""
    def half(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.float16``; itself if it has it."""
    def hardshrink(self, lambd: _Scalar = ...) -> Tensor:
        """0 within ``[-lambd, lambd]``, ``input`` outside."""
    @overload
    def hash_tensor(self, dim: Sequence[_int] | _int | None = ..., *, keepdim: _bool = ..., mode: _int = ...) -> Tensor:
        """The exclusive or, over all elements or over ``dim``, of their bits in float64 or int64: uint64."""
    @overload
    def hash_tensor(self, *dim: _int, keepdim: _bool = ..., mode: _int = ...) -> Tensor:
        """The exclusive or, over all elements or over ``dim``, of their bits in float64 or int64: uint64."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 where ``input`` is negative, 1 where it is positive, ``values`` where it is 0. Not differentiable."""
    def heaviside_(self, values: Tensor) -> Self:
        """In-place version of ``heaviside``."""
    def histc(self, bins: _int = ..., min: _Scalar = ..., max: _Scalar = ...) -> Tensor:
        """How many elements lie in each of ``bins`` equal intervals between ``min`` and ``max``, which stand for the"""
    @overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogram:
        """How many elements, or how much of their weights, lie in intervals: a named tuple of ``hist`` and ``bin_edges``."""
    @overload
    def histogram(self, bins: _int = ..., *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogram:
        """How many elements, or how much of their weights, lie in intervals: a named tuple of ``hist`` and ``bin_edges``."""
    @overload
    def hsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Pieces along dimension 1 (of a vector along its only one), all of one length or cut at indices."""
    @overload
    def hsplit(self, indices: Sequence[_int]) -> tuple[Tensor, ...]:
        """Pieces along dimension 1 (of a vector along its only one), all of one length or cut at indices."""
    @overload
    def hsplit(self, *indices: _int) -> tuple[Tensor, ...]:
        """Pieces along dimension 1 (of a vector along its only one), all of one length or cut at indices."""
    def hypot(self, other: Tensor) -> Tensor:
        """``sqrt(x * x + y * y)``, without overflow."""
    def hypot_(self, other: Tensor) -> Self:
        """In-place version of ``hypot``."""
    def i0(self) -> Tensor:
        """The modified Bessel function of order 0."""
    def i0_(self) -> Self:
        """In-place version of ``i0``."""
    def igamma(self, other: Tensor) -> Tensor:
        """The regularized lower incomplete gamma function ``P(x, y)``."""
    def igamma_(self, other: Tensor) -> Self:
        """In-place version of ``igamma``."""
    def igammac(self, other: Tensor) -> Tensor:
        """The regularized upper incomplete gamma function ``Q(x, y)``."""
    def igammac_(self, other: Tensor) -> Self:
        """In-place version of ``igammac``."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Scalar = ...) -> Tensor:
        """``input`` with ``alpha`` times the slices of ``source`` added where ``index_select`` would read."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Scalar = ...) -> Self:
        """In-place version of ``index_add``."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """``input`` with slices of ``source`` where ``index_select`` would read."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """In-place version of ``index_copy``."""
    @overload
    def index_fill(self, dim: _int, index: Tensor, value: Tensor) -> Tensor:
        """``input`` with a number, or a 0-dim tensor, in place of the slices that ``index`` names."""
    @overload
    def index_fill(self, dim: _int, index: Tensor, value: _Scalar) -> Tensor:
        """``input`` with a number, or a 0-dim tensor, in place of the slices that ``index`` names."""
    @overload
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor) -> Self:
        """In-place version of ``index_fill``."""
    @overload
    def index_fill_(self, dim: _int, index: Tensor, value: _Scalar) -> Self:
        """In-place version of ``index_fill``."""
    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ...) -> Tensor:
        """``input`` with ``values`` (broadcast) put, or added, where ``input[indices]`` (a tuple of tensors) would read."""
    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ...) -> Self:
        """In-place version of ``index_put``."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ...) -> Tensor:
        """``input`` reduced ("prod", "mean", "amax", "amin") with the slices of ``source`` that go where ``index_select``"""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ...) -> Self:
        """In-place version of ``index_reduce``."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices of a dimension that a vector of indices names."""
    def indices(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def inner(self, other: Tensor) -> Tensor:
        """The sums of products along both last dimensions, for all pairs of the others; of a 0-dim operand, the product."""
    def int(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.int32``; itself if it has it."""
    def int_repr(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    def inverse(self) -> Tensor:
        """The inverses of square matrices: ``linalg.inv``."""
    def ipu(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: JAX has no such device; torch.accelerator tells what there is."""
    def is_coalesced(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def is_complex(self) -> _bool:
        """Whether the dtype is a complex one."""
    def is_conj(self) -> _bool:
        """Whether the tensor shows the conjugates of what is in memory."""
    def is_contiguous(self, *, memory_format: _memory_format = ...) -> _bool:
        """Whether elements lie in row-major order without gaps, or as another memory format says."""
    def is_distributed(self) -> _bool:
        """False: a tensor lies on one device."""
    def is_floating_point(self) -> _bool:
        """Whether the dtype is a floating one."""
    def is_inference(self) -> _bool:
        """Whether a tensor was made in inference mode; see ``inference_mode``."""
    def is_neg(self) -> _bool:
        """Whether the tensor shows the negatives of what is in memory, as ``x.conj().imag`` does."""
    def is_nonzero(self) -> _bool:
        """Whether the only element is not zero."""
    def is_pinned(self, device: _device | _str | _int | None = ...) -> _bool:
        """False: memory is not pinned here."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors show the same memory in the same way."""
    def is_shared(self) -> _bool:
        """Whether the data lies in memory shared between processes; only an accelerator's counts as such."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""
    def isclose(self, other: Tensor, rtol: _float | Tensor = ..., atol: _float | Tensor = ..., equal_nan: _bool = ...) -> Tensor:
        """Whether ``|input - other| <= atol + rtol * |other|``, element by element; infinities must be equal."""
    def isfinite(self) -> Tensor:
        """Whether neither nan nor infinite."""
    def isinf(self) -> Tensor:
        """Whether infinite, in either part."""
    def isnan(self) -> Tensor:
        """Whether nan, in either part."""
    def isneginf(self) -> Tensor:
        """Whether -inf."""
    def isposinf(self) -> Tensor:
        """Whether inf."""
    def isreal(self) -> Tensor:
        """Whether the imaginary part is 0; always, of a real tensor."""
    def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """The signal whose ``stft`` with these settings comes nearest to ``input``, in the sense of least squares."""
    def item(self) -> _int | _float:
        """The only element as a Python number."""
    def jax(self) -> jax.Array:
        """The elements as a jax array, which shares the tensor's memory. A later write to the tensor does not reach it."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: a block ``input[i, j] * other`` for every element of ``input``."""
    def kthvalue(self, k: _int | Tensor, dim: _int = ..., keepdim: _bool = ...) -> return_types.kthvalue:
        """The ``k``-th smallest elements over ``dim``, counted from 1: a named tuple of ``values`` and ``indices``."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of integers. Broadcast."""
    def lcm_(self, other: Tensor) -> Self:
        """In-place version of ``lcm``."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``."""
    def ldexp_(self, other: Tensor) -> Self:
        """In-place version of ``ldexp``."""
    @overload
    def le(self, other: Tensor) -> Tensor:
        """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def le(self, other: _Scalar) -> Tensor:
        """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def le_(self, other: Tensor) -> Self:
        """In-place version of ``le``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def le_(self, other: _Scalar) -> Self:
        """In-place version of ``le``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def lerp(self, end: Tensor, weight: Tensor) -> Tensor:
        """``input + weight * (end - input)``, for a ``weight`` that is a number or a tensor."""
    @overload
    def lerp(self, end: Tensor, weight: _Scalar) -> Tensor:
        """``input + weight * (end - input)``, for a ``weight`` that is a number or a tensor."""
    @overload
    def lerp_(self, end: Tensor, weight: Tensor) -> Self:
        """In-place version of ``lerp``."""
    @overload
    def lerp_(self, end: Tensor, weight: _Scalar) -> Self:
        """In-place version of ``lerp``."""
    @overload
    def less(self, other: Tensor) -> Tensor:
        """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def less(self, other: _Scalar) -> Tensor:
        """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def less_(self, other: Tensor) -> Self:
        """In-place version of ``less``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def less_(self, other: _Scalar) -> Self:
        """In-place version of ``less``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def less_equal(self, other: Tensor) -> Tensor:
        """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def less_equal(self, other: _Scalar) -> Tensor:
        """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def less_equal_(self, other: Tensor) -> Self:
        """In-place version of ``less_equal``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def less_equal_(self, other: _Scalar) -> Self:
        """In-place version of ``less_equal``: zeros and ones of this dtype. The gradient is zero."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Self:
        """In-place version of ``lgamma``."""
    def log(self) -> Tensor:
        """The natural logarithm."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Self:
        """In-place version of ``log10``."""
    def log1p(self) -> Tensor:
        """``log(1 + x)``, accurate near 0."""
    def log1p_(self) -> Self:
        """In-place version of ``log1p``."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Self:
        """In-place version of ``log2``."""
    def log_(self) -> Self:
        """In-place version of ``log``."""
    def log_normal_(self, mean: _float | Tensor = ..., std: _float | Tensor = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with numbers whose logarithms are normal, of this mean and standard deviation."""
    def log_softmax(self, dim: _int, dtype: _dtype | None = ...) -> Tensor:
        """The logarithm of ``softmax``, without forming it."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """``log(exp(x) + exp(y))``, without overflow; of complex numbers, from the one whose real part is larger on."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """``log2(2 ** x + 2 ** y)``, without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithms of the cumulative sums of ``exp(input)`` along ``dim``."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; nan where that is negative, -inf where it is 0."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both are nonzero. Broadcast; of any dtypes."""
    def logical_and_(self, other: Tensor) -> Self:
        """In-place version of ``logical_and``."""
    def logical_not(self) -> Tensor:
        """Whether zero."""
    def logical_not_(self) -> Self:
        """In-place version of ``logical_not``."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether at least one is nonzero. Broadcast; of any dtypes."""
    def logical_or_(self, other: Tensor) -> Self:
        """In-place version of ``logical_or``."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether exactly one is nonzero. Broadcast; of any dtypes."""
    def logical_xor_(self, other: Tensor) -> Self:
        """In-place version of ``logical_xor``."""
    def logit(self, eps: _float | Tensor | None = ...) -> Tensor:
        """``log(x / (1 - x))``, of ``input`` clamped to ``[eps, 1 - eps]`` if ``eps`` is given."""
    def logit_(self, eps: _float | Tensor | None = ...) -> Self:
        """In-place version of ``logit``."""
    def logsumexp(self, dim: Sequence[_int] | _int, keepdim: _bool = ...) -> Tensor:
        """The logarithm of the sum over ``dim`` of ``exp(input)``, without overflow; -inf of nothing."""
    def long(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.int64``; itself if it has it."""
    @overload
    def lt(self, other: Tensor) -> Tensor:
        """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def lt(self, other: _Scalar) -> Tensor:
        """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def lt_(self, other: Tensor) -> Self:
        """In-place version of ``lt``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def lt_(self, other: _Scalar) -> Self:
        """In-place version of ``lt``: zeros and ones of this dtype. The gradient is zero."""
    def lu(A: Tensor, pivot: _bool = ..., get_infos: _bool = ..., out: Any = ...) -> Any:
        """``linalg.lu_factor_ex`` as it was once called: (LU, pivots), and ``info`` with ``get_infos``."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The X of ``A X = input``, by what ``lu_factor(A)`` gives: ``linalg.lu_solve``."""
    def map2_(self, x: Tensor, y: Tensor, callable: Any) -> Self:
        """Replace each element by what a Python function makes of it and those of ``x`` and ``y``. See ``apply_``."""
    def map_(self, other: Tensor, callable: Any) -> Self:
        """Replace each element by what a Python function makes of it and that of ``tensor``. See ``apply_``."""
    @overload
    def masked_fill(self, mask: Tensor, value: Tensor) -> Tensor:
        """``input`` with ``value``, a number or a 0-dim tensor, where the mask holds. The dtype stays that of ``input``."""
    @overload
    def masked_fill(self, mask: Tensor, value: _Scalar) -> Tensor:
        """``input`` with ``value``, a number or a 0-dim tensor, where the mask holds. The dtype stays that of ``input``."""
    @overload
    def masked_fill_(self, mask: Tensor, value: Tensor) -> Self:
        """In-place version of ``masked_fill``."""
    @overload
    def masked_fill_(self, mask: Tensor, value: _Scalar) -> Self:
        """In-place version of ``masked_fill``."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """``input`` with the first elements of ``source`` where ``mask`` is set, in row-major order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place version of ``masked_scatter``."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements of ``input`` where ``mask`` is set, in a row; the two are broadcast."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product; a vector is a row on the left and a column on the right, more dimensions are batches."""
    def matrix_exp(self) -> Tensor:
        """The exponentials of square matrices (..., n, n)."""
    def matrix_power(self, n: _int) -> Tensor:
        """Square matrices (..., k, k) multiplied by themselves; inverted first if ``n`` is negative."""
    @overload
    def max(self) -> Tensor:
        """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with"""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with"""
    @overload
    def max(self, dim: _int, keepdim: _bool = ...) -> return_types.max:
        """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with"""
    def maximum(self, other: Tensor) -> Tensor:
        """The greater of two, nan if either is; a tie's gradient is shared."""
    @overload
    def mean(self, *, dtype: _dtype | None = ...) -> Tensor:
        """The arithmetic mean of all elements, or over ``dim``; of nothing, nan."""
    @overload
    def mean(self, dim: Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The arithmetic mean of all elements, or over ``dim``; of nothing, nan."""
    @overload
    def median(self) -> Tensor:
        """The median of all elements, or over ``dim`` a named tuple of the medians and their ``indices``."""
    @overload
    def median(self, dim: _int, keepdim: _bool = ...) -> return_types.median:
        """The median of all elements, or over ``dim`` a named tuple of the medians and their ``indices``."""
    @overload
    def min(self) -> Tensor:
        """The smallest element, or those over ``dim``, or ``minimum``: see ``max``."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smallest element, or those over ``dim``, or ``minimum``: see ``max``."""
    @overload
    def min(self, dim: _int, keepdim: _bool = ...) -> return_types.min:
        """The smallest element, or those over ``dim``, or ``minimum``: see ``max``."""
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of two, nan if either is; a tie's gradient is shared."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices, (n, k) and (k, m)."""
    def mode(self, dim: _int = ..., keepdim: _bool = ...) -> return_types.mode:
        """The most frequent elements over ``dim``, the smallest of several: a named tuple of ``values`` and ``indices``."""
    def module_load(self, other: Tensor, assign: _bool = ...) -> Tensor:
        """What a module is to have in the place of this tensor when it loads another, if tensors are swapped then."""
    @overload
    def moveaxis(self, source: _int, destination: _int) -> Tensor:
        """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
    @overload
    def moveaxis(self, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
    @overload
    def movedim(self, source: _int, destination: _int) -> Tensor:
        """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
    @overload
    def movedim(self, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
    def msort(self) -> Tensor:
        """The elements in order along the first dimension."""
    def mtia(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: JAX has no such device; torch.accelerator tells what there is."""
    def mul(self, other: Tensor | _Number) -> Tensor:
        """``input * other``, broadcast; either may be a number."""
    def mul_(self, other: Tensor | _Number) -> Self:
        """In-place version of ``mul``."""
    def multinomial(self, num_samples: _int | Tensor, replacement: _bool = ..., *, generator: Generator | None = ...) -> Tensor:
        """Indices of the last dimension of ``input`` (1-dim or 2-dim), drawn in proportion to its elements."""
    @overload
    def multiply(self, other: Tensor | _Number) -> Tensor:
        """``input * other``, broadcast; either may be a number."""
    @overload
    def multiply(self, other: _Scalar) -> Tensor:
        """``input * other``, broadcast; either may be a number."""
    @overload
    def multiply_(self, other: Tensor | _Number) -> Self:
        """In-place version of ``multiply``."""
    @overload
    def multiply_(self, other: _Scalar) -> Self:
        """In-place version of ``multiply``."""
    def mv(self, vec: Tensor) -> Tensor:
        """A matrix (n, m) times a vector (m,)."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of ``p`` variables; inf or nan where ``input <= (p - 1) / 2``."""
    def mvlgamma_(self, p: _int) -> Self:
        """In-place version of ``mvlgamma``."""
    def nan_to_num(self, nan: _float | Tensor | None = ..., posinf: _float | Tensor | None = ..., neginf: _float | Tensor | None = ...) -> Tensor:
        """``input`` with 0, the greatest and the least finite number (or those given) for nan, inf and -inf."""
    def nan_to_num_(self, nan: _float | Tensor | None = ..., posinf: _float | Tensor | None = ..., neginf: _float | Tensor | None = ...) -> Self:
        """In-place version of ``nan_to_num``."""
    def nanmean(self, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The mean over ``dim`` (or of all) of the elements that are not nan."""
    @overload
    def nanmedian(self) -> Tensor:
        """``median`` of the elements that are not nan."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ...) -> return_types.nanmedian:
        """``median`` of the elements that are not nan."""
    @overload
    def nanquantile(self, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ...) -> Tensor:
        """``quantile`` of the elements that are not nan; nan where all are."""
    @overload
    def nanquantile(self, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ...) -> Tensor:
        """``quantile`` of the elements that are not nan; nan where all are."""
    def nansum(self, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The sum over ``dim`` (or of all) of the elements that are not nan."""
    @overload
    def narrow(self, dim: _int, start: Tensor, length: _int | Tensor) -> Tensor:
        """``length`` items of dimension ``dim``, from ``start`` on."""
    @overload
    def narrow(self, dim: _int, start: _int | Tensor, length: _int | Tensor) -> Tensor:
        """``length`` items of dimension ``dim``, from ``start`` on."""
    def narrow_copy(self, dim: _int, start: _int | Tensor, length: _int | Tensor) -> Tensor:
        """``length`` items of a dimension, from ``start`` on, as a tensor of their own."""
    def ndimension(self) -> _int:
        """The number of dimensions."""
    @overload
    def ne(self, other: Tensor) -> Tensor:
        """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def ne(self, other: _Scalar) -> Tensor:
        """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def ne_(self, other: Tensor) -> Self:
        """In-place version of ``ne``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def ne_(self, other: _Scalar) -> Self:
        """In-place version of ``ne``: zeros and ones of this dtype. The gradient is zero."""
    def neg(self) -> Tensor:
        """``-x``."""
    def neg_(self) -> Self:
        """In-place version of ``neg``."""
    def negative(self) -> Tensor:
        """``-x``."""
    def negative_(self) -> Self:
        """In-place version of ``negative``."""
    def nelement(self) -> _int:
        """The number of elements."""
    @overload
    def new(self, *, device: _device | _str | _int | None = ...) -> Tensor:
        """The legacy constructor for this tensor's dtype and device."""
    @overload
    def new(self, storage: UntypedStorage | TypedStorage) -> Tensor:
        """The legacy constructor for this tensor's dtype and device."""
    @overload
    def new(self, other: Tensor) -> Tensor:
        """The legacy constructor for this tensor's dtype and device."""
    @overload
    def new(self, size: Sequence[_int], *, device: _device | _str | _int | None = ...) -> Tensor:
        """The legacy constructor for this tensor's dtype and device."""
    @overload
    def new(self, *size: _int, device: _device | _str | _int | None = ...) -> Tensor:
        """The legacy constructor for this tensor's dtype and device."""
    @overload
    def new(self, data: Any, *, device: _device | _str | _int | None = ...) -> Tensor:
        """The legacy constructor for this tensor's dtype and device."""
    @overload
    def new_empty(self, size: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """A tensor of a size, to be written yet, of this tensor's dtype and device; here zeros."""
    @overload
    def new_empty(self, *size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """A tensor of a size, to be written yet, of this tensor's dtype and device; here zeros."""
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """``empty_strided``, of this tensor's dtype and device."""
    def new_full(self, size: Sequence[_int], fill_value: _Scalar, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """A tensor of a size whose every element is ``fill_value``, of this tensor's dtype and device."""
    @overload
    def new_ones(self, size: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """Ones of a size, of this tensor's dtype and device."""
    @overload
    def new_ones(self, *size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """Ones of a size, of this tensor's dtype and device."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = ..., device: _device | _str | _int | None = ..., requires_grad: _bool = ...) -> Tensor:
        """A new tensor with a copy of ``data``, of this tensor's dtype and device if none are given."""
    @overload
    def new_zeros(self, size: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """Zeros of a size, of this tensor's dtype and device."""
    @overload
    def new_zeros(self, *size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
        """Zeros of a size, of this tensor's dtype and device."""
    def nextafter(self, other: Tensor) -> Tensor:
        """The number after each of ``input`` in the direction of ``other`` that their dtype can hold."""
    def nextafter_(self, other: Tensor) -> Self:
        """In-place version of ``nextafter``."""
    @overload
    def nonzero(self) -> Tensor:
        """The indices of the elements that are not zero: int64 of shape (number, ndim), or a tuple with one tensor for each"""
    @overload
    def nonzero(self, *, as_tuple: _bool) -> Tensor:
        """The indices of the elements that are not zero: int64 of shape (number, ndim), or a tuple with one tensor for each"""
    def nonzero_static(self, *, size: _int | Tensor, fill_value: _int = ...) -> Tensor:
        """The indices of the first ``size`` nonzero elements: int64 of shape (size, ndim), with ``fill_value`` where there"""
    def norm(self, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., dtype: _dtype | None = ...) -> Tensor:
        """The norm of all elements, or over ``dim``: see ``torch.norm``."""
    def normal_(self, mean: _float | Tensor = ..., std: _float | Tensor = ..., *, generator: Generator | None = ...) -> Self:
        """Fill with normal numbers."""
    @overload
    def not_equal(self, other: Tensor) -> Tensor:
        """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def not_equal(self, other: _Scalar) -> Tensor:
        """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
    @overload
    def not_equal_(self, other: Tensor) -> Self:
        """In-place version of ``not_equal``: zeros and ones of this dtype. The gradient is zero."""
    @overload
    def not_equal_(self, other: _Scalar) -> Self:
        """In-place version of ``not_equal``: zeros and ones of this dtype. The gradient is zero."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = ...) -> np.ndarray:
        """The elements as a NumPy array that shares the tensor's memory: a write to one side is seen on the other."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """``linalg.householder_product`` under LAPACK's name."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ...) -> Tensor:
        """``Q @ input3`` (``input3 @ Q`` unless ``left``; of the adjoint of Q, if ``transpose``), where Q (m, m) is the"""
    def outer(self, vec2: Tensor) -> Tensor:
        """The product of every element of one vector with every element of another, (n, m)."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor:
        """``input`` with its dimensions in the order given."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """``input`` with its dimensions in the order given."""
    def pin_memory(self, device: _device | _str | _int | None = ...) -> Tensor:
        """The tensor itself, where there is an accelerator."""
    def pinverse(self, rcond: _float | Tensor = ...) -> Tensor:
        """``linalg.pinv`` with ``rcond``."""
    def polygamma(self, n: _int) -> Tensor:
        """The ``n``-th derivative of ``digamma``."""
    def polygamma_(self, n: _int) -> Self:
        """In-place version of ``polygamma``."""
    def positive(self) -> Tensor:
        """The tensor itself."""
    @overload
    def pow(self, exponent: Tensor) -> Tensor:
        """``input ** exponent``, broadcast; either may be a number."""
    @overload
    def pow(self, exponent: _Scalar) -> Tensor:
        """``input ** exponent``, broadcast; either may be a number."""
    @overload
    def pow_(self, exponent: Tensor) -> Self:
        """In-place version of ``pow``."""
    @overload
    def pow_(self, exponent: _Scalar) -> Self:
        """In-place version of ``pow``."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``input`` where positive, else ``weight * input``, with one weight or one for each channel (dimension 1)."""
    @overload
    def prod(self, *, dtype: _dtype | None = ...) -> Tensor:
        """The product of all elements, or over one dimension ``dim``."""
    @overload
    def prod(self, dim: _int, keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The product of all elements, or over one dimension ``dim``."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """``input`` with the elements of ``source`` put, or added, at places counted in row-major order."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Self:
        """In-place version of ``put``."""
    def q_per_channel_axis(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    def q_per_channel_scales(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    def q_per_channel_zero_points(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    def q_scale(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    def q_zero_point(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    def qr(self, some: _bool = ...) -> return_types.qr:
        """``linalg.qr`` under its older name, deprecated: "reduced" if ``some``, else "complete"."""
    def qscheme(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute."""
    @overload
    def quantile(self, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ...) -> Tensor:
        """The ``q``-th quantiles of all elements, or over ``dim``; nan where there is a nan."""
    @overload
    def quantile(self, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ...) -> Tensor:
        """The ``q``-th quantiles of all elements, or over ``dim``; nan where there is a nan."""
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Self:
        """In-place version of ``rad2deg``."""
    @overload
    def random_(self, *, generator: Generator | None = ...) -> Self:
        """``random_()``, ``random_(to)``, ``random_(from, to)``: fill with whole numbers from ``from`` (0) to ``to`` - 1."""
    @overload
    def random_(self, from_: _int, to: _int | None, *, generator: Generator | None = ...) -> Self:
        """``random_()``, ``random_(to)``, ``random_(from, to)``: fill with whole numbers from ``from`` (0) to ``to`` - 1."""
    @overload
    def random_(self, to: _int, *, generator: Generator | None = ...) -> Self:
        """``random_()``, ``random_(to)``, ``random_(from, to)``: fill with whole numbers from ``from`` (0) to ``to`` - 1."""
    def ravel(self) -> Tensor:
        """All elements along one dimension: a view, of a copy where they don't lie in row-major order."""
    def reciprocal(self) -> Tensor:
        """``1 / x``."""
    def reciprocal_(self) -> Self:
        """In-place version of ``reciprocal``."""
    def record_stream(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: XLA orders what is computed, there are no streams; to read a value, as item() does, is to wait for it."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook`` with the gradient of this tensor whenever it is computed; what it returns replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook`` with this leaf each time its ``.grad`` has been accumulated; it must return None."""
    def relu(self) -> Tensor:
        """``input`` where positive, else 0; the gradient at 0 is 0."""
    def relu_(self) -> Self:
        """In-place version of ``relu``."""
    @overload
    def remainder(self, other: Tensor) -> Tensor:
        """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
    @overload
    def remainder(self, other: _Scalar) -> Tensor:
        """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
    @overload
    def remainder_(self, other: Tensor) -> Self:
        """In-place version of ``remainder``."""
    @overload
    def remainder_(self, other: _Scalar) -> Self:
        """In-place version of ``remainder``."""
    def renorm(self, p: _Scalar, dim: _int, maxnorm: _Scalar) -> Tensor:
        """``input`` with those slices along ``dim`` shrunk whose p-norm is larger than ``maxnorm``."""
    def renorm_(self, p: _Scalar, dim: _int, maxnorm: _Scalar) -> Self:
        """In-place version of ``renorm``."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor:
        """The tensor laid side by side, so many times along each dimension (there may be new dimensions in front)."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """The tensor laid side by side, so many times along each dimension (there may be new dimensions in front)."""
    @overload
    def repeat_interleave(self, repeats: Tensor, dim: _int | None = ..., *, output_size: _int | Tensor | None = ...) -> Tensor:
        """``torch.repeat_interleave``."""
    @overload
    def repeat_interleave(self, repeats: _int | Tensor, dim: _int | None = ..., *, output_size: _int | Tensor | None = ...) -> Tensor:
        """``torch.repeat_interleave``."""
    def requires_grad_(self, requires_grad: _bool = ...) -> Self:
        """Set ``requires_grad`` and return this tensor."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor:
        """The elements, in row-major order, in another shape (one length may be -1)."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """The elements, in row-major order, in another shape (one length may be -1)."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """``reshape`` to the shape of ``other``."""
    def resize(self, *sizes: Any) -> Tensor:
        """The elements of this tensor in another shape, which has as many. Deprecated in favour of ``reshape``."""
    @overload
    def resize_(self, size: Sequence[_int], *, memory_format: _memory_format | None = ...) -> Self:
        """Give this tensor another shape, in place: its memory is read in row-major order from where it begins."""
    @overload
    def resize_(self, *size: _int, memory_format: _memory_format | None = ...) -> Self:
        """Give this tensor another shape, in place: its memory is read in row-major order from where it begins."""
    def resize_as(self, tensor: Tensor) -> Tensor:
        """``resize`` to the shape of another tensor. Deprecated in favour of ``reshape``."""
    def resize_as_(self, the_template: Tensor, *, memory_format: _memory_format | None = ...) -> Self:
        """``resize_`` to the shape of another tensor; with ``torch.preserve_format``, also to its order in memory."""
    def resize_as_sparse_(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a sparse tensor is not resized, but made anew of its indices and values, and multiplied by mm and addmm."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself, or a copy if it shows the conjugates of what is in memory."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself, or a copy if it shows the negatives of what is in memory."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in ``.grad`` when it is computed; does nothing on a leaf."""
    def roll(self, shifts: Sequence[_int] | _int, dims: Sequence[_int] | _int | None = ...) -> Tensor:
        """``input`` with the items of ``dims`` (or of all elements in a row) moved on cyclically by ``shifts``."""
    def rot90(self, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor:
        """``input`` turned ``k`` times by a right angle, from the first towards the second of two dimensions."""
    @overload
    def round(self) -> Tensor:
        """The nearest whole number, the even one of two; with ``decimals``, rounded to so many digits after the point."""
    @overload
    def round(self, *, decimals: _int) -> Tensor:
        """The nearest whole number, the even one of two; with ``decimals``, rounded to so many digits after the point."""
    @overload
    def round_(self) -> Self:
        """In-place version of ``round``."""
    @overload
    def round_(self, *, decimals: _int) -> Self:
        """In-place version of ``round``."""
    def row_indices(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse column compressed ones."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(x)``."""
    def rsqrt_(self) -> Self:
        """In-place version of ``rsqrt``."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Tensor:
        """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
    @overload
    def scatter(self, dim: _int, index: Tensor, value: _Scalar) -> Tensor:
        """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
    @overload
    def scatter(self, dim: _int, index: Tensor, value: _Scalar, *, reduce: _str) -> Tensor:
        """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place version of ``scatter``."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Self:
        """In-place version of ``scatter``."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: _Scalar) -> Self:
        """In-place version of ``scatter``."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: _Scalar, *, reduce: _str) -> Self:
        """In-place version of ``scatter``."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with every element of ``src`` added where ``gather`` would read."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place version of ``scatter_add``."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ...) -> Tensor:
        """``input`` reduced ("sum", "prod", "mean", "amax", "amin") with all elements of ``src`` that go to a place."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ...) -> Self:
        """In-place version of ``scatter_reduce``."""
    def select(self, dim: _int, index: _int | Tensor) -> Tensor:
        """The slice of ``input`` at ``index`` of dimension ``dim``, without that dimension."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int | Tensor) -> Tensor:
        """``input`` with ``src`` at ``index`` of dimension ``dim``, as a new tensor."""
    @overload
    def set_(self) -> Self:
        """Let this tensor show the memory of another tensor, or a storage; without a source, no memory at all."""
    @overload
    def set_(self, source: UntypedStorage | TypedStorage) -> Self:
        """Let this tensor show the memory of another tensor, or a storage; without a source, no memory at all."""
    @overload
    def set_(self, source: UntypedStorage | TypedStorage, storage_offset: _int | Tensor, size: Sequence[_int], stride: Sequence[_int] | None = ...) -> Self:
        """Let this tensor show the memory of another tensor, or a storage; without a source, no memory at all."""
    @overload
    def set_(self, source: Tensor) -> Self:
        """Let this tensor show the memory of another tensor, or a storage; without a source, no memory at all."""
    @overload
    def set_(self, source: Tensor, storage_offset: _int | Tensor, size: Sequence[_int], stride: Sequence[_int] | None = ...) -> Self:
        """Let this tensor show the memory of another tensor, or a storage; without a source, no memory at all."""
    def sgn(self) -> Tensor:
        """``x / |x|``, 0 at 0."""
    def sgn_(self) -> Self:
        """In-place version of ``sgn``."""
    def share_memory_(self) -> Self:
        """The tensor itself: there is no memory shared between processes here."""
    def short(self, *, memory_format: _memory_format | None = ...) -> Tensor:
        """This tensor in the dtype ``torch.int16``; itself if it has it."""
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-x))``."""
    def sigmoid_(self) -> Self:
        """In-place version of ``sigmoid``."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 of nan."""
    def sign_(self) -> Self:
        """In-place version of ``sign``."""
    def signbit(self) -> Tensor:
        """Whether the sign is set; -0.0 has it."""
    def sin(self) -> Tensor:
        """The sine, of radians."""
    def sin_(self) -> Self:
        """In-place version of ``sin``."""
    def sinc(self) -> Tensor:
        """``sin(pi x) / (pi x)``, 1 at 0."""
    def sinc_(self) -> Self:
        """In-place version of ``sinc``."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Self:
        """In-place version of ``sinh``."""
    @overload
    def size(self) -> Size:
        """The shape, or the length of one dimension."""
    @overload
    def size(self, dim: _int) -> _int:
        """The shape, or the length of one dimension."""
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | Tensor | None = ..., end: _int | Tensor | None = ..., step: _int | Tensor = ...) -> Tensor:
        """``input`` with ``src`` in place of a slice of dimension ``dim``, as a new tensor."""
    def slogdet(self) -> return_types.slogdet:
        """The sign of the determinant, and the logarithm of its absolute value: ``linalg.slogdet``."""
    def smm(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    def softmax(self, dim: _int, dtype: _dtype | None = ...) -> Tensor:
        """``exp(input)`` over its sum along ``dim``, computed in ``dtype`` if that is given; nan where all are -inf."""
    @overload
    def sort(self, *, stable: _bool | None, dim: _int = ..., descending: _bool = ...) -> return_types.sort:
        """The elements along ``dim`` in order, a named tuple of ``values`` and ``indices``; nan is the largest."""
    @overload
    def sort(self, dim: _int = ..., descending: _bool = ...) -> return_types.sort:
        """The elements along ``dim`` in order, a named tuple of ``values`` and ``indices``; nan is the largest."""
    def sparse_dim(self) -> _int:
        """0: no dimension of a dense tensor is sparse."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the places of a sparse tensor ``mask``, as a sparse tensor."""
    def sparse_resize_(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a sparse tensor is not resized, but made anew of its indices and values, and multiplied by mm and addmm."""
    def sparse_resize_and_clear_(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a sparse tensor is not resized, but made anew of its indices and values, and multiplied by mm and addmm."""
    def split(self, split_size: Any, dim: _int = ...) -> tuple[Tensor, ...]:
        """``torch.split`` of this tensor."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """Pieces of a dimension, of these lengths."""
    def sqrt(self) -> Tensor:
        """The square root."""
    def sqrt_(self) -> Self:
        """In-place version of ``sqrt``."""
    def square(self) -> Tensor:
        """``input ** 2``; of booleans int64."""
    def square_(self) -> Self:
        """In-place version of ``square``."""
    @overload
    def squeeze(self) -> Tensor:
        """``input`` without its dimensions of length 1, or without those among ``dim``."""
    @overload
    def squeeze(self, dim: _int) -> Tensor:
        """``input`` without its dimensions of length 1, or without those among ``dim``."""
    @overload
    def squeeze(self, dim: Sequence[_int]) -> Tensor:
        """``input`` without its dimensions of length 1, or without those among ``dim``."""
    @overload
    def squeeze(self, *dim: _int) -> Tensor:
        """``input`` without its dimensions of length 1, or without those among ``dim``."""
    @overload
    def squeeze_(self) -> Self:
        """Drop the dimensions of length 1, or those among ``dim``, in place."""
    @overload
    def squeeze_(self, dim: _int) -> Self:
        """Drop the dimensions of length 1, or those among ``dim``, in place."""
    @overload
    def squeeze_(self, dim: Sequence[_int]) -> Self:
        """Drop the dimensions of length 1, or those among ``dim``, in place."""
    @overload
    def squeeze_(self, *dim: _int) -> Self:
        """Drop the dimensions of length 1, or those among ``dim``, in place."""
    def sspaddmm(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse coordinate ones."""
    @overload
    def std(self, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
    @overload
    def std(self, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ...) -> Tensor:
        """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
    @overload
    def std(self, *dim: _int, correction: _Scalar | None = ..., keepdim: _bool = ...) -> Tensor:
        """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
    @overload
    def std(self, unbiased: _bool = ...) -> Tensor:
        """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
    def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
        """The Fourier transforms of windows on a signal, ``hop_length`` (``n_fft // 4``) apart."""
    def storage(self) -> TypedStorage:
        """The memory of this tensor, as elements of its dtype. Deprecated in favour of ``untyped_storage()``."""
    def storage_offset(self) -> _int:
        """Where in its storage a tensor begins, in elements."""
    @overload
    def stride(self) -> tuple[_int, ...]:
        """How many elements apart neighbours along each dimension, or along one, lie in memory."""
    @overload
    def stride(self, dim: _int) -> _int:
        """How many elements apart neighbours along each dimension, or along one, lie in memory."""
    def sub(self, other: Tensor | _Number, *, alpha: _Scalar = ...) -> Tensor:
        """``input - alpha * other``, broadcast; either may be a number."""
    def sub_(self, other: Tensor | _Number, *, alpha: _Scalar = ...) -> Self:
        """In-place version of ``sub``."""
    @overload
    def subtract(self, other: Tensor | _Number, *, alpha: _Scalar = ...) -> Tensor:
        """``input - alpha * other``, broadcast; either may be a number."""
    @overload
    def subtract(self, other: _Scalar, alpha: _Scalar = ...) -> Tensor:
        """``input - alpha * other``, broadcast; either may be a number."""
    @overload
    def subtract_(self, other: Tensor | _Number, *, alpha: _Scalar = ...) -> Self:
        """In-place version of ``subtract``."""
    @overload
    def subtract_(self, other: _Scalar, alpha: _Scalar = ...) -> Self:
        """In-place version of ``subtract``."""
    @overload
    def sum(self, *, dtype: _dtype | None = ...) -> Tensor:
        """The sum of all elements, or over ``dim`` (an int, ints, or None or () for all)."""
    @overload
    def sum(self, dim: Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor:
        """The sum of all elements, or over ``dim`` (an int, ints, or None or () for all)."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor:
        """The sum over those dimensions in which a tensor of this size would have to be expanded; ``self`` if in none."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """The sum over those dimensions in which a tensor of this size would have to be expanded; ``self`` if in none."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ...) -> return_types.svd:
        """``U``, ``S`` and ``V`` (not its adjoint) of matrices: ``linalg.svd`` in its older form."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """``input`` with two dimensions exchanged."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """``transpose_``."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """``input`` with two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """``transpose_``."""
    def t(self) -> Tensor:
        """The transpose of a matrix; a tensor of fewer dimensions as it is."""
    def t_(self) -> Self:
        """Transpose this matrix, in place: its elements stay where they are in memory."""
    def take(self, index: Tensor) -> Tensor:
        """The elements at places counted in row-major order (negative ones from the end), in the shape of ``index``."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ...) -> Tensor:
        """``gather`` with the other dimensions broadcast; without ``dim``, from all elements in a row."""
    def tan(self) -> Tensor:
        """The tangent, of radians."""
    def tan_(self) -> Self:
        """In-place version of ``tan``."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self) -> Self:
        """In-place version of ``tanh``."""
    @overload
    def tensor_split(self, indices: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """``torch.tensor_split``."""
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
        """``torch.tensor_split``."""
    @overload
    def tensor_split(self, sections: _int | Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
        """``torch.tensor_split``."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor:
        """``input`` laid side by side; counts belong to the last dimensions, missing ones are 1."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """``input`` laid side by side; counts belong to the last dimensions, missing ones are 1."""
    @overload
    def to(self, dtype: _dtype, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: Any = ...) -> Tensor:
        """``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other)``: this tensor in a dtype and on a device."""
    @overload
    def to(self, device: _device | _str | _int | None = ..., dtype: _dtype | None = ..., non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: Any = ...) -> Tensor:
        """``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other)``: this tensor in a dtype and on a device."""
    @overload
    def to(self, other: Tensor, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: Any = ...) -> Tensor:
        """``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other)``: this tensor in a dtype and on a device."""
    def to_dense(self, dtype: _dtype | None = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """The tensor itself (in another dtype, if one is given); of a sparse one, a dense one with its elements."""
    def to_mkldnn(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: its layouts are of one CPU library; XLA chooses its own."""
    def to_padded_tensor(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there are no nested tensors; pad, and mask what is padding."""
    def to_sparse(self, *args: Any, **kwargs: Any) -> Any:
        """The elements that are not 0, as a sparse tensor of ``layout``, or with ``sparse_dim`` dimensions. See ``torch.sparse``."""
    def to_sparse_bsc(self, *args: Any, **kwargs: Any) -> Any:
        """The blocks of a matrix in which something is not 0, column by column. See ``torch.sparse``."""
    def to_sparse_bsr(self, *args: Any, **kwargs: Any) -> Any:
        """The blocks of a matrix in which something is not 0, row by row. See ``torch.sparse``."""
    def to_sparse_coo(self, *args: Any, **kwargs: Any) -> Any:
        """The elements that are not 0, with their coordinates. See ``torch.sparse``."""
    def to_sparse_csc(self, *args: Any, **kwargs: Any) -> Any:
        """The elements of a matrix that are not 0, column by column. See ``torch.sparse``."""
    def to_sparse_csr(self, *args: Any, **kwargs: Any) -> Any:
        """The elements of a matrix that are not 0, row by row. See ``torch.sparse``."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; of a 0-dim tensor, the number."""
    def topk(self, k: _int | Tensor, dim: _int = ..., largest: _bool = ..., sorted: _bool = ...) -> return_types.topk:
        """The ``k`` largest (or smallest) elements along ``dim``, best first: a named tuple of ``values`` and ``indices``."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """``input`` with two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """Exchange two dimensions, in place."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> return_types.triangular_solve:
        """The X of ``A X = input`` for the upper or the lower triangle of A, or its ``transpose``: (solution, cloned A)."""
    def tril(self, diagonal: _int | Tensor = ...) -> Tensor:
        """The lower triangles of matrices, up to a diagonal; the rest is zero."""
    def tril_(self, diagonal: _int | Tensor = ...) -> Self:
        """In-place version of ``tril``."""
    def triu(self, diagonal: _int | Tensor = ...) -> Tensor:
        """The upper triangles of matrices, from a diagonal on; the rest is zero."""
    def triu_(self, diagonal: _int | Tensor = ...) -> Self:
        """In-place version of ``triu``."""
    @overload
    def true_divide(self, other: Tensor | _Number) -> Tensor:
        """``input / other``, broadcast; integers are divided as floats."""
    @overload
    def true_divide(self, other: _Scalar) -> Tensor:
        """``input / other``, broadcast; integers are divided as floats."""
    @overload
    def true_divide_(self, other: Tensor | _Number) -> Self:
        """In-place version of ``true_divide``."""
    @overload
    def true_divide_(self, other: _Scalar) -> Self:
        """In-place version of ``true_divide``."""
    def trunc(self) -> Tensor:
        """The next whole number towards 0."""
    def trunc_(self) -> Self:
        """In-place version of ``trunc``."""
    @overload
    def type(self) -> _str:
        """The name of this tensor's type, such as ``torch.FloatTensor``; or, given a type, this tensor converted to it."""
    @overload
    def type(self, dtype: Any, non_blocking: _bool = ...) -> Tensor:
        """The name of this tensor's type, such as ``torch.FloatTensor``; or, given a type, this tensor converted to it."""
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in the dtype and on the device of another one."""
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]:
        """The slices along a dimension, without that dimension."""
    def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """The dimension ``dim`` spread over several of lengths ``sizes``, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of ``size`` items of a dimension, ``step`` apart; the items of a window are the last dimension."""
    def uniform_(self, from_: _float | Tensor = ..., to: _float | Tensor = ..., *, generator: Generator | None = ...) -> Self:
        """``uniform_(from=0, to=1)``: fill with numbers in [from, to)."""
    def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The distinct elements in ascending order, or the distinct slices along ``dim``; each nan is distinct."""
    def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The first element (or slice along ``dim``) of every run of equal ones: see ``unique``."""
    def unsafe_chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """``chunk`` into tensors that are not views for autograd."""
    def unsafe_split(self, split_size: _int | Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
        """``split`` into tensors that are not views for autograd, which may be written to if ``input`` isn't used then."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
        """``split_with_sizes`` into tensors that are not views for autograd."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """``input`` with a dimension of length 1 inserted at ``dim``."""
    def unsqueeze_(self, dim: _int) -> Self:
        """Put in a dimension of length 1, in place."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory of this tensor, as bytes; the same object for all tensors that share it."""
    def values(self, *args: Any, **kwargs: Any) -> Any:
        """Refused, as of any dense tensor: it is for sparse ones."""
    @overload
    def var(self, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> Tensor:
        """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
    @overload
    def var(self, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ...) -> Tensor:
        """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
    @overload
    def var(self, *dim: _int, correction: _Scalar | None = ..., keepdim: _bool = ...) -> Tensor:
        """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
    @overload
    def var(self, unbiased: _bool = ...) -> Tensor:
        """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
    def vdot(self, other: Tensor) -> Tensor:
        """``dot`` with ``input`` conjugated."""
    @overload
    def view(self, dtype: _dtype) -> Tensor:
        """The elements in another shape (one length may be -1), or their bytes as another dtype."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor:
        """The elements in another shape (one length may be -1), or their bytes as another dtype."""
    @overload
    def view(self, *size: _int) -> Tensor:
        """The elements in another shape (one length may be -1), or their bytes as another dtype."""
    def view_as(self, other: Tensor) -> Tensor:
        """``view`` with the shape of ``other``."""
    def view_as_complex(self) -> Tensor:
        """A last dimension of length 2, real and imaginary part, as complex numbers."""
    def view_as_real(self) -> Tensor:
        """The real and imaginary parts of a complex tensor along a new last dimension."""
    @overload
    def vsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Pieces along dimension 0."""
    @overload
    def vsplit(self, indices: Sequence[_int]) -> tuple[Tensor, ...]:
        """Pieces along dimension 0."""
    @overload
    def vsplit(self, *indices: _int) -> tuple[Tensor, ...]:
        """Pieces along dimension 0."""
    @overload
    def where(self, condition: Tensor, other: Tensor) -> Tensor:
        """The tensor where the condition holds, ``other`` elsewhere."""
    @overload
    def where(self, condition: Tensor, other: _Scalar) -> Tensor:
        """The tensor where the condition holds, ``other`` elsewhere."""
    @overload
    def xlogy(self, other: Tensor) -> Tensor:
        """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
    @overload
    def xlogy(self, other: _Scalar) -> Tensor:
        """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
    @overload
    def xlogy_(self, other: Tensor) -> Self:
        """In-place version of ``xlogy``."""
    @overload
    def xlogy_(self, other: _Scalar) -> Self:
        """In-place version of ``xlogy``."""
    def xpu(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: JAX has no such device; torch.accelerator tells what there is."""
    def zero_(self) -> Self:
        """Replace every element by zero."""
    @property
    def H(self) -> Any: ...
    @H.setter
    def H(self, value: Any) -> None: ...
    @property
    def T(self) -> Any: ...
    @T.setter
    def T(self, value: Any) -> None: ...
    @property
    def _backward_hooks(self) -> Any: ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...
    @property
    def _post_accumulate_grad_hooks(self) -> Any: ...
    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, value: Any) -> None: ...
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Any) -> None: ...
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def is_cpu(self) -> Any: ...
    @is_cpu.setter
    def is_cpu(self, value: Any) -> None: ...
    @property
    def is_cuda(self) -> Any: ...
    @is_cuda.setter
    def is_cuda(self, value: Any) -> None: ...
    @property
    def is_ipu(self) -> Any: ...
    @is_ipu.setter
    def is_ipu(self, value: Any) -> None: ...
    @property
    def is_maia(self) -> Any: ...
    @is_maia.setter
    def is_maia(self, value: Any) -> None: ...
    @property
    def is_meta(self) -> Any: ...
    @is_meta.setter
    def is_meta(self, value: Any) -> None: ...
    @property
    def is_mkldnn(self) -> Any: ...
    @is_mkldnn.setter
    def is_mkldnn(self, value: Any) -> None: ...
    @property
    def is_mps(self) -> Any: ...
    @is_mps.setter
    def is_mps(self, value: Any) -> None: ...
    @property
    def is_mtia(self) -> Any: ...
    @is_mtia.setter
    def is_mtia(self, value: Any) -> None: ...
    @property
    def is_nested(self) -> Any: ...
    @is_nested.setter
    def is_nested(self, value: Any) -> None: ...
    @property
    def is_quantized(self) -> Any: ...
    @is_quantized.setter
    def is_quantized(self, value: Any) -> None: ...
    @property
    def is_sparse(self) -> Any: ...
    @is_sparse.setter
    def is_sparse(self, value: Any) -> None: ...
    @property
    def is_sparse_csr(self) -> Any: ...
    @is_sparse_csr.setter
    def is_sparse_csr(self, value: Any) -> None: ...
    @property
    def is_vulkan(self) -> Any: ...
    @is_vulkan.setter
    def is_vulkan(self, value: Any) -> None: ...
    @property
    def is_xla(self) -> Any: ...
    @is_xla.setter
    def is_xla(self, value: Any) -> None: ...
    @property
    def is_xpu(self) -> Any: ...
    @is_xpu.setter
    def is_xpu(self, value: Any) -> None: ...
    @property
    def itemsize(self) -> Any: ...
    @itemsize.setter
    def itemsize(self, value: Any) -> None: ...
    @property
    def layout(self) -> _layout: ...
    @layout.setter
    def layout(self, value: Any) -> None: ...
    @property
    def mH(self) -> Any: ...
    @mH.setter
    def mH(self, value: Any) -> None: ...
    @property
    def mT(self) -> Any: ...
    @mT.setter
    def mT(self, value: Any) -> None: ...
    @property
    def name(self) -> Any: ...
    @name.setter
    def name(self, value: Any) -> None: ...
    @property
    def nbytes(self) -> Any: ...
    @nbytes.setter
    def nbytes(self, value: Any) -> None: ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    @property
    def volatile(self) -> Any: ...
    @volatile.setter
    def volatile(self, value: Any) -> None: ...
