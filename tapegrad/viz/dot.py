"""A tape in the language of Graphviz, and pictures by its ``dot``, where that is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from tapegrad.errors import message
from tapegrad.viz.boxes import LEAF, MODULE, NODE, REPEAT, ROOT, STRETCH, TapeBox, TapeEdge
from tapegrad.viz.placing import lines_of, title_of

COLOURS = {
    NODE: ("#eef2f7", "#7b8794"),
    LEAF: ("#e3f9e5", "#3f9142"),
    ROOT: ("#fff3c4", "#cb6e17"),
    MODULE: ("#f5f3ff", "#6d5bd0"),
    REPEAT: ("#fdf6ec", "#a87b3c"),
    STRETCH: ("#fdf6ec", "#a87b3c"),
}
"""The colours of the inside of a box, and of its rim, as in ``svg.py``."""

PATIENCE, AWHILE = 60, 8
"""Seconds that ``dot`` may take; how many if nobody asked for it."""


def dot_of(top: TapeBox, edges: Sequence[TapeEdge]) -> str:
    """The graph as a ``digraph``: groups are clusters, what more there is to say are tooltips."""
    lines = [
        "digraph tape {",
        '  graph [fontname="monospace bold", fontsize=10, labeljust=l];',
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10];',
        '  edge [fontname="monospace", fontsize=8, color="#7b8794"];',
        *inside(top, "  "),
        *("  " + dot_edge(edge) for edge in edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def inside(group: TapeBox, indent: str) -> list[str]:
    """The lines for what is inside a group."""
    lines = []
    for box in group.inside:
        if box.opens:
            fill, rim = COLOURS[box.kind]
            said = f"label={quoted(title_of(box))}; tooltip={quoted(facts_of(box))};"
            style = f'{said} style="rounded,filled"; fillcolor="{fill}"; color="{rim}";'
            lines += [f"{indent}subgraph cluster_{box.key} {{", f"{indent}  {style}", *inside(box, indent + "  ")]
            lines.append(f"{indent}}}")
        else:
            lines.append(f"{indent}{box.key} [{attributes_of(box)}];")
    return lines


def attributes_of(box: TapeBox) -> str:
    """The attributes of a box."""
    fill, rim = COLOURS[box.kind]
    given = {
        "label": quoted("\n".join(lines_of(box))), "tooltip": quoted(facts_of(box)),
        "fillcolor": quoted(fill), "color": quoted(rim),
    }  # fmt: skip
    if box.faint:
        given |= {"color": quoted("#d0d5db"), "fontcolor": quoted("#b0b7c0")}
    if box.wanted:
        given["penwidth"] = "3"
    return ", ".join(f"{name}={value}" for name, value in given.items())


def facts_of(box: TapeBox) -> str:
    """The facts of a box that are shown when one points at it."""
    return "\n".join(box.description.facts)


def dot_edge(edge: TapeEdge) -> str:
    """The line for an edge."""
    given = {"label": quoted(", ".join(edge.texts)), "tooltip": quoted(edge.title)}
    if edge.width > 1:
        given["penwidth"] = f"{min(edge.width, 5)}"
    if edge.carried:
        given |= {"style": "dashed", "constraint": "false"}
    if edge.faint:
        given["color"] = quoted("#d0d5db")
    return f"{edge.source.key} -> {edge.target.key} [{', '.join(f'{k}={v}' for k, v in given.items())}];"


def quoted(text: str) -> str:
    """A string of the language; a newline is one in the label."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def has_graphviz() -> bool:
    """Tell whether Graphviz can be asked: its package, and the program itself."""
    return graphviz() is not None and shutil.which("dot") is not None


def graphviz() -> Any:
    """The package, or None."""
    try:
        import graphviz
    except ImportError:
        return None
    return graphviz


def laid_out(dot: str, form: str, *, patience: float = PATIENCE) -> bytes:
    """The output of ``dot`` for a graph: ``"svg"`` or ``"png"``.
    Raises ModuleNotFoundError: the package or the program isn't there. RuntimeError: ``dot`` failed, or took longer
    than so many seconds.
    """
    if not has_graphviz():
        raise ModuleNotFoundError(message(
            "layout='dot' wants Graphviz",
            hint="install its package (pip install 'tapegrad[viz]') and the program dot (apt install graphviz), or "
            "leave layout out",
        ))  # fmt: skip
    command = [str(graphviz().DOT_BINARY), f"-T{form}"]
    try:
        return subprocess.run(command, input=dot.encode(), capture_output=True, check=True, timeout=patience).stdout
    except subprocess.TimeoutExpired:
        hint = "fold what is repeated, draw less (most=), or leave layout out"
        raise RuntimeError(message(f"dot took longer than {patience} seconds", hint=hint)) from None
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"dot failed: {error.stderr.decode(errors='replace').strip()}") from None
