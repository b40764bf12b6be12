"""Methods that speak of tensors of other kinds: sparse, quantized, on devices that JAX has not. Here all are dense."""

from __future__ import annotations

from typing import Any

from tapegrad.absent import QUANTIZED, SPARSE, STREAMS
from tapegrad.bindings.registry import public
from tapegrad.execution.dtypes import float32
from tapegrad.tensor.tensor import Tensor


def _refuse(name: str, reason: str) -> None:
    @public("Tensor", name=name)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Tensor.{name} is not in tapegrad (yet): {reason}")

    method.__doc__ = f"Refused: {reason}.\n\nRaises:\n    NotImplementedError: always."


def _refuse_dense(name: str, layout: str) -> None:
    @public("Tensor", name=name)
    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    method.__doc__ = f"Refused, as of any dense tensor: it is for {layout} ones.\n\nRaises:\n    RuntimeError: always."


for _name in (
    "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "sparse_mask",
    "smm", "sspaddmm", "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_", "to_padded_tensor",
):  # fmt: skip
    _refuse(_name, SPARSE)
for _name in (
    "int_repr", "q_scale", "q_zero_point", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
    "qscheme",
):  # fmt: skip
    _refuse(_name, QUANTIZED)
_refuse("record_stream", STREAMS)
_refuse("chalf", "complex64 is the smallest complex dtype")
_refuse("to_mkldnn", "its layouts are of one CPU library; XLA chooses its own")
for _name in ("xpu", "ipu", "mtia"):
    _refuse(_name, "JAX has no such device; torch.accelerator tells what there is")
for _name in ("coalesce", "is_coalesced", "indices"):
    _refuse_dense(_name, "sparse coordinate")
_refuse_dense("values", "sparse")
for _name in ("crow_indices", "col_indices"):
    _refuse_dense(_name, "sparse row compressed")
for _name in ("ccol_indices", "row_indices"):
    _refuse_dense(_name, "sparse column compressed")


@public("Tensor")
def sparse_dim(self: Tensor) -> int:
    """0: no dimension of a dense tensor is sparse."""
    return 0


@public("Tensor")
def dense_dim(self: Tensor) -> int:
    """The number of dimensions, all of which are dense."""
    return self.ndim


@public("Tensor")
def dequantize(self: Tensor) -> Tensor:
    """The tensor in float32: it is not quantized."""
    return self.to(float32)


@public("Tensor")
def is_distributed(self: Tensor) -> bool:
    """False: a tensor lies on one device."""
    return False
