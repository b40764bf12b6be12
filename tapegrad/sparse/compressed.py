"""Compressed layouts: a matrix row by row (CSR) or column by column (CSC), of elements or of blocks (BSR, BSC).

Dense dimensions may stand behind it, and those of a batch of matrices in front, each of which has as many elements.
What is done with a batch is done with each of its matrices (``matrices_of``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.data.dtypes import int32, int64
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import arange, empty, zeros
from tapegrad._src.functions.joining import cat, stack
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import sparse as ops
from tapegrad.sparse.arithmetic import merged, summed
from tapegrad.sparse.coordinates import coalesced, counted_apart, looks, made, places_of, sparse_of
from tapegrad.sparse.fills import fill_of, filled
from tapegrad.sparse.parts import indexed, picked, taken_apart
from tapegrad.sparse.tensor import ANSWERS, SparseTensor, SparseValue, answers, is_coo, is_sparse, not_there, state_of

BY_ROWS, BY_BLOCKS = (layouts.sparse_csr, layouts.sparse_bsr), (layouts.sparse_bsr, layouts.sparse_bsc)
COMPRESSED = (layouts.sparse_csr, layouts.sparse_csc, layouts.sparse_bsr, layouts.sparse_bsc)


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """A sparse matrix in a compressed ``layout``.

    Args:
        compressed_indices: where each row begins among the others, and where the last one ends; of CSC and BSC columns.
        plain_indices: for each element, or block, its column; of CSC and BSC its row.
        values: a tensor (count, *dense), or (count, height, width, *dense) of blocks, or data for one.
        size: the shape; by default just large enough.
        dtype, device: those of the values, by default theirs.
        layout: ``torch.sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
        pin_memory: nothing.
        requires_grad: whether it is a leaf that requires grad.
        check_invariants: whether to look at the indices; by default as the process is set.

    Raises:
        RuntimeError: no compressed layout; indices do not fit.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if layout not in COMPRESSED:
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got "
                           f"{'none' if layout is None else layout}")  # fmt: skip
    values = as_tensor(values, dtype=dtype, device=device)
    heads, plain = (_whole(part, values) for part in (compressed_indices, plain_indices))
    batch = heads.ndim - 1
    blocks = tuple(values.shape[batch + 1 : batch + 3]) if layout in BY_BLOCKS else (1, 1)
    dense = tuple(values.shape[batch + (3 if layout in BY_BLOCKS else 1) :])
    if size is None:
        lengths = [heads.shape[-1] - 1, int(plain.max()) + 1 if plain.numel() else 0]
        lengths = lengths if layout in BY_ROWS else lengths[::-1]
        size = (*heads.shape[:-1], lengths[0] * blocks[0], lengths[1] * blocks[1], *dense)
    if looks(check_invariants):
        refuse_batches(heads, plain, values, layout)
    if looks(check_invariants) and not batch:
        _check(heads, plain, values, tuple(size), blocks, layout)
    values = values.detach() if requires_grad else values
    recorded = values._spec.requires_grad or values._spec.dual
    values = ops.sparse_compressed_constructor(values) if recorded else counted_apart(values)
    result = SparseValue((heads, plain), values, tuple(size), layout=layout).as_tensor()
    return result.requires_grad_() if requires_grad else result


def refuse_batches(heads: Tensor, plain: Tensor, values: Tensor, layout: Any) -> None:
    """Refuse indices and values of which not each matrix of a batch has some. Raises RuntimeError."""
    batch = heads.ndim - 1
    names = ("crow_indices", "col_indices") if layout in BY_ROWS else ("ccol_indices", "row_indices")
    if plain.ndim - 1 != batch:
        raise RuntimeError(f"{names[0]} and {names[1]} dimensionalities must be equal but got {heads.ndim} and "
                           f"{plain.ndim}, respectively")  # fmt: skip
    if heads.shape[:-1] != plain.shape[:-1] or values.shape[:batch] != heads.shape[:-1]:
        raise RuntimeError(
            f"all batch dimensions of compressed indices ({list(heads.shape[:-1])}), plain indices "
            f"({list(plain.shape[:-1])}), and values ({list(values.shape[:batch])}) must be equal"
        )


def batch_of(state: SparseValue) -> int:
    """The number of dimensions of a batch."""
    return state.indices[0].ndim - 1


