"""``graph``: the picture of the tape behind a tensor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import message
from tapegrad.viz.boxes import LEAF, TapeBox, TapeEdge, kept_in
from tapegrad.viz.describing import bytes_text, freed_by, is_freed, is_leaf, time_text
from tapegrad.viz.dot import AWHILE, dot_of, has_graphviz, laid_out
from tapegrad.viz.placing import Skeleton, title_of, visible
from tapegrad.viz.raster import png_of
from tapegrad.viz.reading import TapeReader, edges_of, reached_for, reached_when_recorded, title_of_root
from tapegrad.viz.recording import record_of
from tapegrad.viz.svg import html_of, svg_of

READABLE, LARGE = 120, 300
"""The number of boxes that can be seen at first, if there are groups; the one that Graphviz lays out better, if it is
there."""


class TapeGraph:
    """The picture of a tape; ``graph`` makes it. It shows itself in notebooks, and prints as an outline.

    It is taken when it is made: a backward call that comes later changes nothing in it.

    Attributes:
        boxes: the boxes that can be seen, by their keys in files.
        edges: the edges between them.
        nodes: how many nodes the tape has, leaves not counted.
        leaves: how many leaves.
        caption: what there is to say of the whole.
    """

    def __init__(self, reader: TapeReader) -> None:
        self._top = reader.top
        self.boxes = {box.key: box for box in visible_ones(reader.top)}
        self.edges: list[TapeEdge] = reader.edges
        self.leaves = sum(map(is_leaf, reader.nodes))
        self.nodes = len(reader.nodes) - self.leaves
        self.caption = caption_of(reader, self.nodes, self.leaves)
        for box in self.boxes.values():
            box.description  # noqa: B018 - read now, before a backward call frees what there is

    @cached_property
    def _skeleton(self) -> Skeleton:
        return Skeleton(self._top, self.edges)

    def opened(self, depth: int | None = None) -> list[TapeBox]:
        """The groups that are open: down to a depth, or as deep as it stays readable."""
        found: list[TapeBox] = []
        level, count = [box for box in self._top.inside if box.opens], len(self._top.inside)
        while level and depth != 0:
            count += sum(len(box.inside) for box in level)
            if depth is None and count > READABLE:
                break
            found += level
            level = [one for box in level for one in box.inside if one.opens]
            depth = None if depth is None else depth - 1
        return found

    def svg(self, depth: int | None = None, *, layout: str | None = None) -> str:
        """The picture as SVG.

        Args:
            depth: down to which depth groups are open, 0 for none; by default as many as stay readable.
            layout: ``"dot"`` lets Graphviz lay it out, ``"own"`` what is here; by default Graphviz does if there is
                much to lay out, if it is installed, and if it does so in some seconds. It opens all groups.

        Raises:
            ModuleNotFoundError: ``layout="dot"``, and Graphviz isn't there.
            RuntimeError: ``layout="dot"``, and Graphviz failed, or took more than a minute.
            ValueError: another layout.
        """
        drawn = self._by_graphviz(layout, "svg")
        return svg_of(self._skeleton, self.opened(check_depth(depth))) if drawn is None else drawn.decode()

    def _by_graphviz(self, layout: str | None, form: str) -> bytes | None:
        """The picture that Graphviz makes of it; None if it isn't asked to, or, unless it must, if it takes too long or
        fails."""
        if layout not in (None, "own", "dot"):
            raise ValueError(message("there is no such layout", expected="'own' or 'dot'", got=repr(layout)))
        if layout == "dot":
            return laid_out(self.dot(), form)
        if layout == "own" or len(self._top.inside) <= LARGE or not has_graphviz():
            return None
        with suppress(RuntimeError):
            return laid_out(self.dot(), form, patience=AWHILE)
        return None

    def html(self, depth: int | None = None) -> str:
        """A piece of HTML, whole in itself: boxes open and close, and pointing at one tells more."""
        return html_of(self._skeleton, self.opened(check_depth(depth)), self.caption)

    def dot(self) -> str:
        """The graph in the language of Graphviz; groups are clusters."""
        return dot_of(self._top, self.edges)

    def png(self, depth: int | None = None, *, layout: str | None = None, scale: float = 2.0) -> bytes:
        """The picture as a PNG file.

        Args:
            depth, layout: as for ``svg``.
            scale: how many pixels there are for each of the picture's.

        Raises:
            ModuleNotFoundError: what makes it isn't installed: ``pip install 'tapegrad[viz]'``.
        """
        drawn = self._by_graphviz(layout, "png")
        return png_of(self.svg(depth, layout="own"), scale) if drawn is None else drawn

    def save(self, path: str | Path, depth: int | None = None, *, layout: str | None = None) -> Path:
        """Write a file; its suffix says of what kind: ``.svg``, ``.png``, ``.html``, ``.dot`` or ``.gv``.

        Args:
            path: where to.
            depth, layout: as for ``svg``.

        Raises:
            ValueError: another suffix.
        """
        path = Path(path)
        makers: dict[str, Any] = {
            ".svg": lambda: self.svg(depth, layout=layout).encode(),
            ".png": lambda: self.png(depth, layout=layout),
            ".html": lambda: page_around(self.html(depth)).encode(),
            ".dot": lambda: self.dot().encode(),
            ".gv": lambda: self.dot().encode(),
        }
        if path.suffix.lower() not in makers:
            expected = ", ".join(makers)
            raise ValueError(message("save(): what kind of file?", expected=expected, got=repr(path.suffix)))
        path.write_bytes(makers[path.suffix.lower()]())
        return path

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        """An outline: every box on a line, indented by the groups that it is in, with what stands in it.

        Gradients go to leaves, and to the next line that is none, or where an arrow says: ``→ AddBackward0 (+7)`` is
        seven lines below.
        """
        rows = []
        jumps = jumps_of(self.boxes.values(), self.edges)
        for box in self.boxes.values():
            depth = len(box.ways_out()) - 2
            first, *more = box.description.details or [""]
            shape = "" if box.is_group and box.opens else " " + first
            told = [*([] if box.is_group else more), *jumps.get(box, ())]
            rows.append(("  " * depth + title_of(box) + shape.rstrip(), told))
        width = max((len(head) for head, more in rows if more), default=0)
        lines = [head.ljust(width * bool(more)) + "".join("  " + one for one in more) for head, more in rows]
        return "\n".join([*self.caption, *lines])

    def __repr__(self) -> str:
        return f"<{self.caption[0]}>"


def jumps_of(boxes: Collection[TapeBox], edges: Sequence[TapeEdge]) -> dict[TapeBox, list[str]]:
    """The boxes that gradients of boxes go to, if not to the next line alone: names, and how many lines below. Leaves
    aside."""
    rows = {box: row for row, box in enumerate(boxes)}
    lines = [box for box in rows if not box.opens and box.kind != LEAF]
    following = dict(pairwise(lines))
    targets: dict[TapeBox, dict[TapeBox, None]] = {}
    for edge in edges:
        source, target = visible(edge.source, rows), visible(edge.target, rows)
        if source is not target and target.kind != LEAF and not edge.carried:
            targets.setdefault(source, {})[target] = None
    return {
        source: ["→ " + ", ".join(f"{title_of(one)} ({rows[one] - rows[source]:+d})" for one in found)]
        for source, found in targets.items()
        if list(found) != [following.get(source)]
    }


def graph(
    tensor: Any, names: Mapping[str, Tensor] | None = None, *, inputs: Any = None, title: str | None = None,
    fold: bool = True, most: int = 1000,
) -> TapeGraph:  # fmt: skip
    """The picture of the graph that ``tensor.backward()`` would run: every node, what it saved, and where gradients go.

    Modules are boxes around their nodes, and times, order, norms and source lines are told, if it was made inside
    ``viz.record()``. After a backward call in there, nodes that it did not run are faint.

    Args:
        tensor: a tensor, a node, a gradient edge, or several in a list.
        names: names of leaves; parameters of modules have their paths, if they are given none.
        inputs: draw faint what ``torch.autograd.grad(tensor, inputs)`` would leave out.
        title: what to call the tensor.
        fold: draw what is repeated once.
        most: how many boxes there may be; of what is more, groups say how many nodes they have.

    Raises:
        ValueError: the tensor has no graph.
        TypeError: there can't be one.

    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> print(torch.viz.graph((w * 3).sum(), {"w": w}))
    graph of 2 nodes and 1 leaf
    saved for backward: 8 B
    tensor f32[]
    SumBackward0 f32[]
    MulBackward0 f32[2]  saves f64[], 8 B
    w f32[2]
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(message("graph(): most must be a number of boxes", expected="1 or more", got=most))
    roots, called = edges_of(tensor), leaf_names(names)
    given = tensor if isinstance(tensor, (list, tuple)) and len(tensor) == len(roots) else [tensor]
    titles = [title_of_root(one, title or "tensor") for one in (given if len(roots) > 1 else [given[0]])]
    reader = TapeReader(roots, titles, called, fold=fold, most=most)
    targets = None if inputs is None else edges_of(inputs)
    reached = reached_when_recorded(reader.nodes) if targets is None else reached_for(roots, targets)
    if reached is not None:
        reader.make_faint(reached)
    return TapeGraph(reader)


