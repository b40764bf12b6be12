"""Tables for people, JSON for programs."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.cases import TAPEGRAD, Case, is_ours
from benchmarks.timing import Timing

Timings = dict[str, Timing]

Measured = tuple[Case, Timings]
"""A case, and what its contestants took."""


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


def family_table(family: str, operators: dict[str, list[Measured]]) -> str:
    """One family: a line for each operator, with how many times as long as each of the others tapegrad takes."""
    heads = list(dict.fromkeys(size_of(case) for found in operators.values() for case, _ in found))
    others = others_of(next(iter(operators.values())))
    lines = [f"{family}: times {' / '.join(others)}", f"  {'':16}" + "".join(f"{head:>18}" for head in heads)]
    for name, found in operators.items():
        cells = {size_of(case): "/".join(f"{ratio(timings, who):.2f}" for who in others) for case, timings in found}
        lines.append(f"  {name:16}" + "".join(f"{cells.get(head, ''):>18}" for head in heads))
    return "\n".join(lines)


def size_of(case: Case) -> str:
    """What an operator was given, as the head of a column.

    >>> size_of(Case("x + y, 1k floats, forward and backward", "us each", 1e6, ()))
    '1k, backward'
    """
    _, size, direction = case.title.split(", ")
    return size.removesuffix(" floats") + (", backward" if direction.endswith("backward") else "")


def others_of(found: list[Measured]) -> list[str]:
    """Who is measured beside tapegrad."""
    return [name for name in found[0][1] if name != TAPEGRAD]


def ratio(timings: Timings, who: str) -> float:
    """How many times as long as another tapegrad takes, by the quickest rounds of both."""
    return timings[TAPEGRAD].least_ratio_to(timings[who])


def sizes_table(found: list[Measured]) -> str:
    """Median and worst of all operators, in each size, beside each of the others."""
    lines = []
    for who in others_of(found):
        lines.append(f"all operators, times {who}: median, worst")
        for head, ratios in ratios_by_size(found, who).items():
            slowest = max(ratios, key=lambda name: ratios[name])
            lines.append(f"  {head:16}{median(ratios.values()):8.2f}{ratios[slowest]:10.2f}  ({slowest})")
    return "\n".join(lines)


def ratios_by_size(found: list[Measured], who: str) -> dict[str, dict[str, float]]:
    """How many times as long as another tapegrad takes, by size and operator."""
    columns: dict[str, dict[str, float]] = {}
    for case, timings in found:
        columns.setdefault(size_of(case), {})[case.title.partition(", ")[0]] = ratio(timings, who)
    return columns


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
