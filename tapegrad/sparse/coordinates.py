"""Sparse tensors with coordinates: how they are made, put in order, and made dense."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import empty, zeros
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.sorting import nonzero, unique
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import sparse as ops
from tapegrad.sparse.fills import fill_of, filled
from tapegrad.sparse.tensor import ANSWERS, SparseTensor, SparseValue, answers, is_coo, is_sparse, state_of

_checks = False


class check_sparse_tensor_invariants:
    """A switch: constructors look at indices, in a context, for a function, or from now on.

    Args:
        enable: whether they do.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._previous: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Tell whether they look now."""
        return _checks

    @staticmethod
    def enable() -> None:
        """Let them look."""
        _set_checks(True)

    @staticmethod
    def disable() -> None:
        """Let them not look."""
        _set_checks(False)

    def __enter__(self) -> None:
        if self._previous is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager "
                               "instance for context nesting.")  # fmt: skip
        self._previous = _checks
        _set_checks(self.state)

    def __exit__(self, *exception: object) -> None:
        _set_checks(bool(self._previous))
        self._previous = None

    def __call__(self, function: Any) -> Any:
        """A function that runs in such a context."""

        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def _set_checks(value: bool) -> None:
    global _checks
    _checks = value


def looks(check_invariants: bool | None) -> bool:
    """Tell whether a constructor that was told this looks at its indices."""
    return _checks if check_invariants is None else check_invariants


def made(indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool = False) -> SparseTensor:
    """The tensor of ``shape`` with ``values`` (count, *dense) at ``indices`` (sparse dimensions, count)."""
    coalesced = coalesced or indices.shape[1] < 2
    return SparseValue((indices,), values, shape, coalesced=coalesced).as_tensor()


def sparse_coo_tensor(
    indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None, layout: Any = None,
) -> Tensor:  # fmt: skip
    """A sparse tensor with ``values`` (count, *dense dimensions) at ``indices`` (sparse dimensions, count).

    Values at one place add up. Gradients flow to ``values`` if they require them.

    Args:
        indices: integers; or the size of an empty one, if nothing else is given.
        values: a tensor, or data for one.
        size: the shape; by default just large enough for the indices.
        dtype, device: those of the values, by default theirs.
        pin_memory: nothing.
        requires_grad: whether it is a leaf that requires grad.
        check_invariants: whether to look for indices that are out of range; by default as the process is set.
        is_coalesced: whether the indices are sorted, and no two the same.
        layout: ``torch.sparse_coo``.

    Raises:
        RuntimeError: shapes do not fit; an index is out of range.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        shape = tuple(indices if size is None else size)
        result = made(zeros(len(shape), 0, dtype=int64, device=device), empty(0, dtype=dtype, device=device), shape)
        return result.requires_grad_() if requires_grad else result
    values = as_tensor(values, dtype=dtype, device=device)
    places = as_tensor(indices, device=values.device).detach()
    places = places if places.dtype is int64 else places.to(int64)
    places = places.unsqueeze(1) if places.ndim == 1 else places
    values = values.expand(1) if values.ndim == 0 and places.shape[1] == 1 else values
    shape = _sized(places, values, size, looks(check_invariants))
    values = values.detach() if requires_grad else values
    recorded = values._spec.requires_grad or values._spec.dual
    values = ops.sparse_constructor(values) if recorded else counted_apart(values)
    result = made(places, values, shape, bool(is_coalesced))
    return result.requires_grad_() if requires_grad else result


def counted_apart(values: Tensor) -> Tensor:
    """The same memory with a version counter of its own, as the values of a sparse tensor have."""
    return values if values._spec.level or thread.modes.level else values.data


