"""``replace_pattern``: parts of a graph that do what one function does, replaced by what another one does."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tapegrad.fx._attributes import _assign_attr, _get_attr, _has_attr
from tapegrad.fx._symbolic_trace import symbolic_trace
from tapegrad.fx.graph import Graph
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.node import Node
from tapegrad.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from tapegrad.nn import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A place that was replaced.

    Attributes:
        anchor: the last node of the pattern.
        nodes_map: for each node of the pattern the one that was found for it.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place that was replaced.

    Attributes:
        anchor, nodes_map: those of ``Match``.
        replacements: the nodes that are there instead.
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace what does the same as one function or module by what another one does, and write the code anew.

    Args:
        gm: the module with the graph.
        pattern: the function or module that is looked for; its arguments stand for anything.
        replacement: one with as many arguments.

    Returns:
        the places that were replaced, none of which has nodes of another one.

    Raises:
        AssertionError: pattern and replacement have not as many arguments, or outputs.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
    >>> len(torch.fx.replace_pattern(gm, lambda a, b: a + b, lambda a, b: a * b))
    1
    >>> gm(torch.tensor([3.0]))
    tensor([3.])
    """
    found = _replace(gm, pattern, replacement)
    return [Match(anchor=match.anchor, nodes_map=match.nodes_map) for match in found]


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any = None, match_filters: list[Filter] | None = None,
    ignore_literals: bool = False, replacement_callback: Callable[..., Graph] | None = None, node_name_match: str = "",
) -> list[ReplacedPatterns]:  # fmt: skip
    """Replace as ``replace_pattern`` does, but only where all filters agree.

    Args:
        gm, pattern, replacement: those of ``replace_pattern``; graphs are taken, too.
        match_filters: called with a place, the graph and the pattern, each says whether to replace it.
        ignore_literals: whether numbers, strings and such may differ from the pattern's.
        replacement_callback: gives the graph for a place, the graph and the pattern; in the place of ``replacement``.
        node_name_match: text that must be in the name of the last node.

    Returns:
        the places that were replaced, with the new nodes.
    """
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match)


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _replace(
    gm: GraphModule, pattern: Any, replacement: Any, filters: list[Filter] | None = None, ignore: bool = False,
    callback: Callable[..., Graph] | None = None, name: str = "",
) -> list[ReplacedPatterns]:  # fmt: skip
    graph, sought = gm.graph, _graph_of(pattern)
    matches = SubgraphMatcher(sought, ignore_literals=ignore).match(graph, node_name_match=name)
    matches = [match for match in matches if all(agrees(match, graph, sought) for agrees in filters or ())]
    given = None if replacement is None else _graph_of(replacement)
    if given is None and callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    changed: dict[Any, Any] = {}
    done = [
        _put(graph, sought, callback(match, graph, sought) if callback is not None else given, match, changed)  # type: ignore[arg-type]
        for match in matches
    ]
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return done


def _put(graph: Graph, pattern: Graph, new: Graph, match: InternalMatch, changed: dict[Any, Any]) -> ReplacedPatterns:
    """Put a replacement into one place."""
    arguments = [node for node in new.nodes if node.op == "placeholder"]
    if len(match.placeholder_nodes) != len(arguments):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(arguments)}")
    pairs = zip(arguments, match.placeholder_nodes, strict=True)
    found = {a: changed.get(b, b) if isinstance(b, Node) else b for a, b in pairs}
    before = set(graph.nodes)
    with graph.inserting_before(_place(graph, match)):
        given = graph.graph_copy(new, found)
    made = [node for node in graph.nodes if node not in before]
    results = given if isinstance(given, (tuple, list)) else (given,)
    if len(match.returning_nodes) != len(results):
        raise AssertionError(f"Returning nodes mismatch: {len(match.returning_nodes)} vs {len(results)}")
    for old, node in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(node)
        changed[old] = node
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _place(graph: Graph, match: InternalMatch) -> Node:
    """The node before which a replacement is put: the first that takes a result of the place."""
    users = {user for node in match.returning_nodes for user in node.users}
    return min(users) if users else max(match.returning_nodes).next


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Let a module have what the nodes of a replacement read."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, node.target):
            continue
        if not _has_attr(replacement, node.target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                "referenced attribute does not exist in either the original GraphModule `gm` or the replacement "
                "GraphModule `replacement`"
            )
        _assign_attr(copy.deepcopy(_get_attr(replacement, node.target)), gm, node.target)
    gm.graph.lint()
