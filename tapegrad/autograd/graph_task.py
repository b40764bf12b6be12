"""Questions of hooks and nodes about the backward call that runs now, by PyTorch's names of it (``torch._C``)."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Any

from tapegrad._src.engine import GraphTask
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Node
from tapegrad.autograd.running import engine


def _current_graph_task_id() -> int:
    """The number of the backward call that runs now, one more than that of the call before; -1 outside."""
    task = engine.current_task
    return -1 if task is None else task.id


def _current_autograd_node() -> Node | None:
    """The node that runs now, or whose hooks do; None outside of nodes."""
    task = engine.current_task
    return None if task is None else task.node


def _get_current_graph_task_keep_graph() -> bool:
    """Tell whether the backward call that runs now keeps the graph; True outside."""
    task = engine.current_task
    return True if task is None else task.keep_graph


def is_checkpoint_valid() -> bool:
    """Tell whether everything that requires grad gets one: not inside ``grad`` nor inside ``backward`` with
    ``inputs``."""
    return not any(task.exec_info and not is_capturing(task) for task in engine.running_tasks)


def is_capturing(task: GraphTask) -> bool:
    """Tell whether what runs now are the hooks of a gradient that is captured, or callbacks: no node does."""
    return task.node is None or not task.exec_info[task.node].needed


def _will_engine_execute_node(node: Any) -> bool:
    """Tell whether the backward call that runs now reaches a node, and runs it or captures a gradient there.

    The node from which the call starts, if it is the only such, counts as run already.

    Raises:
        RuntimeError: outside a backward call, for what is no node, and for a leaf in a call of ``grad``.
    """
    task = engine.current_task
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    roots = () if task.root is None else task.root.next_functions
    if node not in task.dependencies or [root for root, _ in roots] == [node]:
        return False
    if not task.exec_info:
        return True
    info = task.exec_info.get(node)
    if info is None or not info.should_execute():
        return False
    if info.captures and not node.next_edges:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    return True


def _current_graph_task_execution_order() -> list[Node]:
    """The node that runs now and those which the backward call has still to run, in the order in which it will.

    Raises:
        RuntimeError: outside a backward call, or unless multithreading is disabled.
    """
    task = engine.current_task
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if thread.modes.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return remaining_order(task)


def remaining_order(task: GraphTask) -> list[Node]:
    """Play what is left of a backward call, on a copy of its dependencies and of its ready queue."""
    dependencies, tick = dict(task.dependencies), count().__next__
    ready = [(-entry[2].sequence_nr, tick(), entry[2]) for entry in sorted(task.ready, key=lambda entry: entry[:2])]
    node = task.root if task.node is None else task.node
    order = []
    while node is not None:
        if node is not task.root:
            order.append(node)
        for successor, _ in filter(None, node.next_edges):
            dependencies[successor] -= 1
            if not dependencies[successor] and (not task.exec_info or successor in task.exec_info):
                heappush(ready, (-successor.sequence_nr, tick(), successor))
        node = heappop(ready)[2] if ready else None
    return order
