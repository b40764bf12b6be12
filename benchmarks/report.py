"""Tables for people, JSON for programs."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import TAPEGRAD, Case, is_ours
from benchmarks.timing import Timing

Timings = dict[str, Timing]


def table(case: Case, timings: Timings) -> str:
    """One case: median and least time of each contestant, how many times as long ours take, and warming up."""
    ours = [name for name in timings if is_ours(name)]
    heads = "".join(f"{name.removeprefix('tapegrad ') + ' / it':>16}" for name in ours)
    lines = [case.title, f"  {'':26}{case.unit:>16}{'least':>12}{heads}{'warming up, s':>16}"]
    for name, timing in timings.items():
        ratios = "".join(f"{'' if name == mine else f'{timings[mine].ratio_to(timing):.2f}':>16}" for mine in ours)
        times = f"{timing.median * case.scale:16.2f}{timing.least * case.scale:12.2f}"
        lines.append(f"  {name:26}{times}{ratios}{timing.warming:16.2f}")
    return "\n".join(lines)


def extra_costs(cases: list[Case], timings: list[Timings]) -> str:
    """What each feature adds to a multiply of the chain: microseconds, and times what it adds in PyTorch."""
    lines = ["what a feature adds to a multiply", f"  {'':50}{'tapegrad, us':>14}{'the other, us':>14}{'ratio':>8}"]
    plain = timings[0]
    for case, timing in zip(cases[1:], timings[1:], strict=True):
        added = {name: (timing[name].median - plain[name].median) * case.scale for name in timing}
        others = [cost for name, cost in added.items() if name != TAPEGRAD]
        told = "".join(f"{cost:14.2f}{added[TAPEGRAD] / cost if cost > 0 else float('nan'):8.2f}" for cost in others)
        lines.append(f"  {case.title.partition(' with ')[2]:50}{added[TAPEGRAD]:14.2f}{told}")
    return "\n".join(lines)


def family_table(family: str, cases: list[Case], timings: list[Timings]) -> str:
    """One family: a line for each operator, with microseconds and how many times as long as the others each takes."""
    others = [name for name in timings[0] if name != TAPEGRAD]
    heads = [case.title.partition(", ")[2] for case in cases[:4]]
    lines = [f"{family}: us, and times {', '.join(others)}", f"  {'':16}" + "".join(f"{head:>34}" for head in heads)]
    for first in range(0, len(cases), 4):
        line = f"  {cases[first].title.partition(', ')[0]:16}"
        for timing in timings[first : first + 4]:
            ratios = "".join(f"{timing[TAPEGRAD].ratio_to(timing[name]):9.2f}" for name in others)
            line += f"{timing[TAPEGRAD].median * 1e6:{34 - len(ratios)}.1f}{ratios}"
        lines.append(line)
    return "\n".join(lines)


def worst(cases: list[Case], timings: list[Timings], count: int = 10) -> str:
    """The cases in which tapegrad takes the most times as long as each of the others."""
    lines = []
    for name in timings[0]:
        if name != TAPEGRAD:
            pairs = zip(cases, timings, strict=True)
            ratios = [(timing[TAPEGRAD].ratio_to(timing[name]), case.title) for case, timing in pairs]
            lines.append(f"the {count} worst beside {name}")
            lines += [f"  {title:50}{ratio:8.2f}" for ratio, title in sorted(ratios, reverse=True)[:count]]
    return "\n".join(lines)


def as_json(case: Case, timings: Timings) -> dict[str, Any]:
    """One case with every measurement, in seconds, and how many times as long as each contestant ours take."""
    ours = [name for name in timings if is_ours(name)]
    return {
        "case": case.title,
        "contestants": {
            name: {
                "median_s": timing.median,
                "rounds_s": list(timing.seconds),
                "least_s": timing.least,
                "warming_s": timing.warming,
                "ratios": {mine: timings[mine].ratio_to(timing) for mine in ours},
            }
            for name, timing in timings.items()
        },
    }
