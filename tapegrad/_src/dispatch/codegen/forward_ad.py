"""Calls on dual tensors: the operator as always, and then its forward-mode derivative. See Note [Duals].

The call is recorded with the duals as its inputs, so that a backward at the same level finds the tangents of what was
saved (forward over reverse); the tangent is computed from handles without tangents, and is itself recorded, for the
tape knows where they come from (reverse over forward).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap


def forwarding(op: OperatorLike, settings: dict, record: Callable) -> Callable:
    """A runner around ``record``, the runner that knows nothing of tangents: it gives the outputs theirs."""

    def run(*args: Any) -> Any:
        out = record(*args)
        tangents = [tangent_of(arg) if isinstance(arg, Tensor) else None for arg in args]
        if op.formulas and any(tangent is not None for tangent in tangents):
            computed = op.jvp([primal_of(arg) for arg in args], tangents, out, **settings)
            give_tangents(out, computed, tangents)
            save_tangents(out, args)
        return out

    return run


def primal_of(argument: Any) -> Any:
    """A handle on a dual tensor without its tangent, with the same place in the graph; anything else as it is."""
    if not (isinstance(argument, Tensor) and argument._spec.dual):
        return argument
    return wrap(value_of(argument), argument._spec.fresh.replace(dual=False), gradient_edge(argument))


def give_tangents(out: Any, tangents: Any, given: Sequence[Tensor | None]) -> None:
    """Make the outputs that can have a tangent dual.

    Where a tangent is an input's own (``given``), the output gets another on memory of its own: it may be written to;
    and, where it is recorded, with a node of its own: hooks may be put on it.
    """
    outputs = out if isinstance(out, tuple) else (out,)
    tangents = tangents if isinstance(tangents, (tuple, list)) else (tangents,) * len(outputs)
    for output, tangent in zip(outputs, tangents, strict=True):
        if tangent is not None and output.dtype.category >= 2:
            if any(tangent is one for one in given):
                known = tangent._spec.requires_grad or tangent._spec.level
                tangent = tangent + 0 if known else apart(tangent, tangent._spec.fresh.strides)
            set_tangent(output, tangent)


def apart(tensor: Tensor, strides: tuple[int, ...] | None = None) -> Tensor:
    """A tensor with the value of another and its place in the graph, on memory of its own, laid out by ``strides``."""
    value = value_of(tensor)
    result = wrap(value, tensor._spec.fresh.replace(strides=strides, dual=False), gradient_edge(tensor))
    result._storage = Storage(value, strides)  # at once: tensors at one place in the graph share theirs
    result._storage.admit(result)
    return result


def save_tangents(out: Any, args: tuple) -> None:
    """Let a node that saves outputs save their tangents too."""
    outputs = out if isinstance(out, tuple) else (out,)
    node = next((output.grad_fn for output in outputs if output.grad_fn is not None), None)
    if isinstance(node, OperatorNode) and node.plan.saved_outputs:
        plan = node.plan
        saved = tuple(outputs[i] for i in plan.saved_outputs)
        if plan.modes.saved_hooks:
            node.save_outputs(saved)
        else:
            node.save(tuple(args[i] for i in plan.saved_inputs), saved)
