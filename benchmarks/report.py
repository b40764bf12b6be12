"""Tables for people, JSON for programs."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import FLOOR, OURS, TWO_FLOORS, Case
from benchmarks.timing import Timing

Timings = dict[str, Timing]


def table(case: Case, timings: Timings) -> str:
    """One case: the median time of each contestant, how many times as long tapegrad takes, and its first call."""
    ours = timings[OURS]
    lines = [case.title, f"  {'':26}{case.unit:>16}{'tapegrad / it':>16}{'first call, s':>16}"]
    for name, timing in timings.items():
        ratio = "" if name == OURS else f"{ours.ratio_to(timing):.2f}"
        lines.append(f"  {name:26}{timing.median * case.scale:16.2f}{ratio:>16}{timing.first_call:16.2f}")
    return "\n".join(lines)


def targets(chains: dict[int, tuple[Timings, Timings]]) -> list[dict[str, Any]]:
    """What the house promises of the chain, and what was measured.

    Args:
        chains: for each length, the timings of forward and of forward with backward.
    """
    short, long = min(chains), max(chains)
    forward, total = chains[short]
    rows = [
        ("forward / a bare XLA call per multiply", forward[OURS].ratio_to(forward[FLOOR]), 1.3),
        ("forward and backward / two such calls", total[OURS].ratio_to(total[TWO_FLOORS]), 1.5),
        (f"cost per multiply at {long:,} / at {short:,}", chains[long][1][OURS].ratio_to(total[OURS]), 1.2),
    ]
    return [{"what": what, "ratio": ratio, "target": target, "met": ratio <= target} for what, ratio, target in rows]


def target_lines(rows: list[dict[str, Any]]) -> str:
    """The promises as text."""
    lines = ["targets"]
    for row in rows:
        verdict = "met" if row["met"] else "missed"
        lines.append(f"  {row['what']:58}{row['ratio']:6.2f}  (target {row['target']}: {verdict})")
    return "\n".join(lines)


def as_json(case: Case, timings: Timings) -> dict[str, Any]:
    """One case with every measurement, in seconds."""
    return {
        "case": case.title,
        "contestants": {
            name: {
                "median_s": timing.median,
                "rounds_s": list(timing.seconds),
                "first_call_s": timing.first_call,
                "tapegrad_ratio": timings[OURS].ratio_to(timing),
            }
            for name, timing in timings.items()
        },
    }
