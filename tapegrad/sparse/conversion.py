"""From one layout to another."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.sparse import checking, masked
from tapegrad.sparse.compressed import BY_BLOCKS, compressed_of, coordinates_of, dense_of_compressed
from tapegrad.sparse.coordinates import dense_of, layout_name, mask_of, seen_as, sparse_dim_of, sparse_of
from tapegrad.sparse.fills import with_fill
from tapegrad.sparse.tensor import answers, is_coo, is_sparse, state_of

BY_METHOD = {
    "to_sparse_csr": layouts.sparse_csr, "to_sparse_csc": layouts.sparse_csc, "to_sparse_bsr": layouts.sparse_bsr,
    "to_sparse_bsc": layouts.sparse_bsc, "to_sparse_coo": layouts.sparse_coo,
}  # fmt: skip


def from_dense(name: str, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The result of one of the methods ``to_sparse``, ``to_sparse_csr``, ... of a tensor, dense or not."""
    return _to_sparse(tensor, *args, **kwargs) if name == "to_sparse" else _to_layout(name, tensor, *args, **kwargs)


def _to_layout(name: str, self: Tensor, blocksize: Any = None, dense_dim: int | None = None) -> Tensor:
    layout = BY_METHOD[name]
    if "bs" not in name:
        blocksize, dense_dim = None, blocksize if blocksize is not None else dense_dim
    if layout is layouts.sparse_coo:
        return _to_sparse(self, layout=layout, dense_dim=dense_dim)
    blocks = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    node = f"ToSparse{name[-3:].title()}Backward0"
    return _compressed(self, layout, blocks, dense_dim, f"dense_to_sparse_{name[-3:]}", node)


def _compressed(
    self: Tensor, layout: Any, blocksize: Any, dense_dim: int | None, called: str, node: str = "ToSparseBackward1"
) -> Tensor:
    """A tensor in a compressed layout; messages name what was ``called``."""
    refuse_settings(self, layout, blocksize, dense_dim, called)
    found = compressed_of(self, layout, blocksize, dense_dim or 0)
    if found is not self:
        state_of(found).values = seen_as(state_of(found).values, node)
    return found


def refuse_settings(self: Tensor, layout: Any, blocksize: Any, dense_dim: int | None, called: str) -> None:
    """Refuse blocks and dense dimensions that don't fit a layout. Raises RuntimeError."""
    blocked, kind = layout in BY_BLOCKS, f"Sparse{repr(layout)[-3:].title()}".replace("Coo", "")
    if is_sparse(self):
        called = "sparse_coo_to_sparse" if is_coo(self) else "sparse_compressed_to_sparse"
    if blocked != (blocksize is not None):
        raise RuntimeError(f"{called}: conversion from {layout_name(self)} to {kind} with{'out' * blocked} blocksize "
                           "argument given is not supported")  # fmt: skip
    if blocked and len(blocksize) != 2:
        raise RuntimeError(f"{called}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    if blocked and min(blocksize) <= 0:
        raise RuntimeError(f"{called}: blocksize needs to be positive, but got {list(blocksize)}")
    most = self.ndim if layout is layouts.sparse_coo else self.ndim - 2
    if dense_dim is not None and not 0 <= dense_dim <= most and not is_sparse(self):
        raise RuntimeError(f"{called}: dense_dim argument must be in [0,{most}] range, but {dense_dim} is given")


@answers("to_sparse", "_to_sparse")
def _to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Tensor:
    if isinstance(sparse_dim, layouts.layout):
        sparse_dim, layout = None, sparse_dim
    layout = layout or layouts.sparse_coo
    if layout is layouts.strided:
        return self.to_dense()
    if layout is not layouts.sparse_coo:
        return _compressed(self, layout, blocksize, dense_dim, "dense_to_sparse")
    refuse_settings(self, layout, blocksize, dense_dim, "dense_to_sparse")
    if not is_sparse(self):
        return sparse_of(self, self.ndim - dense_dim if dense_dim is not None else sparse_dim)
    if not is_coo(self):
        if sparse_dim not in (None, 2):
            raise RuntimeError(f"sparse_compressed_to_sparse: conversion from {layout_name(self)} to Sparse with "
                               "sparse_dim argument !=2 is not supported")  # fmt: skip
        found = coordinates_of(self)
        state_of(found).values = seen_as(state_of(found).values, "ToSparseBackward1")
        return found
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
    dense = dense_of(self) if is_coo(self) else dense_of_compressed(self)
    return with_fill(dense, self) if masked_grad is False else dense
