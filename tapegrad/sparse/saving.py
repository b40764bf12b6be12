"""Sparse tensors as files have them: indices, values, and the size."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.sparse.compressed import sparse_compressed_tensor
from tapegrad.sparse.coordinates import sparse_coo_tensor
from tapegrad.sparse.tensor import is_coo, state_of


def saved(tensor: Tensor) -> tuple:
    """The layout, and the parts that PyTorch saves of a sparse tensor."""
    state = state_of(tensor)
    parts = *state.indices, state.values.detach(), Size(state.shape)
    return state.layout, (*parts, state.coalesced) if is_coo(tensor) else parts


def loaded(layout: Any, parts: tuple, size: tuple[int, ...], coalesced: bool) -> Tensor:
    """The tensor of these parts. Raises RuntimeError: indices don't fit."""
    if layout is layouts.sparse_coo:
        indices, values = parts
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=coalesced)
    heads, plain, values = parts
    return sparse_compressed_tensor(heads, plain, values, size, layout=layout, check_invariants=True)
