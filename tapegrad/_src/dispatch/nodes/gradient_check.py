"""Replacements of gradients: results of hooks, checked, and gradients that were made to fit an edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tapegrad._src.doors import Door
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tensor.spec import core_type_name
from tapegrad._src.tensor.tensor import Tensor, describe, value_of, wrap

gradient_fitter: Door[Callable[[Node, Any, Any, int], Any]] = Door(
    "gradient_fitter", filled_by="autograd/function_node.py"
)
"""Makes a gradient fit its edge, or refuses it."""


def fitted_edges(node: Node, grads: Sequence) -> list:
    """The gradients that a node gives, as tensors, made to fit what its edges take."""
    results = list(grads)
    for index, edge in enumerate(node.next_edges):
        metadata = () if edge is None else getattr(edge[0], "_input_metadata", ())
        if results[index] is not None and edge is not None and edge[1] < len(metadata):
            results[index] = gradient_fitter.content(node, results[index], metadata[edge[1]], index)
    return results


def refuse_integers(node: Node, needed: tuple[bool, ...] | None) -> None:
    """Refuse to hand a gradient on to an integer tensor. See Note [Written integers] in ``ops/assignment.py``.

    Raises:
        RuntimeError: a gradient goes to one.
    """
    for index, edge in enumerate(node.next_edges):
        if edge is None or (needed is not None and not needed[index]):
            continue
        metadata = getattr(edge[0], "_input_metadata", ())
        spec = metadata[edge[1]] if edge[1] < len(metadata) else None
        if spec is not None and spec.dtype.category < FLOATING:
            raise RuntimeError(
                f"Function {name_of(node)} has a gradient at index {index} for a tensor of {spec.dtype}, into which a "
                "value that requires grad was written: integers have no gradients"
            )


@cache
def fitting(node_class: type) -> type:
    """The class of nodes like these whose gradients are made to fit, for inputs that are mismatches: see ``Spec``."""

    def apply_values(node: Any, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        refuse_integers(node, needed)
        results = node_class.apply_values(node, grads, needed)  # type: ignore[attr-defined]
        tensors = [None if result is None else wrap(result, describe(result)) for result in results]
        return [None if result is None else value_of(result) for result in fitted_edges(node, tensors)]

    def apply(node: Any, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        refuse_integers(node, needed)
        return fitted_edges(node, node_class.apply(node, grads, needed))  # type: ignore[attr-defined]

    own = {"__slots__": (), "__module__": "builtins", "apply": apply, "apply_values": apply_values}
    own["unfitted"] = node_class
    return type(node_class.__name__, (node_class,), own)


def checked(given: Any, returned: Any, hook: Callable) -> Tensor:
    """The result of a hook in place of a gradient (or of a leaf), checked: it must resemble that.

    Raises:
        TypeError: it is no tensor.
        RuntimeError: its type or its shape is not that of the gradient.
    """
    if not isinstance(returned, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
    if given is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if (returned.dtype is not given.dtype or returned.device is not given.device) and not hasattr(hook, "casts"):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value "
            f"(was {core_type_name(given._spec)} got {core_type_name(returned._spec)})"
        )
    if returned.shape != given.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")
    return returned


def hook_name(hook: Callable) -> str:
    """The name of a hook in messages."""
    name = getattr(hook, "__name__", None)
    return name if isinstance(name, str) else "<unknown>"
