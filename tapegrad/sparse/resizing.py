"""Sparse tensors that become others in place: of another size, or with dimensions in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.naming import NO_DERIVATIVE, renamed
from tapegrad._src.dispatch.nodes.error import DelayedError
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.creation import empty, zeros
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import sparse as ops
from tapegrad.sparse.arithmetic import refuse_leaf
from tapegrad.sparse.coordinates import layout_name, made, sparse_dim_of
from tapegrad.sparse.tensor import (
    ANSWERS,
    SparseValue,
    answers,
    as_it_was,
    is_coo,
    is_sparse,
    not_there,
    state_of,
    written,
)

ADVICE = """
You could try the following options:
1. If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`.
2. If you need to resize this tensor, you have the following options:
    1. For both sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, and \
then try the same call again.
    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor."""


def check_size(size: Any, sparse_dim: int, dense_dim: int, name: str) -> None:
    """Refuse a size that has not as many dimensions."""
    if isinstance(size, int):
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not int")
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
                           f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")  # fmt: skip


def refuse_changes(state: SparseValue, size: Sequence[int], sparse_dim: int, dense_dim: int) -> None:
    """Refuse another number of dimensions, or smaller ones, of a tensor with elements. PyTorch's messages."""
    count = sparse_dim_of(state)
    for kind, had, wanted in (("sparse", count, sparse_dim), ("dense", len(state.shape) - count, dense_dim)):
        if had != wanted:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {had} to {wanted}) on a non-empty "
                               f"sparse tensor is not supported.{ADVICE}")  # fmt: skip
    for kind, part in (("sparse", slice(None, count)), ("dense", slice(count, None))):
        had_sizes, sizes = list(state.shape[part]), list(size[part])
        if any(new < old for old, new in zip(had_sizes, sizes, strict=True)):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {had_sizes} to {sizes}) on a non-empty "
                               f"sparse tensor is not supported.{ADVICE}")  # fmt: skip


def put_over(self: Tensor, value: SparseValue, name: str) -> Tensor:
    """Write what has no derivative over a sparse tensor."""
    if value.values._spec.requires_grad and not value.values.is_leaf:
        refusing = DelayedError(f"derivative for aten::{name} is not implemented", 1)
        value.values = renamed(refusing(value.values), NO_DERIVATIVE)
    return written(self, value)


@answers("sparse_resize_")
def resized(self: Tensor, size: Any, sparse_dim: int, dense_dim: int, name: str = "sparse_resize_") -> Tensor:
    """A tensor of another size, with the same elements: itself."""
    if not is_coo(self):
        raise not_there(name, (self,))
    refuse_leaf(self)
    check_size(size, sparse_dim, dense_dim, name)
    state, dense = state_of(self), tuple(size[sparse_dim:])
    values, indices = state.values, state.indices[0]
    if values.shape[0]:
        refuse_changes(state, size, sparse_dim, dense_dim)
        values = values if tuple(values.shape[1:]) == dense else enlarged(values, dense)
    elif sparse_dim != indices.shape[0] or tuple(values.shape[1:]) != dense:
        indices = empty((sparse_dim, 0), dtype=int64, device=values.device)
        values = values.reshape(0).new_empty((0, *dense))
    return put_over(self, made(indices, values, size, state.coalesced)._value, name)


def enlarged(values: Tensor, dense: tuple[int, ...]) -> Tensor:
    """Values in larger dense dimensions: the same numbers in the same order, and zeros behind them."""
    found = values.new_zeros((values.shape[0], *dense))
    return cat([values.reshape(-1), found.reshape(-1)[values.numel() :]]).reshape(found.shape)


@answers("sparse_resize_and_clear_")
def _resized_and_cleared(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    name = "sparse_resize_and_clear_"
    if not is_coo(self):
        raise not_there(name, (self,))
    refuse_leaf(self)
    check_size(size, sparse_dim, dense_dim, name)
    before = as_it_was(self)
    indices = empty((sparse_dim, 0), dtype=int64, device=self.device)
    none = state_of(before).values[:0].reshape(0)
    values = none.reshape(0, *size[sparse_dim:]) if none.requires_grad else none.new_empty((0, *size[sparse_dim:]))
    return put_over(self, made(indices, values, size, True)._value, name)


@answers("resize_as_sparse_", "resize_as_")
def _resized_as(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor with the size of another one, which is of one of the sparse layouts too."""
    if not is_sparse(self):
        raise not_there("resize_as_sparse_", (self,))
    if not is_coo(self):
        return _compressed_as(self, the_template)
    count = the_template.sparse_dim()
    wanted = tuple(the_template.shape), count, the_template.ndim - count
    if tuple(self.shape) == wanted[0] and sparse_dim_of(state_of(self)) == count:
        return self
    return resized(self, *wanted, name="resize_as_sparse_")


def _compressed_as(self: Tensor, template: Tensor) -> Tensor:
    if not is_sparse(template) or is_coo(template):
        raise RuntimeError("resize_as_sparse_compressed_: src  expected sparse compressed tensor layout but got "
                           f"{layout_name(template)}")  # fmt: skip
    state, other = state_of(self), state_of(template)
    refuse_leaf(self)
    if tuple(self.shape) == tuple(template.shape) and self._nnz() == template._nnz():
        values = state.values
    else:
        values = other.values.detach().to(state.values.dtype) * 0
    found = SparseValue(tuple(part.clone() for part in other.indices), values, other.shape, layout=state.layout)
    return put_over(self, found, "resize_as_sparse_")


def _declare_turned(name: str) -> None:
    """Declare a function in place that puts dimensions in another order."""
    short = name.removesuffix("_")
    node = "TBackward1" if name == "t_" else "TransposeBackward1"

    def function(self: Tensor, *dims: Any, **named: Any) -> Tensor:
        if not is_coo(self):
            raise RuntimeError(f"torch.transpose_: in-place transposition is not supported for {layout_name(self)} "
                               "layout")  # fmt: skip
        refuse_leaf(self)
        before = as_it_was(self)
        try:
            found = state_of(ANSWERS[short](before, *dims, **named))
        except RuntimeError as error:
            raise type(error)(str(error).replace("t() expects", "t_() expects")) from None
        if found.values._spec.requires_grad:
            if found is state_of(before):
                found.values = ops.sparse_transpose(found.values)
            renamed(found.values, node)
        else:
            found.values = state_of(self).values  # in the same memory
        return written(self, found)

    answers(name)(function)


for _name in ("t_", "transpose_", "swapaxes_", "swapdims_"):
    _declare_turned(_name)


# New ones ------------------------------------------------------------------------------------------------------------


@answers("new_zeros", "new_empty")
def _new_zeros(
    self: Tensor, *size: Any, dtype: Any = None, device: Any = None, layout: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor without elements of the same layout, or of another one."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    kind, where, wanted = dtype or self.dtype, device or self.device, layout or state_of(self).layout
    if wanted is layouts.strided:
        return zeros(shape, dtype=kind, device=where, requires_grad=requires_grad)
    if wanted is layouts.sparse_coo:
        indices = empty((len(shape), 0), dtype=int64, device=where)
        found = made(indices, empty(0, dtype=kind, device=where), shape)
    elif wanted not in (layouts.sparse_csr, layouts.sparse_csc):
        raise RuntimeError("empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                           f"Sparse{repr(wanted)[-3:].title()}")  # fmt: skip
    elif len(shape) < 2:
        raise RuntimeError("torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got "
                           f"size {list(shape)}")  # fmt: skip
    else:
        found = zeros(shape, dtype=kind, device=where).to_sparse(layout=wanted)
    return found.requires_grad_() if requires_grad else found


@answers("new_tensor")
def _new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    if not is_coo(self):
        raise RuntimeError("Cannot map DispatchKey SparseCsrCPU to a unique layout.")
    kind, where = dtype or self.dtype, device or self.device
    if is_sparse(data):
        found = data.detach().clone().to(kind).to(where)
        return found.requires_grad_() if requires_grad else found
    return state_of(self).values.new_tensor(data, dtype=kind, device=where, requires_grad=requires_grad)


def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """A sparse tensor with the size of another one, with the same elements: itself.

    Args:
        input: a tensor of one of the sparse layouts.
        the_template: another one.

    Raises:
        RuntimeError: ``input`` has elements, and its size would shrink or have other dimensions.

    >>> torch.resize_as_sparse_(torch.eye(2).to_sparse(), torch.zeros(3, 3).to_sparse()).shape
    torch.Size([3, 3])
    """
    return input.resize_as_sparse_(the_template)
