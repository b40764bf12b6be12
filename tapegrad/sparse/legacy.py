"""``torch.sparse.FloatTensor`` and the like, and ``x.new``: constructors from before there were dtypes."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.factory import is_integer, type_name
from tapegrad._src.execution.data import dtypes
from tapegrad._src.functions.creation import empty, zeros
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.sparse.coordinates import made, sparse_coo_tensor
from tapegrad.sparse.tensor import SparseTensor, is_coo


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


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A sparse tensor of the dtype of another one, from before there were dtypes: empty, or of indices and values.

    Args:
        args: nothing; lengths; or indices, values, and perhaps a size.
        device: where it is; where the other one is if None.

    Raises:
        TypeError: other arguments. PyTorch's messages.
        RuntimeError: the other one is compressed.

    >>> s = torch.tensor([0.0, 2.0]).to_sparse()
    >>> s.new(s._indices(), s._values() * 2, s.size()).to_dense()
    tensor([0., 4.])
    """
    if not is_coo(self):
        raise RuntimeError("Cannot map DispatchKey SparseCsrCPU to a unique layout.")
    first, where = args[0] if args else 0, device or self.device
    if len(args) in (2, 3) and isinstance(first, Tensor) and isinstance(args[1], Tensor):
        return sparse_coo_tensor(*args)
    if is_integer(first) or isinstance(first, Size):
        shape = tuple(first) if isinstance(first, Size) else args or (0,)
        indices = zeros(len(shape), 0, dtype=dtypes.int64, device=where)
        return made(indices, empty(0, dtype=self.dtype, device=where), shape)
    if isinstance(first, (list, tuple)):
        raise TypeError("SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or "
                        "construct a strided tensor and convert it to sparse via to_sparse.")  # fmt: skip
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({', '.join(map(type_name, args))}), but expected "
        "one of:\n * (*, torch.device device = None)\n * (Tensor indices, Tensor values, *, torch.device device = None)"
        "\n * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)"
        "\n * (tuple of ints size, *, torch.device device = None)\n"
    )


SparseTensor.new = new  # type: ignore[assignment]  # its arguments are others than those of dense tensors
