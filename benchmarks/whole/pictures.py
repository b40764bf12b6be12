"""The picture of models that grow: the time and the memory of a step, by batch, width, depth and length."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.plot import LOOKS, pyplot
from benchmarks.whole.growth import NETS, sizes_of
from benchmarks.whole.measuring import Found

QUANTITIES = {"ms a step": ("seconds", 1e3), "MiB": ("process", 1)}
"""Labels of axes: what is drawn, and what it is multiplied by."""

__all__ = ["draw", "pyplot"]


def lines(measured: Mapping[str, Found], net: str, axis: str) -> dict[int, Found]:
    """The measurements of a net along one direction, by size: other sizes are the smallest."""
    smallest = NETS[net][1]
    found = {}
    for name, one in measured.items():
        kind, sizes = sizes_of(name)
        if kind == net and sizes | {axis: smallest[axis]} == smallest:
            found[sizes[axis]] = one
    return dict(sorted(found.items()))


def draw(measured: Mapping[str, Found], path: Path) -> None:
    """Draw what was measured, two rows for each net and a column for each direction, on logarithmic axes.

    Args:
        measured: by ``growth.title`` of nets in their sizes.
        path: of the picture; its suffix says the format.
    """
    nets = [net for net in NETS if any(sizes_of(name)[0] == net for name in measured)]
    columns = max(len(NETS[net][1]) for net in nets)
    plot = pyplot()
    with plot.rc_context({"svg.hashsalt": "tapegrad", "svg.fonttype": "none", "font.size": 8}):
        size = 2.3 * columns, 1.9 * 2 * len(nets)
        figure, panels = plot.subplots(2 * len(nets), columns, figsize=size, layout="constrained", squeeze=False)
        for number, net in enumerate(nets):
            fill(panels[2 * number : 2 * number + 2], measured, net)
        handles, names = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
        plot.close(figure)


def fill(rows: Any, measured: Mapping[str, Found], net: str) -> None:
    """Draw one net: the time in the first row, the memory in the second."""
    axes = list(NETS[net][1])
    for row, (label, (what, scale)) in zip(rows, QUANTITIES.items(), strict=True):
        for panel, axis in zip(row, axes, strict=False):
            curves(panel, lines(measured, net, axis), what, scale)
            panel.set_title(f"{net}: {axis}", fontsize=8)
        row[0].set_ylabel(label)
        for panel in row[len(axes) :]:
            panel.set_visible(False)


def curves(panel: Any, found: Mapping[int, Found], what: str, scale: float) -> None:
    """Draw a line for each contestant."""
    for who, (marker, colour) in LOOKS.items():
        sizes = [size for size, one in found.items() if who in one]
        if sizes:
            numbers = [found[size][who][what] * scale for size in sizes]
            panel.plot(sizes, numbers, marker=marker, color=colour, label=who, markersize=4, linewidth=1)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xticks(list(found), [str(size) for size in found])
    panel.minorticks_off()
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.spines[["top", "right"]].set_visible(False)
