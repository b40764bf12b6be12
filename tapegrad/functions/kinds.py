"""Methods that speak of tensors of other kinds: sparse, quantized, on devices that JAX has not. Here all are dense."""

from __future__ import annotations

from typing import Any

from tapegrad.absent import QUANTIZED, SPARSE, STREAMS
from tapegrad.execution.dtypes import float32
from tapegrad.functions.registry import NAMESPACES, public
from tapegrad.tensor.tensor import Tensor

REFUSED = {
    SPARSE: """to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_mask smm sspaddmm
        sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ to_padded_tensor""",
    QUANTIZED: """int_repr q_scale q_zero_point q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        qscheme""",
    STREAMS: "record_stream",
    "complex64 is the smallest complex dtype": "chalf",
    "its layouts are of one CPU library; XLA chooses its own": "to_mkldnn",
    "JAX has no such device; torch.accelerator tells what there is": "xpu ipu mtia",
}
"""What can't be done, and why."""

LAYOUTS = {
    "coalesce": "sparse coordinate", "is_coalesced": "sparse coordinate", "indices": "sparse coordinate",
    "values": "sparse", "crow_indices": "sparse row compressed", "col_indices": "sparse row compressed",
    "ccol_indices": "sparse column compressed", "row_indices": "sparse column compressed",
}  # fmt: skip
"""Methods of sparse tensors, and of which."""


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


for _reason, _names in REFUSED.items():
    for _name in _names.split():
        if _name not in NAMESPACES["Tensor"]:
            _refuse(_name, _reason)
for _name, _layout in LAYOUTS.items():
    _refuse_dense(_name, _layout)


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
