"""Methods that speak of tensors of other kinds: sparse, quantized, on devices that JAX has not; of dense ones here.

What makes sparse ones of them is imported when it is first called.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.absent import QUANTIZED, STREAMS
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.declaring import on_demand
from tapegrad._src.execution.data.dtypes import float32
from tapegrad._src.tensor.tensor import Tensor


def _refuse(name: str, reason: str) -> None:
    @public("Tensor", name=name)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Tensor.{name} is not in tapegrad (yet): {reason}")

    method.__doc__ = f"Refused: {reason}.\n\nRaises:\n    NotImplementedError: always."


def _refuse_dense(name: str, layout: str) -> None:
    @public("Tensor", name=name)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    method.__doc__ = f"Refused, as of any dense tensor: it is for {layout} ones.\n\nRaises:\n    RuntimeError: always."


def _refuse_backend(name: str) -> None:
    @public("Tensor", name=name)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. This could be because the operator "
            "doesn't exist for this backend: it is for tensors of sparse layouts"
        )

    method.__doc__ = "Refused, as of any dense tensor: it is for sparse ones."
    method.__doc__ += "\n\nRaises:\n    NotImplementedError: always."


__getattr__, _ = on_demand(__name__, {})


def _of_dense(name: str, doc: str) -> None:
    """Declare a method of dense tensors that gives a sparse one."""

    @public("Tensor", name=name)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return __getattr__("from_dense")(name.lstrip("_"), self, *args, **kwargs)

    method.__doc__ = doc


_OF = "See ``torch.sparse``.\n\nRaises:\n    RuntimeError: a dimension is not there, or blocks do not fit."
for _name, _doc in (
    ("to_sparse", "The elements that are not 0, as a sparse tensor of ``layout``, or with ``sparse_dim`` dimensions."),
    ("to_sparse_coo", "The elements that are not 0, with their coordinates."),
    ("to_sparse_csr", "The elements of a matrix that are not 0, row by row."),
    ("to_sparse_csc", "The elements of a matrix that are not 0, column by column."),
    ("to_sparse_bsr", "The blocks of a matrix in which something is not 0, row by row."),
    ("to_sparse_bsc", "The blocks of a matrix in which something is not 0, column by column."),
):
    _of_dense(_name, f"{_doc} {_OF}")


for _name in ("_to_sparse", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"):
    _of_dense(_name, f"``{_name[1:]}``, under the name that it has inside. {_OF}")


@public("Tensor")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor ``mask``, as a sparse tensor.

    Raises:
        RuntimeError: ``mask`` is not sparse.
    """
    return __getattr__("mask_of")(self, mask)




@public("Tensor")
def to_padded_tensor(self: Tensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """Refused, as of any dense tensor: it is for nested ones. See ``torch.nested``.

    Args:
        padding, output_size: as of ``torch.nested.to_padded_tensor``.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend. This could be because the "
        "operator doesn't exist for this backend: torch.nested.nested_tensor makes what it is for"
    )


for _name in ("sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_"):
    _refuse_backend(_name)
for _name in (
    "int_repr", "q_scale", "q_zero_point", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
    "qscheme",
):  # fmt: skip
    _refuse(_name, QUANTIZED)
_refuse("record_stream", STREAMS)
_refuse("to_mkldnn", "its layouts are of one CPU library; XLA chooses its own")
for _name in ("xpu", "ipu", "mtia"):
    _refuse(_name, "JAX has no such device; torch.accelerator tells what there is")
for _name in ("coalesce", "is_coalesced", "indices", "_indices", "_values", "_nnz", "_dimI", "_dimV", "_coalesced_"):
    _refuse_dense(_name, "sparse coordinate")
_refuse_dense("values", "sparse")
for _name in ("crow_indices", "col_indices"):
    _refuse_dense(_name, "sparse row compressed")
for _name in ("ccol_indices", "row_indices"):
    _refuse_dense(_name, "sparse column compressed")


def _no_coordinates(name: str) -> RuntimeError:
    return RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")


@public("Tensor")
def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """Refused, as of any dense tensor: it is for sparse ones.

    Args:
        mat2: a matrix.

    Raises:
        RuntimeError: always.
    """
    raise _no_coordinates("smm")


@public("Tensor")
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Refused, as of any dense tensor: it is for sparse ones.

    Args:
        mat1, mat2: matrices.
        beta, alpha: factors of the tensor and of the product.

    Raises:
        RuntimeError: always.

    >>> torch.ones(2, 2).sspaddmm(torch.ones(2, 2), torch.ones(2, 2))
    Traceback (most recent call last):
    RuntimeError: sspaddmm expected sparse coordinate tensor layout but got Strided
    """
    raise _no_coordinates("sspaddmm")


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


@public("torch", "Tensor", in_place=False, out=False, native=True)
def is_distributed(input: Tensor) -> bool:
    """False: a tensor lies on one device."""
    return False
