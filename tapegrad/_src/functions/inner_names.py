"""Functions that PyTorch's own Python calls by names which begin with an underscore."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16, float32, int32, int64
from tapegrad._src.functions.activations import gelu, relu
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import arange
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.matmul import addmm, grouped_mm
from tapegrad._src.functions.sorting import searchsorted
from tapegrad._src.tensor.tensor import Tensor


@public("torch", "Tensor", in_place=False, out=True)
def _addmm_activation(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1, use_gelu: bool = False
) -> Tensor:
    """``relu`` of ``addmm``, or ``gelu`` by the hyperbolic tangent.

    Args:
        input, mat1, mat2, beta, alpha: as of ``torch.addmm``.
        use_gelu: whether it is ``gelu``.

    >>> torch._addmm_activation(torch.ones(2), -torch.eye(2), torch.ones(2, 2), alpha=3)
    tensor([[0., 0.],
            [0., 0.]])
    """
    total = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return gelu(total) if use_gelu else relu(total)


@public("Tensor")
def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    """The tensor in float32, if it has half precision, and autocast is on for its device.

    Args:
        cuda_enabled, cpu_enabled: whether that is so.
    """
    enabled = cpu_enabled if self.device.type == "cpu" else cuda_enabled
    return self.to(float32) if enabled and self.dtype in (float16, bfloat16) else self


@public("Tensor")
def _autocast_to_reduced_precision(
    self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: dtype, cpu_dtype: dtype
) -> Tensor:
    """The tensor in the dtype of its device, if it is in float32, and autocast is on there.

    Args:
        cuda_enabled, cpu_enabled: whether that is so.
        cuda_dtype, cpu_dtype: the dtypes.
    """
    enabled, kind = (cpu_enabled, cpu_dtype) if self.device.type == "cpu" else (cuda_enabled, cuda_dtype)
    return self.to(kind) if enabled and self.dtype is float32 else self


@public("Tensor")
def _lazy_clone(self: Tensor) -> Tensor:
    """``clone()``."""
    return self.clone()


@public("Tensor")
def _use_count(self: Tensor) -> int:
    """1: an object of Python's is all there is of a tensor."""
    return 1


@public("Tensor")
def _fix_weakref(self: Tensor) -> None:
    """Nothing: weak references to a tensor are good as they are."""


@public("Tensor")
def _clear_non_serializable_cached_data(self: Tensor) -> None:
    """Nothing: all that a tensor has can be pickled."""


@public("Tensor")
def _reduce_ex_internal(self: Tensor, proto: int) -> Any:
    """The function that makes a tensor again when it is unpickled, and its arguments.

    Args:
        proto: the protocol of ``pickle``.
    """
    return self.__reduce_ex__(proto)


@public("Tensor")
def _to_dense(self: Tensor, dtype: Any = None, masked_grad: bool | None = None) -> Tensor:
    """Refused, as of any dense tensor: it is for sparse ones.

    Args:
        dtype, masked_grad: as of ``to_dense``.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "Could not run 'aten::_to_dense' with arguments from the 'CPU' backend. This could be because the operator "
        "doesn't exist for this backend: to_dense() gives a dense tensor as it is"
    )


@public("torch", "Tensor", in_place=False, out=False)
def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The tensor of which ``input`` is a slice: as it lies in memory, with the shape and the strides of ``src``.

    Args:
        input: a slice of a tensor.
        src: a tensor that lies as the one which was sliced.
        dim, start, end, step: how it was sliced; they are not looked at.

    Raises:
        RuntimeError: the memory is too small.

    >>> x = torch.arange(4.0)
    >>> x[1:3].slice_inverse(x)
    tensor([0., 1., 2., 3.])
    """
    return input.as_strided(src.shape, src.stride(), src.storage_offset())


@public("Tensor")
def _view_func(self: Tensor, new_base: Tensor) -> Tensor | None:
    """The part of another base that this view shows of its own.

    Args:
        new_base: a tensor of the same shape and strides as the base.

    Returns:
        a view of it; None if this tensor is no view, or the other base differs.

    >>> torch.zeros(2, 3)[1]._view_func(torch.ones(2, 3))
    tensor([1., 1., 1.])
    """
    base = self._base
    if base is None or laid_out(new_base) != laid_out(base):
        return None
    return new_base.as_strided(self.shape, self.stride(), self.storage_offset())


