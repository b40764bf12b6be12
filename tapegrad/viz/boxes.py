"""The parts of a picture of a tape: boxes, some of them with boxes inside, and the edges between them.

Note [Boxes in order]
The boxes of a group stand in the order in which backward comes to them, which is that of making, backwards. Edges lead
from what was made later to what was made before, so between groups that are stretches of this order there is no cycle:
that is what calls of modules, and repetitions, are. Leaves, from which no edge leads on, stand anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tapegrad.viz.describing import Description, describe_group, describe_node, kept_by

MOST_ASKED = 20_000
"""Of so many nodes it is told how much they keep."""

ROOT, NODE, LEAF, MODULE, REPEAT, STRETCH = "root", "node", "leaf", "module", "repeat", "stretch"


class TapeBox:
    """One box: a node of the tape, a leaf, the tensor it starts from, or a group of them.

    Attributes:
        kind: ``"root"``, ``"node"``, ``"leaf"``, or of groups ``"module"``, ``"repeat"``, ``"stretch"``.
        key: what it is called in files.
        node: the node of the tape; None of groups and roots.
        label: what groups and roots are called.
        inside: the boxes of a group, in the order of Note [Boxes in order].
        outer: the group that it is in, or None.
        count: for how many boxes that are alike it stands; others: those of them that aren't drawn.
        names: names that were given to leaves, by identity.
        sealed: whether nothing of what is inside is drawn, as it is too much.
        faint: whether gradients don't come here.
        wanted: whether the gradient that arrives here is what was asked for.
    """

    def __init__(self, kind: str, *, node: Any = None, label: str = "", names: dict[int, str] | None = None) -> None:
        self.kind, self.node, self.label = kind, node, label
        self.names = names or {}
        self.key = ""
        self.inside: list[TapeBox] = []
        self.outer: TapeBox | None = None
        self.count = 1
        self.others: list[TapeBox] = []
        self.sealed = self.faint = self.wanted = False

    @property
    def is_group(self) -> bool:
        """True if it may have boxes inside."""
        return self.kind in (MODULE, REPEAT, STRETCH)

    @property
    def opens(self) -> bool:
        """True if what is inside can be drawn."""
        return bool(self.inside) and not self.sealed

    @cached_property
    def description(self) -> Description:
        """The text in it, and what more there is to say; read off the node once."""
        if self.node is not None:
            return describe_node(self.node, self.names)
        members = [box for one in self.inside for box in one.members()]
        return describe_group(self.kind, self.label, [box.node for box in members], kept_in(members))

    @cached_property
    def kept(self) -> dict[int, int]:
        """The bytes of each memory that its node keeps."""
        return kept_by(self.node)

    def members(self) -> Iterator[TapeBox]:
        """The boxes of the nodes that are inside, or its own, in all repetitions for which it stands."""
        if self.node is not None:
            yield self
        for box in (*self.inside, *self.others):
            yield from box.members()

    def put(self, boxes: Sequence[TapeBox]) -> None:
        """Let these be what is inside."""
        self.inside = list(boxes)
        for box in boxes:
            box.outer = self

    def boxes(self) -> Iterator[TapeBox]:
        """All boxes that are inside, however deep, each before those that are inside of it."""
        stack = self.inside[::-1]
        while stack:
            box = stack.pop()
            yield box
            stack.extend(box.inside[::-1])

    def ways_out(self) -> list[TapeBox]:
        """This box, the group it is in, the group that is in, and so on."""
        found: list[TapeBox] = [self]
        while found[-1].outer is not None:
            found.append(found[-1].outer)
        return found


def kept_in(boxes: Sequence[TapeBox]) -> dict[int, int]:
    """The bytes of each memory that the nodes of boxes keep; of very many nobody is asked."""
    return {memory: size for box in boxes for memory, size in box.kept.items()} if len(boxes) <= MOST_ASKED else {}


@dataclass(eq=False)
class TapeEdge:
    """An edge between two boxes, or several that are drawn as one.

    Attributes:
        source, target: the boxes at its ends.
        texts: the gradients that take this way: dtype and shape, and the slot where they go if it isn't the only one.
        count: how many edges of the tape it stands for.
        width: how many of them lead from the box that is drawn: of repetitions that is one.
        carried: whether it leads from one repetition to the next one.
        faint: whether no gradient takes it.
    """

    source: TapeBox
    target: TapeBox
    texts: list[str] = field(default_factory=list)
    count: int = 0
    width: int = 0
    carried: bool = False
    faint: bool = False

    @property
    def title(self) -> str:
        """The text that it shows when one points at it."""
        ways = f"{self.source.description.name} → {self.target.description.name}: {', '.join(self.texts)}"
        more = f", {self.count} edges" if self.count > 1 else ""
        return ways + more + (", of the repetition before" if self.carried else "") + (", not taken" * self.faint)
