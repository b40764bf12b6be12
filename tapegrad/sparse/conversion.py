"""From one layout to another."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.sparse import checking, masked
from tapegrad.sparse.compressed import compressed_of, coordinates_of, dense_of_compressed
from tapegrad.sparse.coordinates import dense_of, mask_of, sparse_dim_of, sparse_of
from tapegrad.sparse.tensor import answers, is_coo, is_sparse, state_of

BY_METHOD = {
    "to_sparse_csr": layouts.sparse_csr, "to_sparse_csc": layouts.sparse_csc, "to_sparse_bsr": layouts.sparse_bsr,
    "to_sparse_bsc": layouts.sparse_bsc, "to_sparse_coo": layouts.sparse_coo,
}  # fmt: skip


def from_dense(name: str, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The result of one of the methods ``to_sparse``, ``to_sparse_csr``, ... of a tensor, dense or not."""
    return _to_sparse(tensor, *args, **kwargs) if name == "to_sparse" else _to_layout(name, tensor, *args, **kwargs)


def _to_layout(name: str, self: Tensor, blocksize: Any = None, dense_dim: int | None = None) -> Tensor:
    if "bs" not in name:
        blocksize, dense_dim = None, blocksize if blocksize is not None else dense_dim
    return _to_sparse(self, layout=BY_METHOD[name], blocksize=blocksize, dense_dim=dense_dim)


@answers("to_sparse", "_to_sparse")
def _to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Tensor:
    if isinstance(sparse_dim, layouts.layout):
        sparse_dim, layout = None, sparse_dim
    layout = layout or layouts.sparse_coo
    if layout is not layouts.sparse_coo:
        return compressed_of(self, layout, blocksize, dense_dim or 0)
    if not is_sparse(self):
        return sparse_of(self, self.ndim - dense_dim if dense_dim is not None else sparse_dim)
    if not is_coo(self):
        return coordinates_of(self)
    if sparse_dim not in (None, sparse_dim_of(state_of(self))):
        raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() "
                           "is not supported")  # fmt: skip
    return self


for _name in BY_METHOD:
    answers(_name, f"_{_name}")(lambda self, *args, _name=_name, **kwargs: _to_layout(_name, self, *args, **kwargs))


__all__ = ["checking", "from_dense", "mask_of", "masked"]


@answers("to_dense", "_to_dense")
def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return dense_of(self) if is_coo(self) else dense_of_compressed(self)