def _sized(places: Tensor, values: Tensor, size: Any, looking: bool) -> tuple[int, ...]:
    """The shape of a tensor of indices and values. Raises RuntimeError: they do not fit."""
    dims, count = places.shape
    rows = values.shape[0] if values.ndim else 1
    if size is not None and len(size) != dims + values.ndim - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
                           f"sparse_dim = {dims}, dense_dim = {values.ndim - 1}")  # fmt: skip
    if count != rows:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from "
                           f"values: {rows}")  # fmt: skip
    dense = tuple(values.shape[1:])
    if size is None or looking:
        least = places.min(1).values.tolist() if count else [0] * dims
        most = [top + 1 for top in places.max(1).values.tolist()] if count else [0] * dims
        for dim, low in enumerate(least):
            if low < 0:
                raise RuntimeError(f"found negative index {low} for dim {dim}")
        if size is None:
            return (*most, *dense)
        for dim, top in enumerate(most):
            if top > size[dim]:
                raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found "
                                   f"index {top - 1}")  # fmt: skip
        if tuple(size[dims:]) != dense:
            raise RuntimeError(f"values has incorrect size, expected {[count, *size[dims:]]}, got {list(values.shape)}")
    return tuple(int(length) for length in size)


# Order ---------------------------------------------------------------------------------------------------------------


def sparse_dim_of(state: SparseValue) -> int:
    """The number of dimensions that are sparse."""
    return state.indices[0].shape[0]


def places_of(indices: Tensor, lengths: Sequence[int]) -> Tensor:
    """The number of each column of ``indices`` where dimensions of these lengths count as one."""
    step, total = 1, None
    for dim in range(len(lengths) - 1, -1, -1):
        part = indices[dim] if step == 1 else indices[dim] * step
        total = part if total is None else total + part
        step *= lengths[dim]
    return zeros(indices.shape[1], dtype=int64, device=indices.device) if total is None else total


def indices_at(places: Tensor, lengths: Sequence[int]) -> Tensor:
    """The reverse of ``places_of``."""
    rows: list[Tensor] = []
    for length in reversed(lengths):
        rows.append(places % length)
        places = places // length
    return stack(rows[::-1]) if rows else zeros(0, places.shape[0], dtype=int64, device=places.device)


def places_in(state: SparseValue) -> Tensor:
    """The places of a tensor with coordinates."""
    return places_of(state.indices[0], state.shape[: sparse_dim_of(state)])


def coalesced(tensor: Tensor) -> SparseTensor:
    """A tensor whose indices are sorted, and no two the same: itself, if it is so."""
    state = state_of(tensor)
    if state.coalesced:
        return tensor  # type: ignore[return-value]
    lengths = state.shape[: sparse_dim_of(state)]
    places, number = unique(places_in(state), return_inverse=True)
    values = ops.sparse_coalesce(state.values, number, count=places.shape[0])
    return filled(made(indices_at(places, lengths), values, state.shape, coalesced=True), (tensor, None))


def coo_of(tensor: Tensor, name: str) -> SparseValue:
    """The state of a tensor with coordinates. Raises RuntimeError: it has another layout."""
    if not is_coo(tensor):
        kind = layout_name(tensor)
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {kind}")
    return state_of(tensor)


def layout_name(tensor: Tensor) -> str:
    """The name that messages have for a tensor's layout."""
    layout = state_of(tensor).layout if is_sparse(tensor) else layouts.strided
    return {"strided": "Strided", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc",
            "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc"}[repr(layout).removeprefix("torch.")]  # fmt: skip


@answers("coalesce")
def _coalesce(self: Tensor) -> Tensor:
    coo_of(self, "coalesce")
    return coalesced(self)


@answers("is_coalesced")
def _is_coalesced(self: Tensor) -> bool:
    return coo_of(self, "is_coalesced").coalesced


@answers("_coalesced_")
def _set_coalesced(self: Tensor, coalesced: bool) -> Tensor:
    coo_of(self, "_coalesced_").coalesced = coalesced
    return self


@answers("indices")
def _indices(self: Tensor) -> Tensor:
    state = coo_of(self, "indices")
    if not state.coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return state.indices[0]


@answers("values")
def _values(self: Tensor) -> Tensor:
    state = state_of(self)
    if is_coo(self) and not state.coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return ops.sparse_values(state.values) if state.values._spec.requires_grad else state.values


@answers("_indices")
def _raw_indices(self: Tensor) -> Tensor:
    return coo_of(self, "_indices").indices[0]


