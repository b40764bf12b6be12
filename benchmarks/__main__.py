"""``python -m benchmarks [--quick] [--operators | --under-jit]``: measure, print tables, write numbers to a file."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

import tapegrad
from benchmarks.cases import OURS, Case, Modules, around_cases, chain_cases, operator_cases, step_cases, write_cases
from benchmarks.operators import PROGRAMS
from benchmarks.programs import Sizes
from benchmarks.report import Timings, as_json, extra_costs, family_table, table, target_lines, targets, worst
from benchmarks.timing import take_turns
from benchmarks.under_jit import as_json as as_json_under_jit
from benchmarks.under_jit import under_jit

LENGTHS, QUICK_LENGTHS = {100: 20, 10_000: 1}, {100: 10, 1000: 1}
"""The chains: their length, and how often they are run for one measurement."""

QUICK = Sizes(batch=32, layers=(784, 64, 64, 10), steps=10)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short chains, small models, few rounds: about a minute")
    parser.add_argument("--operators", action="store_true", help="the operators, family by family, and nothing else")
    parser.add_argument("--under-jit", action="store_true", help="the tape under jax.jit, and nothing else")
    parser.add_argument("--rounds", type=int, help="measurements per contestant (default 15, quick 5)")
    parser.add_argument("--json", type=Path, default=Path("benchmarks.json"), help="where to write the numbers")
    return parser.parse_args()


def modules() -> Modules:
    """tapegrad, and PyTorch where it is installed, with as many threads as there are cores for us."""
    found: Modules = {OURS: tapegrad}
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: its rows are left out (pip install 'tapegrad[bench]' brings it).")
        return found
    import torch

    torch.set_num_threads(cores())
    found["PyTorch eager"] = torch
    return found


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine(found: Modules) -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {name: str(module.__version__) for name, module in found.items()}
    versions |= {"JAX": jax.__version__, "Python": platform.python_version()}
    return {"cores": cores(), "processor": platform.machine(), "backend": jax.default_backend(), "versions": versions}


def measure(cases: list[Case], rounds: int) -> list[Timings]:
    """Time all contestants of all cases in the same rounds, and sort the timings by case."""
    timings = take_turns(
        [replace(one, name=f"{case.title} {one.name}") for case in cases for one in case.contestants], rounds=rounds
    )
    return [{one.name: timings[f"{case.title} {one.name}"] for one in case.contestants} for case in cases]


def main() -> None:
    """Measure everything and report it."""
    options = arguments()
    rounds = options.rounds or (5 if options.quick else 15)
    found = modules()
    about = machine(found)
    print(json.dumps(about), f"median of {rounds} rounds", sep="\n", end="\n\n")
    results: dict[str, Any] = {"machine": about, "rounds": rounds}
    if options.under_jit:
        results["cases"] = [as_json_under_jit(result) for result in under_jit(rounds, options.quick)]
    else:
        results |= of_operators(found, rounds) if options.operators else of_programs(found, rounds, options.quick)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nall measurements: {options.json}")


def of_operators(found: Modules, rounds: int) -> dict[str, Any]:
    """Measure every operator and print what was found, a table for each family."""
    cases: list[Case] = []
    timings: list[Timings] = []
    for family in PROGRAMS:
        members = operator_cases(found, family)
        taken = [measure([case], rounds)[0] for case in members]
        print(family_table(family, members, taken), end="\n\n")
        cases, timings = cases + members, timings + taken
    print(worst(cases, timings))
    return {"cases": [as_json(case, timing) for case, timing in zip(cases, timings, strict=True)]}


def of_programs(found: Modules, rounds: int, quick: bool) -> dict[str, Any]:
    """Measure chains, features, writes and training steps, and print what was found."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    chains = [case for length, repeats in lengths.items() for case in chain_cases(found, length, repeats=repeats)]
    timings = measure(chains, rounds)
    features = around_cases(found, min(lengths), repeats=lengths[min(lengths)])
    around = measure(features, rounds)
    steps = [*write_cases(found), *step_cases(found, QUICK if quick else Sizes())]
    for case in steps:
        timings += measure([case], rounds)
    cases, timings = chains + features + steps, timings[: len(chains)] + around + timings[len(chains) :]
    for case, timing in zip(cases, timings, strict=True):
        print(table(case, timing), end="\n\n")
    rows = targets({length: (timings[2 * i], timings[2 * i + 1]) for i, length in enumerate(lengths)})
    print(extra_costs(features, around), target_lines(rows), sep="\n\n")
    return {"targets": rows, "cases": [as_json(case, timing) for case, timing in zip(cases, timings, strict=True)]}


if __name__ == "__main__":
    main()
