"""Nodes and edges of the dynamic graph.

A ``Node`` is a function to be run in the backward pass: it takes the gradients of an operator's outputs and returns
those of its inputs. An edge leads to the node which takes a gradient next, and to the slot where it goes: it is the
plain pair ``(node, input_nr)``, or ``None`` where no gradient is wanted. Nothing here knows what a gradient is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from tapegrad._src.tape.hooks import NodeHooks, RemovableHandle, making
from tapegrad._src.tape.showing import shown_in_html

Edge = tuple["Node", int]

HIGHEST_SEQUENCE_NR = 2**64 - 1
"""The sequence number of nodes that run as soon as they can: those that accumulate into leaves."""

next_sequence_nr: Callable[[], int] = count().__next__
"""The number of the next node: nodes made later run earlier in the backward pass."""


class Node:
    """One function of the backward graph.

    Subclasses say how gradients are computed: ``apply_values`` on the raw values of a run without
    ``create_graph``, ``apply`` on tensors, so that the computation records itself.

    Attributes:
        next_edges: one edge, or None, for each input of the forward operator.
        sequence_nr: the order of creation; the engine runs the highest number first.
        input_slots: how many gradients the node takes (the outputs of the forward operator).
        hook_slots: a ``NodeHooks``, or None while nobody registered any.
        output_storages: by output number, the memory of an output that has a storage (``tensor/storage.py``).
        worker: what the engine tells its threads by; None for the thread that called backward.
        _origin: where it was made, if that is recorded. See Note [Positions] in ``positions.py``.
        _cut: why an argument had lost its gradient, if that is recorded. See Note [Lost gradients] in
            ``dispatch/nodes/lost_gradients.py``.
        _seen: what was noted of it for pictures. See Note [What pictures record] in ``viz/recording.py``.

    The node of a custom function is also the ``ctx`` on which its author sets what he likes: so these names are not
    such as he would take.
    """

    __slots__ = ("next_edges", "sequence_nr", "__dict__", "__weakref__")

    next_edges: Sequence[Edge | None]
    sequence_nr: int
    input_slots = 1
    hook_slots: NodeHooks | None = None
    output_storages: dict[int, Any] | None = None
    worker: Any = None
    _origin: Any = None
    _cut: Any = None
    _seen: Any = None

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Gradients of the inputs, on values. ``needed`` marks the inputs wanted (None: all that the node can)."""
        raise NotImplementedError(f"{self.name()} has no backward on values")

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Gradients of the inputs, on tensors."""
        raise NotImplementedError(f"{self.name()} has no backward on tensors")

    def release_variables(self) -> None:
        """Forget what was saved for backward; called once the node has run and the graph is not kept."""

    def name(self) -> str:
        """The name that users see, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def topological_nr(self) -> int:
        """The length of the longest path from here to a node without successors (0 for such a node).

        It is computed on demand, with a stack, because only introspection asks for it.
        """
        heights: dict[Node, int] = {}
        stack = [self]
        while stack:
            successors = [edge[0] for edge in stack[-1].next_edges if edge is not None]
            pending = [node for node in successors if node not in heights]
            if pending:
                stack.extend(pending)
            else:
                heights[stack.pop()] = max((heights[node] + 1 for node in successors), default=0)
        return heights[self]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges as PyTorch shows them: ``(node, input_nr)`` pairs, ``(None, 0)`` where there is no edge."""
        return tuple((None, 0) if edge is None else (edge[0], edge[1]) for edge in self.next_edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for notes on this node: the user's own, and where it was made, if that was recorded."""
        notes = self.__dict__.get("_metadata")
        if notes is None:
            notes = self.__dict__["_metadata"] = {} if self._origin is None else self._origin.notes()
        return notes

    @property
    def requires_grad(self) -> bool:
        """Always true: only what requires grad gets a node."""
        return True

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, value: int) -> None:
        if not isinstance(value, int):
            raise TypeError("an integer is required")
        if value < 0:
            raise OverflowError("can't convert negative int to unsigned")
        self.sequence_nr = value

    def _register_hook_dict(self, tensor: Any) -> None:
        self.own_hooks().attach_tensor(tensor.output_nr, tensor._backward_hooks)

    def __call__(self, *grads: Any, **keywords: Any) -> Any:
        """Run the node by hand on tensors: one gradient, or None, for each output of the forward operator.

        Raises:
            TypeError: for a wrong number of gradients.
        """
        check_call(self, grads, keywords)
        results = tuple(self.apply(list(grads), None))
        return results[0] if len(results) == 1 else results

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Nodes are neither copied nor pickled.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def own_hooks(self) -> NodeHooks:
        """The node's hook slots, made now if it has none."""
        if self.hook_slots is None:
            with making:
                if self.hook_slots is None:
                    self.hook_slots = NodeHooks()
        return self.hook_slots

    def register_prehook(self, fn: Callable[[tuple], Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; a tuple that it returns replaces the gradients."""
        return self.own_hooks().add_pre(fn)

    def register_hook(self, fn: Callable[[tuple, tuple], Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; a tuple that it returns replaces ``grad_inputs``."""
        return self.own_hooks().add_post(fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    _repr_html_ = shown_in_html


def name_of(node: Node) -> str:
    """A node's name, even that of a custom function whose author has set ``ctx.name``."""
    return type(node).name(node)


def function_of(node: Node) -> str:
    """The name that errors give to the function whose backward a node is.

    >>> class MulBackward0(Node):
    ...     pass
    >>> class SumBackward1(Node):
    ...     pass
    >>> function_of(MulBackward0()), function_of(SumBackward1())
    ('Mul', 'Sum1')
    """
    return re.sub(r"Backward0?(\d*)$", r"\1", name_of(node))


def check_call(node: Node, arguments: tuple, keywords: dict) -> None:
    """Refuse a call of a node by hand with a wrong number of arguments, or with any that has a name."""
    if keywords:
        raise TypeError("keyword arguments are not supported")
    if len(arguments) != node.input_slots:
        raise TypeError(f"expected {node.input_slots} arguments, got {len(arguments)} instead")
