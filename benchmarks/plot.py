"""The picture of the report: how long each contestant takes beside a peer, a line for each workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.contest import COMPILED, DEFERRED, EAGER, IMMEDIATE, JAX_EAGER, JAX_JIT, TORCH_COMPILE
from tapegrad.errors import message

LOOKS = {
    JAX_EAGER: ("s", "#b8b8b8"),
    EAGER: ("s", "#666666"),
    TORCH_COMPILE: ("D", "#666666"),
    JAX_JIT: ("D", "#3f7fbf"),
    IMMEDIATE: ("o", "#f4c26b"),
    DEFERRED: ("o", "#e8833a"),
    COMPILED: ("o", "#c0312b"),
}
"""Marker and colour of each contestant; ours are drawn last."""


def pyplot() -> ModuleType:
    """Matplotlib's, drawing into files.

    Raises:
        ImportError: without matplotlib.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            message(
                "the plot needs matplotlib, which is not installed",
                hint="pip install 'tapegrad[plot]' brings it; --no-plot does without",
            ),
            name=error.name,
        ) from error
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


def draw(cases: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the cases of a report that were run in modes: times as multiples of a peer's, on a logarithmic axis.

    Args:
        cases: as ``report.as_json`` gives them.
        path: of the picture; its suffix says the format, such as ``.svg``.
    """
    drawn = [case for case in cases if IMMEDIATE in case["contestants"] and JAX_JIT in case["contestants"]]
    peer = EAGER if all(EAGER in case["contestants"] for case in drawn) else JAX_JIT
    plot = pyplot()
    with plot.rc_context({"svg.hashsalt": "tapegrad", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plot.subplots(figsize=(8.5, 1.2 + 0.42 * len(drawn)), layout="constrained")
        _fill(axes, drawn, peer)
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles[::-1], names[::-1], loc="outside upper center", ncols=4, frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)
        plot.close(figure)


def _fill(axes: Any, cases: Sequence[dict[str, Any]], peer: str) -> None:
    axes.axvline(1, color="#666666", linewidth=0.8, zorder=0)
    for name, (marker, colour) in LOOKS.items():
        places = [row for row, case in enumerate(cases) if name in case["contestants"]]
        medians = [(cases[row]["contestants"][name], cases[row]["contestants"][peer]) for row in places]
        times = [mine["median_s"] / its["median_s"] for mine, its in medians]
        axes.scatter(times, places, marker=marker, color=colour, label=name, s=42, edgecolor="white", linewidth=0.6)
    axes.set_yticks(range(len(cases)), [case["case"] for case in cases])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(f"time, as a multiple of that of {peer} (further left is faster)")
    axes.grid(axis="y", color="#e8e8e8")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
