"""Masks of attention by blocks: what ``torch.nn.attention.flex_attention`` has besides attention itself.

Note [Ordered blocks]
Which blocks of a mask have anything in them is said row by row: how many there are, and then their columns, those that
count first. ``full`` blocks have nothing but True; only in the others has ``mask_mod`` to be asked. So kernels that
leave out blocks are told what to do; here they tell what a mask looks like, and attention asks ``mask_mod``.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.execution.data.dtypes import int32, int64
from tapegrad._src.functions.arrangement import pad
from tapegrad._src.functions.creation import arange, zeros
from tapegrad._src.functions.selection import where
from tapegrad._src.functions.sorting import argsort
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.func import vmap

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

BLOCK = 128
TENSORS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
    "full_q_num_blocks", "full_q_indices",
)  # fmt: skip

MaskMod = Callable[..., Any]


def over_all_scores(modification: Callable, with_score: bool) -> Callable:
    """A function of one score's indices, or of the score and its indices, as one of all scores at once.

    Args:
        modification: of (batch, head, query, key), after the score if there is one.
        with_score: whether there is.

    Returns:
        of the tensors of indices, after that of all scores, (batch, head, query, key), if there is one.
    """
    own = (0,) if with_score else ()
    for varying in (3, 2, 1, 0):
        indices = (0 if place == varying else None for place in range(4))
        modification = vmap(modification, in_dims=(*own, *indices))
    return modification


def indices_of(shape: tuple[int, ...], device: Any) -> list[Tensor]:
    """For each dimension its indices."""
    return [arange(length, device=device) for length in shape]


# Functions of indices -------------------------------------------------------------------------------------------------


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Tensor:
    """The mask of everything."""
    return batch.new_ones((), dtype=bool_)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what is in one of several.

    Raises:
        RuntimeError: one of them is no function.
    """
    _check_callable(mask_mods)

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Tensor:
        seen = b.new_zeros((), dtype=bool_)
        for mask in mask_mods:
            seen = seen | mask(b, h, q_idx, kv_idx)
        return seen

    return or_mask


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what is in all of several.

    Raises:
        RuntimeError: one of them is no function.
    """
    _check_callable(mask_mods)

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Tensor:
        seen = b.new_ones((), dtype=bool_)
        for mask in mask_mods:
            seen = seen & mask(b, h, q_idx, kv_idx)
        return seen

    return and_mask


def _check_callable(mask_mods: tuple) -> None:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def takes_score(modification: Callable) -> bool:
    """Tell whether a function is one of a score and its four indices; otherwise it is of the indices alone.
    Raises AssertionError: it takes more arguments, or fewer.
    """
    parameters = inspect.signature(modification).parameters.values()
    count = sum(one.default is one.empty and one.kind in (0, 1) for one in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """A mask with its elements.

    Args:
        mod_fn: ``f(batch, head, q_idx, kv_idx)``, which says whether the query sees the key; or with a score before
            these, which is minus infinity where it doesn't.
        B, H: how many batches and heads there are; None for one that serves all.
        Q_LEN, KV_LEN: how many queries and keys.
        device: where it is to be.

    Returns:
        a tensor of booleans, (B, H, Q_LEN, KV_LEN).

    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    indices = indices_of(shape, device)
    if takes_score(mod_fn):
        return ~over_all_scores(mod_fn, with_score=True)(zeros(shape, device=device), *indices).isneginf()
    return over_all_scores(mod_fn, with_score=False)(*indices)


# Blocks ---------------------------------------------------------------------------------------------------------------


def ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """The number of blocks of each row that count, and the columns, those that count first: Note [Ordered blocks]."""
    counts = dense.to(int32)
    columns = argsort(counts, dim=-1, descending=True, stable=True)
    return counts.sum(dim=-1).to(int32), columns.to(int32)


def dense(num_blocks: Tensor, indices: Tensor) -> Tensor:
    """1 for each block that counts, 0 for the others."""
    columns = indices.shape[-1]
    counts = arange(columns, device=indices.device) < num_blocks.unsqueeze(-1)
    places = where(counts, indices, columns).to(int64)  # what doesn't count goes into a column beyond
    marked = zeros((*indices.shape[:-1], columns + 1), dtype=int32, device=indices.device)
    return marked.scatter(-1, places, 1)[..., :columns].contiguous()


