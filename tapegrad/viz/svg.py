"""A picture of a tape as SVG, and as an HTML page whose boxes open and close: see Note [Open and closed]."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from html import escape
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

from tapegrad.viz.boxes import TapeBox, TapeEdge
from tapegrad.viz.placing import (
    LINE,
    PADDING,
    Arrangement,
    Port,
    Rectangle,
    Skeleton,
    Vertical,
    lines_of,
    size_of,
    title_of,
    visible,
)

MARGIN = 20.0
ROOM = 20.0
"""The height of a stretch of an edge beside which there is room for its text."""
MANY = 40
"""With more edges than that, what stands beside them is seen only where one points."""

STYLE = """
  .tape text { font: 12px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; fill: #1f2933; }
  .tape .name { font-weight: bold; }
  .tape .detail { fill: #52606d; }
  .tape rect { stroke-width: 1.2; }
  .tape .node rect { fill: #eef2f7; stroke: #7b8794; }
  .tape .leaf rect { fill: #e3f9e5; stroke: #3f9142; }
  .tape .root rect { fill: #fff3c4; stroke: #cb6e17; }
  .tape .module rect { fill: #f5f3ff; stroke: #6d5bd0; }
  .tape .repeat rect, .tape .stretch rect { fill: #fdf6ec; stroke: #a87b3c; stroke-dasharray: 5 3; }
  .tape .open > rect { fill-opacity: 0.45; }
  .tape .title { font-weight: bold; text-anchor: start; }
  .tape .faint { opacity: 0.3; }
  .tape .wanted rect { stroke-width: 3; }
  .tape .edge path { fill: none; stroke: #7b8794; stroke-width: 1.2; marker-end: url(#tape-arrow); }
  .tape .edge.carried path { stroke: #a87b3c; stroke-dasharray: 4 3; }
  .tape .edge text { font-size: 10px; fill: #52606d; text-anchor: start; }
  .tape .edge text { paint-order: stroke; stroke: white; stroke-width: 3; }
  .tape.many .edge text { display: none; }
  .tape .near path { stroke: #cb6e17; stroke-width: 2.4; }
  .tape.many .near text { display: inline; }
"""

DEFINITIONS = (
    '<defs><marker id="tape-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto" markerUnits="userSpaceOnUse"><polygon points="0,0 8,4 0,8" fill="#7b8794"/></marker></defs>'
)

CONTROLS = (
    '<div class="controls" style="display: none; margin-top: 4px">point at a box to know more, '
    'click a group to close or open it: <button data-all="open">open all</button> '
    '<button data-all="close">close all</button></div>'
)
FACTS = (  # in sight however far one has scrolled
    "position: sticky; top: 8px; flex: 1 1 14em; min-width: 14em; max-width: 40em; margin: 8px 4px; "
    "white-space: pre-wrap; overflow-wrap: anywhere"
)

SCRIPT = Path(__file__).with_name("opening.js")
_pages = count(1)


def svg_of(skeleton: Skeleton, opened: Collection[TapeBox], *, everything: bool = False) -> str:
    """The picture with these groups open; with ``everything`` what is closed is there too, and hidden."""
    placement = skeleton.place(opened)
    width, height = (length + 2 * MARGIN for length in placement.size)
    number = {edge: place for place, edge in enumerate(skeleton.edges)}
    edges = skeleton.edges if everything else list(placement.edges)
    boxes = [box for box in skeleton.top.boxes() if box in placement.boxes or (everything and is_reachable(box))]
    many = " many" if len(placement.edges) > MANY else ""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tape{many}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{STYLE}</style>{DEFINITIONS}",
        '<rect width="100%" height="100%" fill="white" stroke="none"/>',
        f'<g class="all" transform="translate({MARGIN:.0f},{MARGIN:.0f})">',
        *(draw_box(box, placement.boxes.get(box), box in opened and box.opens, everything) for box in boxes),
        *(draw_edge(edge, number[edge], placement) for edge in edges),
        "</g>", "</svg>",
    ]) + "\n"  # fmt: skip


def is_reachable(box: TapeBox) -> bool:
    """Tell whether a box can be seen if all is opened that can be."""
    return not any(group.sealed for group in box.ways_out()[1:])


def draw_box(box: TapeBox, place: Rectangle | None, is_open: bool, everything: bool) -> str:
    """A box, or a group that is open; where all is there, both, of which one is hidden."""
    kind = " ".join([box.kind, *["faint"] * box.faint, *["wanted"] * box.wanted])
    at = f'transform="translate({place.x:.1f},{place.y:.1f})"' if place is not None else 'display="none"'
    facts = escape("\n".join(box.description.facts))
    both = everything and box.opens
    return "".join([
        f'<g class="box {kind}" data-box="{box.key}" {at}><title>{facts}</title>',
        open_group(box, place, hidden=not is_open) if is_open or both else "",
        closed_box(box, hidden=is_open) if not is_open or both else "",
        "</g>",
    ])  # fmt: skip


def closed_box(box: TapeBox, hidden: bool) -> str:
    """A box with its lines of text."""
    width, height = size_of(box)
    lines = [
        f'<text class="{"detail" if number else "name"}" x="{width / 2:.1f}" '
        f'y="{PADDING + LINE * (number + 0.75):.1f}">{escape(text)}</text>'
        for number, text in enumerate(lines_of(box))
    ]
    shown = ' display="none"' if hidden else ""
    return f'<g class="closed"{shown}><rect rx="5" width="{width:.1f}" height="{height:.1f}"/>{"".join(lines)}</g>'


def open_group(box: TapeBox, place: Rectangle | None, hidden: bool) -> str:
    """The frame of an open group, with its title."""
    _, _, width, height = place or (0, 0, 0, 0)
    shown = ' display="none"' if hidden else ""
    return (
        f'<g class="open"{shown}><rect rx="5" width="{width:.1f}" height="{height:.1f}"/>'
        f'<text class="title" x="{PADDING:.0f}" y="{PADDING + LINE * 0.75:.1f}">{escape(title_of(box))}</text></g>'
    )


def draw_edge(edge: TapeEdge, number: int, placement: Arrangement) -> str:
    """An edge with what stands beside it; hidden if it isn't visible."""
    kind = " ".join(["edge", *["carried"] * edge.carried, *["faint"] * edge.faint])
    seen = edge in placement.edges
    source, target = (visible(box, placement.boxes) for box in (edge.source, edge.target))
    ends = f'data-edge="{number}" data-from="{source.key}" data-to="{target.key}"'
    line, (x, y) = path_of_edge(edge, placement) if seen else ("", (0.0, 0.0))
    thickness = f' style="stroke-width: {min(1.2 * edge.width, 6):.1f}"' if edge.width > 1 else ""
    text = escape(edge.texts[0] if edge.texts else "")
    return (
        f'<g class="{kind}" {ends}{"" if seen else " display=" + chr(34) + "none" + chr(34)}>'
        f"<title>{escape(edge.title)}</title>"
        f'<path d="{line}"{thickness}/><text x="{x + 3:.1f}" y="{y:.1f}">{text}</text></g>'
    )


def path_of_edge(edge: TapeEdge, placement: Arrangement) -> tuple[str, tuple[float, float]]:
    """The line of an edge, and where its text stands."""
    way = placement.edges[edge]
    if way is None:
        return beside(*(placement.boxes[visible(box, placement.boxes)] for box in (edge.source, edge.target)))
    line = f"M{way[0][0]:.1f},{way[0][2]:.1f}"
    for (x, _, y), (to_x, to_y, end) in pairwise(way):
        middle = (y + to_y) / 2
        line += f" C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
        line += f" L{to_x:.1f},{end:.1f}" if end != to_y else ""
    return line, place_of_text(way)


def place_of_text(way: Sequence[Vertical]) -> tuple[float, float]:
    """The place of the text of an edge: beside the last stretch that leaves room for it, or else the longest."""
    stretches = [(to_y - y, (x + to_x) / 2, (y + to_y) / 2 + 3) for (x, _, y), (to_x, to_y, _) in pairwise(way)]
    _, x, y = next((one for one in stretches[::-1] if one[0] >= ROOM), max(stretches, key=lambda one: one[0]))
    return x, y


def beside(source: Rectangle, target: Rectangle) -> tuple[str, tuple[float, float]]:
    """The line of an edge that leads back: to the right of its boxes."""
    x, y = source.x + source.width, source.y + source.height * 0.75
    to_x, to_y = target.x + target.width, target.y + target.height * 0.25
    out = max(x, to_x) + 24
    return f"M{x:.1f},{y:.1f} C{out:.1f},{y:.1f} {out:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}", (out, (y + to_y) / 2 + 3)


# The page -------------------------------------------------------------------------------------------------------------


def html_of(skeleton: Skeleton, opened: Collection[TapeBox], caption: Iterable[str]) -> str:
    """A piece of HTML: the picture, its caption, and a script that opens and closes boxes. Nothing is fetched.

    Without the script, where a page doesn't run it, the picture is there as it is.
    """
    drawn = svg_of(skeleton, opened, everything=True)
    name = f"tape-{next(_pages)}-{crc32(drawn.encode()):x}"  # a page may have pictures of several runs
    said = "".join(f"<div>{escape(line)}</div>" for line in caption)
    controls = CONTROLS if any(box.opens for box in skeleton.top.boxes()) else ""
    data = json.dumps(data_of(skeleton, opened)).replace("</", "<\\/")
    return (
        f'<div id="{name}" style="font: 12px ui-monospace, Menlo, Consolas, monospace">{said}{controls}'
        '<div style="display: flex; align-items: flex-start; gap: 16px">'
        f'<div style="overflow: auto; min-width: 0">{drawn}</div><pre class="facts" style="{FACTS}"></pre></div>'
        f'<script type="application/json">{data}</script>'
        f"<script>{SCRIPT.read_text()}\nshowTape(document.getElementById({json.dumps(name)}));</script></div>"
    )


def data_of(skeleton: Skeleton, opened: Collection[TapeBox]) -> dict[str, Any]:
    """The data that the script has to know."""
    boxes = {}
    for box in (box for box in skeleton.top.boxes() if is_reachable(box)):
        width, height = size_of(box)
        outer = None if box.outer is skeleton.top or box.outer is None else box.outer.key
        boxes[box.key] = {"width": width, "height": height, "outer": outer, "title": len(title_of(box))}
    groups = {
        group.key: {
            "rows": [[word(item) for item in row] for row in layers.rows],
            "paths": [[word(item) for item in path] for path in layers.paths.values()],
        }
        for group, layers in skeleton.layers.items()
    }
    edges = [
        {
            "from": edge.source.key, "to": edge.target.key, "carried": edge.carried,
            "ways": None if ways is None else [[group.key, [word(item) for item in items]] for group, items in ways],
        }
        for edge, ways in skeleton.ways.items()
    ]  # fmt: skip
    return {"boxes": boxes, "groups": groups, "edges": edges, "open": [box.key for box in opened if box.opens]}


def word(item: Any) -> str:
    """The name of an item of a layer for the script."""
    if isinstance(item, TapeBox):
        return item.key
    if isinstance(item, Port):
        return f"{'in' if item.leads_in else 'out'} {item.box.key}"
    start, end, number = item
    return f"{word(start)}>{word(end)}/{number}"
