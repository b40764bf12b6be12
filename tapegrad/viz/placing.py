"""Places of the boxes of a picture, with some groups open and others closed, and which way its edges take.

Note [Open and closed]
A group that is open shows what is inside of it, in layers of its own. Which box stands in which layer, beside which
others, does not depend on what is open: this *skeleton* is found once, for each group. An edge that leads out of a
group passes a *port* in the last layer of it, and one that leads in a port in the first, so that it goes round the
boxes in between. Only sizes, positions and the ways of edges follow from what is open (``place``). In a page that is
done by the same steps in ``opening.js``; a test holds the two together.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from tapegrad.viz.boxes import TapeBox, TapeEdge
from tapegrad.viz.layered_layout import LayerRows, layered, without_cycles

CHARACTER, LINE, PADDING, BETWEEN, NARROW, BESIDE = 7.3, 16.0, 9.0, 34.0, 10.0, 120.0
"""Pixels: a character, a line of text, the inside of a box, the space between layers, that beside ports, and that for
edges which lead back."""

TIMES = "\N{MULTIPLICATION SIGN}"

Way = tuple[TapeBox, tuple[Any, ...]]
"""Part of the way of an edge: in which group, and past which of its items."""
Vertical = tuple[float, float, float]
"""The straight stretch down of an edge: at which x, from which y to which."""


class Rectangle(NamedTuple):
    """The place of a box: its left upper corner, and how large it is."""

    x: float
    y: float
    width: float
    height: float


class Arrangement(NamedTuple):
    """The places of all that is visible.

    Attributes:
        boxes: the rectangle of each visible box.
        edges: for each visible edge the verticals that it takes: (x, from y, to y); None of one that is drawn
            beside its boxes, as it leads back.
        size: of the whole.
    """

    boxes: dict[TapeBox, Rectangle]
    edges: dict[TapeEdge, list[Vertical] | None]
    size: tuple[float, float]


class Skeleton:
    """The part of a picture that doesn't depend on what is open: see Note [Open and closed].

    Args:
        top: the group of all boxes.
        edges: the edges.

    Attributes:
        layers: those of each group that can be opened.
        ways: of each edge, the parts of its way, from its source outwards and inwards to its target; None of an edge
            that leads back.
    """

    def __init__(self, top: TapeBox, edges: Sequence[TapeEdge]) -> None:
        self.top, self.edges = top, edges
        groups = [top, *(box for box in top.boxes() if box.opens)]
        lists: dict[TapeBox, dict[Any, list[Any]]] = {one: {box: [] for box in one.inside} for one in groups}
        steps = {edge: None if edge.carried else parts_of(edge) for edge in edges}
        for parts in steps.values():
            for group, start, end in parts or ():
                lists[group].setdefault(end, [])
                lists[group].setdefault(start, []).append(end)
        self.layers: dict[TapeBox, LayerRows] = {group: skeleton_of(row) for group, row in lists.items()}
        self.ways: dict[TapeEdge, list[Way] | None] = {edge: self._ways(parts) for edge, parts in steps.items()}

    def _ways(self, parts: list[tuple[TapeBox, Any, Any]] | None) -> list[Way] | None:
        found = [(group, self.layers[group].paths.get((start, end))) for group, start, end in parts or ()]
        if parts is None or any(path is None for _, path in found):
            return None
        return [(group, path) for group, path in found if path is not None]

    def place(self, opened: Collection[TapeBox]) -> Arrangement:
        """Place everything, if these groups are open."""
        inner = Inner(self, opened)
        boxes: dict[TapeBox, Rectangle] = {}
        rows: dict[tuple[TapeBox, Any], Vertical] = {}
        stack = [(self.top, 0.0, 0.0)]
        while stack:
            group, left, top = stack.pop()
            for item, (x, y, width, height) in inner.items[group].items():
                here = Rectangle(left + x, top + y, width, height)
                rows[group, item] = (here.x + width / 2, here.y, top + inner.ends[group][item])
                if isinstance(item, TapeBox):
                    boxes[item] = here
                    if item in inner.items:
                        stack.append((item, here.x, here.y))
        edges = {edge: self._way(edge, boxes, rows) for edge in visible_edges(self.edges, boxes)}
        width, height = inner.sizes[self.top]
        return Arrangement(boxes, edges, (width + BESIDE * (None in edges.values()), height))

    def _way(
        self,
        edge: TapeEdge,
        boxes: dict[TapeBox, Rectangle],
        rows: dict[tuple[TapeBox, Any], Vertical],
    ) -> list[Vertical] | None:
        """The verticals that an edge takes."""
        ways = self.ways[edge]
        if ways is None:
            return None
        source, target = boxes[visible(edge.source, boxes)], boxes[visible(edge.target, boxes)]
        bottom = source.y + source.height
        found = [(source.x + source.width / 2, bottom, bottom)]
        for group, items in ways:
            for item in items if (group, items[0]) in rows else ():
                if isinstance(item, TapeBox):
                    continue
                x, upper, lower = rows[group, item]
                if isinstance(item, Port) and group in boxes:
                    around = boxes[group]
                    upper, lower = (around.y, lower) if item.leads_in else (upper, around.y + around.height)
                found.append((x, upper, lower))
        return [*found, (target.x + target.width / 2, target.y, target.y)]


class Port(NamedTuple):
    """A place where edges enter a group that lead to a box inside, or leave it that come from there."""

    box: TapeBox
    leads_in: bool


def parts_of(edge: TapeEdge) -> list[tuple[TapeBox, Any, Any]]:
    """The steps of an edge, each inside one group: out of the groups around its source, into those of its target."""
    out, into = edge.source.ways_out(), edge.target.ways_out()
    inside = set(into)
    meeting = next(box for box in out if box in inside and box is not edge.source)
    up = [(group, box, Port(box, False)) for box, group in itertools.pairwise(out)]
    down = [(group, Port(box, True), box) for box, group in itertools.pairwise(into)]
    above, below = out.index(meeting) - 1, into.index(meeting) - 1
    return [*up[:above], (meeting, out[above], into[below]), *down[:below][::-1]]


def skeleton_of(edges: dict[Any, list[Any]]) -> LayerRows:
    """The layers of a group."""
    last = [item for item in edges if isinstance(item, Port) and not item.leads_in]
    return layered(without_cycles(edges), last=last)


class Inner:
    """Sizes, and places inside the groups, of a picture with some groups open.

    Attributes:
        items: for each visible open group where its items stand in it.
        ends: and where their rows end.
        sizes: how large each group is.
    """

    def __init__(self, skeleton: Skeleton, opened: Collection[TapeBox]) -> None:
        self.items: dict[TapeBox, dict[Any, Rectangle]] = {}
        self.ends: dict[TapeBox, dict[Any, float]] = {}
        self.sizes: dict[Any, tuple[float, float]] = {}
        top = skeleton.top
        order = [top]
        for group in order:
            order += [box for box in group.inside if box in opened and box.opens]
        for group in reversed(order):
            self._place(group, skeleton.layers[group], framed=group is not top)

    def _place(self, group: TapeBox, layers: LayerRows, framed: bool) -> None:
        sizes = {item: self.sizes.get(item) or size_of(item) for row in layers.rows for item in row}
        centre = layers.centres({item: width for item, (width, _) in sizes.items()})
        rim = PADDING * framed
        y = (LINE + 2 * PADDING) * framed
        placed, ends, right, last = {}, {}, 0.0, 0.0
        for row in layers.rows:
            height = max(sizes[item][1] for item in row)
            y += 0.0 if row is layers.rows[0] else BETWEEN if height and last else NARROW
            for item in row:
                width, own = sizes[item]
                placed[item] = Rectangle(rim + centre[item] - width / 2, y, width, own)
                ends[item] = y + height
                right = max(right, rim + centre[item] + width / 2)
            y, last = y + height, height
        self.items[group], self.ends[group] = placed, ends
        wide = max(right + rim, text_width(title_of(group)) if framed else 0.0)
        self.sizes[group] = (wide, y + rim)


def size_of(item: Any) -> tuple[float, float]:
    """The size of a closed box; anything else takes no room."""
    if not isinstance(item, TapeBox):
        return (0.0, 0.0)
    lines = lines_of(item)
    return (max(map(text_width, lines)), len(lines) * LINE + 2 * PADDING)


def text_width(text: str) -> float:
    """The width of a box that has this line."""
    return len(text) * CHARACTER + 2 * PADDING


def title_of(box: TapeBox) -> str:
    """The first line of a box."""
    return box.description.name + (f" {TIMES} {box.count}" if box.count > 1 else "")


def lines_of(box: TapeBox) -> list[str]:
    """The lines in a box that is closed."""
    return [title_of(box), *box.description.details]


def visible(box: TapeBox, boxes: Collection[TapeBox]) -> TapeBox:
    """The box, or the group around it that hides it."""
    return next(one for one in box.ways_out() if one in boxes)


def visible_edges(edges: Iterable[TapeEdge], boxes: Collection[TapeBox]) -> list[TapeEdge]:
    """The edges that are seen: of several between the same two boxes the first."""
    found: dict[tuple[TapeBox, TapeBox, bool], TapeEdge] = {}
    for edge in edges:
        ends = visible(edge.source, boxes), visible(edge.target, boxes)
        if ends[0] is not ends[1] or (edge.carried and ends[0] is edge.source):
            found.setdefault((*ends, edge.carried), edge)
    return list(found.values())