def laid_out(tensor: Tensor) -> tuple[Any, ...]:
    """The shape, the strides and the place of a tensor in its memory."""
    return tensor.shape, tensor.stride(), tensor.storage_offset()


@public("Tensor")
def _view_func_unsafe(self: Tensor, new_base: Tensor) -> Tensor | None:
    """``_view_func``, which here always checks.

    Args:
        new_base: as there.
    """
    return _view_func(self, new_base)


@public("Tensor")
def _rev_view_func_unsafe(self: Tensor, new_view: Tensor) -> Tensor:
    """Refused: views are not turned around.

    Args:
        new_view: a view of the base that is wanted.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("No _rev_view_func() found")


@public("Tensor")
def index(self: Tensor, positions: Any, dims: Any) -> Any:
    """Refused: there are no dimensions as objects here.

    Args:
        positions: places of dimensions.
        dims: the objects.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """
    raise NotImplementedError(
        "functorch.dim is not in tapegrad (yet): torch.vmap maps over a dimension, and torch.einsum names them"
    )


@public("Tensor")
def _nested_tensor_size(self: Tensor) -> Tensor:
    """The shapes of the entries of a nested tensor of the strided layout, a row for each.

    Raises:
        NotImplementedError: the tensor is not nested.
    """
    raise _only_nested("_nested_tensor_size")


@public("Tensor")
def _nested_tensor_strides(self: Tensor) -> Tensor:
    """The strides of the entries of a nested tensor of the strided layout, a row for each.

    Raises:
        NotImplementedError: the tensor is not nested.
    """
    raise _only_nested("_nested_tensor_strides")


@public("Tensor")
def _nested_tensor_storage_offsets(self: Tensor) -> Tensor:
    """The places where the entries of a nested tensor of the strided layout begin in its buffer.

    Raises:
        NotImplementedError: the tensor is not nested.
    """
    raise _only_nested("_nested_tensor_storage_offsets")


def _only_nested(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. This could be because the operator "
        "doesn't exist for this backend: it is for nested tensors of the strided layout"
    )


@public("torch", native=True)
def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape of a tensor, as a tensor.

    Args:
        input: the tensor.

    >>> torch._shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return tensor([*input.shape], dtype=int64)


@public("torch", native=True)
def _has_compatible_shallow_copy_type(input: Tensor, other: Tensor) -> bool:
    """Tell whether one tensor may take the other's memory: tensors of one device and one layout may.

    Args:
        input, other: the tensors.

    >>> torch._has_compatible_shallow_copy_type(torch.ones(1), torch.ones(2))
    True
    """
    return input.device.type == other.device.type and input.layout == other.layout


@public("torch", native=True)
def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The coordinates of elements of which the row's ends are known.

    Args:
        crow_indices: the ends of rows, with 0 before them.
        col_indices: the column of each element.
        out_int32: whether they are in int32.
        transpose: whether columns stand before rows.

    >>> torch._convert_indices_from_csr_to_coo(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]))
    tensor([[0, 1, 1],
            [1, 0, 1]])
    """
    rows = arange(len(crow_indices) - 1).repeat_interleave(crow_indices.diff())
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return stack([one.to(int32 if out_int32 else int64) for one in pair])


@public("torch", native=True)
def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """The ends of rows, with 0 before them, of elements whose rows are known.

    Args:
        input: the row of each element, rising.
        size: the number of rows.
        out_int32: whether they are in int32.

    >>> torch._convert_indices_from_coo_to_csr(torch.tensor([0, 1, 1]), 2)
    tensor([0, 1, 3])
    """
    return searchsorted(input, arange(size + 1, dtype=input.dtype), out_int32=out_int32)


@public("torch", native=True)
def _grouped_mm(
    input: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """``torch.nn.functional.grouped_mm``.

    Args:
        input, mat2, offs, bias, out_dtype: as there.
    """
    return grouped_mm(input, mat2, offs=offs, bias=bias, out_dtype=out_dtype)
