"""``map``: a function of each slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.functions.joining import stack, unbind
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten, unflatten
from tapegrad.interop.loops import called, mapping
from tapegrad.interop.operator_lists import Like, is_fit, traced_or_none


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` of each slice ``x`` along the first dimension, stacked.

    Args:
        f: returns a tree of tensors. It may use tensors from outside, which get gradients.
        xs: a tree of tensors with as many slices each.
        args: whatever else ``f`` takes, the same for all.

    Raises:
        RuntimeError: leaves that are no tensors, no slices, not as many of each.

    >>> from tapegrad._higher_order_ops import map
    >>> map(lambda x, y: x.sum() * y, torch.ones(3, 2), torch.tensor([1.0, 2.0]))
    tensor([[2., 4.],
            [2., 4.],
            [2., 4.]])
    """
    slices, spec = flatten(xs)
    check(slices)
    given, args_spec = flatten(args)
    tensors = [leaf for leaf in given if isinstance(leaf, Tensor)]

    def step(*leaves: Tensor) -> Any:
        rest = iter(leaves[len(slices) :])
        filled = [next(rest) if isinstance(leaf, Tensor) else leaf for leaf in given]
        return f(unflatten(leaves[: len(slices)], spec), *unflatten(filled, args_spec))

    found = None
    if is_fit([*slices, *tensors]):
        found = traced_or_none(step, [*(Like.of(leaf, 1) for leaf in slices), *(Like.of(leaf) for leaf in tensors)])
    if found is None:
        return one_by_one(step, slices, tensors)
    operator = mapping(found.program, len(slices), len(tensors))
    return unflatten(called(operator, [*slices, *tensors, *found.captured]), found.structure)


def check(slices: Sequence[Any]) -> None:
    """Refuse what can't be mapped over, in PyTorch's words."""
    if not all(isinstance(leaf, Tensor) for leaf in slices):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {slices}.")
    shapes = [leaf.shape for leaf in slices]
    if shapes[0][0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != shapes[0][0] for shape in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")


def one_by_one(step: Callable, slices: Sequence[Tensor], tensors: Sequence[Tensor]) -> Any:
    """The loop as Python runs it."""
    rows = [flatten(step(*parts, *tensors)) for parts in zip(*[unbind(leaf) for leaf in slices], strict=True)]
    columns = zip(*(row for row, _ in rows), strict=True)
    return unflatten([stack(column) if isinstance(column[0], Tensor) else column[0] for column in columns], rows[0][1])