def matrices_of(tensor: Tensor) -> list[Tensor]:
    """The matrices of a batch, one by one."""
    state, batch = state_of(tensor), batch_of(state_of(tensor))
    count = math.prod(state.shape[:batch])
    parts = [part.reshape(count, *part.shape[batch:]).unbind(0) for part in (*state.indices, state.values)]
    shape = state.shape[batch:]
    return [
        SparseValue((heads, plain), values, shape, layout=state.layout).as_tensor()
        for heads, plain, values in zip(*parts, strict=True)
    ]


def batched(matrices: Sequence[Tensor], batch: tuple[int, ...]) -> Tensor:
    """Matrices of one layout and shape as a batch.

    Raises:
        RuntimeError: not each has as many elements. PyTorch's message.
    """
    states = [state_of(one) for one in matrices]
    if len({state.values.shape[0] for state in states}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    parts = [[state.indices[0] for state in states], [state.indices[1] for state in states],
             [state.values for state in states]]  # fmt: skip
    heads, plain, values = (stack(part).reshape(*batch, *part[0].shape) for part in parts)
    found = SparseValue((heads, plain), values, (*batch, *states[0].shape), layout=states[0].layout)
    fills = [fill for one in matrices if (fill := fill_of(one)) is not None]
    if len(fills) == len(states):
        found.fill, found.from_dense = stack(fills).reshape(found.shape), True
    return found.as_tensor()


@answers("empty as")
def _empty_as(state: SparseValue, kind: Any, on: Any, layout: Any) -> Tensor:
    """A tensor without elements of the shape of another compressed one, in another layout."""
    batch = batch_of(state)
    if layout is layouts.sparse_coo:
        dense = tuple(state.values.shape[batch + (3 if state.layout in BY_BLOCKS else 1) :])
        count = len(state.shape) - len(dense)
        none = empty((0, *dense), dtype=kind, device=on)
        return made(empty((count, 0), dtype=int64, device=on), none, state.shape)
    blocks = _blocksize(state) or (1, 1)
    front, (rows, columns) = state.shape[:batch], state.shape[batch : batch + 2]
    lines = (rows // blocks[0]) if layout in BY_ROWS else (columns // blocks[1])
    within = blocks if layout in BY_BLOCKS else ()
    dense = tuple(state.values.shape[batch + (3 if state.layout in BY_BLOCKS else 1) :])
    values = empty((*front, 0, *within, *dense), dtype=kind, device=on)
    heads = zeros((*front, lines + 1), dtype=state.indices[0].dtype, device=on)
    plain = empty((*front, 0), dtype=heads.dtype, device=on)
    return SparseValue((heads, plain), values, state.shape, layout=layout).as_tensor()


def _whole(part: Any, values: Tensor) -> Tensor:
    part = as_tensor(part, device=values.device).detach()
    return part if part.dtype in (int32, int64) else part.to(int64)


def _check(heads: Tensor, plain: Tensor, values: Tensor, size: tuple, blocks: tuple, layout: Any) -> None:
    """Refuse indices that are out of order or out of range."""
    names = ("crow_indices", "col_indices") if layout in BY_ROWS else ("ccol_indices", "row_indices")
    rows, columns = (size[0] // blocks[0], size[1] // blocks[1])[:: 1 if layout in BY_ROWS else -1]
    kinds = ("nrows", "ncols") if layout in BY_ROWS else ("ncols", "nrows")
    count, steps = values.shape[0], heads[1:] - heads[:-1]
    if heads.shape[0] != rows + 1:
        raise RuntimeError(f"{names[0]}.shape[-1] must be equal to the number of {kinds[0][1:]} + 1 (={rows + 1}), but "
                           f"got {heads.shape[0]}")  # fmt: skip
    for holds, text in (
        (lambda: plain.shape[0] == count, f"number of {names[1]} must be equal to the number of values"),
        (lambda: int(heads[0]) == 0, f"`{names[0]}[..., 0] == 0` is not satisfied."),
        (lambda: int(heads[-1]) == count, f"`{names[0]}[..., -1] == nnz` is not satisfied."),
        (lambda: bool(((steps >= 0) & (steps <= columns)).all()),
         f"`0 <= {names[0]}[..., 1:] - {names[0]}[..., :-1] <= {kinds[1]}` is not satisfied."),
        (lambda: not count or int(plain.min()) >= 0, f"`0 <= {names[1]} < {kinds[1]}` is not satisfied."),
        (lambda: not count or int(plain.max()) < columns, f"`0 <= {names[1]} < {kinds[1]}` is not satisfied."),
    ):  # fmt: skip
        if not holds():
            raise RuntimeError(text)


def _maker(layout: Any, of: str, first: str, second: str) -> Callable:
    """The constructor of one layout."""

    def make(*args: Any, **kwargs: Any) -> Tensor:
        given = [args[n] if n < len(args) else kwargs.pop(name) for n, name in enumerate((first, second))]
        return sparse_compressed_tensor(*given, *args[2:], layout=layout, **kwargs)

    make.__name__ = make.__qualname__ = f"sparse_{repr(layout)[-3:]}_tensor"
    make.__doc__ = f"""A sparse matrix, {of}: see ``sparse_compressed_tensor``.

    Args:
        args: ``{first}``, ``{second}``, ``values``, and perhaps ``size``.
        kwargs: these by name, and options.
    """
    return make


sparse_csr_tensor = _maker(layouts.sparse_csr, "row by row", "crow_indices", "col_indices")
sparse_csc_tensor = _maker(layouts.sparse_csc, "column by column", "ccol_indices", "row_indices")
sparse_bsr_tensor = _maker(layouts.sparse_bsr, "of blocks, row by row", "crow_indices", "col_indices")
sparse_bsc_tensor = _maker(layouts.sparse_bsc, "of blocks, column by column", "ccol_indices", "row_indices")


# To coordinates and back ---------------------------------------------------------------------------------------------


@answers("entries")
def _entries(state: SparseValue) -> tuple[Tensor, Tensor]:
    """The row and the column of each element, or block; those of lines are kept as long as nobody writes to heads."""
    heads, plain = (part.to(int64) for part in state.indices)
    written = state.indices[0]._version
    if state.lines is not None and state.lines[0] == written:
        lines = state.lines[1]
        return (lines, plain) if state.layout in BY_ROWS else (plain, lines)
    lines = arange(heads.shape[0] - 1, device=heads.device).repeat_interleave(heads[1:] - heads[:-1])
    if not lines._spec.level:
        state.lines = written, lines
    return (lines, plain) if state.layout in BY_ROWS else (plain, lines)


def coordinates_of(tensor: Tensor) -> SparseTensor:
    """A compressed tensor as one with coordinates."""
    state = state_of(tensor)
    if batch_of(state):
        raise RuntimeError("to_sparse: a batch of compressed matrices can't be converted to coordinates: "
                           f"x.to_dense().to_sparse() does it, for shape {list(state.shape)}")  # fmt: skip
    rows, columns = _entries(state)
    values = state.values
    if state.layout in BY_BLOCKS:
        height, width = values.shape[1:3]
        on = values.device
        rows = (rows[:, None, None] * height + arange(height, device=on)[:, None]).expand(-1, -1, width).reshape(-1)
        columns = (columns[:, None, None] * width + arange(width, device=on)).expand(-1, height, -1).reshape(-1)
        values = values.reshape(-1, *values.shape[3:])
    found = made(stack([rows, columns]), values, state.shape, coalesced=state.layout is layouts.sparse_csr)
    return coalesced(filled(found, (tensor, None)))


def dense_of_compressed(tensor: Tensor) -> Tensor:
    """The dense tensor with the elements of a compressed one."""
    batch = batch_of(state_of(tensor))
    if batch:
        front = state_of(tensor).shape[:batch]
        each = [dense_of_compressed(one) for one in matrices_of(tensor)]
        return stack(each).reshape(*front, *each[0].shape) if each else zeros(state_of(tensor).shape)
    found = state_of(coordinates_of(tensor) if state_of(tensor).layout is not layouts.sparse_csc else _unsorted(tensor))
    places = places_of(found.indices[0], found.shape[:2])
    return ops.sparse_scatter(found.values, places, shape=tuple(found.shape))


def _unsorted(tensor: Tensor) -> SparseTensor:
    state = state_of(tensor)
    return made(stack(_entries(state)), state.values, state.shape)


def _compress(lines: Tensor, plain: Tensor, values: Tensor, count: int, shape: Sequence[int], layout: Any) -> Tensor:
    """A tensor of which line and place in it are known of each entry, ordered by lines."""
    heads = cat([lines.new_zeros(1), lines.bincount(minlength=count).cumsum(0)])
    return SparseValue((heads, plain), values, shape, layout=layout).as_tensor()


def compressed_of(tensor: Tensor, layout: Any, blocksize: Any = None, dense_dim: int = 0) -> Tensor:
    """A tensor, of any layout, in a compressed one.

    Raises:
        RuntimeError: it is no matrix; blocks do not fit.
    """
    if is_sparse(tensor) and state_of(tensor).layout is layout:
        return tensor
    name = repr(layout)[-3:]
    batch = tensor.ndim - 2 - dense_dim if not is_coo(tensor) else 0
    if batch > 0 and not (is_sparse(tensor) and not batch_of(state_of(tensor))):
        whole = tensor.to_dense(masked_grad=False) if is_sparse(tensor) else tensor
        front = tuple(whole.shape[:batch])
        each = whole.reshape(math.prod(front), *whole.shape[batch:]).unbind(0)
        return batched([compressed_of(one, layout, blocksize, dense_dim) for one in each], front)
    if layout in BY_BLOCKS:
        tensor = tensor.to_dense(masked_grad=False) if is_sparse(tensor) else tensor
        return _blocks_of(tensor, tuple(blocksize), layout, name)
    if tensor.ndim - (state_of(tensor).values.ndim - 1 if is_coo(tensor) else dense_dim) != 2:
        if is_coo(tensor):
            raise RuntimeError(f"coo_to_sparse_{name}: conversion from Sparse to Sparse{name.title()} for input "
                               "tensors with sparse_dim()!=2 is not supported")  # fmt: skip
        raise RuntimeError(f"to_sparse_{name}: expected a matrix, but got {tensor.ndim} dimensions, of which "
                           f"{dense_dim} are dense; batches of matrices are not in tapegrad (yet)")  # fmt: skip
    found = tensor if is_coo(tensor) else coordinates_of(tensor) if is_sparse(tensor) else sparse_of(tensor, 2)
    return _in_lines(coalesced(found), layout, tensor.shape[:2])


def _in_lines(found: Tensor, layout: Any, lengths: Sequence[int]) -> Tensor:
    """A coalesced tensor of elements or blocks in one of the layouts of these."""
    state = state_of(found)
    (rows, columns), values = state.indices[0], state.values
    if layout in BY_ROWS:
        made = _compress(rows, columns, values, lengths[0], state.shape, layout)
    else:
        order = columns.argsort(stable=True)
        values = ops.sparse_rows(values, order)
        made = _compress(columns[order], rows[order], values, lengths[1], state.shape, layout)
    return filled(made, (found, None))


def _blocks_of(tensor: Tensor, blocks: tuple[int, int], layout: Any, name: str) -> Tensor:
    if tensor.shape[0] % blocks[0] or tensor.shape[1] % blocks[1]:
        raise RuntimeError(f"dense_to_sparse_{name}: tensor sparse size ({tensor.shape[0]},{tensor.shape[1]}) must be "
                           f"divisible by given blocksize ({blocks[0]},{blocks[1]})")  # fmt: skip
    lengths = tensor.shape[0] // blocks[0], tensor.shape[1] // blocks[1]
    apart = tensor.reshape(lengths[0], blocks[0], lengths[1], blocks[1], *tensor.shape[2:]).transpose(1, 2)
    found = _in_lines(sparse_of(apart, 2), layout, lengths)
    state = state_of(found)
    made = SparseValue(state.indices, state.values, tensor.shape, layout=layout).as_tensor()
    return filled(made, (found, lambda fill: fill.transpose(1, 2).reshape(tensor.shape)))


# What compressed tensors say and do ----------------------------------------------------------------------------------


def _indices_named(name: str, layouts_of: tuple, place: int, kind: str) -> None:
    def function(self: Tensor) -> Tensor:
        state = state_of(self)
        if state.layout not in layouts_of:
            got = "Sparse" if is_coo(self) else f"Sparse{repr(state.layout)[-3:].title()}"
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {got}")
        return state.indices[place]

    answers(name)(function)


_BY_COLUMNS = (layouts.sparse_csc, layouts.sparse_bsc)
_indices_named("crow_indices", BY_ROWS, 0, "row")
_indices_named("col_indices", BY_ROWS, 1, "row")
_indices_named("ccol_indices", _BY_COLUMNS, 0, "column")
_indices_named("row_indices", _BY_COLUMNS, 1, "column")

TRANSPOSED = {
    layouts.sparse_csr: layouts.sparse_csc, layouts.sparse_csc: layouts.sparse_csr,
    layouts.sparse_bsr: layouts.sparse_bsc, layouts.sparse_bsc: layouts.sparse_bsr,
}  # fmt: skip


def transposed(tensor: Tensor, node: str = "TransposeBackward0") -> Tensor:
    """The transpose of a compressed matrix: the same numbers in the other layout."""
    state = state_of(tensor)
    values = ops.sparse_transpose(state.values.transpose(1, 2) if state.layout in BY_BLOCKS else state.values)
    values = renamed(values, node)
    shape = (state.shape[1], state.shape[0], *state.shape[2:])
    made = SparseValue(state.indices, values, shape, layout=TRANSPOSED[state.layout]).as_tensor()
    return filled(made, (tensor, lambda fill: fill.transpose(0, 1)))


def _of_compressed(name: str, function: Callable) -> None:
    """Declare what is done for compressed tensors under a name that those with coordinates have an answer for."""
    before = ANSWERS[name]
    answers(name)(lambda self, *args, **kwargs: (
        before(self, *args, **kwargs) if not is_sparse(self) or is_coo(self) else function(self, *args, **kwargs)
    ))  # fmt: skip


for _name, _node in (("t", "TBackward0"), ("T.__get__", "PermuteBackward0")):
    _of_compressed(_name, lambda self, _node=_node: transposed(self, _node))
for _name in ("transpose", "swapaxes", "swapdims"):
    _of_compressed(_name, lambda self, dim0=0, dim1=1: self if (dim0 - dim1) % 2 == 0 else transposed(self))
def _part(function: Callable, tensor: Tensor, *args: Any) -> Any:
    """A part of a compressed tensor: of a batch a matrix, or a batch again."""
    batch = batch_of(state_of(tensor))
    if not batch:
        return function(coordinates_of(tensor), *args)
    dim, index = (args or (0,))[0], args[1] if len(args) > 1 else None
    if function is taken_apart and dim == 0:
        return tuple(_part(picked, tensor, 0, place) for place in range(tensor.shape[0]))
    if function is indexed:
        dim, index = 0, args[0]
    if dim or not isinstance(index, int):
        raise not_there("select", (tensor,))
    state = state_of(tensor)
    parts = [part[index] for part in (*state.indices, state.values)]
    found = SparseValue((parts[0], parts[1]), parts[2], state.shape[1:], layout=state.layout).as_tensor()
    return filled(found, (tensor, lambda fill: fill[index]))


for _name, _function in (("select", picked), ("__getitem__", indexed), ("unbind", taken_apart)):
    _of_compressed(_name, lambda self, *args, _function=_function: _part(_function, self, *args))


@answers("compressed add")
def _add(input: Tensor, other: Tensor, alpha: Any) -> Tensor:
    one, two = state_of(input), state_of(other)
    if one.indices is two.indices:
        values = one.values + (two.values if alpha == 1 else two.values * alpha)
        together = SparseValue(one.indices, values, one.shape, layout=one.layout)
        return summed(together.as_tensor(), input, other, alpha)
    found = merged(input.to_sparse_coo(), other.to_sparse_coo(), alpha)
    return found.to_sparse(layout=one.layout, blocksize=_blocksize(one))


@answers("compressed mul")
def _mul(input: Tensor, other: Tensor) -> Tensor:
    one, two = state_of(input), state_of(other) if is_sparse(other) else None
    if two is not None and one.indices is two.indices:
        return SparseValue(one.indices, one.values * two.values, one.shape, layout=one.layout).as_tensor()
    found = input.to_sparse_coo() * (other.to_sparse_coo() if is_sparse(other) else other)
    return found.to_sparse(layout=one.layout, blocksize=_blocksize(one))


@answers("compressed mask")
def _mask(self: Tensor, mask: Tensor) -> Tensor:
    state = state_of(mask)
    if state.layout in BY_BLOCKS:
        raise NotImplementedError("masks of blocks are not in tapegrad (yet): mask.to_sparse_csr() is one of elements")
    places = places_of(stack(_entries(state)), state.shape[:2])
    values = ops.sparse_gather(self.to_dense(), places, ndim=2)
    return SparseValue(state.indices, values, state.shape, layout=state.layout).as_tensor()


def _blocksize(state: SparseValue) -> tuple[int, ...] | None:
    batch = batch_of(state)
    return tuple(state.values.shape[batch + 1 : batch + 3]) if state.layout in BY_BLOCKS else None
