"""``SubgraphMatcher``: where a pattern is found in a graph."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx._attributes import _get_attr
from tapegrad.fx.graph import Graph
from tapegrad.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A place where a pattern is found.

    Attributes:
        anchors: the nodes of the pattern from which it was looked for.
        nodes_map: for each node of the pattern the one that was found for it.
        placeholder_nodes: what was found for the pattern's arguments, in their order.
        returning_nodes: the nodes that were found for what it gives.
        name_node_map: the nodes that were found, by names that the pattern gives them.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """A search for a pattern.

    Args:
        pattern: a graph.
        match_output: whether its output has to be that of the graph.
        match_placeholder: whether its arguments have to be those of the graph.
        remove_overlapping_matches: whether of places that share nodes only the first counts.
        ignore_literals: whether numbers, strings and such may differ.

    Raises:
        ValueError: the pattern has no nodes.

    >>> pattern = torch.fx.symbolic_trace(lambda a, b: a + b).graph
    >>> found = SubgraphMatcher(pattern).match(torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) + x).graph)
    >>> [match.placeholder_nodes for match in found]
    [[x, 1], [relu, x]]
    """

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places in a graph where the pattern is found.

        Args:
            graph: the graph.
            node_name_match: text that must be in the name of a node to be found for an anchor; none for any.
        """
        choices = [
            [node for node in graph.nodes if self._alike(anchor, node) and node_name_match in node.name]
            for anchor in self.pattern_anchors
        ]
        found = []
        for chosen in itertools.product(*choices):
            match = InternalMatch(list(self.pattern_anchors))
            pairs = zip(self.pattern_anchors, chosen, strict=True)
            if all(self._match_nodes(anchor, node, match) for anchor, node in pairs) and self._is_contained(match):
                found.append(self._completed(match))
        return self._apart(found) if self.remove_overlapping_matches else found

    def _completed(self, match: InternalMatch) -> InternalMatch:
        found = match.nodes_map
        match.placeholder_nodes = [found[node] for node in self.pattern_placeholder_nodes if node in found]
        match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes]
        return match

    def _apart(self, found: list[InternalMatch]) -> list[InternalMatch]:
        """The places that share no nodes with one before."""
        kept: list[InternalMatch] = []
        taken: set[Any] = set()
        for match in found:
            own = {node for pattern, node in match.nodes_map.items() if pattern.op not in ("placeholder", "output")}
            if not own & taken:
                kept.append(match)
                taken |= own
        return kept

    def _is_contained(self, match: InternalMatch) -> bool:
        """Tell whether nothing else takes what the pattern only takes itself."""
        found = {node: pattern for pattern, node in match.nodes_map.items() if isinstance(node, Node)}
        for node, pattern in found.items():
            inner = pattern.op != "placeholder" and pattern not in self.pattern_returning_nodes
            if inner and any(user not in found for user in node.users):
                return False
        return True

    def _alike(self, pattern: Node, node: Node) -> bool:
        """Tell whether a node does what one of the pattern does, whatever it takes."""
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op == "get_attr":
            return self._same_attribute(pattern, node)
        return pattern.op in ("placeholder", "output") or pattern.target == node.target

    def _same_attribute(self, pattern: Node, node: Node) -> bool:
        ours, theirs = (_get_attr(each.graph.owning_module, str(each.target)) for each in (pattern, node))
        return type(ours) is type(theirs) and (isinstance(ours, Tensor) or ours == theirs or ours is theirs)

    def _match_nodes(self, pattern: Node, node: Any, match: InternalMatch) -> bool:
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if any(node is found for found in match.nodes_map.values()) or not self._alike(pattern, node):
            return False
        before = copy.copy(match)
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder" or self._match_arguments(pattern, node, match):
            return True
        match.nodes_map = before.nodes_map
        return False

    def _match_arguments(self, pattern: Node, node: Node, match: InternalMatch) -> bool:
        if pattern.kwargs.keys() != node.kwargs.keys():
            return False
        named = [(pattern.kwargs[key], node.kwargs[key]) for key in pattern.kwargs]
        return self._match_all(pattern.args, node.args, match) and all(self._match(a, b, match) for a, b in named)

    def _match_all(self, patterns: Iterable[Any], items: Iterable[Any], match: InternalMatch) -> bool:
        patterns, items = list(patterns), list(items)
        same = len(patterns) == len(items)
        return same and all(self._match(a, b, match) for a, b in zip(patterns, items, strict=True))

    def _match(self, pattern: Any, item: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, Node) and isinstance(item, Node):
            return self._match_nodes(pattern, item, match)
        if isinstance(pattern, (list, tuple)) and isinstance(item, (list, tuple)):
            return self._match_all(pattern, item, match)
        if isinstance(pattern, Node):
            if pattern.op != "placeholder" or (pattern in match.nodes_map and match.nodes_map[pattern] != item):
                return False
            match.nodes_map[pattern] = item
            return True
        if isinstance(item, Node):
            return False
        return self.ignore_literals or (type(pattern) is type(item) and pattern == item)
