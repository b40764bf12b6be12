"""Whether two processes compute the same bits.

Note [Two processes]
A program must give the same bits in every run. So programs that were drawn are run once more by two fresh processes, in
the order and the modes in which the hunt ran them; each has tapegrad as users have it (the hunt has its own settings)
and nothing else, so that a process has called what the other has. Both run at once, for what depends on time to
differ. Of all that can be seen of a program in a mode, each writes down a digest by name; where these differ the
program belongs to a group of its own, "bits". (Programs have few numbers; steps that are "repeated" have more, for
what is only then run in several ways.)
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad

from .modes import as_deferred, calls_as_step, modes_of
from .playing import Player, play

SET_BY_TESTS = "XLA_FLAGS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
"""What the tests' settings put into the environment, and users have not."""


def calls(text: str) -> Any:
    """What can be seen of a program that is compiled as a step."""
    return calls_as_step(tapegrad, text, lambda function: tapegrad.compile(function, fullgraph=False))


def several(text: str, times: int) -> list[Any]:
    with as_deferred():
        return [play(Player(tapegrad), text, watched=False) for _ in range(times)]


SEEN: dict[str, Callable[[str], Any]] = {
    "at once": lambda text: play(Player(tapegrad), text),
    "deferred": lambda text: several(text, 1),
    "remembered": lambda text: several(text, 4),
    "compiled": calls,
}
"""What can be seen of a program in a mode."""


def digests(item: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """The digest of each thing in what was seen, by where it is."""
    if isinstance(item, dict):
        for key, part in item.items():
            yield from digests(part, f"{where}.{key}")
    elif isinstance(item, (list, tuple)):
        for number, part in enumerate(item):
            yield from digests(part, f"{where}[{number}]")
    elif isinstance(item, np.ndarray):
        yield where, f"{item.dtype} {item.shape} {hashlib.sha1(np.ascontiguousarray(item).tobytes()).hexdigest()[:16]}"
    else:
        yield where, repr(item)


def answer(mode: str, text: str) -> dict[str, str]:
    tapegrad.manual_seed(0)
    try:
        return dict(digests(SEEN[mode](text)))
    except Exception as error:  # the machine's own; it is compared, too
        return {"": type(error).__name__}


def replay(programs: Path, written: Path) -> None:
    """Run programs, and write down what each looks like."""
    with written.open("w") as file:
        for line in programs.read_text().splitlines():
            seed, text = json.loads(line)
            for mode in modes_of(seed):
                if mode in SEEN:
                    file.write(json.dumps([seed, mode, answer(mode, text)]) + "\n")


@dataclass
class Comparison:
    """What two processes computed.

    Attributes:
        runs: how many programs were compared, by mode.
        differing: the seeds of programs whose bits differ, by mode, and where they do so first.
        statuses: how the processes ended.
        texts: the programs, by seed.
    """

    runs: Counter[str] = field(default_factory=Counter)
    differing: list[tuple[str, str, str]] = field(default_factory=list)
    statuses: tuple[int, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        runs = ", ".join(f"{mode} {count:,}" for mode, count in self.runs.items())
        lines = [f"two processes, bit by bit: {runs}; {len(self.differing)} differ"]
        lines += [f"  bits: program {seed}, {mode}: {where}" for seed, mode, where in self.differing]
        lines += [f"  a process ended with {status}" for status in self.statuses if status]
        for mode in self.runs:  # nothing smaller is tried: what was called before is a part of the program
            differing = [self.texts.get(seed, "") for seed, how, _ in self.differing if how == mode]
            lines += [f"\n--- the shortest, {mode}:\n{min(differing, key=len)}"] if differing else []
        return "\n".join(lines)


def compared(first: Path, second: Path) -> Comparison:
    """Compare what two processes wrote down."""
    found = Comparison()
    for one, other in zip(first.read_text().splitlines(), second.read_text().splitlines(), strict=False):
        (seed, mode, ours), (*_, theirs) = json.loads(one), json.loads(other)
        found.runs[mode] += 1
        if ours != theirs:
            where = next(name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name))
            found.differing.append((seed, mode, f"{where}: {ours.get(where)}, and {theirs.get(where)}"))
    return found


def in_two_processes(programs: Path) -> Comparison:
    """See Note [Two processes]."""
    written = [programs.with_name(f"bits{number}") for number in (1, 2)]
    environment = {name: value for name, value in os.environ.items() if name not in SET_BY_TESTS}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-W", "ignore", "-m", __name__, str(programs)]
    processes = [subprocess.Popen([*command, str(file)], env=environment) for file in written]
    try:
        statuses = tuple(process.wait() for process in processes)
    finally:
        for process in processes:
            process.terminate()
    found = compared(*written)
    found.statuses = statuses
    found.texts = dict(json.loads(line) for line in programs.read_text().splitlines())
    return found


if __name__ == "__main__":
    replay(Path(sys.argv[1]), Path(sys.argv[2]))
