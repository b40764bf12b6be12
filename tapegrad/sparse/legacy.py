"""``torch.sparse.FloatTensor`` and the like: constructors from before there were dtypes."""

from __future__ import annotations

from typing import Any

from tapegrad.execution import dtypes
from tapegrad.functions.creation import empty, zeros
from tapegrad.sparse.coordinates import made, sparse_coo_tensor
from tapegrad.sparse.tensor import is_coo
from tapegrad.tensor.tensor import Tensor


class _LegacyType(type):
    """The class of a type of tensors, which is asked about instances.

    Attributes:
        dtype: theirs.
    """

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_coo(instance) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any) -> Tensor:
        """An empty tensor of a size, or one of indices and values and perhaps a size."""
        if args and isinstance(args[0], Tensor) and len(args) > 1:
            return sparse_coo_tensor(args[0], args[1].detach(), *args[2:])
        shape = tuple(args[0]) if args and not isinstance(args[0], int) else args or (0,)
        count = len(shape) if args else 1
        return made(zeros(count, 0, dtype=dtypes.int64), empty(0, dtype=cls.dtype), shape)


def _of(dtype: Any, name: str) -> Any:
    found = _LegacyType(f"{name}Tensor", (), {"dtype": dtype, "__module__": "torch.sparse"})
    found.__doc__ = "The type of sparse tensors with coordinates and values of one dtype: deprecated."
    return found


FloatTensor, DoubleTensor = _of(dtypes.float32, "Float"), _of(dtypes.float64, "Double")
HalfTensor, BFloat16Tensor = _of(dtypes.float16, "Half"), _of(dtypes.bfloat16, "BFloat16")
LongTensor, IntTensor, ShortTensor = _of(dtypes.int64, "Long"), _of(dtypes.int32, "Int"), _of(dtypes.int16, "Short")
CharTensor, ByteTensor = _of(dtypes.int8, "Char"), _of(dtypes.uint8, "Byte")
