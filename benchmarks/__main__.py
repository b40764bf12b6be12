"""``python -m benchmarks``: measure, print tables, write the numbers to a file and draw them.

Without further options: chains and training steps in every mode, then features, writes, and whether targets were met.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

import tapegrad
from benchmarks import (
    ablate,
    cold_start,
    dynamic,
    first_calls,
    first_replays,
    lengths,
    loading,
    memory,
    plot,
    programs,
    scale,
    targets,
    under_jit,
)
from benchmarks.apart import case_apart
from benchmarks.cases import TAPEGRAD, Case, Modules, around_cases, layer_cases, net_cases, operator_cases, write_cases
from benchmarks.contest import COMPILED, EAGER, IMMEDIATE, JAX_EAGER, JAX_JIT, MODES, TORCH_COMPILE, cores, on_gpu
from benchmarks.fresh import again_on_one_core, on_one_core
from benchmarks.operators import PROGRAMS, Program
from benchmarks.report import (
    Measured,
    Timings,
    as_json,
    extra_costs,
    family_table,
    ratios_by_size,
    sizes_table,
    table,
    worst,
)
from benchmarks.timing import take_turns
from benchmarks.whole import command as whole
from benchmarks.workloads import HESSIAN, MODEL_ALONE, workloads

BUDGET = 6.0
"""Seconds after which a contestant has been measured often enough, if that was three times."""


SHORT_BUDGET = 0.25
"""The same for an operator, of which there are hundreds."""

MINUTES = ("long chain", "scalar MLP")
"""Workloads that take torch.compile minutes to compile: it joins in where ``--only`` asks for them."""


REFUSED = (HESSIAN,)
"""Workloads that torch.compile refuses: it has no double backward."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny models, few rounds: does everything work?")
    parser.add_argument("--only", metavar="TEXT", help="the workloads, or operators, with TEXT in their names")
    parser.add_argument("--operators", action="store_true", help="the operators, family by family, and nothing else")
    parser.add_argument("--under-jit", action="store_true", help="the tape under jax.jit, and nothing else")
    parser.add_argument("--memory", action="store_true", help="peak memory in fresh processes, and nothing else")
    parser.add_argument("--cold-start", action="store_true", help="the first step of fresh processes, and nothing else")
    parser.add_argument("--loading", action="store_true", help="loaders of data, and nothing else")
    parser.add_argument("--programs", action="store_true", help="the programs in examples/, and nothing else")
    parser.add_argument("--scale", action="store_true", help="steps on several devices, and nothing else")
    parser.add_argument("--dynamic", action="store_true", help="programs that always change, and nothing else")
    parser.add_argument(
        "--lengths",
        nargs="?",
        type=int,
        const=lengths.COUNT,
        metavar="N",
        help=f"nets at N lengths (default {lengths.COUNT}) that they have not seen, and nothing else",
    )
    parser.add_argument("--at-once", action="store_true", help="what is run at once, on one core, and nothing else")
    parser.add_argument("--compiled", action="store_true", help="compiled steps beside jax.jit, and nothing else")
    parser.add_argument("--all-cores", action="store_true", help="these two on all cores, by the clock on the wall")
    parser.add_argument("--modules", action="store_true", help="nets of modules and of functions, and nothing else")
    parser.add_argument("--first-step", action="store_true", help="a cold start on one core, and nothing else")
    parser.add_argument("--first-calls", action="store_true", help="operators met for the first time, and nothing else")
    parser.add_argument("--ablate", action="store_true", help="what each mechanism buys, and nothing else")
    parser.add_argument("--models", action="store_true", help="whole models with optimizers, and nothing else")
    parser.add_argument("--growth", action="store_true", help="nets doubled four times each way, and nothing else")
    parser.add_argument("--cores", choices=("all", "1"), default="all", help="of these two: all cores, or one of them")
    parser.add_argument("--torch-compile", action="store_true", help="PyTorch's compiler among the models, too")
    parser.add_argument("--before", type=Path, help="numbers of --models to be no worse than, on one core")
    parser.add_argument("--page", type=Path, help="a page whose table is replaced by that of --ablate")
    parser.add_argument("--limit", type=float, help="seconds after which what changes is not waited for")
    parser.add_argument("--no-torch-compile", action="store_true", help="leave torch.compile out: minutes of compiling")
    parser.add_argument("--no-plot", action="store_true", help="draw nothing")
    parser.add_argument("--rounds", type=int, help="measurements per contestant (default 15, quick 3)")
    parser.add_argument("--json", type=Path, default=Path("benchmarks.json"), help="where to write the numbers")
    parser.add_argument("--plot", type=Path, default=Path("benchmarks.svg"), help="where to draw them")
    return parser.parse_args()