def leaf_names(names: Mapping[str, Tensor] | None) -> dict[int, str]:
    """The names of leaves by identity. Raises TypeError: they are no mapping of names to tensors."""
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(message("graph(): names", expected="a mapping of names to tensors", got=type(names).__name__))
    for name, leaf in (names or {}).items():
        if not isinstance(leaf, Tensor):
            raise TypeError(message(f"graph(): names[{name!r}]", expected="a tensor", got=type(leaf).__name__))
    return {id(leaf): str(name) for name, leaf in (names or {}).items()}


def check_depth(depth: int | None) -> int | None:
    """Refuse what is no depth."""
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ValueError(message("depth", expected="None, 0 or more", got=repr(depth)))
    return depth


def visible_ones(top: TapeBox) -> Collection[TapeBox]:
    """The boxes that can be seen if all groups are opened."""
    return [box for box in top.boxes() if not any(group.sealed for group in box.ways_out()[1:])]


def caption_of(reader: TapeReader, nodes: int, leaves: int) -> list[str]:
    """The caption of the whole: how large it is, what it keeps, how backward went, what is left out."""
    lines = [f"graph of {counted(nodes, 'node', 'nodes')} and {counted(leaves, 'leaf', 'leaves')}"]
    kept = sum(kept_in(list(reader.top.members())).values())
    lines += [f"saved for backward: {bytes_text(kept)}"] if kept else []
    freed = next((node for node in reader.nodes if is_freed(node)), None)
    if freed is not None:
        place = freed_by(freed)
        lines.append("what it saved was freed" + (f" by the backward call at {place}" if place else ""))
    lines += times_of(reader)
    if any(box.sealed for box in reader.top.boxes()):
        lines.append("more than can be drawn: some groups only say what they have inside; most= draws more")
    return lines


def times_of(reader: TapeReader) -> Sequence[str]:
    """The times that the nodes took in the backward call that was recorded."""
    seen = [one for node in reader.nodes if (one := record_of(node)) is not None and one.order is not None]
    return [f"backward: {len(seen)} nodes ran, {time_text(sum(one.nanoseconds for one in seen))}"] if seen else []


def counted(count: int, one: str, many: str) -> str:
    """A number of things."""
    return f"{count} {one if count == 1 else many}"


def page_around(content: str) -> str:
    """A whole page."""
    return (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>tape</title></head><body>{content}</body></html>\n'
    )
