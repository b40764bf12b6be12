"""Arguments of the functions of ``autograd.functional``, and the form of their results.

Note [Fresh handles]
A function is never called on the caller's tensors but on new handles on them: detached ones, or, if the caller wants
to differentiate further, views. So an input is told from the same tensor captured by the function, and neither the
input's ``requires_grad`` nor its ``grad`` is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad

Tensors = tuple[Tensor, ...]

RESULTS = "outputs of the user-provided function"
NO_V = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)
NO_V_FOR_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)


def tensors_of(given: Any, role: str, function: str | None) -> tuple[bool, Tensors]:
    """Tell whether a tuple was given, and the tensors.
    Raises TypeError: anything else than a tensor or a tuple of tensors; the message says its ``role`` in ``function``.
    """
    is_tuple = isinstance(given, tuple)
    tensors = given if is_tuple else (given,)
    for index, item in enumerate(tensors):
        if not isinstance(item, Tensor):
            which = f"value at index {index}" if is_tuple else f"given {role}"
            raise TypeError(
                f"The {role} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has "
                f"type {type(item)}."
            )
    return is_tuple, tensors


def fresh(tensors: Sequence[Tensor], create_graph: bool, *, track: bool) -> Tensors:
    """New handles on tensors; those of tensors that the caller differentiates further are views. Note [Fresh handles].

    Args:
        track: whether the detached ones require grad.
    """
    return tuple(
        tensor.view_as(tensor) if create_graph and tensor.requires_grad else tensor.detach().requires_grad_(track)
        for tensor in tensors
    )


def vector_like(v: Any, others: Tensors, others_are_tuple: bool, function: str, create_graph: bool) -> Tensors:
    """The vector of a product, checked against what it is multiplied with.
    Raises RuntimeError: of another length, or with a tensor of another size. TypeError: not made of tensors.
    """
    _, given = tensors_of(v, "v", function)
    given = fresh(given, create_graph, track=False)
    if len(given) != len(others):
        if others_are_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(others)} but got {len(given)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (one, other) in enumerate(zip(given, others, strict=True)):
        if one.shape != other.shape:
            where = f"Entry {index} in " if others_are_tuple else ""
            raise RuntimeError(f"{where}v has invalid size: should be {other.size()} but got {one.size()}.")
    return given


def require_single_element(tensors: Tensors, message: str) -> None:
    """Without a vector there must be a single tensor of a single element."""
    if len(tensors) != 1 or tensors[0].nelement() != 1:
        raise RuntimeError(message)


def gradients(
    outputs: Sequence[Tensor | None], inputs: Tensors, seeds: Sequence[Tensor | None] | None = None, **options: Any
) -> tuple[Tensor | None, ...]:
    """``autograd.grad`` that leaves out the outputs (None, or constant) that have no gradient."""
    seeds = (None,) * len(outputs) if seeds is None else seeds
    pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    found, weights = zip(*pairs, strict=True)
    return tuple(grad(found, inputs, weights, allow_unused=True, **options))


def finished(results: Sequence[Any], create_graph: bool) -> tuple:
    """Tensors, or tuples of them, as the caller gets them: without history, unless he asked for it."""
    if not isinstance(results[0], Tensor):
        return tuple(finished(part, create_graph) for part in results)
    return tuple(results) if create_graph else tuple(result.detach() for result in results)


def unpacked(results: Sequence, was_tuple: bool) -> Any:
    """One tensor where one was given, a tuple where a tuple was."""
    return results if was_tuple else results[0]


def unpacked_twice(rows: Sequence[Sequence], rows_were_tuple: bool, columns_were_tuple: bool) -> Any:
    """``unpacked`` for a tuple of tuples."""
    return unpacked(rows if columns_were_tuple else tuple(row[0] for row in rows), rows_were_tuple)
