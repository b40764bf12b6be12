"""Reads a tape: its nodes, as boxes in groups, and its edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tapegrad._src.dispatch import gradient_edge
from tapegrad._src.engine import GraphRoot, GraphTask
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tape.positions import explain
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.edges import GradientEdge
from tapegrad.autograd.source_lines import facts_without_grad
from tapegrad.viz.boxes import LEAF, MODULE, NODE, ROOT, STRETCH, TapeBox, TapeEdge
from tapegrad.viz.describing import inputs_of, is_leaf, short
from tapegrad.viz.folding import TapeFolding
from tapegrad.viz.recording import ModuleCall, record_of

PIECES = 40
"""Into how many stretches a row of boxes is cut that is too long to be drawn."""


def edges_of(given: Any, function: str = "graph") -> list[Edge]:
    """The edges where backward would start from tensors, nodes or gradient edges: one, or several in a sequence.
    Raises TypeError: something else. ValueError: a tensor without a graph, or nothing.
    """
    several = isinstance(given, (list, tuple)) and not isinstance(given, GradientEdge)
    found = [edge_at(one, function) for one in (given if several else [given])]
    if not found:
        raise ValueError(f"{function}(): expected a tensor, or several; the sequence is empty")
    return found


def edge_at(given: Any, function: str) -> Edge:
    """The edge where backward would start from one of them."""
    if isinstance(given, Node):
        return (given, 0)
    if isinstance(given, GradientEdge):
        return (given.node, given.output_nr)
    if not isinstance(given, Tensor):
        raise TypeError(f"{function}(): expected a tensor, a node of a graph or a GradientEdge, got {kind_of(given)}")
    edge = gradient_edge(given)
    if edge is None:
        sentence = f"{function}(): the tensor has no graph: it does not require grad and does not have a grad_fn"
        raise ValueError(explain(sentence, facts_without_grad(given)))
    return edge


def kind_of(given: Any) -> str:
    """The kind of something, for an error."""
    return type(given).__name__


def nodes_from(roots: Iterable[Edge]) -> list[Node]:
    """All nodes that backward would come to: leaves last, the others from the one that was made last on."""
    stack = [node for node, _ in roots]
    found = dict.fromkeys(stack)
    while stack:
        for edge in stack.pop().next_edges:
            if edge is not None and edge[0] not in found:
                found[edge[0]] = None
                stack.append(edge[0])
    return sorted(found, key=lambda node: (is_leaf(node), -node.sequence_nr))


class TapeReader:
    """The boxes and edges of a tape.

    Args:
        roots: where it starts, and what to call each.
        names: names of leaves, by identity.
        fold: whether repetition is folded.
        most: how many boxes there may be, besides what is sealed.

    Attributes:
        nodes: the nodes.
        top: the group of all boxes.
        edges: the edges between boxes that are drawn.
    """

    def __init__(
        self, roots: Sequence[Edge], titles: Sequence[str], names: dict[int, str], *, fold: bool, most: int
    ) -> None:
        self.nodes = nodes_from(roots)
        self._boxes = {node: TapeBox(LEAF if is_leaf(node) else NODE, node=node, names=names) for node in self.nodes}
        self._modules: dict[ModuleCall, TapeBox] = {}
        self.top = TapeBox(STRETCH, label="all")
        self._inside: dict[TapeBox, list[TapeBox]] = {self.top: []}
        self._roots = [TapeBox(ROOT, label=title) for title in titles]
        self._group()
        self.folding = TapeFolding()
        if fold:
            self.folding.fold(self.top)
        self.top.put([*self._roots, *self.top.inside])
        seal(self.top, most)
        for number, box in enumerate(self.top.boxes()):
            box.key = f"b{number}"
        self.edges = self._edges(roots)

    def _group(self) -> None:
        """Put every box where it belongs: see Note [Boxes in order]."""
        only = self._only_users()
        shared = []
        for node, box in self._boxes.items():
            if box.kind == LEAF:
                if node not in only:
                    shared.append(node)
                continue
            row = self._inside[self._home(node)]
            row.append(box)
            row += [self._boxes[leaf] for leaf in dict.fromkeys(self._leaves_at(node)) if leaf in only]
        for leaf, home in self._homes(shared).items():
            self._inside[home].append(self._boxes[leaf])
        for group, boxes in self._inside.items():
            group.put(boxes)

    def _leaves_at(self, node: Node) -> list[Node]:
        return [edge[0] for edge in node.next_edges if edge is not None and self._boxes[edge[0]].kind == LEAF]

    def _only_users(self) -> set[Node]:
        """The leaves to which one node alone leads."""
        users: dict[Node, set[Node]] = {}
        for node in self.nodes:
            for leaf in self._leaves_at(node):
                users.setdefault(leaf, set()).add(node)
        return {leaf for leaf, nodes in users.items() if len(nodes) == 1}

    def _home(self, node: Node) -> TapeBox:
        """The group of a node: the call of a module in which it was made, if that was recorded."""
        seen = record_of(node)
        return self.top if seen is None or seen.call is None else self._module(seen.call)

    def _module(self, call: ModuleCall) -> TapeBox:
        """The box of a call, in that of the call around it; they are made when the first node of them comes."""
        inner = None
        asked: ModuleCall | None = call
        while asked is not None:
            box = self._modules.get(asked)
            known = box is not None
            if box is None:
                label = asked.kind if asked.name == asked.kind else f"{asked.name}: {asked.kind}"
                box = self._modules[asked] = TapeBox(MODULE, label=label)
                self._inside[box] = []
            if inner is not None:
                self._inside[box].append(inner)
            if known:
                return self._modules[call]
            inner, asked = box, asked.outer
        assert inner is not None
        self._inside[self.top].append(inner)
        return self._modules[call]

    def _homes(self, leaves: Sequence[Node]) -> dict[Node, TapeBox]:
        """For leaves that several nodes use, the innermost group that all of them are in."""
        wanted = set(leaves)
        common: dict[Node, list[TapeBox]] = {}
        around = {box: group for group, boxes in self._inside.items() for box in boxes}
        for node in self.nodes:
            for leaf in wanted.intersection(self._leaves_at(node)):
                chain = chain_of(self._boxes[node], around)
                common[leaf] = [box for box in common.get(leaf, chain) if box in chain]
        return {leaf: common[leaf][0] if leaf in common else self.top for leaf in leaves}

    def _edges(self, roots: Sequence[Edge]) -> list[TapeEdge]:
        """The edges between boxes that are drawn, those that share their ends as one."""
        found: dict[tuple[TapeBox, TapeBox, bool], TapeEdge] = {}

        def add(source: TapeBox, edge: Edge) -> None:
            node, slot = edge
            target, carried = self._boxes[node], self.folding.is_carried(source, self._boxes[node])
            ends = shown(self.folding.drawn(source)), shown(self.folding.drawn(target))
            if ends[0] is ends[1] and not carried:
                return
            one = found.setdefault((*ends, carried), TapeEdge(*ends, carried=carried))
            one.count += 1
            one.width += self.folding.drawn(source) is source
            text = text_of(node, slot)
            if text not in one.texts and len(one.texts) < 4:
                one.texts.append(text)

        for box, edge in zip(self._roots, roots, strict=True):
            add(box, edge)
        for node in self.nodes:
            for given in node.next_edges:
                if given is not None:
                    add(self._boxes[node], given)
        return list(found.values())

    def make_faint(self, reached: Mapping[Node, bool]) -> None:
        """Draw those nodes faint that are not among ``reached``, which says of the others whether they run."""
        for node in self.nodes:
            box = self.folding.drawn(self._boxes[node])
            if box is self._boxes[node]:
                box.faint = node not in reached
                box.wanted = node in reached and not reached[node]
        for group in [box for box in self.top.boxes() if box.is_group]:
            group.faint = all(box.faint for box in group.boxes() if box.node is not None)
        for edge in self.edges:
            edge.faint = edge.source.faint or edge.target.faint or edge.source.wanted


def chain_of(box: TapeBox, around: Mapping[TapeBox, TapeBox]) -> list[TapeBox]:
    """The groups around a box, the innermost first."""
    chain = []
    while box in around:
        box = around[box]
        chain.append(box)
    return chain


def text_of(node: Node, slot: int) -> str:
    """The gradient that arrives in a slot of a node."""
    inputs = inputs_of(node)
    text = inputs[slot] if slot < len(inputs) else "?"
    return f"{text} in slot {slot}" if node.input_slots > 1 else text


def shown(box: TapeBox) -> TapeBox:
    """The outermost group around a box of which nothing is drawn inside, or the box."""
    return next((one for one in reversed(box.ways_out()) if one.sealed), box)


def seal(top: TapeBox, most: int) -> None:
    """Leave out what is inside of groups, so that at most about so many boxes are left."""
    queue, count = [top], 0
    for group in queue:
        if count + len(group.inside) > most:
            if group is not top:
                group.sealed = True
                continue
            cut(group, PIECES)
        count += len(group.inside)
        queue += [box for box in group.inside if box.inside]


def cut(group: TapeBox, pieces: int) -> None:
    """Put a long row of boxes into that many stretches."""
    rest = [box for box in group.inside if box.kind == ROOT]
    row = [box for box in group.inside if box.kind != ROOT]
    length = -(-len(row) // pieces)
    made = []
    for start in range(0, len(row), length):
        stretch = TapeBox(STRETCH, label=f"boxes {start + 1} to {min(start + length, len(row))} of {len(row)}")
        stretch.put(row[start : start + length])
        made.append(stretch)
    group.put([*rest, *made])


def reached_for(roots: Sequence[Edge], targets: Sequence[Edge]) -> dict[Node, bool]:
    """The nodes that a call for the gradients at ``targets`` would come to, and whether each would run.

    It is the engine's own list: Note [Pruning] in ``engine/engine.py``.
    """
    root = GraphRoot(roots, [None] * len(roots))
    task = GraphTask(None, keep_graph=True, create_graph=False, depth=0, root=root)
    task.count_dependencies(root)
    task.init_to_execute(root, targets, accumulate_grad=False)
    return {node: info.needed for node, info in task.exec_info.items() if info.should_execute()}


def reached_when_recorded(nodes: Sequence[Node]) -> dict[Node, bool] | None:
    """The nodes that the last recorded backward call came to; None if none was recorded."""
    seen = {node: one for node in nodes if (one := record_of(node)) is not None and one.task is not None}
    if not seen:
        return None
    last = max(one.task for one in seen.values() if one.task is not None)
    ran = {node: one for node, one in seen.items() if one.task == last}
    return {node: one.order is not None for node, one in ran.items() if one.order is not None or one.captured}


def title_of_root(given: Any, name: str) -> str:
    """The title of a root."""
    return f"{name}\n{short(given)}" if isinstance(given, Tensor) else name
