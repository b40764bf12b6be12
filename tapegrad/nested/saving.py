"""Nested tensors as files have them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.attributes import arguments_of
from tapegrad.nested.strided import Buffered, offsets_in, strides_of
from tapegrad.nested.tensor import NestedTensor, is_jagged, state_of


def nested_parts(tensor: Tensor) -> tuple:
    """The parts that PyTorch saves of a nested tensor: of the jagged layout one, a dictionary."""
    if is_jagged(tensor):
        return (arguments_of(tensor),)
    state = state_of(tensor)
    sizes = [as_tensor([list(one) for one in of]) for of in (state.sizes, map(strides_of, state.sizes))]
    return (state.values.detach(), *sizes, as_tensor(offsets_in(state.sizes)))


_ARGUMENTS = {"values", "offsets", "lengths", "_ragged_idx", "_metadata_cache", "requires_grad"}


def loaded_jagged(arguments: Any) -> NestedTensor:
    """The jagged tensor of such a dictionary. Raises ValueError: something else is in it."""
    if type(arguments) is not dict or not arguments.keys() <= _ARGUMENTS or not {"values", "offsets"} <= set(arguments):
        raise ValueError("a nested tensor lacks a part")
    offsets, lengths = arguments["offsets"], arguments.get("lengths")
    cache, ragged = arguments.get("_metadata_cache") or {}, arguments.get("_ragged_idx", 1)
    parts = [arguments["values"], offsets, *([] if lengths is None else [lengths]), *cache.values()]
    if type(ragged) is not int or not all(type(part) is Tensor for part in parts):
        raise ValueError("a nested tensor has something else as its parts")
    if not 1 <= ragged <= parts[0].ndim or not cache.keys() <= {"min_seqlen", "max_seqlen"}:
        raise ValueError("the parts of a nested tensor do not go together")
    _check_places(parts[0].shape[ragged - 1], offsets, lengths)
    return NestedTensor(**arguments)


def _check_places(total: int, offsets: Tensor, lengths: Tensor | None) -> None:
    """Refuse entries that reach beyond the values. Raises ValueError."""
    if offsets.ndim != 1 or not offsets.shape[0] or (lengths is not None and lengths.shape[0] != offsets.shape[0] - 1):
        raise ValueError("the parts of a nested tensor do not go together")
    places = offsets.tolist()
    counts = [b - a for a, b in pairwise(places)] if lengths is None else lengths.tolist()
    if any(not 0 <= start <= start + count <= total for start, count in zip(places, counts, strict=False)):
        raise ValueError("an entry of a nested tensor lies outside of its values")


def loaded_strided(buffer: Any, sizes: Any, strides: Any, offsets: Any) -> Tensor:
    """The strided nested tensor of these parts. Raises ValueError: they don't go together."""
    if not all(type(part) is Tensor for part in (buffer, sizes, strides, offsets)) or buffer.ndim != 1:
        raise ValueError("a nested tensor has something else as its parts")
    shapes, steps, places = sizes.tolist(), strides.tolist(), offsets.tolist()
    if shapes and not isinstance(shapes[0], list):
        shapes, steps = [[] for _ in places], [[] for _ in places]
    try:
        if [list(strides_of(shape)) for shape in shapes] == steps and offsets_in(shapes) == places:
            return Buffered(buffer, shapes).as_tensor()
        parts = [buffer.as_strided(*one).reshape(-1) for one in zip(shapes, steps, places, strict=True)]
    except (RuntimeError, ValueError) as error:
        raise ValueError("the parts of a nested tensor do not go together") from error
    return Buffered(cat(parts), shapes).as_tensor()
