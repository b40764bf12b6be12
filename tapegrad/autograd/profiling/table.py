"""The table that a profile prints, in PyTorch's layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

WIDTH = 12
GAP = "  "
TIME_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


class Column(NamedTuple):
    """One column: its title, its width, and what stands in it for an event."""

    title: str
    width: int
    cell: Callable[[Any], Any]
    align: str = ">"


def format_time(microseconds: float, unit: str | None = None) -> str:
    """A time with its unit; the unit that suits it, if none is asked for.

    >>> format_time(12.5), format_time(12500.0), format_time(12500.0, "us")
    ('12.500us', '12.500ms', '12500.000us')
    """
    if unit not in TIME_UNITS:
        unit = next((unit for unit, size in TIME_UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / TIME_UNITS[unit]:.3f}{unit}"


def format_share(part: float, total: float) -> str:
    """A part of a total in percent.

    >>> format_share(1, 8), format_share(0, 0)
    ('12.50%', 'NaN')
    """
    return f"{part * 100.0 / total:.2f}%" if total else "NaN"


def format_memory(count: int) -> str:
    """A number of bytes with its unit.

    >>> format_memory(-16), format_memory(4_000_000)
    ('-16 B', '3.81 MB')
    """
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"


def shortened(text: str, width: int | None) -> str:
    """A name cut to fit its column."""
    return text if width is None or len(text) < width - 3 else text[: width - 3] + "..."


def column_width(texts: Sequence[str], most: int | None) -> int:
    """The width that holds all texts, but not more than ``most``."""
    width = max(map(len, texts)) + 4
    return width if most is None else min(width, most)


def build_table(
    events: Sequence[Any], *, row_limit: int, max_src_column_width: int | None, max_name_column_width: int | None,
    max_shapes_column_width: int | None, header: str | None, top_level_events_only: bool, time_unit: str | None,
    profile_memory: bool, with_flops: bool,
) -> str:  # fmt: skip
    """The table of these events, in this order; empty if there are none."""
    if not events:
        return ""
    total = sum(event.self_cpu_time_total for event in events)
    columns = _columns(events, total, max_name_column_width, max_shapes_column_width, time_unit, profile_memory)
    columns += _flops_column(events) if with_flops else []
    stacks = [event.stack for event in events if event.stack]
    source = column_width([entry for stack in stacks for entry in stack], max_src_column_width) if stacks else 0
    widths = [(column.width, column.align) for column in columns] + ([(source, "<")] if stacks else [])
    rule = "".join("-" * width + GAP for width, _ in widths)
    titles = [column.title for column in columns] + (["Source Location"] if stacks else [])
    banner = "=" * (len(rule) - len(GAP))
    lines = [] if header is None else [banner, header]
    lines += [banner, "This report only display top-level ops statistics"] if top_level_events_only else []
    lines += [rule, _row(titles, widths), rule]
    shown = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        cells = [column.cell(event) for column in columns]
        if not stacks:
            lines.append(_row(cells, widths))
            continue
        entries = [_tail(entry, source) for entry in event.stack or ()]
        lines.append(_row([*cells, *entries[:1]] if entries else [*cells, ""], widths))
        lines += [_row([*[""] * len(columns), entry], widths) for entry in [*entries[1:], ""]]
    lines += [rule, f"Self CPU time total: {format_time(total, time_unit)}"]
    return "".join(f"{line}\n" for line in lines)


def _row(cells: Sequence[Any], widths: Sequence[tuple[int, str]]) -> str:
    return "".join(f"{cell!s:{align}{width}}{GAP}" for cell, (width, align) in zip(cells, widths, strict=True))


def _tail(text: str, width: int) -> str:
    """The end of a long path."""
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]


def _columns(
    events: Sequence[Any], total: float, most_name: int | None, most_shapes: int | None, unit: str | None, memory: bool
) -> list[Column]:
    name_width = column_width([event.key for event in events], most_name)
    columns = [
        Column("Name", name_width, lambda event: shortened(event.key, most_name)),
        Column("Self CPU %", WIDTH, lambda event: format_share(event.self_cpu_time_total, total)),
        Column("Self CPU", WIDTH, lambda event: format_time(event.self_cpu_time_total, unit)),
        Column("CPU total %", WIDTH, lambda event: format_share(event.cpu_time_total, total)),
        Column("CPU total", WIDTH, lambda event: format_time(event.cpu_time_total, unit)),
        Column("CPU time avg", WIDTH, lambda event: format_time(event.cpu_time, unit)),
    ]
    if memory:
        columns.append(Column("CPU Mem", WIDTH, lambda event: format_memory(event.cpu_memory_usage)))
        columns.append(Column("Self CPU Mem", WIDTH, lambda event: format_memory(event.self_cpu_memory_usage)))
    columns.append(Column("# of Calls", WIDTH, lambda event: event.count))
    if any(event.node_id != -1 for event in events):
        columns.append(Column("Node ID", WIDTH, lambda event: event.node_id))
    if any(event.input_shapes for event in events):
        width = column_width([str(event.input_shapes) for event in events], most_shapes)
        columns.append(Column("Input Shapes", width, lambda event: str(event.input_shapes)[:width]))
    return columns


def _flops_column(events: Sequence[Any]) -> list[Column]:
    counts = [event.flops for event in events if event.flops]
    if not counts:
        return []
    power = min(int(math.log10(min(counts)) / 3), len(FLOP_UNITS) - 1)
    scale = 1000.0**-power

    def cell(event: Any) -> str:
        return f"{event.flops * scale:8.3f}" if event.flops else "--"

    return [Column(f"Total {FLOP_UNITS[power]}", WIDTH, cell)]
