"""The memory that a backward pass takes, and when the most: worked out from its graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tapegrad._src.tape.node import Edge, Node
from tapegrad.viz.describing import SavedItem, bytes_text, is_leaf, memory_of, plain_name
from tapegrad.viz.explanations.subjects import line_of, operator_of


class Peak(NamedTuple):
    """When a backward pass takes the most memory.

    Attributes:
        nbytes: how much: what nodes have saved, and gradients. Leaves are not counted, their gradients are.
        node: the node that runs then.
        saved, gradients: how much of it is saved, and how much is gradients.
        lines: the bytes by the line (or, where that was not recorded, the operator) whose node keeps or made them, the
            largest first.
    """

    nbytes: int
    node: Node
    saved: int
    gradients: int
    lines: dict[str, int]

    def facts(self, most: int = 3) -> Iterator[str]:
        """The facts about it."""
        parts = f"{bytes_text(self.saved)} saved, {bytes_text(self.gradients)} of gradients"
        where = line_of(self.node)
        yield f"peak of memory: {bytes_text(self.nbytes)} ({parts}), when {plain_name(self.node)} runs" + (
            f", of {where}" if where else ""
        )
        for line, nbytes in list(self.lines.items())[:most]:
            yield f"  {bytes_text(nbytes)} held by {line}"


def peak_of(nodes: Sequence[Node], saved: Mapping[Node, Sequence[SavedItem]]) -> Peak | None:
    """When a backward pass over these nodes, which stand in the order of the engine, takes the most memory.

    ``saved`` has what each of them keeps.
    """
    running = [node for node in nodes if not is_leaf(node)]
    tally, uses = Tally(nodes, saved), []
    for node in running:
        tally.begin(node)
        uses.append(tally.in_use)
        tally.end(node)
    if not uses:
        return None
    last, tally = uses.index(max(uses)), Tally(nodes, saved)
    for node in running[:last]:
        tally.begin(node)
        tally.end(node)
    tally.begin(running[last])
    return Peak(tally.in_use, running[last], tally.kept, tally.in_use - tally.kept, tally.by_line())


class Tally:
    """The memory that is in use while nodes run, one after the other.

    Attributes:
        saved: for each memory that is saved, its bytes, and by which nodes; ``of`` has the memories of each node.
        waiting: the bytes of the gradients that have arrived for a node, or at a leaf, by slot.
        kept, in_use: how many bytes are saved, and how many there are with the gradients.
    """

    def __init__(self, nodes: Sequence[Node], saved: Mapping[Node, Sequence[SavedItem]]) -> None:
        leaves = {memory_of(node.variable) for node in nodes if is_leaf(node)}  # type: ignore[attr-defined]
        self.saved: dict[int, tuple[int, set[Node]]] = {}
        self.of: dict[Node, list[int]] = {}
        self.waiting: dict[Node, dict[int, int]] = {}
        for node in nodes:
            self.of[node] = [item.value for item in saved[node] if item.value not in leaves]
            for item in saved[node]:
                if item.value not in leaves:
                    self.saved.setdefault(item.value, (item.nbytes, set()))[1].add(node)
        self.kept = self.in_use = sum(nbytes for nbytes, _ in self.saved.values())
        if nodes:
            self.arrive((nodes[0], 0))

    def arrive(self, edge: Edge) -> None:
        """Let a gradient arrive; where there is one already it is added to that."""
        slots = self.waiting.setdefault(edge[0], {})
        if edge[1] not in slots:
            slots[edge[1]] = gradient_bytes(*edge)
            self.in_use += slots[edge[1]]

    def begin(self, node: Node) -> None:
        """Let a node run: its gradients arrive."""
        for edge in node.next_edges:
            if edge is not None:
                self.arrive(edge)

    def end(self, node: Node) -> None:
        """Free what a node was given, and what nobody else has saved."""
        self.in_use -= sum(self.waiting.pop(node, {}).values())
        for memory in self.of[node]:
            nbytes, holders = self.saved.get(memory, (0, set()))
            holders.discard(node)
            if memory in self.saved and not holders:
                del self.saved[memory]
                self.kept, self.in_use = self.kept - nbytes, self.in_use - nbytes

    def by_line(self) -> dict[str, int]:
        """The bytes in use by what holds them."""
        found: Counter[str] = Counter()
        for nbytes, holders in self.saved.values():
            found[holder_text(min(holders, key=lambda node: node.sequence_nr))] += nbytes
        for node, slots in self.waiting.items():
            whose = "gradients of leaves" if is_leaf(node) else f"gradients for {holder_text(node)}"
            found[whose] += sum(slots.values())
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def holder_text(node: Node) -> str:
    """A node's line, or its operator."""
    return line_of(node) or operator_of(node)


def gradient_bytes(node: Node, slot: int) -> int:
    """The bytes of a gradient that a node takes."""
    if is_leaf(node):
        return node.variable.nbytes  # type: ignore[attr-defined]
    specs = getattr(node, "_input_metadata", ())
    spec = specs[slot] if slot < len(specs) else None
    return 0 if spec is None else spec.numel * spec.dtype.itemsize
