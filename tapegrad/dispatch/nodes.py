"""The nodes that know tensors: of operators, of leaves, and of errors that wait for backward.

Note [Saved outputs and reference cycles]
A node that saves its own output must not own a tensor that owns the node. It keeps the output's value only; the tensor
is made again, with this node as its ``grad_fn``, when somebody asks.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tapegrad.dispatch.saved import SavedTensor, Saves, modified
from tapegrad.errors import SECOND_BACKWARD
from tapegrad.execution.kernel import add_values
from tapegrad.tape.modes import thread
from tapegrad.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node, next_sequence_nr
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, value_of, wrap, write

if TYPE_CHECKING:
    from tapegrad.dispatch.plan import Plan


_accumulating = threading.RLock()
"""Held while a gradient is added to a leaf's ``.grad``: several threads may run backward to the same leaves."""


class AccumulateGrad(Node):
    """The end of the tape: adds what arrives to the ``.grad`` of a leaf. There is at most one for each leaf."""

    __slots__ = ("variable",)
    next_edges: tuple = ()

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.sequence_nr = HIGHEST_SEQUENCE_NR

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None:
            with _accumulating:
                present = variable._grad
                if present is None:
                    variable._grad = wrap(grad, variable._spec.bare)
                else:
                    write(present, add_values(value_of(present), grad))
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None:
            with _accumulating:
                variable._grad = grad if variable._grad is None else variable._grad + grad
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    def _post_accumulate(self) -> None:
        """Hooks of the leaf, which see its new ``.grad``."""
        for hook in tuple(self.own_hooks().post_accumulate.values()):
            returned = hook(self.variable)
            if isinstance(returned, Tensor):
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
            if returned is not None:
                raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return (self.variable._spec,)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


def leaf_edge(tensor: Tensor) -> Edge:
    """The edge to the accumulator of a leaf that requires grad; the accumulator is made when first asked for."""
    reference = tensor._accumulator
    node = None if reference is None else reference()
    return (_new_accumulator(tensor) if node is None else node, 0)


def _new_accumulator(tensor: Tensor) -> Node:
    with _accumulating:
        node = None if tensor._accumulator is None else tensor._accumulator()
        if node is None:
            node = AccumulateGrad(tensor)
            if tensor._leaf_hooks is not None:
                share_leaf_hooks(tensor, node)
            if thread.modes.watched:
                node_made(node)
            tensor._accumulator = weakref.ref(node)
    return node


def share_leaf_hooks(tensor: Tensor, node: Node) -> None:
    """Let the accumulator of a leaf run the leaf's hooks. Its own hooks stay its own, and die with it."""
    own, hooks = node.own_hooks(), tensor._leaf_hooks
    assert hooks is not None
    own.tensor_pre, own.post_accumulate = hooks.tensor_pre, hooks.post_accumulate


def rebase(tensor: Tensor, edge: Edge | None) -> None:
    """Give a tensor that was written to its new place in the graph.

    Its hooks stay with the node of the version that they were registered on; ``retain_grad`` follows the tensor.
    """
    before, tensor._edge, tensor._hooks = tensor._edge, edge, None
    if tensor._retains and before is not None and edge is not None:
        keep = before[0].own_hooks().retain.pop(before[1], None)
        if keep is not None:
            edge[0].own_hooks().retain[edge[1]] = keep


def node_made(node: Node) -> None:
    """Tell this thread's watchers of a new node. See Note [Watchers] in ``tape/modes.py``."""
    for watcher in thread.node_watchers:
        watcher(node)


def gradient_edge(tensor: Tensor) -> Edge | None:
    """Where the gradient of a tensor goes; None if it doesn't require one."""
    if tensor._edge is not None:
        return tensor._edge
    return leaf_edge(tensor) if tensor._spec.requires_grad else None