@answers("_values")
def _raw_values(self: Tensor) -> Tensor:
    return coo_of(self, "_values").values.detach()


@answers("_nnz")
def _nnz(self: Tensor) -> int:
    state = state_of(self)
    return state.values.shape[0 if is_coo(self) else state.indices[0].ndim - 1]


@answers("sparse_dim", "_dimI")
def _sparse_dim(self: Tensor) -> int:
    return sparse_dim_of(state_of(self)) if is_coo(self) else 2


@answers("dense_dim", "_dimV")
def _dense_dim(self: Tensor) -> int:
    state = state_of(self)
    batch = 0 if is_coo(self) else state.indices[0].ndim - 1
    return len(state.shape) - _sparse_dim(self) - batch


# Dense tensors -------------------------------------------------------------------------------------------------------


def dense_of(tensor: Tensor) -> Tensor:
    """The dense tensor with the same elements."""
    state = state_of(tensor)
    return ops.sparse_scatter(state.values, places_in(state), shape=tuple(state.shape))


def sparse_of(tensor: Tensor, sparse_dim: int | None = None) -> Tensor:
    """The nonzero elements of a dense tensor, the first ``sparse_dim`` dimensions of which become sparse.

    Raises:
        RuntimeError: there are not as many dimensions.
    """
    dims = tensor.ndim if sparse_dim is None else sparse_dim
    if not 0 <= dims <= tensor.ndim:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{tensor.ndim}] range, but {dims} is "
                           "given")  # fmt: skip
    if dims == 0 and tensor.ndim:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    lengths = tensor.shape[:dims]
    with switched(grad=False):
        rows = tensor.detach().reshape(math.prod(lengths), -1) != 0
        places = nonzero(rows.any(1)).reshape(-1)
    values = ops.sparse_gather(tensor, places, ndim=dims)
    values = values if sparse_dim is not None else renamed(values, "ToSparseBackward1")
    found = made(indices_at(places, lengths), values, tensor.shape, coalesced=True)
    if values._spec.requires_grad or values._spec.dual:
        state_of(found).fill, state_of(found).from_dense = ops.sparse_fill(tensor, places, ndim=dims), True
    return found


def reaching(tensor: Tensor) -> Tensor:
    """Let values that stand where dense tensors, of which they are made, have none give them gradients; it is given."""
    state = state_of(tensor)
    fill = fill_of(tensor) if state.from_dense and state.coalesced else None
    if fill is not None:
        places, dims = places_in(state), sparse_dim_of(state)
        state.values = ops.sparse_filled(state.values, ops.sparse_gather(fill, places, ndim=dims))
        state.fill = ops.sparse_fill(fill, places, ndim=dims)
    return tensor


