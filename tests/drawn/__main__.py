"""``python -m tests.drawn``: see the package."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import conftest

from .hunting import Group, Hunt, hunt, right_module, runnable
from .steps import FEATURES


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.drawn", description="Draw programs, and compare what they do.")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--programs", type=int, help="stop after so many (100, if no minutes are given)")
    parser.add_argument("--seed", default="1", help="where programs come from; begin in the middle by SEED:NUMBER")
    parser.add_argument("--only", default="", help=f"only these features, divided by commas: {', '.join(FEATURES)}")
    parser.add_argument("--replay", metavar="SEED:NUMBER", help="one program: print it, and how it differs")
    parser.add_argument("--left", action="store_true", help="print the groups that are left as they are, too")
    parser.add_argument("--current", type=Path, help="a file that holds the seed of the program being run")
    return parser.parse_args()


class Progress:
    """Prints each new group, and how far it is."""

    def __init__(self, show: bool, current: Path | None) -> None:
        self.show, self.current, self.told, self.begun, self.last = show, current, set(), time.monotonic(), 0.0

    def __call__(self, hunting: Hunt, seed: str, group: Group | None) -> None:
        if self.current is not None:
            self.current.write_text(f"after {seed}\n")
        if group is not None and id(group) not in self.told:
            self.told.add(id(group))
            if group.left is None:
                print(f"\n--- group {len(self.told)}, program {seed}: {group.key}\n{group.text()}", flush=True)
        now = time.monotonic() - self.begun
        if now - self.last > 60:
            self.last = now
            print(f"[{now / 60:.0f} min] {closing(hunting)}", file=sys.stderr, flush=True)
        conftest.give_memory_back()


def closing(hunting: Hunt) -> str:
    left = sum(group.left is not None for group in hunting.groups.values())
    runs = ", ".join(f"{mode} {count:,}" for mode, count in hunting.runs.items())
    return (f"{hunting.drawn:,} programs drawn; run {runs}; {hunting.differing:,} differ, "
            f"{len(hunting.groups) - left} groups, and {left} that are left as they are")  # fmt: skip


def main() -> int:
    options = arguments()
    hunting = Hunt(right_module(), frozenset(filter(None, options.only.split(","))))
    if options.replay:
        print(runnable(hunting.program(options.replay)), "\n")
        group = hunting.examine(options.replay)
        print(group.text() if group else "no difference")
        return int(group is not None)
    seed, _, start = options.seed.partition(":")
    count = options.programs or (None if options.minutes else 100)
    numbers = itertools.islice(itertools.count(int(start or 0)), count)
    hunt(hunting, (f"{seed}:{number}" for number in numbers), options.minutes, Progress(sys.stderr.isatty(), options.current))
    print("\n=== groups, by how many programs")
    for group in sorted(hunting.groups.values(), key=lambda group: -len(group.seeds)):
        if group.left is None or options.left:
            print(f"\n{len(group.seeds)} programs ({', '.join(group.seeds[:4])}): {group.key}{f' LEFT: {group.left}' if group.left else ''}\n{group.text()}")
    print(f"\n{closing(hunting)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
