"""Functions that PyTorch's own Python calls by names which begin with an underscore."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16, float32
from tapegrad._src.functions.activations import gelu, relu
from tapegrad._src.functions.matmul import addmm
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