def transposed(num_blocks: Any, indices: Any) -> tuple:
    """The same blocks column by column; Nones of Nones."""
    if num_blocks is None:
        return None, None
    return ordered(dense(num_blocks, indices).transpose(-2, -1))


def cropped(num_blocks: Any, indices: Any, rows: int, columns: int) -> tuple:
    """The blocks of the upper left corner; Nones of Nones."""
    if num_blocks is None:
        return None, None
    return ordered(dense(num_blocks, indices)[..., :rows, :columns])


def _of_a_slice(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is "
        "reset. You must set it from the original BlockMask's mask_mod."
    )


class BlockMask:
    """A mask of attention, by blocks: Note [Ordered blocks]. ``create_block_mask`` makes one.

    Attributes:
        seq_lengths: the numbers of queries and keys.
        kv_num_blocks, kv_indices: for each row of blocks how many have something, and which; (batch, head, rows) and
            (batch, head, rows, columns).
        full_kv_num_blocks, full_kv_indices: the same of those that are full; or None.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same column by column; or None.
        BLOCK_SIZE: the numbers of queries and keys in a block.
        mask_mod: the function that says which elements are there.

    Raises:
        RuntimeError: there are no rows and columns.
        AssertionError: of two that belong together one is None.
    """

    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    q_num_blocks: Tensor | None
    q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    full_q_indices: Tensor | None

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any,
        full_kv_indices: Any, q_num_blocks: Any, q_indices: Any, full_q_num_blocks: Any, full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int] = (BLOCK, BLOCK), mask_mod: MaskMod = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, number, which in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (number is None) != (which is None):
                raise AssertionError(f"full_{name}_num_blocks and full_{name}_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        given = (
            kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
            full_q_num_blocks, full_q_indices,
        )  # fmt: skip
        for name, tensor in zip(TENSORS, given, strict=True):
            setattr(self, name, tensor)

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any = None, full_kv_indices: Any = None,
        BLOCK_SIZE: int | tuple[int, int] = BLOCK, mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask of what is known row by row; see the attributes.

        Args:
            kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices: the blocks.
            BLOCK_SIZE: the numbers of queries and keys in a block; one number for both.
            mask_mod: the function; None for all elements of the blocks.
            seq_lengths: the numbers of queries and keys; None for all that the blocks have.
            compute_q_blocks: whether it is to be known column by column, too.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        given = (kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)
        pairs = [*given, *(transposed(*pair) if compute_q_blocks else (None, None) for pair in given)]
        tensors: dict[str, Any] = dict(zip(TENSORS, itertools.chain(*pairs), strict=True))
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        return cls(seq_lengths, **tensors, BLOCK_SIZE=size, mask_mod=noop_mask if mask_mod is None else mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(batch, head, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    def sparsity(self) -> float:
        """The percentage of the elements in blocks that have nothing."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block that has something, 0 for the others: (batch, head, rows, columns)."""
        blocks = dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return blocks
        return blocks | dense(self.full_kv_num_blocks, self.full_kv_indices)  # type: ignore[arg-type]

    def as_tuple(self, flatten: bool = True) -> tuple:
        """The lengths, the tensors, the block's size and the function; with ``flatten`` no tuples inside."""
        lengths: tuple = self.seq_lengths if flatten else (self.seq_lengths,)
        size: tuple = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        tensors = (getattr(self, name) for name in TENSORS)
        return *lengths, *tensors, None, None, None, None, *size, self.mask_mod  # PyTorch's order of writes: none

    def to(self, device: Any) -> BlockMask:
        """The same mask on another device."""
        tensors = {name: getattr(self, name) for name in TENSORS}
        moved: dict[str, Any] = {name: None if one is None else one.to(device) for name, one in tensors.items()}
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        given = index if isinstance(index, tuple) else (index,)
        whole = (*given, slice(None), slice(None), slice(None))[:3]
        sizes = self.kv_num_blocks.shape[:3]
        places = tuple(itertools.starmap(_kept, zip(whole, sizes, strict=True)))
        tensors = {name: getattr(self, name) for name in TENSORS[:4]}
        kept: dict[str, Any] = {name: None if one is None else one[places] for name, one in tensors.items()}
        return BlockMask.from_kv_blocks(
            **kept, BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=_of_a_slice, seq_lengths=self.seq_lengths, compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask of its first queries and keys."""
        rows, columns = (-(-new // size) for new, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True))
        partial = cropped(self.kv_num_blocks, self.kv_indices, rows, columns)
        full = cropped(self.full_kv_num_blocks, self.full_kv_indices, rows, columns)
        kept: dict[str, Any] = dict(zip(TENSORS, partial + full, strict=False))
        return BlockMask.from_kv_blocks(
            **kept, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, seq_lengths=(new_q_len, new_kv_len),
            compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture in characters: full where all blocks have something, light where some have.

        Args:
            grid_size: how many rows and columns it has at most.
            limit: how many batches and heads are shown.
        """
        blocks = self.to_dense()
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        shown = []
        for number, place in enumerate(itertools.product(*map(range, blocks.shape[:-2]))):
            if number == limit:
                shown += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                          "You can also index (BlockMask[batch, head]) to choose a specific batch or head"]  # fmt: skip
                break
            shown.append(f"{place}\n{_picture(blocks[place], most)}")
        return "\n".join(shown)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        tensors = {name: getattr(self, name) for name in TENSORS}
        lines = [f"{name}={None if one is None else one.shape}" for name, one in tensors.items()]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        lines.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        inside = ",\n".join(f"    {line}" for line in lines)
        return f"BlockMask(\n{inside}\n)"


def _kept(index: Any, length: int) -> Any:
    """An index that keeps its dimension."""
    if not isinstance(index, int):
        return index
    first = index + length if -length <= index < 0 else index
    return slice(first, first + 1)


def _picture(blocks: Tensor, most: tuple[int, int]) -> str:
    """One mask's blocks, several of them as one character where there are more than fit."""
    (rows, columns), marks = blocks.shape, blocks.tolist()
    step, width = max(1, -(-rows // most[0])), max(1, -(-columns // most[1]))
    lines = []
    for top in range(0, rows, step):
        line = ""
        for left in range(0, columns, width):
            inside = [mark for row in marks[top : top + step] for mark in row[left : left + width]]
            line += ("█" if all(inside) else "░" if any(inside) else " ") * 2
        lines.append(line + "\n")
    return "".join(lines)


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = BLOCK, _compile: bool = False, separate_full_blocks: bool = True,
) -> BlockMask:  # fmt: skip
    """A mask by blocks, for ``flex_attention``.

    Args:
        mask_mod: ``f(batch, head, q_idx, kv_idx)`` says whether the query sees the key.
        B, H: how many batches and heads there are; None for one that serves all.
        Q_LEN, KV_LEN: how many queries and keys.
        device: where its tensors are to be.
        BLOCK_SIZE: the numbers of queries and keys in a block; one number for both.
        _compile: accepted; ``torch.compile(create_block_mask)`` compiles it.
        separate_full_blocks: whether full blocks are told apart.

    Raises:
        AssertionError: ``mask_mod`` is no function of four arguments.

    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256).to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """
    if takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    counts = _counted(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), *size)
    full = counts == size[0] * size[1]
    blocks = [ordered(counts > 0)] if not separate_full_blocks else [ordered((counts > 0) & ~full), ordered(full)]
    tensors = (tensor for pair in blocks for tensor in pair)
    named: dict[str, Any] = dict(zip(TENSORS, tensors, strict=False))
    return BlockMask.from_kv_blocks(**named, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))


def _counted(mask: Tensor, rows: int, columns: int) -> Tensor:
    """Count the elements of each block of a mask that are True; beyond its end none are."""
    *outer, queries, keys = mask.shape
    padded = pad(mask, (0, -keys % columns, 0, -queries % rows))
    blocks = padded.reshape(*outer, -(-queries // rows), rows, -(-keys // columns), columns)
    return blocks.sum(dim=(-3, -1))
