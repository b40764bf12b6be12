"""What has become of each entry when it was compiled: replayed or not, right or wrong, and what a call costs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time, sleep
from typing import Any

import tapegrad as torch
from tapegrad.compiler.replay.compiled_modules import CompiledModule
from tests.compiled.declaring import SCALE, Entry
from tests.compiled.running import Compile, attempt, calls_of, difference, fresh, surrounded

WARMING, ROUNDS, MOST_ROUNDS, MEASURED = 10, 15, 150, 0.2
"""So many calls are made before any is measured; so many are, at least and at most, or as many as take so many seconds:
of a call that takes half a millisecond the median of 15 is off by a fifth."""

CALLS = 40
"""So many calls are made of an entry to see what becomes of it: each of its kinds comes several times."""


@dataclass(frozen=True)
class Status:
    """What is known of an entry.

    Attributes:
        kind: "replayed": nine of ten calls of the second half ran none of the function's Python; "in parts": some ran
            it, but all models, backward passes and updates that they enter are replayed; "partly": others did; or
            "python".
        reason: why not, as ``report()`` says.
        fault: how it differs from the plain program, or None.
        plain, compiled: CPU seconds per call after the first ten, where they were measured.
    """

    entry: Entry
    kind: str
    reason: str
    fault: str | None
    plain: float = 0.0
    compiled: float = 0.0

    @property
    def ratio(self) -> float:
        """How many times as long as the plain program the compiled one takes."""
        return self.compiled / self.plain if self.plain else 0.0

    def __str__(self) -> str:
        cost = f"{self.ratio:6.2f} {self.plain * 1e3:7.2f} ms" if self.plain else ""
        told = f"WRONG: {self.fault}" if self.fault else self.reason
        return f"{self.entry.name:26}{self.kind:9}{cost}  {told[:240]}".rstrip()


def reasons(compile: Compile) -> str:
    """What the reports say of what isn't replayed, in one line."""
    lines = [line.partition(": ")[2] for one in compile.known() for line in one.report().splitlines()[1:]]
    return "; ".join(line for line in lines if not line.startswith("replayed"))


def is_in_parts(entry: Entry, compile: Compile) -> bool:
    """Whether all modules that are entered, with their backward passes, and all updates are replayed by themselves."""
    entered = [one for called in compile.known() for one in called.known_entries() if one.replay is None]
    parts = [part for one in entered for part in one.compiled_modules]
    states = {state for part in parts for state in states_of(part)}
    updated = any(isinstance(part.module, torch.optim.Optimizer) for part in parts)
    return states == {"replayed"} and (updated or ".step(" not in text_of(entry))


def states_of(part: CompiledModule) -> Iterator[str]:
    """How the calls of a module are made: where not by a program, those of the modules that it calls in turn."""
    for known in part.call.known_entries():
        if known.replay is None and known.compiled_modules:
            for inner in known.compiled_modules:
                yield from states_of(inner)
        else:
            yield known.state


def text_of(entry: Entry) -> str:
    """The program as it is written."""
    tree = ast.parse(source := Path(entry.file).read_text())
    [function] = (one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == entry.name)
    return ast.get_source_segment(source, function) or ""


def kind_of(entry: Entry, compile: Compile) -> str:
    """Whether the calls in the second half were replayed."""
    pairs = pairwise(compile.counts[len(compile.counts) // 2 :])
    made = [(after[0] - before[0], after[1] - before[1]) for before, after in pairs if after[0] > before[0]]
    if made and sum(calls == replayed for calls, replayed in made) > 0.9 * len(made):
        return "replayed"
    if is_in_parts(entry, compile):
        return "in parts"
    return "partly" if any(replayed for _, replayed in made) else "python"


def costs(entry: Entry, scale: int, rounds: int = ROUNDS) -> tuple[float, float]:
    """The CPU seconds of a call, plain and compiled, after ten calls: medians of turns."""
    with ExitStack() as stack:
        stack.callback(SCALE.__setitem__, 0, SCALE[0])
        SCALE[0] = scale
        stack.enter_context(surrounded())
        running: list[Callable[[int], Any]] = []
        for compile in (Compile(None), Compile(torch.compile)):
            make = stack.enter_context(fresh(entry))
            running.append(make(compile)[0])
        for call in running:
            for number in range(WARMING):
                attempt(entry, call, number)
        wait_until_quiet()
        taken: tuple[list[float], list[float]] = [], []
        for number in range(WARMING, WARMING + MOST_ROUNDS):
            if number >= WARMING + rounds and sum(taken[0]) > MEASURED:
                break
            try:
                for which in (0, 1) if number % 2 else (1, 0):
                    begun = process_time()
                    attempt(entry, running[which], number)
                    taken[which].append(process_time() - begun)
            except Exception:  # it has trained until its numbers are of no use
                if number < WARMING + rounds:
                    raise
                break
    return median(taken[0]), median(taken[1])


def wait_until_quiet(most: float = 20.0) -> None:
    """Return when no other thread of this process computes or compiles any more."""
    while most > 0:
        begun = process_time()
        sleep(0.02)
        if process_time() - begun < 0.005:
            return
        most -= 0.02


def calls_possible(entry: Entry) -> int:
    """How many calls are made: some programs have fewer batches, or train until their numbers are of no use."""
    try:
        calls_of(entry, Compile(None), CALLS)
    except Exception:
        return max(entry.calls, WARMING)
    return CALLS


def status(entry: Entry, cost: bool, scale: int = 1) -> Status:
    """All that is known of an entry; costs are those of larger batches and nets, where the program can have them."""
    fault, compile = difference(entry, calls=calls_possible(entry), compared=max(entry.calls, WARMING))
    taken: tuple[float, ...] = ()
    if cost:
        try:
            taken = costs(entry, scale)
        except (RuntimeError, IndexError, ValueError):
            if scale == 1:
                raise
            taken = costs(entry, 1)
    return Status(entry, kind_of(entry, compile), reasons(compile), fault, *taken)


def summary(found: list[Status]) -> Iterator[str]:
    """The figures."""
    kinds = {kind: sum(one.kind == kind for one in found) for kind in ("replayed", "in parts", "partly", "python")}
    yield f"{len(found)} entries, {sum(one.fault is not None for one in found)} wrong"
    yield ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    compiled = kinds["replayed"] + kinds["in parts"]
    yield f"kernels run in compiled programs, whole or those of models, backward passes and updates: {compiled}"
    ratios = sorted(one.ratio for one in found if one.plain)
    if ratios:
        yield f"cost above 1.05 of at once: {sum(ratio > 1.05 for ratio in ratios)} of {len(ratios)}"
        late = sorted(one.ratio for one in found if one.plain and one.kind != "replayed") or [0.0]
        yield f"of those that are not replayed: median {median(late):.2f}, worst {late[-1]:.2f}"
