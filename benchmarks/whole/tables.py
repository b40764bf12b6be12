"""Measurements of models as text."""

from __future__ import annotations

from benchmarks.whole.measuring import Found

COLUMNS = {
    "ms a step": ("seconds", 1e3, 2),
    "least": ("least", 1e3, 2),
    "MiB": ("process", 1, 0),
    "of the step": ("step", 1, 0),
    "later": ("later", 1, 0),
    "first loss, s": ("first loss", 1, 2),
    "tenth step, s": ("tenth step", 1, 2),
    "with caches": ("first loss, caches", 1, 2),
    "tenth": ("tenth step, caches", 1, 2),
}
"""Heads of the table: what stands below, what it is multiplied by, and how many digits it has behind the point."""


def table(name: str, found: Found) -> str:
    """One model: a line for each contestant.

    >>> one = {"seconds": 0.002, "least": 0.0015, "process": 200.4, "step": 60.0, "later": 190.0, "first loss": 1.5,
    ...        "tenth step": 1.75, "ratios": {"PyTorch eager": 0.5}}
    >>> for line in table("MLP", {"tapegrad deferred": one}).splitlines():
    ...     print(*line.split())
    MLP
    ms a step least / PyTorch eager MiB of the step later first loss, s tenth step, s with caches tenth
    tapegrad deferred 2.00 1.50 0.50 200 60 190 1.50 1.75
    """
    peers = list(dict.fromkeys(peer for one in found.values() for peer in one["ratios"]))
    first, second, *others = COLUMNS
    heads = [first, second, *(f"/ {peer}" for peer in peers), *others]
    lines = [name, f"  {'':26}" + "".join(f"{head:>{width(head)}}" for head in heads)]
    for who, one in found.items():
        cells = {f"/ {peer}": f"{ratio:.2f}" for peer, ratio in one["ratios"].items()}
        for head, (what, scale, digits) in COLUMNS.items():
            cells[head] = f"{one[what] * scale:.{digits}f}" if what in one else ""
        lines.append(f"  {who:26}" + "".join(f"{cells.get(head, ''):>{width(head)}}" for head in heads))
    return "\n".join(lines)


def width(head: str) -> int:
    """The width of a column."""
    return max(9, len(head) + 3)
