"""``python -m tests.drawn``: see the package.

Note [Crashes]
Some programs crash PyTorch. So a hunt is a process of its own, which keeps what it has found in a folder; where it ends
by a signal, another goes on with the next program, and the seed is told.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import conftest

from . import bits
from .hunting import Group, Hunt, hunt, right_module, runnable
from .steps import FEATURES


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.drawn", description="Draw programs, and compare what they do."
    )
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--programs", type=int, help="stop after so many (100, if no minutes are given)")
    parser.add_argument("--seed", default="1", help="where programs come from; begin in the middle by SEED:NUMBER")
    parser.add_argument("--only", default="", help=f"only these features, divided by commas: {', '.join(FEATURES)}")
    parser.add_argument("--replay", metavar="SEED:NUMBER", help="one program: print it, and how it differs")
    parser.add_argument("--left", action="store_true", help="print the groups that are left as they are, too")
    parser.add_argument("--bits", type=float, default=0.1, metavar="SHARE",
                        help="of how many programs two processes are compared bit by bit (a tenth)")  # fmt: skip
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


class Kept:
    """A hunt as it is kept in a folder. See Note [Crashes]."""

    def __init__(self, folder: Path, hunting: Hunt, share: float = 0.0) -> None:
        self.state, self.current, self.programs = folder / "state", folder / "current", folder / "programs"
        self.hunting, self.share, self.begun = hunting, share, time.time()
        hunting.tell = self.keep

    def load(self) -> None:
        """Go on where another process ended."""
        if self.state.exists():
            self.begun, found = pickle.loads(self.state.read_bytes())
            self.hunting.found(found)

    def keep(self, seed: str, text: str) -> None:
        """Write programs down of which two processes are compared: Note [Two processes] in ``bits.py``."""
        if Random(f"bits {seed}").random() < self.share:
            with self.programs.open("a") as file:
                file.write(json.dumps([seed, text]) + "\n")

    def save(self) -> None:
        self.state.write_bytes(pickle.dumps((self.begun, self.hunting.kept())))

    def each(self, seeds: Iterator[str]) -> Iterator[str]:
        """The seeds, but for those that were drawn before."""
        last = self.current.read_text() if self.current.exists() else None
        if last is not None:
            seeds = itertools.islice(itertools.dropwhile(lambda seed: seed != last, seeds), 1, None)
        for seed in seeds:
            self.current.write_text(seed)
            yield seed


class Progress:
    """Prints each new group, and how far it is."""

    def __init__(self, kept: Kept) -> None:
        self.kept, self.told, self.last = kept, {id(group) for group in kept.hunting.groups.values()}, time.time()

    def __call__(self, hunting: Hunt, seed: str, group: Group | None) -> None:
        if group is not None and id(group) not in self.told:
            self.told.add(id(group))
            if group.left is None:
                print(f"\n--- program {seed}: {group.key}\n{group.text()}", flush=True)
        if group is not None or hunting.drawn % 20 == 0:
            self.kept.save()
        now = time.time()
        if now - self.last > 60:
            self.last = now
            print(f"[{(now - self.kept.begun) / 60:.0f} min] {closing(hunting)}", file=sys.stderr, flush=True)
        conftest.give_memory_back()


def closing(hunting: Hunt) -> str:
    left = sum(group.left is not None for group in hunting.groups.values())
    runs = ", ".join(f"{mode} {count:,}" for mode, count in hunting.runs.items())
    return (f"{hunting.drawn:,} programs drawn; run {runs}; {hunting.differing:,} differ, "
            f"{len(hunting.groups) - left} groups, and {left} that are left as they are")  # fmt: skip


def by_feature(hunting: Hunt) -> str:
    """How many programs drew from each feature, and how many of them differ."""
    lines = [f"{'programs by feature':<22} {'run':>7} {'differ':>7} {'left':>7}"]
    for name, count in hunting.features.most_common():
        lines.append(f"{name:<22} {count:>7,} {hunting.differ_by[name]:>7,} {hunting.left_by[name]:>7,}")
    return "\n".join(lines)


def replay(hunting: Hunt, seed: str) -> int:
    print(runnable(hunting.program(seed)), "\n", flush=True)
    group = hunting.examine(seed)
    print(group.text() if group else "no difference")
    if group is not None and group.left is not None:
        print(f"LEFT: {group.left}")
    return int(group is not None and group.left is None)


def run(options: argparse.Namespace) -> int:
    """Hunt, and tell what was found."""
    hunting = Hunt(right_module(), frozenset(filter(None, options.only.split(","))))
    if options.replay:
        return replay(hunting, options.replay)
    kept = Kept(options.folder, hunting, options.bits)
    kept.load()
    seed, _, start = options.seed.partition(":")
    count = options.programs or (None if options.minutes else 100)
    numbers = itertools.islice(itertools.count(int(start or 0)), count)
    minutes = None if options.minutes is None else options.minutes - (time.time() - kept.begun) / 60
    hunt(hunting, kept.each(f"{seed}:{number}" for number in numbers), minutes, Progress(kept))
    print("\n=== groups, by how many programs")
    for group in sorted(hunting.groups.values(), key=lambda group: -len(group.seeds)):
        if group.left is None or options.left:
            why = f" LEFT: {group.left}" if group.left else ""
            print(f"\n{len(group.seeds)} programs ({', '.join(group.seeds[:4])}): {group.key}{why}\n{group.text()}")
    print(f"\n{by_feature(hunting)}\n\n{closing(hunting)}", flush=True)
    return 0


def ended(command: list[str]) -> int:
    """Run a process, and tell how it ended. It is ended when this one is."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    finally:
        process.terminate()


def main() -> int:
    """Run hunts in processes of their own until one ends by itself."""
    options = arguments()
    if options.folder is not None or options.replay:
        return run(options)
    crashed = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", "-m", f"{__package__}", *sys.argv[1:], "--folder", folder]
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and the hunt with it
        while (status := ended(command)) < 0:
            crashed.append(f"{Path(folder, 'current').read_text()} (signal {-status})")
            print(f"\n--- crashed: program {crashed[-1]}", flush=True)
        programs = Path(folder, "programs")
        if programs.exists():
            print(bits.in_two_processes(programs).text(), flush=True)
    if crashed:
        print(f"{len(crashed)} programs crashed: {', '.join(crashed)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