def modules() -> Modules:
    """tapegrad, and PyTorch where it is installed."""
    found: Modules = {TAPEGRAD: tapegrad}
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: its rows are left out (pip install 'tapegrad[bench]' brings it).")
        return found
    import torch

    torch.set_num_threads(cores())
    found[EAGER] = torch
    return found


def machine(found: Modules) -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {name.removesuffix(" eager"): str(module.__version__) for name, module in found.items()}
    versions |= {"JAX": jax.__version__, "Python": platform.python_version()}
    device = jax.devices()[0].device_kind
    return {"cores": cores(), "processor": platform.machine(), "device": device, "versions": versions}


def measure(cases: list[Case], rounds: int) -> list[Timings]:
    """Time all contestants of all cases in the same rounds, and sort the timings by case."""
    contestants = [replace(one, name=f"{case.title} {one.name}") for case in cases for one in case.contestants]
    timings = take_turns(contestants, rounds=rounds, budget=BUDGET)
    return [{one.name: timings[f"{case.title} {one.name}"] for one in case.contestants} for case in cases]


def main() -> None:
    """Measure what was asked for, and report it."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # on a GPU there are others who need memory
    options = arguments()
    if options.operators or options.modules:
        again_on_one_core()
    rounds = options.rounds or (3 if options.quick else 15)
    found = modules()
    about = machine(found)
    print(json.dumps(about), f"median of {rounds} rounds", sep="\n", end="\n\n")
    results = {"machine": about, "rounds": rounds} | chosen(options, found, rounds)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nall measurements: {options.json}")


def chosen(options: argparse.Namespace, found: Modules, rounds: int) -> dict[str, Any]:
    """Run the part that the command line asks for."""
    if options.operators:
        return of_operators(found, min(rounds, 7), options.quick, options.only or "")
    if options.modules:
        return of_modules(found, rounds, options.quick)
    if options.under_jit:
        return {"cases": [under_jit.as_json(result) for result in under_jit.under_jit(rounds, options.quick)]}
    if options.loading:
        return {"loaders": loading.loading(("tapegrad", "torch") if len(found) > 1 else ("tapegrad",), options.quick)}
    if options.programs:
        modes = [mode for mode in available(found) if not (mode == TORCH_COMPILE and options.no_torch_compile)]
        return of_programs(modes, min(rounds, 3), options.quick, options.only or "")
    if options.scale:
        return {"scale": scale.scale(options.quick, options.only or "")}
    if options.models:
        return whole.of_models(options, rounds)
    if options.growth:
        return whole.of_growth(options, min(rounds, 5))
    if options.memory:
        return of_memory(found, options.quick)
    if options.cold_start:
        return of_cold_start(min(rounds, 5), options.quick)
    if options.dynamic:
        return of_dynamic(min(rounds, 3), options.limit or dynamic.LIMIT, options.quick)
    if options.lengths:
        count, limit = 6 if options.quick else options.lengths, options.limit or lengths.LIMIT
        return of_lengths(count, limit, options.quick)
    if options.at_once:
        return of_what_runs_at_once(found, rounds, options)
    if options.compiled:
        return of_compiled(found, rounds, options)
    if options.first_calls:
        return of_first_calls(1 if options.quick else min(rounds, 3), options.quick)
    if options.ablate:
        return of_ablation(min(rounds, 3), options.limit or ablate.LIMIT, options)
    if options.first_step:
        return of_first_step(min(rounds, 3), options.quick)
    return of_workloads(options, found, rounds)


def of_lengths(count: int, limit: float, quick: bool) -> dict[str, Any]:
    """Measure nets at lengths that they have not seen and print what was found."""
    measured = lengths.lengths(count, limit)
    rows = [] if quick else targets.length_rows(measured)
    print(targets.lines(rows))
    return {"lengths": measured, "targets": rows}


def of_what_runs_at_once(found: Modules, rounds: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure a chain and steps of training, operators computed at once, and print what was found."""
    modes = [mode for mode in (IMMEDIATE, EAGER, JAX_EAGER) if mode in available(found)]
    names = [name for name in targets.AT_ONCE if (options.only or "") in name]
    return in_processes(names, modes, rounds, options, targets.at_once_rows)


