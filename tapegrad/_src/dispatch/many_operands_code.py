"""Calls with very many operands or results, and what their nodes do. See Note [Many operands] in
``many_operands.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._src.dispatch.nodes.accumulate_grad import leaf_edge
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.recording.execution_mode import computes_now, is_recording
from tapegrad._src.execution.tiers.host_trace import WORTH_KEEPING_APART
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.tape.modes import Modes
from tapegrad._src.tape.node import next_sequence_nr
from tapegrad._src.tensor.tensor import Tensor, edge_of, new_tensor, window_operand


def are_usual(modes: Modes) -> bool:
    """Tell whether nobody watches calls, records them, or wants to be told of what they save."""
    others = modes.saved_hooks or modes.watched or modes.recording or modes.results_watched
    return hosted() and not (others or modes.inference)


def looping_runner(plan: Plan, plainly: Callable) -> Callable:
    """A function that makes the calls of a plan with many operands or results; ``plainly(plan)`` gives one that makes
    those of any plan."""
    needed, out_specs, node_class = plan.needed, plan.out_specs, plan.node_class
    plain: list[Callable] = []
    call = plan.recorded
    forward, settings, recorded, single = plan.op.loop.forward, plan.settings, any(plan.needed), plan.single

    def run(*tensors: Any) -> Any:
        values = [x._value if x._spec.plain else _value(x) for x in tensors]
        computed = _by_numpy(forward, values, settings) if call is None or computes_now() else None
        if computed is None and call is not None:
            computed = call.record(*values)
            computed = [computed] if single else computed
        if computed is None:
            if not plain:
                plain.append(plainly(plan))
            return plain[0](*tensors)
        node: Any = None
        if recorded:
            node = new_tensor(node_class)
            node.plan = plan
            node.next_edges = tuple([_edge(x) if need else None for x, need in zip(tensors, needed, strict=True)])
            node.sequence_nr = next_sequence_nr()
            node.saved = ()
        results = []
        for i, (value, spec) in enumerate(zip(computed, out_specs, strict=True)):
            out = new_tensor(Tensor)
            out._value = value
            out._spec = spec
            out._edge = (node, i) if spec.requires_grad else None
            results.append(out)
        return results[0] if single else tuple(results)

    return run


def looping_applier(node: Any, grads: list, saved: tuple) -> Sequence:
    """Applies a node with many operands or results to gradients."""
    plan = node.plan
    computed = None
    if not is_recording() and type(saved) is tuple and any(grad is not None for grad in grads):
        shapes = [spec.shape for spec in plan.specs]
        given = [
            np.zeros(spec.shape, spec.dtype.numpy) if grad is None else grad
            for grad, spec in zip(grads, plan.out_specs, strict=True)
        ]
        if all(grad.shape == spec.shape for grad, spec in zip(given, plan.out_specs, strict=True)):
            computed = _by_numpy(plan.op.loop.backward, given, plan.settings, shapes)
    if computed is None:
        return node.apply_some(grads, None)
    return [grad if need else None for grad, need in zip(computed, plan.needed, strict=True)]


def _by_numpy(function: Callable, values: Sequence[Any], settings: dict, *more: Any) -> Any:
    """The result of a function of NumPy arrays; None if it is not given such, or they are for XLA."""
    if not hosted() or any(type(value) is not np.ndarray for value in values):
        return None
    results = function(values, *more, **settings)
    if max([value.nbytes for value in values]) < WORTH_KEEPING_APART:
        return results
    return [one.copy() if one.base is not None else one for one in results]


def _value(tensor: Tensor) -> Any:
    return window_operand(tensor) if tensor._spec.window else tensor._storage.operand  # type: ignore[union-attr]


def _edge(tensor: Tensor) -> Any:
    return (edge_of(tensor) if tensor._spec.window else tensor._edge) or leaf_edge(tensor)
