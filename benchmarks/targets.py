"""What is promised, and whether it was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any

from benchmarks import nets
from benchmarks.cases import TAPEGRAD
from benchmarks.contest import COMPILED, DEFERRED, EAGER, IMMEDIATE, JAX_JIT, OURS, TORCH_COMPILE
from benchmarks.lengths import grown
from benchmarks.models import CONV_NET, LSTM, MLP, SCALAR_MLP, TRANSFORMER
from benchmarks.programs import Measured, ratios
from benchmarks.timing import Timing
from benchmarks.workloads import (
    ADAMW,
    FLOOR,
    FORWARD,
    GPT,
    GPT2,
    GPT2_HALF,
    HESSIAN,
    LONG_CHAIN,
    RESNET,
    SHORT_CHAIN,
    TWO_FLOORS,
    UNET,
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """That a mode takes at most ``bound`` times as long as another for a workload."""

    workload: str
    mode: str
    peer: str
    bound: float

    def row(self, timings: Mapping[str, Timing]) -> Row:
        """What was measured."""
        ratio = timings[self.mode].ratio_to(timings[self.peer])
        return row(f"{self.workload}: {self.mode} / {self.peer}", ratio, self.bound)


@dataclass(frozen=True)
class Warming(Target):
    """The same of the time until a contestant is warm: recording, tracing, compiling."""

    def row(self, timings: Mapping[str, Timing]) -> Row:
        """What was measured."""
        ratio = timings[self.mode].warming / timings[self.peer].warming
        return row(f"{self.workload}: warming up, {self.mode} / {self.peer}", ratio, self.bound)


@dataclass(frozen=True)
class Above(Target):
    """That a mode takes at most ``bound`` microseconds more than another."""

    def row(self, timings: Mapping[str, Timing]) -> Row:
        """What was measured."""
        added = (timings[self.mode].median - timings[self.peer].median) * 1e6
        return row(f"{self.workload}: us, {self.mode} - {self.peer}", added, self.bound)


TRAINED = (MLP, CONV_NET, LSTM, TRANSFORMER)

TARGETS = (
    Above(FORWARD, IMMEDIATE, FLOOR, 1.5),
    Above(SHORT_CHAIN, IMMEDIATE, TWO_FLOORS, 4.5),  # 1.5 us forward, 3 us backward
    Target(SHORT_CHAIN, DEFERRED, EAGER, 0.75),
    Target(LONG_CHAIN, DEFERRED, EAGER, 0.75),
    Target(SCALAR_MLP, DEFERRED, EAGER, 1.0),
    Target(MLP, DEFERRED, EAGER, 1.0),
    Target(LSTM, DEFERRED, JAX_JIT, 1.0),
    *(Target(name, COMPILED, JAX_JIT, 1.03) for name in (*TRAINED, ADAMW, HESSIAN, GPT2, GPT2_HALF)),
    *(Target(name, COMPILED, TORCH_COMPILE, 1.0) for name in (SHORT_CHAIN, *TRAINED, GPT2, GPT2_HALF)),
    *(Warming(name, COMPILED, JAX_JIT, 1.0) for name in (*TRAINED, GPT2, GPT2_HALF)),
)


def row(what: str, measured: float, bound: float) -> Row:
    """One promise."""
    return {"what": what, "measured": measured, "target": bound, "met": measured <= bound}


def rows(timings: Mapping[str, Mapping[str, Timing]]) -> list[Row]:
    """The promises about whatever was measured: ``timings[workload][contestant]``."""
    return [
        target.row(timings[target.workload])
        for target in TARGETS
        if {target.mode, target.peer} <= timings.get(target.workload, {}).keys()
    ]


def cold_rows(results: list[dict[str, Any]]) -> list[Row]:
    """The promises about fresh processes: ``results`` of ``cold_start``."""
    found = [(one, f"{one['mode']}, {one['cache']}") for one in results if one["mode"] in OURS]
    added = [row(f"import, s: {who} - jax", one["import over jax"], 0.15) for one, who in found]
    return added + [row(f"first step: {who} / {JAX_JIT}", one["ratio"], 1.0) for one, who in found]


def dynamic_rows(measured: dict[str, dict[str, float]]) -> list[Row]:
    """The promises about programs that always change: ``measured[program][contestant]`` seconds."""
    promised = []
    for mode in (IMMEDIATE, DEFERRED):
        ratios = [seconds[mode] / seconds[EAGER] for seconds in measured.values() if EAGER in seconds]
        for what, bound, of in (("median", 2.0, median), ("worst", 10.0, max)):
            promised += [row(f"dynamic programs, {what}: {mode} / {EAGER}", of(ratios), bound)] if ratios else []
    return promised


def program_rows(measured: Measured) -> list[Row]:
    """The promises about the programs in ``examples/``, from a cold start: medians over all of them."""
    promised = ((IMMEDIATE, "whole", 1.3), (COMPILED, "step", 1.0))
    found = [(mode, what, bound, ratios(measured, mode, what)) for mode, what, bound in promised]
    return [
        row(f"programs, {what}, median: {mode} / {EAGER}", median(of.values()), bound)
        for mode, what, bound, of in found
        if of
    ]


AT_ONCE = {SHORT_CHAIN: 1.0, SCALAR_MLP: 1.3, MLP: 0.6, CONV_NET: 0.95, LSTM: 1.0, TRANSFORMER: 0.9}
"""What is run at once for comparison with PyTorch eager, and how many times as long it may take."""


def at_once_rows(timings: Mapping[str, Mapping[str, Timing]]) -> list[Row]:
    """The promises about what is run at once, on one core: ``timings[workload][contestant]``."""
    return [
        row(f"{name}, one core: {IMMEDIATE} / {EAGER}", of[IMMEDIATE].least_ratio_to(of[EAGER]), AT_ONCE[name])
        for name, of in timings.items()
        if EAGER in of
    ]


REPLAYED = (MLP, ADAMW, HESSIAN, CONV_NET, RESNET, UNET, LSTM, GPT)
"""What is compiled for comparison with JAX: steps that are replayed."""

COMPILED_ONCE = (CONV_NET, RESNET, UNET, LSTM, GPT, HESSIAN)
"""Of which is measured what it takes until they are replayed."""


def compiled_rows(timings: Mapping[str, Mapping[str, Timing]]) -> list[Row]:
    """The promises about compiled steps, on one core, by the quickest rounds: ``timings[workload][contestant]``."""
    return [
        row(f"{name}, one core: {COMPILED} / {JAX_JIT}", of[COMPILED].least_ratio_to(of[JAX_JIT]), 1.03)
        for name, of in timings.items()
        if name in (MLP, ADAMW, HESSIAN)
    ]


def first_replay_rows(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Row]:
    """The promises about steps until they are replayed: ``found[workload][contestant]``, cold and with a cache."""
    promised = []
    for name, of in found.items():
        mine, its = of[COMPILED], of[JAX_JIT]
        ratio = mine["compile seconds"] / its["compile seconds"]
        promised.append(row(f"{name}, seconds of XLA's compiles: {COMPILED} / {JAX_JIT}", ratio, 1.1))
        blocked = mine["longest"] - of[IMMEDIATE]["longest"]
        promised.append(row(f"{name}, longest call beyond one at once, s", blocked, 0.2))
        warm = of[f"{COMPILED}, warm cache"]["first replay"] / of[f"{JAX_JIT}, warm cache"]["first replay"]
        promised.append(row(f"{name}, until replayed with a warm cache: {COMPILED} / {JAX_JIT}", warm, 1.1))
    return promised


def model_rows(timings: Mapping[str, Mapping[str, Timing]]) -> list[Row]:
    """The promises about steps of which the model is compiled, as ``compiled_rows``."""
    return [
        row(f"{name}, one core: {IMMEDIATE} / {JAX_JIT}", of[IMMEDIATE].least_ratio_to(of[JAX_JIT]), 1.15)
        for name, of in timings.items()
    ]


def length_rows(measured: Mapping[str, Mapping[str, Mapping[str, float] | None]]) -> list[Row]:
    """The promises about new lengths: ``measured[net][contestant]``; infinite for who has not ended."""
    never = {"new": inf, "lengths": 0}
    promised = []
    for net, found in measured.items():
        for mode in (IMMEDIATE, DEFERRED):
            mine, peer = found[mode] or never, found.get(EAGER)
            promised += [row(f"{net}, new length: {mode} / {EAGER}", mine["new"] / peer["new"], 20.0)] if peer else []
            promised.append(row(f"{net}, all lengths, MiB: {mode}", grown(mine), 200.0))
    return promised


def module_rows(timings: Mapping[str, Mapping[str, Timing]]) -> list[Row]:
    """The promises about modules beside functions: ``timings[title]["tapegrad, modules"]``, and so on.

    Of a net, how many times as long modules take; of a call that does nothing, and of a deep net, what they add to it.
    """
    promised = []
    for title, of in timings.items():
        added = {who: of[f"{who}, modules"].least - of[f"{who}, functions"].least for who in (TAPEGRAD, EAGER)
                 if f"{who}, modules" in of}  # fmt: skip
        if title in nets.NETS:
            ratio = of[f"{TAPEGRAD}, modules"].least_ratio_to(of[f"{TAPEGRAD}, functions"])
            promised.append(row(f"{title}: of modules / of functions", ratio, 1.05))
        elif EAGER in added:
            more = added[TAPEGRAD] / added[EAGER]
            promised.append(row(f"{title}, what modules add: {TAPEGRAD} / {EAGER}", more, 1.0))
    return promised


def first_step_rows(results: list[dict[str, Any]]) -> list[Row]:
    """The promises about the first step of a fresh process on one core, by the seconds of the CPU."""
    ours = [one for one in results if one["mode"] in OURS]
    return [row(f"first step: {one['mode']} / {JAX_JIT}", one["work ratio"], 0.5) for one in ours]


def first_call_rows(costs: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """The promises about operators that a process meets for the first time: ``costs[call][contestant]``."""
    promised = []
    for who in sorted({who for taken in costs.values() for who in taken} - {EAGER}):
        found = [taken[who] / taken[EAGER] for taken in costs.values() if EAGER in taken]
        for what, bound, of in (("median", 5.0, median), ("worst", 15.0, max)):
            promised += [row(f"first calls, {what}: {who} / {EAGER}", of(found), bound)] if found else []
    return promised


OPERATORS = (("median", median, 1.3, ("1k", "1k, backward")), ("worst", max, 2.5, ("1k", "1k, backward")),
             ("worst", max, 3.0, ("1M", "1M, backward")))  # fmt: skip
"""What is promised of all operators in a size."""


def operator_rows(ratios: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """The promises about operators at once: ``ratios[size][operator]``, times PyTorch eager."""
    return [
        row(f"operators, {size} floats, {what}: {IMMEDIATE} / {EAGER}", of(ratios[size].values()), bound)
        for what, of, bound, sizes in OPERATORS
        for size in sizes
        if size in ratios
    ]


def lines(found: list[Row]) -> str:
    """The promises as text."""
    told = ["targets"] if found else []
    for one in found:
        verdict = "met" if one["met"] else "missed"
        told.append(f"  {one['what']:76}{one['measured']:8.2f}  (target {one['target']}: {verdict})")
    return "\n".join(told)
