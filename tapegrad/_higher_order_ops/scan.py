"""``scan``: a function of what it carries and of one slice after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._higher_order_ops.checks import INCOMPLETE, check_alike
from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.execution.array_functions.host import is_readable
from tapegrad._src.functions.arrangement import flip
from tapegrad._src.functions.joining import stack, unbind
from tapegrad._src.functions.shape import movedim
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.tensor.trees import flatten, map_leaves, unflatten
from tapegrad.interop.loops import called, scanning
from tapegrad.interop.operator_lists import Like, is_fit, traced_or_none

LONG = 64
"""A loop of so many steps is one operator at once, too: to trace a step costs as much as to run so many."""


TOO_FEW = "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"


def scan(combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for each slice ``x``.

    Args:
        combine_fn: takes what is carried and a slice, both trees of tensors, and returns a pair: what is carried on,
            like ``init``, and a tree of tensors. It may use tensors from outside, which get gradients. A step that only
            calls operators is run on no numbers once, and becomes one operator for all slices, if they are many;
            whatever else Python does in it, it does once then.
        init: what is carried at first.
        xs: a tree of tensors, whose slices along ``dim`` are taken.
        dim: that dimension.
        reverse: whether the last slice is the first; results are in the order of the slices.

    Returns:
        what was carried last; the results of all steps, stacked along ``dim``.

    Raises:
        RuntimeError: what can't be called, leaves that are no tensors, no slices, a carry of another shape or dtype.

    >>> from tapegrad._higher_order_ops import scan
    >>> scan(lambda total, x: (total + x, total * x), torch.tensor(1.0), torch.arange(4.0))
    (tensor(7.), tensor([ 0.,  1.,  4., 12.]))
    """
    starts, start_spec = flatten(init)
    slices, slice_spec = flatten(xs)
    if not slices:
        return init, []
    dim = wrap_dim(dim, slices[0].ndim)
    check(combine_fn, starts, slices, dim, reverse)
    slices = [movedim(leaf, dim, 0) if dim else leaf for leaf in slices]
    slices = [flip(leaf, [0]) for leaf in slices] if reverse else slices

    def step(*leaves: Tensor) -> tuple[Any, Any]:
        carry, x = unflatten(leaves[: len(starts)], start_spec), unflatten(leaves[len(starts) :], slice_spec)
        return checked_step(combine_fn(carry, x), starts)

    carry, ys = in_one(step, starts, slices) or one_by_one(step, starts, slices)
    return carry, map_leaves(lambda leaf: in_place_of(leaf, dim, reverse), ys)


def in_place_of(leaf: Tensor, dim: int, reverse: bool) -> Tensor:
    """Stacked results, in the order and along the dimension of the slices."""
    leaf = flip(leaf, [0]) if reverse else leaf
    return movedim(leaf, 0, dim) if 0 < dim < leaf.ndim else leaf


def check(combine_fn: Any, starts: Sequence[Any], slices: Sequence[Any], dim: int, reverse: Any) -> None:
    """Refuse what PyTorch refuses, in its words and order."""
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not starts:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, leaves in (("init", starts), ("xs", slices)):
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {leaf}")
    if any(leaf.ndim <= dim or leaf.shape[dim] == 0 for leaf in slices):
        raise RuntimeError(TOO_FEW)


def checked_step(results: Any, starts: Sequence[Tensor]) -> tuple[Any, Any]:
    """The results of a step: what is carried on, and its result."""
    if not isinstance(results, (tuple, list)) or len(results) != 2:
        raise RuntimeError(
            f"{INCOMPLETE}torch.scan: improper combine_fn number of returns\n"
            "  Higher Order Operator: torch.ops.higher_order.scan\n"
            f"  Explanation: Expect combine_fn to return a tuple (next_carry, y) but got {results}."
        )
    check_alike(starts, flatten(results[0])[0], ("init", "carry"))
    return results[0], results[1]


def in_one(step: Callable, starts: Sequence[Tensor], slices: Sequence[Tensor]) -> tuple[Any, Any] | None:
    """The loop as one operator; None if it is to be run as Python does."""
    steps = slices[0].shape[0]
    short = steps < LONG and all(is_readable(value_of(leaf)) for leaf in (*starts, *slices))
    if short or not is_fit([*starts, *slices]) or any(leaf.shape[0] != steps for leaf in slices):
        return None
    found = traced_or_none(step, [*map(Like.of, starts), *(Like.of(leaf, 1) for leaf in slices)])
    if found is None:
        return None
    operator = scanning(found.program, len(starts), len(slices))
    results = called(operator, [*starts, *slices, *found.captured])
    return unflatten(results, found.structure)


def one_by_one(step: Callable, starts: Sequence[Tensor], slices: Sequence[Tensor]) -> tuple[Any, Any]:
    """The loop as Python runs it."""
    parts, steps, carry = [unbind(leaf) for leaf in slices], slices[0].shape[0], list(starts)
    rows, kept, spec = [], carry, flatten([])[1]
    for number in range(steps):
        kept, y = step(*carry, *(slice_at(number, *pair) for pair in zip(parts, slices, strict=True)))
        carry = flatten(kept)[0]
        row, spec = flatten(y)
        rows.append(row)
    return kept, unflatten([stack(column) for column in zip(*rows, strict=True)], spec)


def slice_at(number: int, parts: Sequence[Tensor], whole: Tensor) -> Tensor:
    """One of the slices. Raises IndexError: PyTorch's message."""
    if number < len(parts):
        return parts[number]
    raise IndexError(
        f"select(): index {number} out of range for tensor of size {list(whole.shape)} at dimension 0"
    )
