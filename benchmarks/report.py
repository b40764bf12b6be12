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


def extra_costs(cases: list[Case], timings: list[Timings]) -> str:
    """What each feature adds to a multiply of the chain: microseconds, and times what it adds in PyTorch."""
    lines = ["what a feature adds to a multiply", f"  {'':50}{'tapegrad, us':>14}{'the other, us':>14}{'ratio':>8}"]
    plain = timings[0]
    for case, timing in zip(cases[1:], timings[1:], strict=True):
        added = {name: (timing[name].median - plain[name].median) * case.scale for name in timing}
        others = [cost for name, cost in added.items() if name != OURS]
        told = "".join(f"{cost:14.2f}{added[OURS] / cost if cost > 0 else float('nan'):8.2f}" for cost in others)
        lines.append(f"  {case.title.partition(' with ')[2]:50}{added[OURS]:14.2f}{told}")
    return "\n".join(lines)


def family_table(family: str, cases: list[Case], timings: list[Timings]) -> str:
    """One family: a line for each operator, with microseconds and how many times as long as the others each takes."""
    others = [name for name in timings[0] if name != OURS]
    heads = [case.title.partition(", ")[2] for case in cases[:4]]
    lines = [f"{family}: us, and times {', '.join(others)}", f"  {'':16}" + "".join(f"{head:>34}" for head in heads)]
    for first in range(0, len(cases), 4):
        line = f"  {cases[first].title.partition(', ')[0]:16}"
        for timing in timings[first : first + 4]:
            ratios = "".join(f"{timing[OURS].ratio_to(timing[name]):9.2f}" for name in others)
            line += f"{timing[OURS].median * 1e6:{34 - len(ratios)}.1f}{ratios}"
        lines.append(line)
    return "\n".join(lines)


def worst(cases: list[Case], timings: list[Timings], count: int = 10) -> str:
    """The cases in which tapegrad takes the most times as long as each of the others."""
    lines = []
    for name in timings[0]:
        if name != OURS:
            pairs = zip(cases, timings, strict=True)
            ratios = [(timing[OURS].ratio_to(timing[name]), case.title) for case, timing in pairs]
            lines.append(f"the {count} worst beside {name}")
            lines += [f"  {title:50}{ratio:8.2f}" for ratio, title in sorted(ratios, reverse=True)[:count]]
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
