"""Models measured: a process for each contestant, with a start that is cold, and turns that they take after it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from benchmarks.fresh import EAGER, ROOT, environment, on_one_core
from benchmarks.timing import Contestant, Timing, take_turns
from benchmarks.whole.contestants import JAX_JIT, LIBRARIES, TORCH_COMPILE
from benchmarks.whole.process import Question

BUDGET = 6.0
"""Seconds after which a contestant has been measured often enough, if that was three times."""

Found = dict[str, dict[str, Any]]
"""By contestant what was measured: see ``numbers``."""


@dataclass(frozen=True)
class Apart(Contestant):
    """A contestant in a process of its own, which measures itself when it is told to."""

    process: subprocess.Popen | None = None

    def seconds(self) -> float:
        """The seconds of one call there."""
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        return answer(self.name, self.process)


def answer(who: str, process: subprocess.Popen) -> Any:
    """The next answer of a process.

    Raises:
        RuntimeError: it has ended; it has printed why.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{who}: the process failed")
    return json.loads(line)


def started(question: Question) -> subprocess.Popen:
    """A process for a question, on one core if seconds are those of the CPU."""
    with on_one_core() if question.cpu else nullcontext():
        asked = replace(question, began=monotonic())
        command, pipe = [sys.executable, "-m", "benchmarks.whole.process", asked.text()], subprocess.PIPE
        on_cpu = environment() | {"JAX_PLATFORMS": "cpu"}
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=on_cpu)


@contextmanager
def asked(question: Question) -> Iterator[tuple[subprocess.Popen, dict[str, Any]]]:
    """A process and its first answer; it ends with the block."""
    process = started(question)
    try:
        yield process, answer(f"{question.model}, {question.who}", process)
    finally:
        process.communicate()


def available(compiler: bool = False) -> list[str]:
    """The contestants whose library is there; PyTorch's compiler only if it is wanted."""
    found = [who for who, library in LIBRARIES.items() if importlib.util.find_spec(library)]
    return [who for who in found if compiler or who != TORCH_COMPILE]


def in_turns(question: Question, everybody: Iterable[str], rounds: int) -> Found:
    """Measure a model: first steps and memory one after the other, then steps in turns."""
    with ExitStack() as stack:
        told, contestants = {}, []
        for who in everybody:
            process, told[who] = stack.enter_context(asked(replace(question, who=who)))
            contestants.append(Apart(who, int, told[who]["steps"], process=process))
        timings = take_turns(contestants, rounds=rounds, warmups=2, budget=BUDGET)
    return {who: numbers(who, timings) | told[who] for who in told}


def numbers(who: str, timings: dict[str, Timing]) -> dict[str, Any]:
    """The seconds of a step, and how many times as long it takes as that of the peers that are there."""
    mine = timings[who]
    ratios = {peer: mine.ratio_to(timings[peer]) for peer in (EAGER, JAX_JIT) if peer in timings}
    return {"seconds": mine.median, "least": mine.least, "rounds": list(mine.seconds), "ratios": ratios}


def with_caches(question: Question, everybody: Iterable[str]) -> Found:
    """The first steps of processes that find on disk what another one has compiled and kept there."""
    found = {}
    for who in everybody:
        with tempfile.TemporaryDirectory() as directory:
            for _ in range(2):
                with asked(replace(question, who=who, cache=directory, stays=False)) as (_, told):
                    found[who] = {f"{what}, caches": told[what] for what in ("first loss", "tenth step")}
    return found


def measured(question: Question, everybody: list[str], rounds: int) -> Found:
    """All that is measured of a model."""
    found = in_turns(question, everybody, rounds)
    keeping = [who for who in everybody if who not in (EAGER, TORCH_COMPILE)]
    for who, told in with_caches(question, keeping).items():
        found[who] |= told
    return found