def of_compiled(found: Modules, rounds: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure compiled steps beside the same by ``jax.jit`` and PyTorch, and print what was found."""
    modes, only = [mode for mode in (COMPILED, JAX_JIT, EAGER) if mode in available(found)], options.only or ""
    names = [name for name in targets.REPLAYED if only in name]
    whole = in_processes(names, modes, rounds, options, targets.compiled_rows)
    models = [name for name in MODEL_ALONE.values() if only in name]
    alone = in_processes(models, [IMMEDIATE, JAX_JIT], rounds, options, targets.model_rows)
    results = {key: whole[key] + alone[key] for key in whole}
    with on_cores(options):
        started = first_replays.first_replays([name for name in targets.COMPILED_ONCE if only in name], options.quick)
    rows = [] if options.quick else targets.first_replay_rows(started)
    print(first_replays.table(started), targets.lines(rows), sep="\n\n")
    return results | {"first_replays": started, "targets": results["targets"] + rows}


def on_cores(options: argparse.Namespace) -> AbstractContextManager:
    """Processes that are started in the block have one core, or all."""
    return nullcontext() if options.all_cores else on_one_core()


def in_processes(
    names: list[str], modes: list[str], rounds: int, options: argparse.Namespace,
    promised: Callable[[dict], list[targets.Row]],
) -> dict[str, Any]:  # fmt: skip
    """Measure workloads, each contestant in a process of its own: on one core, by the seconds of the CPU, or on all."""
    timings: dict[str, Timings] = {}
    cases, cpu = [], not (on_gpu() or options.all_cores)
    for name in names:
        with on_cores(options), case_apart(name, modes, options.quick, cpu=cpu) as case:
            (timings[name],) = told([case], rounds)
        cases.append(case)
    rows = [] if options.quick else promised(timings)
    if options.all_cores:
        rows = [row | {"what": row["what"].replace("one core", "all cores")} for row in rows]
    print(targets.lines(rows))
    return {"cases": saved(cases, list(timings.values())), "targets": rows}


def of_modules(found: Modules, rounds: int, quick: bool) -> dict[str, Any]:
    """Measure calls of modules, and nets of them beside nets of functions, on one core, and print what was found."""
    gc.collect()
    gc.freeze()
    cases = [*layer_cases(found), *net_cases(found, quick)]
    timings = told(cases, rounds if quick else 4 * rounds)
    by_title = {case.title: timing for case, timing in zip(cases, timings, strict=True)}
    rows = [] if quick else targets.module_rows(by_title)
    print(targets.lines(rows))
    return {"cases": saved(cases, timings), "targets": rows}


def of_first_step(rounds: int, quick: bool) -> dict[str, Any]:
    """Measure the first step of fresh processes on one core and print what was found."""
    with on_one_core():
        results = cold_start.cold_start(rounds, quick, [cold_start.COLD])
    rows = [] if quick else targets.first_step_rows(results)
    print(cold_start.first_steps(results), targets.lines(rows), sep="\n\n")
    return {"first_step": results, "targets": rows}


def of_programs(modes: list[str], rounds: int, quick: bool, only: str) -> dict[str, Any]:
    """Measure whole programs and print what was found."""
    measured = programs.programs([mode for mode in programs.COMMANDS if mode in modes], rounds, quick, only)
    rows = [] if quick else targets.program_rows(measured)
    print("", programs.summary(measured), targets.lines(rows), sep="\n")
    return {"programs": measured, "targets": rows}


def of_dynamic(rounds: int, limit: float, quick: bool) -> dict[str, Any]:
    """Measure programs that always change and print what was found."""
    measured = dynamic.dynamic(rounds=rounds, limit=limit, few=quick)
    rows = [] if quick else targets.dynamic_rows(measured)
    print("", f"times {EAGER}", dynamic.summary(measured, limit), targets.lines(rows), sep="\n")
    return {"dynamic": dynamic.as_json(measured), "targets": rows}


def of_ablation(rounds: int, limit: float, options: argparse.Namespace) -> dict[str, Any]:
    """Measure what each mechanism buys, print a table, and put it into a page if one is named."""
    rows = ablate.ablate(rounds, options.quick, options.only or "", limit)
    print("", ablate.table(rows), f"less than {ablate.PAYS} times on each: {', '.join(ablate.lesser(rows)) or 'none'}",
          sep="\n")  # fmt: skip
    if options.page:
        options.page.write_text(ablate.written(options.page.read_text(), rows))
    return {"ablation": [row._asdict() for row in rows]}


def of_memory(found: Modules, quick: bool) -> dict[str, Any]:
    """Measure memory and print what was found."""
    modes = tuple(mode for mode in memory.CONTESTANTS if mode in available(found))
    peaks = memory.memory(modes, (2, 8, 4) if quick else (memory.LAYERS, memory.WIDTH, memory.BATCH))
    rows = [] if quick else memory.rows(peaks)
    print(memory.table(peaks), targets.lines(rows), sep="\n\n")
    return {"memory_mib": peaks, "targets": rows}


def of_cold_start(rounds: int, quick: bool) -> dict[str, Any]:
    """Measure fresh processes and print what was found."""
    results = cold_start.cold_start(rounds, quick)
    rows = [] if quick else targets.cold_rows(results)
    print(cold_start.table(results), targets.lines(rows), sep="\n\n")
    return {"cold_start": results, "targets": rows}


def of_first_calls(rounds: int, quick: bool) -> dict[str, Any]:
    """Measure operators that processes meet for the first time and print what was found."""
    costs = first_calls.first_calls(rounds, ("products",) if quick else tuple(first_calls.CALLS))
    rows = [] if quick else targets.first_call_rows(costs)
    print(first_calls.table(costs), targets.lines(rows), sep="\n\n")
    return {"first_calls": costs, "targets": rows}


def available(found: Modules) -> list[str]:
    """The modes whose library is there."""
    return [mode for mode in MODES if mode not in (EAGER, TORCH_COMPILE) or EAGER in found]


def of_operators(found: Modules, rounds: int, quick: bool, only: str) -> dict[str, Any]:
    """Measure every operator with ``only`` in its name and print what was found, a table for each family."""
    gc.collect()
    gc.freeze()  # what was imported is not collected before each of thousands of measurements
    everything: list[Measured] = []
    for family, members in PROGRAMS.items():
        chosen = {name: program for name, program in members.items() if only in name}
        measured = {name: operator_timings(found, name, program, rounds) for name, program in chosen.items()}
        if measured:
            print(family_table(family, measured), end="\n\n", flush=True)
        everything += [one for several in measured.values() for one in several]
    if not everything:
        raise SystemExit(f"no operator has {only!r} in its name")
    cases, timings = map(list, zip(*everything, strict=True))
    rows = [] if quick or only or EAGER not in found else targets.operator_rows(ratios_by_size(everything, EAGER))
    print(worst(cases, timings), sizes_table(everything), targets.lines(rows), sep="\n\n")
    return {"cases": saved(cases, timings), "targets": rows}


def operator_timings(found: Modules, name: str, program: Program, rounds: int) -> list[Measured]:
    """Measure an operator in all sizes."""
    cases = operator_cases(found, name, program)
    return [(case, take_turns(list(case.contestants), rounds=rounds, budget=SHORT_BUDGET)) for case in cases]


def of_workloads(options: argparse.Namespace, found: Modules, rounds: int) -> dict[str, Any]:
    """Measure chains and training steps in all modes, then features and writes, and print and draw what was found."""
    if not options.no_plot:
        plot.pyplot()  # if it isn't there, say so before an hour has passed
    modes = [mode for mode in available(found) if not (mode == TORCH_COMPILE and options.no_torch_compile)]
    fewer = [mode for mode in modes if mode != TORCH_COMPILE]
    timings: dict[str, Timings] = {}
    results: list[dict[str, Any]] = []
    for name in workloads(options.quick):
        if options.only is None or options.only in name:
            left_out = name in REFUSED or (name in MINUTES and options.only is None)
            contesting = fewer if left_out else modes
            with case_apart(name, contesting, options.quick) as case:
                (timings[name],) = told([case], rounds)
            results += saved([case], [timings[name]])
    if not options.no_plot:
        plot.draw(results, options.plot)
        print(f"the picture: {options.plot}", end="\n\n")
    if options.only is None:
        results += of_features(found, rounds, options.quick)
    rows = [] if options.quick else targets.rows(timings)  # what is tiny says nothing about them
    print(targets.lines(rows))
    return {"targets": rows, "cases": results}


def of_features(found: Modules, rounds: int, quick: bool) -> list[dict[str, Any]]:
    """Measure what stands around the engine, writes and modules, and print what was found."""
    features = around_cases(found, 4 if quick else 100, repeats=20)
    around = measure(features, rounds)
    print(extra_costs(features, around), end="\n\n")
    writes = write_cases(found)
    layers = layer_cases(found)
    return saved(features, around) + saved(writes, told(writes, rounds)) + saved(layers, told(layers, rounds))


def told(cases: Iterable[Case], rounds: int) -> list[Timings]:
    """Measure some cases, each for itself, and print a table for each."""
    timings = []
    for case in cases:
        timings += measure([case], rounds)
        print(table(case, timings[-1]), end="\n\n", flush=True)
    return timings


def saved(cases: list[Case], timings: list[Timings]) -> list[dict[str, Any]]:
    """The measurements, for the file."""
    return [as_json(case, timing) for case, timing in zip(cases, timings, strict=True)]


if __name__ == "__main__":
    main()
