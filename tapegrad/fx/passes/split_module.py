"""``split_module``: a module that runs a graph, as one that calls several."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tapegrad.fx._attributes import _get_attr
from tapegrad.fx.graph import Graph
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.node import Node, map_arg
from tapegrad.nn import Module

__all__ = ["split_module"]

OUTSIDE = ("placeholder", "get_attr", "output")


class Piece:
    """A part of a graph.

    Attributes:
        name: what it is called.
        submod_name: the name of the module that is made of it.
        node_names: the names of its nodes.
        inputs, outputs: the names of nodes outside that it takes, and of its own that others take, as keys.
        partitions_dependent_on: the parts that have to come before it, as keys.
    """

    def __init__(self, name: str, partition_affix: str | None = None) -> None:
        self.name = name
        self.submod_name = f"submod_{partition_affix}_{name}" if partition_affix else f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.partitions_dependent_on: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    @property
    def node_names(self) -> list[str]:
        """The names of its nodes."""
        return [node.name for node in self.nodes]

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {[n.name for n in self.inputs]},\n outputs: "
            f"{[n.name for n in self.outputs]},\n partitions dependent on: {list(self.partitions_dependent_on)}"
        )


def split_module(
    m: GraphModule, root_m: Module, split_callback: Callable[[Node], int], qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False, keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True, *, partition_affix: str | None = None, tuple_return: bool = False,
) -> GraphModule:  # fmt: skip
    """A module that calls one module for each part of a graph.

    Args:
        m: the module with the graph.
        root_m: the module that has what the graph reads.
        split_callback: gives the part that a node belongs to.
        qualname_map: gets the paths in ``m`` of modules in the parts, by their paths in the result.
        keep_original_order: whether parts are called in the order in which they begin.
        keep_original_node_name, keep_original_input_name: taken; nodes keep their names where these are free.
        partition_affix: what stands in the names of parts.
        tuple_return: whether a part with one output gives a tuple, too.

    Raises:
        RuntimeError: parts need one another.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(split_module(gm, gm, lambda node: int(node.name == "add")).code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    parts = _parts(m.graph, split_callback, partition_affix)
    order = list(parts) if keep_original_order else _sorted(parts)
    for part in parts.values():
        _fill(part, root_m, qualname_map, tuple_return)
    return _joined(m, root_m, [parts[name] for name in order], tuple_return)


def _parts(graph: Graph, split_callback: Callable[[Node], Any], affix: str | None) -> dict[str, Piece]:
    """The parts, with what they take of one another."""
    parts: dict[str, Piece] = {}
    home: dict[Node, Piece | None] = {}
    for node in graph.nodes:
        name = None if node.op in OUTSIDE else str(split_callback(node))
        part = None if name is None else parts.setdefault(name, Piece(name, affix))
        home[node] = part
        if part is not None:
            part.nodes.append(node)
        for taken in node.all_input_nodes:
            if home[taken] is not part:
                _note(home[taken], part, taken)
    return parts


def _note(source: Piece | None, taker: Piece | None, taken: Node) -> None:
    if source is not None:
        source.outputs.setdefault(taken)
    if taker is not None:
        taker.inputs.setdefault(taken)
        if source is not None:
            taker.partitions_dependent_on.setdefault(source.name)


def _sorted(parts: dict[str, Piece]) -> list[str]:
    """The names of the parts in an order in which each comes after what it needs."""
    found: list[str] = []
    waiting = {name: set(part.partitions_dependent_on) for name, part in parts.items()}
    ready = [name for name, needs in waiting.items() if not needs]
    while ready:
        done = ready.pop(0)
        found.append(done)
        for name, needs in waiting.items():
            if done in needs:
                needs.remove(done)
                if not needs:
                    ready.append(name)
    if len(found) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return found


def _fill(part: Piece, root: Module, paths: dict[str, str] | None, tuple_return: bool) -> None:
    """Copy the nodes of a part into its graph."""
    for taken in part.inputs:
        made = part.graph.placeholder(taken.name, type_expr=taken.type)
        made.meta = dict(taken.meta)
        part.environment[taken] = made
    for node in part.nodes:
        args, kwargs = map_arg((node.args, node.kwargs), part.environment.__getitem__)
        target: Any = node.target
        if node.op == "call_module":
            target = target.replace(".", "_")
            part.targets[target] = _get_attr(root, str(node.target))
            if paths is not None:
                paths[f"{part.submod_name}.{target}"] = str(node.target)
        made = part.graph.create_node(node.op, target, args, kwargs, type_expr=node.type)
        made.meta = dict(node.meta)
        part.environment[node] = made
    given = tuple(part.environment[node] for node in part.outputs)
    if given:
        part.graph.output(given[0] if len(given) == 1 and not tuple_return else given)


def _joined(m: GraphModule, root: Module, parts: list[Piece], tuple_return: bool) -> GraphModule:
    """The module that calls the parts."""
    graph = Graph()
    found: dict[Node, Node] = {}
    modules: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            found[node] = graph.node_copy(node)
            if node.op == "get_attr":
                modules[str(node.target)] = _get_attr(root, str(node.target))
    for part in parts:
        modules[part.submod_name] = GraphModule(part.targets, part.graph)
        called = graph.call_module(part.submod_name, tuple(found[node] for node in part.inputs))
        if len(part.outputs) == 1 and not tuple_return:
            found[next(iter(part.outputs))] = called
            continue
        for number, node in enumerate(part.outputs):
            found[node] = graph.call_function(operator.getitem, (called, number))
    output = next((node for node in m.graph.nodes if node.op == "output"), None)
    if output is not None:
        graph.output(map_arg(output.args[0], found.__getitem__)).meta = dict(output.meta)
    return GraphModule(modules, graph)
