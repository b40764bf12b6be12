"""Tangents by the batch: the function is called once, at a level that maps (Note [Levels]); and the standard basis."""

from __future__ import annotations

from collections.abc import Callable

from tapegrad._src.dispatch.function_levels import at, lift, lower
from tapegrad._src.functions.creation import eye, zeros_like
from tapegrad._src.tensor.lifted import TOGETHER, Level
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.forward_ad import make_dual, refuse_nested, unpack_dual
from tapegrad.autograd.functional.arguments import Tensors
from tapegrad.ops.levels import whole


def pushed_rows(function: Callable[..., Tensors], inputs: Tensors, tangents: Tensors) -> Tensors:
    """The tangents of what a function gives for some inputs, for each row of batches of their tangents; zeros for what
    has none.
    Raises RuntimeError: random operators in the function, as in PyTorch; a dual level around this.
    """
    refuse_nested()
    with Level(len(tangents[0]), TOGETHER) as rows:
        pairs = [(lift(x, rows), lift(t, rows, batched=True).view_as(x)) for x, t in zip(inputs, tangents, strict=True)]
        with Level(None, TOGETHER, forward_level=0, forward_grad=True) as level:
            level.tangents_lost = []
            outputs = function(*[make_dual(lift(x, level), lift(t, level)) for x, t in pairs])
            found = [lower(pushed(at(out, level)), level)[0] for out in outputs]
        return tuple(whole(one, rows) for one in found)


def pushed(output: Tensor) -> Tensor:
    """The tangent of a tensor, zeros if it has none."""
    primal, tangent = unpack_dual(output)
    return zeros_like(primal) if tangent is None else tangent


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: tuple[int, ...]) -> Tensors:
    """The standard basis of the space of some tensors of so many elements: for each a matrix of as many rows as there
    are elements in all.

    Row by row these are all ones-and-zeros vectors, each cut into the (flat) tensors.

    Raises:
        AssertionError: no tensors, or other numbers of elements than tensors.
    """
    if len(tensors) != len(tensor_numels):
        raise AssertionError(
            "Expected tensors and tensor_numels to have the same length, but got "
            f"{len(tensors)} and {len(tensor_numels)}"
        )
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    rows, start = sum(tensor_numels), 0
    batches = []
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        unit = eye(rows, dtype=tensor.dtype, device=tensor.device)
        batches.append(unit if count == rows else unit[:, start : start + count].contiguous())
        start += count
    return tuple(batches)


def basis_of(tensors: Tensors) -> Tensors:
    """The standard basis of the space of ``tensors``."""
    return _construct_standard_basis_for(tensors, tuple(tensor.numel() for tensor in tensors))
