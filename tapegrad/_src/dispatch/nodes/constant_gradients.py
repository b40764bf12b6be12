"""Gradients that do not depend on what they are gradients of, but in PyTorch have a history all the same.

Note [Constant gradients]
The gradient of a pooled tensor is linear in what comes from above, and depends on no input where that is constant.
PyTorch's backward functions are operators themselves, with the input among their arguments: what they give requires
grad, and its gradient is zeros, exactly; or nothing, where several gradients come from one function. An operator says
with the fact ``again`` which it is. No formula knows of it: the gradient gets a node that leads where those of the
inputs go. It costs nothing in a backward that makes no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.dispatch.function_levels import at, live, tracked
from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge
from tapegrad._src.execution.array_functions.host import filled
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Edge, Node, next_sequence_nr
from tapegrad._src.tensor.lifted import Lifted, mapping, raised
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap

UNMAPPED = "zeros, unmapped"
OWN = ("zeros", UNMAPPED)
"""The message about gradients whose gradients are zeros."""


class ConstantGradient(Node):
    """Of a gradient that depends on none of the inputs: gives zeros of these specs to them, or nothing for None."""

    __slots__ = ("specs", "called")

    def __init__(self, called: str, specs: Sequence[Spec | None], next_edges: Sequence[Edge | None]) -> None:
        self.called, self.specs, self.next_edges = called, tuple(specs), tuple(next_edges)
        self.sequence_nr = next_sequence_nr()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return [
            None if spec is None or grads[0] is None else filled(spec.shape, 0, spec.dtype, spec.device)
            for spec in self.specs
        ]

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        gradients = self.apply_values(grads, needed)
        return [
            None if value is None or spec is None else wrap(value, spec.bare.replace(requires_grad=False, strides=None))
            for value, spec in zip(gradients, self.specs, strict=True)
        ]

    def name(self) -> str:
        return self.called


def with_history(node: Any, results: Sequence[Any]) -> Sequence[Any]:
    """Gradients from a node, with a history as PyTorch's have. See Note [Constant gradients]."""
    plan, again = node.plan, node.plan.op.again
    called = f"{plan.op.node.rstrip('0123456789')}Backward0"
    attached = []
    for position, grad in zip(plan.positions, results, strict=True):
        if grad is not None and not grad.requires_grad and not plan.specs[position].level:
            own = again in OWN
            edges = [
                edge for other, edge in zip(plan.positions, node.next_edges, strict=True)
                if (other == position if own else plan.op.inputs[other] in again)
            ]  # fmt: skip
            specs = [plan.specs[position] if own else None for _ in edges]
            if any(edges):
                grad = _attached(grad, ConstantGradient(called, specs, edges))
        attached.append(grad)
    return attached


def with_history_below(node: Any, results: Sequence[Any]) -> Sequence[Any]:
    """``with_history`` where the inputs were lifted: to what these are further out, where they are arrays."""
    plan, again = node.plan, node.plan.op.again
    inputs = [live(x) if isinstance(x, Tensor) else None for x in node.inputs]
    if again == UNMAPPED and any(mapping(x) for x in inputs if x is not None):
        return results
    called = f"{plan.op.node.rstrip('0123456789')}Backward0"
    own, named = again in OWN, [plan.op.inputs[position] in again for position in plan.positions]
    others = [x for x, is_named in zip(inputs, named, strict=True) if is_named and x is not None]
    return [
        None if grad is None or x is None else _attached_below(grad, [x] if own else others, called, own)
        for grad, x in zip(results, inputs, strict=True)
    ]


def _attached_below(grad: Tensor, sources: Sequence[Tensor], called: str, own: bool) -> Tensor:
    """A gradient with a history to where tensors of its level were recorded further out."""
    if grad._spec.requires_grad or grad._spec.dual or not any(tracked(source, thread.modes) for source in sources):
        return grad
    lifted = [value for source in sources if source._spec.level and isinstance(value := value_of(source), Lifted)]
    if lifted:
        level = thread.levels[-1]
        here, of_examples = at(grad, level), any(value.batched for value in lifted)
        inner = value_of(here)
        with level.outside():
            below = inner.tensor
            if of_examples and not inner.batched:
                below = below.expand((level.size, *below.shape))
            below = _attached_below(below, [value.tensor for value in lifted], called, own)
        return raised(Lifted(below, level, of_examples or inner.batched))
    edges = [gradient_edge(source) for source in sources]
    if not any(edges):
        return grad
    return _attached(grad, ConstantGradient(called, [source._spec if own else None for source in sources], edges))


def _attached(grad: Tensor, node: Node) -> Tensor:
    return wrap(value_of(grad), grad._spec.bare.replace(requires_grad=True), (node, 0))
