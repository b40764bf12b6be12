"""The state of one backward call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from tapegrad.engine.queue import InputBuffer
from tapegrad.tape.node import Edge, Node

next_task_id: Callable[[], int] = count().__next__


class Capture:
    """A gradient that the caller asked for: that which arrives in slot ``input_nr`` of a node."""

    __slots__ = ("input_nr", "output_nr")

    def __init__(self, input_nr: int, output_nr: int) -> None:
        self.input_nr = input_nr
        self.output_nr = output_nr


class ExecInfo:
    """What a backward call with ``outputs`` wants of one node: to run it, to capture what arrives at it, or neither."""

    __slots__ = ("needed", "captures")

    def __init__(self) -> None:
        self.needed = False
        self.captures: list[Capture] = []

    def should_execute(self) -> bool:
        """Whether gradients must flow to this node."""
        return self.needed or bool(self.captures)


class GraphTask:
    """Dependencies, waiting inputs, and captures of one call of ``Engine.execute``.

    Attributes:
        dependencies: for each reachable node, how many edges lead to it that have not delivered yet.
        not_ready: the buffers of nodes that some, not all, gradients have reached.
        exec_info: what is wanted of each node, or empty when everything reachable is to run.
        root: the node from which the call starts.
        node: the node that runs now; None before the first and after the last.
        queue: the entries of the ready queue, where the call runs on one thread.
        captured_vars: the gradients asked for, by position; None where nothing has arrived.
    """

    __slots__ = (
        "id", "keep_graph", "create_graph", "depth", "dependencies", "not_ready", "exec_info", "captured_vars",
        "final_callbacks", "currency", "node", "root", "queue", "__weakref__",
    )  # fmt: skip

    def __init__(self, currency: Any, *, keep_graph: bool, create_graph: bool, depth: int) -> None:
        self.id = next_task_id()
        self.currency = currency
        self.root: Node | None = None
        self.node: Node | None = None
        self.queue: list = []
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.depth = depth
        self.dependencies: dict[Node, int] = {}
        self.not_ready: dict[Node, InputBuffer] = {}
        self.exec_info: dict[Node, ExecInfo] = {}
        self.captured_vars: list[Any] = []
        self.final_callbacks: list[Callable[[], None]] = []

    def count_dependencies(self, root: Node) -> None:
        """Count the edges that lead to each node reachable from ``root``; each node is visited once."""
        dependencies = self.dependencies
        stack = [root]
        pop, push = stack.pop, stack.append
        while stack:
            for edge in pop().next_edges:
                if edge is not None:
                    node = edge[0]
                    if node in dependencies:
                        dependencies[node] += 1
                    else:
                        dependencies[node] = 1
                        push(node)

    def init_to_execute(self, root: Node, outputs: Sequence[Edge], *, accumulate_grad: bool) -> None:
        """Mark the nodes on a path from ``root`` to ``outputs``, and where gradients are captured.

        With ``accumulate_grad`` the nodes at the end of ``outputs`` run (they accumulate); without, the gradients
        that would enter them are captured and they do not run.
        """
        exec_info = self.exec_info
        exec_info[root] = ExecInfo()
        for position, (node, input_nr) in enumerate(outputs):
            info = exec_info.setdefault(node, ExecInfo())
            if accumulate_grad:
                info.needed = True
            else:
                info.captures.append(Capture(input_nr, position))
        if not accumulate_grad:
            self.captured_vars = [None] * len(outputs)
        self._mark_paths(root)

    def _mark_paths(self, root: Node) -> None:
        """A node is needed if one of its successors should execute: depth first, successors before the node."""
        exec_info = self.exec_info
        seen = {root}
        stack = [(root, iter(root.next_edges))]
        while stack:
            node, edges = stack[-1]
            for edge in edges:
                if edge is not None and edge[0] not in seen:
                    successor = edge[0]
                    seen.add(successor)
                    stack.append((successor, iter(successor.next_edges)))
                    break
            else:
                stack.pop()
                if any(
                    edge is not None and edge[0] in exec_info and exec_info[edge[0]].should_execute()
                    for edge in node.next_edges
                ):
                    exec_info.setdefault(node, ExecInfo()).needed = True

    def has_workers(self) -> bool:
        """Whether a node belongs to another thread than the caller's."""
        return any(node.worker is not None for node in self.dependencies)

    def needed_edges(self, node: Node) -> tuple[bool, ...]:
        """For each edge of ``node``, whether a gradient is wanted through it."""
        exec_info = self.exec_info
        return tuple(
            edge is not None and edge[0] in exec_info and exec_info[edge[0]].should_execute()
            for edge in node.next_edges
        )
