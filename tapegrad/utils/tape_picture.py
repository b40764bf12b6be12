"""A picture of the tape behind a tensor, as SVG: its nodes, what they saved, and the way that gradients take.

It reads only what every user can see of a graph: ``grad_fn``, ``next_functions``, ``name()`` and the saved tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from tapegrad.tensor.paths import path_of
from tapegrad.tensor.tensor import Tensor
from tapegrad.utils.layered_layout import Item, LayeredLayout, arrange

CHARACTER, LINE, PADDING, BETWEEN, MARGIN = 7.3, 16.0, 9.0, 34.0, 20.0
"""Pixels: a character, a line of text, the inside of a box, the space between layers, the rim of the picture."""

STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; text-anchor: middle; fill: #1f2933; }
  .name { font-weight: bold; }
  .detail { fill: #52606d; }
  rect { stroke-width: 1.2; rx: 5px; }
  .node { fill: #eef2f7; stroke: #7b8794; }
  .leaf { fill: #e3f9e5; stroke: #3f9142; }
  .root { fill: #fff3c4; stroke: #cb6e17; }
  path { fill: none; stroke: #7b8794; stroke-width: 1.2; marker-end: url(#arrow); }
"""

ROOT = "root"


class PictureBox:
    """What is written about one node, and how it looks."""

    __slots__ = ("kind", "lines", "title")

    def __init__(self, kind: str, lines: list[str], title: str) -> None:
        self.kind, self.lines, self.title = kind, lines, title

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * CHARACTER + 2 * PADDING

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 2 * PADDING


def tape_picture(tensor: Tensor, names: Mapping[str, Tensor] | None = None, *, title: str = "tensor") -> str:
    """Draw the graph that ``tensor.backward()`` would run.

    Args:
        tensor: the result whose tape is wanted; draw it before ``backward()`` frees what was saved.
        names: names of leaves; parameters of modules have their paths for names, if they are given none.
        title: what to call the tensor itself.

    Returns:
        The text of an SVG picture: the tensor on top, leaves highlighted, arrows from each node to those that get its
        gradients. The shape under a node's name is that of the gradient it takes.

    Raises:
        ValueError: when the tensor has no ``grad_fn``.

    >>> import tapegrad as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> svg = tape_picture((w * 3).sum(), {"w": w})
    >>> [name in svg for name in ("SumBackward0", "MulBackward0", ">w<", "PowBackward0")]
    [True, True, True, False]
    """
    if tensor.grad_fn is None:
        raise ValueError("tape_picture: the tensor has no grad_fn; was it computed from a tensor that requires grad?")
    leaves = {id(leaf): name for name, leaf in (names or {}).items()}
    edges, nodes = graph_of(tensor.grad_fn)
    root = PictureBox("root", [title, shape_text(tensor)], "the tensor that backward() starts from")
    boxes: dict[Item, PictureBox] = {ROOT: root}
    boxes.update((key, describe(node, leaves)) for key, node in nodes.items())
    edges[ROOT] = [id(tensor.grad_fn)]
    layout = arrange(edges, {key: box.width for key, box in boxes.items()})
    return draw(layout, boxes, edges)


def graph_of(root: Any) -> tuple[dict[Item, list[Item]], dict[Item, Any]]:
    """The nodes reachable from ``root`` by identity, and where their edges lead."""
    edges: dict[Item, list[Item]] = {}
    nodes: dict[Item, Any] = {id(root): root}
    stack = [root]
    while stack:
        node = stack.pop()
        successors = [successor for successor, _ in node.next_functions if successor is not None]
        edges[id(node)] = [id(successor) for successor in successors]
        for successor in successors:
            if id(successor) not in nodes:
                nodes[id(successor)] = successor
                stack.append(successor)
    return edges, nodes


def shape_text(tensor: Any) -> str:
    """A shape as it is written in Python."""
    return str(tuple(tensor.shape))


def name_of_leaf(leaf: Any, names: Mapping[int, str]) -> str:
    """The name that a leaf was given, or its path in the module that has it as a parameter."""
    return names.get(id(leaf)) or (path_of(leaf) or ("leaf",))[0]


def describe(node: Any, leaves: Mapping[int, str]) -> PictureBox:
    """The box of a node: its name, the shape of its gradients, what it saved."""
    leaf = getattr(node, "variable", None)
    name = node.name().split("::")[-1]
    if leaf is not None:
        return PictureBox("leaf", [name_of_leaf(leaf, leaves), shape_text(leaf)], name)
    lines = [name, " ".join(map(shape_text, filter(None, node._input_metadata)))]
    saved = saved_shapes(node)
    if saved:
        lines.append("saves " + " ".join(saved))
    return PictureBox("node", lines, f"{name}, made as number {node._sequence_nr()}")


def saved_shapes(node: Any) -> list[str]:
    """The shapes of the tensors that a node keeps for backward; none once they are freed."""
    try:
        saved = node.saved_tensors  # of a custom function the tensors themselves
        saved = saved() if callable(saved) else saved
    except (AttributeError, RuntimeError):
        return []
    return [shape_text(item) for item in saved if isinstance(item, Tensor)]


def draw(layout: LayeredLayout, boxes: Mapping[Item, PictureBox], edges: Mapping[Item, list[Item]]) -> str:
    """The picture as SVG."""
    top = MARGIN
    tops: dict[Item, float] = {}
    bottoms: dict[Item, float] = {}
    for layer in layout.layers:
        height = max(boxes[item].height for item in layer if item in boxes)
        for item in layer:
            own = boxes[item].height if item in boxes else height
            tops[item], bottoms[item] = top, top + own
        top += height + BETWEEN
    width = max(x + (boxes[item].width / 2 if item in boxes else 0) for item, x in layout.centre.items()) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{top - BETWEEN + MARGIN:.0f}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<polygon points="0,0 8,4 0,8" fill="#7b8794"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
        *[_draw_edge(path, layout, tops, bottoms, edges[path[0]].count(path[-1])) for path in layout.paths.values()],
        *[_draw_box(box, layout.centre[item] + MARGIN, tops[item]) for item, box in boxes.items()],
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _draw_edge(
    path: tuple[Item, ...], layout: LayeredLayout, tops: Mapping[Item, float], bottoms: Mapping[Item, float], count: int
) -> str:
    """A smooth line through the waypoints; its thickness tells how many edges run here."""
    x, y = layout.centre[path[0]] + MARGIN, bottoms[path[0]]
    line = f"M{x:.1f},{y:.1f}"
    for item in path[1:]:
        to_x, to_y = layout.centre[item] + MARGIN, tops[item]
        middle = (y + to_y) / 2
        line += f" C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"
        if item is not path[-1]:
            line += f" L{to_x:.1f},{bottoms[item]:.1f}"
        x, y = to_x, bottoms[item]
    thickness = f' style="stroke-width: {1.2 * count:.1f}"' if count > 1 else ""
    return f'<path d="{line}"{thickness}/>'


def _draw_box(box: PictureBox, centre: float, top: float) -> str:
    parts = [
        f'<g><title>{escape(box.title)}</title><rect class="{box.kind}" x="{centre - box.width / 2:.1f}" '
        f'y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
    ]
    for number, text in enumerate(box.lines):
        baseline = top + PADDING + LINE * (number + 0.75)
        css = "detail" if number else "name"
        parts.append(f'<text class="{css}" x="{centre:.1f}" y="{baseline:.1f}">{escape(text)}</text>')
    return "".join(parts) + "</g>"