class OperatorNode(Node):
    """The backward of one call of an operator of the table. A subclass for each operator carries its name."""

    __slots__ = ("plan", "saved")

    plan: Plan
    saved: tuple | Saves | None
    versions: tuple[int, ...] | None = None

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = self.plan
        if needed is None and plan.num_outputs == 1 and grads[0] is not None:
            return plan.full_backward(grads[0], *self.saved_values())
        defined = tuple(grad is not None for grad in grads)
        if not any(defined):
            return (None,) * len(plan.needed)
        given = [grad for grad in grads if grad is not None]
        return plan.backward(plan.wanted(needed), defined)(*given, *self.saved_values())

    def saved_values(self) -> list:
        """The values saved for backward, after checking that none was written since."""
        saved = self.saved
        if type(saved) is not tuple:
            return self._unpacked_values()
        if self.written_outputs is not None:
            self._check_outputs()
        values = []
        for item, spec in zip(saved, self.plan.saved_specs):  # noqa: B905 - same length by construction, hot
            if spec is None:
                values.append(item)
            elif item._spec is spec and spec.plain:
                values.append(item._value)
            else:
                values.append(self._checked_value(item, len(values)))
        return values

    def _unpacked_values(self) -> list:
        items = self.saved_tensors()
        return [value_of(item) if isinstance(item, Tensor) else item for item in items]

    def _checked_value(self, tensor: Tensor, position: int) -> Any:
        expected = 0 if self.versions is None else self.versions[position]
        if tensor._version != expected:
            raise RuntimeError(modified(tensor._spec, tensor._edge, tensor._version, expected))
        return value_of(tensor)

    def _check_outputs(self) -> None:
        """Refuse to go on if an output that was saved has been written to since."""
        for position, (version, expected) in (self.written_outputs or {}).items():
            if position in self.plan.saved_outputs:
                raise RuntimeError(modified(self.plan.out_specs[position], (self, position), version, expected))

    def saved_tensors(self) -> list:
        """What was saved, as the formulas see it on tensors: inputs as they are, outputs with this node as grad_fn."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        if isinstance(saved, Saves):
            return [item.unpack(self) if isinstance(item, SavedTensor) else item for item in saved]
        self.saved_values()  # checks versions
        plan = self.plan
        inputs = len(plan.saved_inputs)
        tensors = list(saved[:inputs])
        for position, value in zip(plan.saved_outputs, saved[inputs:], strict=True):
            spec = plan.out_specs[position]
            tensors.append(wrap(value, spec, (self, position) if spec.requires_grad else None))
        return tensors

    def save(self, inputs: tuple, outputs: tuple) -> None:
        """Keep inputs and outputs for backward with the hooks that are in force; called where there are some."""
        self.saved = Saves(
            [SavedTensor.of(x, gradient_edge(x)) if isinstance(x, Tensor) else x for x in inputs]
            + [SavedTensor.of(out, None, is_output=True) for out in outputs]
        )

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = self.plan
        if all(grad is None for grad in grads):
            return (None,) * len(plan.needed)
        saved = self.saved_tensors() if plan.saved_specs else []
        return plan.gradients(grads, saved, plan.wanted(needed))

    def release_variables(self) -> None:
        if self.plan.releases:
            saved, self.saved = self.saved, None
            if type(saved) is Saves:
                saved.release()

    def name(self) -> str:
        return self.plan.op.node

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return self.plan.out_specs

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(f"_saved_{field}" for field in self.plan.op.saved_fields())]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self.plan.op.read_saved(self, name[len("_saved_") :])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class Error(Node):
    """A node that raises when backward reaches it."""

    __slots__ = ("message",)

    def __init__(self, message: str, next_edges: Sequence[Edge | None], input_slots: int = 1) -> None:
        self.message = message
        self.next_edges = tuple(next_edges)
        self.sequence_nr = HIGHEST_SEQUENCE_NR
        self.input_slots = input_slots

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        raise RuntimeError(self.message)

    apply = apply_values

    def name(self) -> str:
        return "torch::autograd::Error"


class DelayedError(Node):
    """A function of tensors that gives them back unchanged; differentiating through the results raises.

    >>> import tapegrad as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = DelayedError("not today", 1)(x)
    >>> y.grad_fn.name()
    'torch::autograd::Error'
    """

    __slots__ = ("message",)
    next_edges: tuple = ()

    def __init__(self, message: str, input_slots: int) -> None:
        self.message = message
        self.input_slots = input_slots
        self.sequence_nr = next_sequence_nr()

    def __call__(self, *tensors: Any) -> Any:
        edges = [gradient_edge(tensor) for tensor in tensors]
        node = Error(self.message, edges, len(tensors)) if any(edges) else None
        results = tuple(
            wrap(value_of(tensor), tensor._spec.replace(plain=True, requires_grad=node is not None),
                 None if node is None else (node, position))
            for position, tensor in enumerate(tensors)
        )  # fmt: skip
        return results[0] if len(results) == 1 else results