def mask_of(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor, dense or sparse, at the places of a sparse mask."""
    if is_sparse(mask) and not is_coo(mask):
        return ANSWERS["compressed mask"](self, mask)
    state = coo_of(mask, "sparse_mask")
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but "
                           f"mask has size {list(mask.shape)}")  # fmt: skip
    if is_coo(self):
        self = dense_of(self)
    values = ops.sparse_gather(self, places_in(state), ndim=sparse_dim_of(state))
    values = renamed(values, "SparseMaskBackward0")
    return made(state.indices[0], values, state.shape, state.coalesced)


answers("sparse_mask")(mask_of)


# Dimensions ----------------------------------------------------------------------------------------------------------


def swapped(tensor: Tensor, first: int, second: int, name: str = "sparse_transpose") -> Tensor:
    """A tensor two of whose sparse dimensions change places."""
    state = coo_of(tensor, "transpose")
    ndim, dims = len(state.shape), sparse_dim_of(state)
    first, second = wrap_dim(first, ndim), wrap_dim(second, ndim)
    if first == second:
        return tensor
    if max(first, second) >= dims:
        raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {dims}, d0: "
                           f"{first}, d1: {second}")  # fmt: skip
    order = list(range(ndim))
    order[first], order[second] = order[second], order[first]
    operator = ops.sparse_t if name == "sparse_t" else ops.sparse_transpose
    indices = stack([state.indices[0][dim] for dim in order[:dims]])
    found = made(indices, operator(state.values), [state.shape[dim] for dim in order])
    return filled(found, (tensor, lambda fill: fill.transpose(first, second)))


@answers("transpose", "swapaxes", "swapdims")
def _transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return swapped(self, dim0, dim1)


@answers("t")
def _t(self: Tensor) -> Tensor:
    state = coo_of(self, "t")
    dims, dense = sparse_dim_of(state), self.ndim - sparse_dim_of(state)
    if dims > 2 or dense:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {dims} sparse and "
                           f"{dense} dense dimensions")  # fmt: skip
    return swapped(self, 0, 1, "sparse_t") if dims == 2 else self


@answers("T.__get__")
def _all_transposed(self: Tensor) -> Tensor:
    return _t(self) if self.ndim == 2 else _permute(self, tuple(range(self.ndim - 1, -1, -1)))


def matrices_transposed(self: Tensor, name: str) -> Tensor:
    """The transposes of matrices in the last two dimensions, which PyTorch's function of that name gives."""
    if self.ndim == 1:
        raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return self.transpose(-2, -1)


def _adjoint(self: Tensor, name: str) -> Tensor:
    transposed = matrices_transposed(self, name)
    return transposed.conj() if self.dtype.is_complex else transposed


answers("mT.__get__")(lambda self: matrices_transposed(self, "tensor.mT"))
answers("mH.__get__")(lambda self: _adjoint(self, "tensor.mH"))
answers("adjoint")(lambda self: _adjoint(self, "tensor.adjoint()"))


@answers("H.__get__")
def _conjugate_transpose(self: Tensor) -> Tensor:
    if self.ndim != 2:
        hint = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{hint}")
    return _adjoint(self, "tensor.H")


@answers("permute")
def _permute(self: Tensor, *dims: Any) -> Tensor:
    state = coo_of(self, "permute")
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    if len(given) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(given)}"
        )
    order = [wrap_dim(dim, self.ndim) for dim in given]
    count = sparse_dim_of(state)
    if any((dim >= count) != (place >= count) for place, dim in enumerate(order)):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed."
                           "Only transpositions within sparse and dense dimensions are supported.")  # fmt: skip
    indices = stack([state.indices[0][dim] for dim in order[:count]]) if count else state.indices[0]
    values = ops.sparse_transpose(state.values.permute(0, *[dim - count + 1 for dim in order[count:]]))
    values = renamed(values, "PermuteBackward0")
    found = made(indices, values, [state.shape[dim] for dim in order], state.coalesced and order == sorted(order))
    return filled(found, (self, lambda fill: fill.permute(order)))


@answers("unsqueeze")
def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    state, count = coo_of(input, "unsqueeze"), _sparse_dim(input)
    dim = wrap_dim(dim, input.ndim + 1)
    shape = [*state.shape[:dim], 1, *state.shape[dim:]]
    if dim > count:
        found = made(state.indices[0], state.values.unsqueeze(dim - count + 1), shape)
    else:
        rows = list(state.indices[0].unbind(0))
        rows.insert(dim, zeros(_nnz(input), dtype=int64, device=input.device))
        found = made(stack(rows), seen_as(state.values, "UnsqueezeBackward0"), shape)
    return filled(found, (input, lambda fill: fill.unsqueeze(dim)))


def seen_as(values: Tensor, node: str) -> Tensor:
    """The same values as those of another tensor, with a node of their own if they have a history."""
    return renamed(ops.sparse_transpose(values), node) if values._spec.requires_grad else values


@answers("movedim", "moveaxis")
def _movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    pairs = [[one] if isinstance(one, int) else list(one) for one in (source, destination)]
    moved, places = ([wrap_dim(dim, input.ndim) for dim in part] for part in pairs)
    order = [dim for dim in range(input.ndim) if dim not in moved]
    for place, dim in sorted(zip(places, moved, strict=True)):
        order.insert(place, dim)
    return _permute(input, order)
