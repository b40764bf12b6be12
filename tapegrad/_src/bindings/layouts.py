"""Memory formats: in which order new tensors lie in memory, and how programs ask for it."""

from __future__ import annotations

from typing import Any

from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.tensor.dual import tangent_of
from tapegrad._src.tensor.geometry import (
    Ints,
    channels_last_strides,
    contiguous_strides,
    is_channels_last,
    is_contiguous,
    preserved_strides,
    seems_channels_last,
)
from tapegrad._src.tensor.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from tapegrad._src.tensor.spec import named_strides
from tapegrad._src.tensor.tensor import Tensor, lay_out_memory
from tapegrad.ops.shape import clone

RANKS = {channels_last: 4, channels_last_3d: 5}
"""The formats that only tensors of one number of dimensions can have."""


def checked_format(function: str, given: Any, default: memory_format = preserve_format) -> memory_format:
    """A memory format given to a function. Raises TypeError: PyTorch's message, for anything else."""
    if given is None:
        return default
    if not isinstance(given, memory_format):
        type_shown = type(given).__name__
        raise TypeError(f"{function}(): argument 'memory_format' must be torch.memory_format, not {type_shown}")
    return given


def format_strides(given: memory_format, shape: Ints) -> Ints:
    """The strides of a new tensor in a format.
    Raises RuntimeError: PyTorch's message, if there are no such of this number of dimensions.
    """
    if given not in RANKS:
        return contiguous_strides(shape)
    if len(shape) != RANKS[given]:
        raise RuntimeError(f"required rank {RANKS[given]} tensor to use {str(given).removeprefix('torch.')} format")
    return channels_last_strides(shape)


def copy_strides(function: str, input: Tensor, given: Any) -> Ints:
    """The strides of a copy of a tensor in a memory format; of one that is given none, like those of the tensor."""
    chosen, shape, spec = checked_format(function, given), tuple(input.shape), input._spec
    if chosen is preserve_format:
        return spec.layout if spec.strides is None else preserved_strides(shape, spec.layout)
    return format_strides(chosen, shape)


def laid_out(made: Tensor, strides: Ints) -> Tensor:
    """A tensor that nobody has seen yet, with its elements in another order in memory."""
    named = named_strides(made.shape, strides)
    if named != made._spec.strides:
        node = None if made._edge is None else made._edge[0]
        if isinstance(node, OperatorNode) and node.plan.saved_outputs:
            lay_out_memory(made, named)
        else:
            made._spec = made._spec.replace(strides=named)
    return made


def copy_laid_out(input: Tensor, strides: Ints) -> Tensor:
    """A copy of a tensor whose elements lie in memory as these strides say, as do those of its tangent."""
    return both_laid_out(clone(input), strides)


def both_laid_out(made: Tensor, strides: Ints) -> Tensor:
    """``laid_out``, and so its tangent, if it has one."""
    if made._spec.dual:
        laid_out(tangent_of(made), strides)  # type: ignore[arg-type]
    return laid_out(made, strides)


def in_row_major_order(made: Tensor) -> Tensor:
    """A tensor that nobody has seen yet, contiguous in memory."""
    return laid_out(made, contiguous_strides(tuple(made.shape)))


def in_column_major_order(made: Tensor) -> Tensor:
    """A tensor that nobody has seen yet, of matrices that lie in memory column by column."""
    *strides, _, _ = contiguous_strides(tuple(made.shape))
    return laid_out(made, (*strides, 1, max(made.shape[-2], 1)))


def has_format(input: Tensor, chosen: memory_format) -> bool:
    """Tell whether a tensor lies in memory as a format says."""
    shape, strides = tuple(input.shape), input._spec.strides
    if chosen in RANKS:
        return len(shape) == RANKS[chosen] and is_channels_last(shape, input._spec.layout)
    return strides is None or is_contiguous(shape, strides)


def suggested_format(input: Tensor) -> memory_format:
    """The format that a tensor counts as having: by its strides, whatever gaps there are."""
    shape, strides = tuple(input.shape), input._spec.strides
    if strides is None or not seems_channels_last(shape, strides):
        return contiguous_format
    return channels_last if len(shape) == 4 else channels_last_3d
