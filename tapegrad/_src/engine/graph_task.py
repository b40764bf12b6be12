"""The state of one backward call, and what has arrived in it for nodes that wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from tapegrad._src.tape.node import Edge, Node

next_task_id: Callable[[], int] = count().__next__

Sum = Callable[[Any, Any], Any]


class InputBuffer(list):
    """The gradients that have arrived for a node, one slot for each of its inputs; gradients that meet are summed.

    >>> buffer = InputBuffer([None, None])
    >>> buffer.accumulate(0, 2.0, float.__add__), buffer.accumulate(0, 3.0, float.__add__)
    (None, None)
    >>> buffer
    [5.0, None]

    Attributes:
        summed: a bit for each slot: whether it holds a sum that was made here, and so belongs to the buffer alone.
    """

    summed = 0

    def accumulate(self, position: int, gradient: Any, add: Sum, add_into: Sum | None = None) -> None:
        """Put ``gradient`` into a slot, or add it to what is there; ``None`` (undefined) adds nothing.

        Where a sum of this buffer's own is added to, that is done by ``add_into``, if it is given.
        """
        present = self[position]
        if present is None:
            self[position] = gradient
        elif gradient is not None:
            if add_into is None:
                self[position] = add(present, gradient)
            elif self.summed >> position & 1:
                self[position] = add_into(present, gradient)
            else:
                self[position] = add(present, gradient)
                self.summed |= 1 << position


class ExecInfo:
    """The needs of a backward call with ``outputs`` of one node: to run it, to capture what arrives at it, or neither.

    Attributes:
        needed: whether the node is to run.
        captures: the gradients that are asked for of those which arrive: the slot of the node where each does, and
            its place among the results.
        edges: for each edge of the node, whether a gradient is wanted through it; None: through all that there are.
    """

    needed = False
    captures: tuple[tuple[int, int], ...] = ()
    edges: tuple[bool, ...] | None = None

    def should_execute(self) -> bool:
        """Tell whether gradients must flow to this node."""
        return self.needed or bool(self.captures)


WHOLLY_NEEDED = ExecInfo()
"""The needs of most nodes that are to run: nothing is captured, and gradients are wanted through all edges."""
WHOLLY_NEEDED.needed = True


class GraphTask:
    """Dependencies, waiting inputs, and captures of one call of ``Engine.execute``.

    Attributes:
        dependencies: for each reachable node, how many edges lead to it that have not delivered yet.
        ends: how many of these nodes lead nowhere.
        not_ready: the buffers of nodes that some, not all, gradients have reached.
        exec_info: what is wanted of each node, or empty when everything reachable is to run.
        root: the node from which the call starts.
        node: the node that runs now; None before the first and after the last.
        ready: the nodes that are ready, where the call runs on one thread: a heap of order, tick, node and inputs.
        captured_vars: the gradients asked for, by position; None where nothing has arrived.
        add_into: the gradient type's, if it has one.
        unseen: whether nobody sees what the gradient type runs: see ``plain`` in ``gradient_ops.py``.
    """

    __slots__ = (
        "id", "keep_graph", "create_graph", "depth", "dependencies", "ends", "not_ready", "exec_info", "captured_vars",
        "final_callbacks", "gradient_ops", "add_into", "unseen", "node", "root", "ready",
        "__weakref__",
    )  # fmt: skip

    def __init__(
        self, gradient_ops: Any, keep_graph: bool, create_graph: bool, depth: int, root: Node | None = None
    ) -> None:
        self.id = next_task_id()
        self.gradient_ops = gradient_ops
        self.add_into = getattr(gradient_ops, "add_into", None)
        self.unseen = getattr(gradient_ops, "plain", False)
        self.root = root
        self.node: Node | None = None
        self.ready: list = []
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.depth = depth
        self.dependencies: dict[Node, int] = {}
        self.not_ready: dict[Node, InputBuffer] = {}
        self.exec_info: dict[Node, ExecInfo] = {}
        self.captured_vars: list[Any] = []
        self.final_callbacks: list[Callable[[], None]] = []

    def count_dependencies(self, root: Node) -> None:
        """Count the edges that lead to each node reachable from ``root``, and the ends; each node is visited once."""
        dependencies, ends = self.dependencies, 0
        stack: list[Node] = []
        node: Node | None = root
        while node is not None:
            edges, node = node.next_edges, None
            for edge in edges:
                if edge is not None:
                    successor = edge[0]
                    if successor in dependencies:
                        dependencies[successor] += 1
                        continue
                    dependencies[successor] = 1
                    if node is not None:
                        stack.append(node)
                    node = successor
            if node is None:
                ends += not any(edges)
                if stack:
                    node = stack.pop()
        self.ends = ends

    def init_to_execute(self, root: Node, outputs: Sequence[Edge], *, accumulate_grad: bool) -> None:
        """Mark the nodes on a path from ``root`` to ``outputs``, and where gradients are captured.

        With ``accumulate_grad`` the nodes at the end of ``outputs`` run (they accumulate); without, the gradients
        that would enter them are captured and they do not run. A root that is the only one is where the call begins,
        in any case: the hooks of its outputs run, even if nothing that is asked for can be reached from there.
        """
        exec_info, dependencies, ends = self.exec_info, self.dependencies, self.ends
        inner: list[ExecInfo] = []
        position = 0
        for node, input_nr in outputs:
            info = exec_info.get(node)
            if info is None:
                info = exec_info[node] = ExecInfo()
                if node in dependencies:
                    if any(node.next_edges):
                        inner.append(info)
                    else:
                        ends -= 1
            if accumulate_grad:
                info.needed = True
            else:
                info.captures += ((input_nr, position),)
            position += 1
        if not accumulate_grad:
            self.captured_vars = [None] * position
        if not ends:  # whichever way gradients go, they are asked for where it ends
            for info in inner:
                info.needed = True
            self.exec_info = {root: WHOLLY_NEEDED, **dict.fromkeys(dependencies, WHOLLY_NEEDED), **exec_info}
            return
        edges = root.next_edges
        alone = edges[0][0] if len(edges) == 1 and edges[0] is not None else None
        exec_info[root] = ExecInfo() if alone is None else WHOLLY_NEEDED
        self._mark_paths(root if alone is None else alone)
        if alone is not None and alone not in exec_info:
            exec_info[alone] = ExecInfo()

    def _mark_paths(self, root: Node) -> None:
        """A node is needed if one of its successors should execute: successors are looked at before the node."""
        exec_info = self.exec_info
        look = exec_info.get
        for node in reversed(self._in_order(root)):
            wanted = unwanted = False
            for edge in node.next_edges:
                if edge is not None:
                    info = look(edge[0])
                    if info is not None and (info.needed or info.captures):
                        wanted = True
                    else:
                        unwanted = True
            info = look(node)
            if info is None and wanted and not unwanted:
                exec_info[node] = WHOLLY_NEEDED
            elif info is not None or wanted:
                info = exec_info.setdefault(node, ExecInfo())
                info.needed = info.needed or wanted
                info.edges = self._wanted_edges(node) if unwanted else None

    def _in_order(self, root: Node) -> list[Node]:
        """The nodes that are reachable from ``root``, each before its successors, but for those where paths end.

        Dependencies have been counted.
        """
        waiting, order = self.dependencies.copy(), [root]
        for node in order:  # it grows
            for edge in node.next_edges:
                if edge is not None and edge[0].next_edges:
                    successor = edge[0]
                    if waiting[successor] == 1:
                        order.append(successor)
                    else:
                        waiting[successor] -= 1
        return order

    def _wanted_edges(self, node: Node) -> tuple[bool, ...]:
        exec_info = self.exec_info
        return tuple(
            edge is not None and edge[0] in exec_info and exec_info[edge[0]].should_execute()
            for edge in node.next_edges
        )

    def has_workers(self) -> bool:
        """Tell whether a node belongs to another thread than the caller's."""
        return any(node.worker is not None for node in self.dependencies)
