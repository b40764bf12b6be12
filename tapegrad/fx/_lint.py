"""The check that a graph is in order."""

from __future__ import annotations

from typing import Any

from tapegrad.fx._aggregates import nodes_in
from tapegrad.nn import Module


def check(graph: Any) -> None:
    """Check a graph; see ``Graph.lint``.

    Raises:
        RuntimeError: it is not in order.
    """
    names: set[str] = set()
    values: set[Any] = set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        for taken in nodes_in((node.args, node.kwargs)):
            _check_argument(graph, taken, node, values)
        values.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _check_target(node, graph.owning_module)


def _check_argument(graph: Any, taken: Any, node: Any, values: set[Any]) -> None:
    if taken.graph is not graph:
        raise RuntimeError(
            f"Argument '{taken}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
            "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n"
            f"{graph}"
        )
    if taken not in values:
        raise RuntimeError(
            f"Argument '{taken}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
            f"graph are topologically ordered\n{graph}"
        )


def _check_target(node: Any, owner: Any) -> None:
    found = owner
    path = node.target.split(".")
    for number, name in enumerate(path):
        if not hasattr(found, name):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {name} of {'.'.join(path[:number])}"
            )
        found = getattr(found, name)
    if node.op == "call_module" and not isinstance(found, Module):
        raise RuntimeError(
            f"Node {node} target {node.target} {path[-1]} of {'.'.join(path[:-1])} does not reference an nn.Module"
        )
