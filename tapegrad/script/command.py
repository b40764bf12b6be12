"""The command line: which script to run, and how."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import tapegrad
from tapegrad.script.comparing import compare

DESCRIPTION = """\
Run a script that was written for PyTorch: the name torch, with all its modules, means tapegrad in it. Everything after
SCRIPT is the script's own. Without SCRIPT, a small network is trained on handwritten digits, as a demonstration; its
options are --device, --epochs, --seed and --out."""

WITH_VALUES = ("--execution", "--random")
FLAGS = ("--compare", "--profile", "-h", "--help")


def parser() -> argparse.ArgumentParser:
    """The options that come before the script."""
    made = argparse.ArgumentParser(prog="python -m tapegrad", description=DESCRIPTION, allow_abbrev=False)
    made.add_argument("--execution", choices=("immediate", "deferred"), help="how operators are computed")
    made.add_argument("--random", choices=("jax", "pytorch"), help="which numbers a seed stands for")
    made.add_argument(
        "--compare",
        action="store_true",
        help="run it on the installed PyTorch as well, with the same seed and PyTorch's random numbers, and print both "
        "loss curves, and where they part",
    )
    made.add_argument("--profile", action="store_true", help="print at the end what took how long")
    made.add_argument("script", metavar="SCRIPT", type=Path)
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets")
    return made


def is_meant(argv: Sequence[str]) -> bool:
    """Whether a command line names a script, after options of ours; otherwise it is the demonstration's.

    >>> is_meant(["--random", "pytorch", "train.py", "--epochs", "3"]), is_meant(["--epochs", "3"]), is_meant([])
    (True, False, False)
    """
    rest = iter(argv)
    for word in rest:
        if not word.startswith("-"):
            return True
        if word in WITH_VALUES:
            next(rest, None)
        elif word not in FLAGS and word.partition("=")[0] not in WITH_VALUES:
            return False
    return "-h" in argv or "--help" in argv


def main(argv: Sequence[str]) -> int:
    """Run the script; the exit status is its own."""
    given = parser().parse_args(argv)
    if not given.script.is_file():
        parser().error(f"there is no file {given.script}")
    if given.compare:
        return compare(given)
    with ExitStack() as stack:
        stack.enter_context(tapegrad.install())
        set_up(given, stack)
        run(given.script, given.arguments)
    return 0


def set_up(given: argparse.Namespace, stack: ExitStack) -> None:
    """Choose the execution and the random numbers, and begin the profile."""
    if given.execution:
        tapegrad.set_execution(given.execution)
    if given.random:
        tapegrad.random.use(given.random)
    if given.profile:
        profile = tapegrad.profiler.profile(with_modules=True)
        stack.callback(lambda: print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=20)))
        stack.enter_context(profile)


def run(script: Path, arguments: Sequence[str]) -> None:
    """Run a script as Python itself would: its folder comes first on the path, it is ``__main__``."""
    argv, path = sys.argv[:], sys.path[:]
    sys.argv, sys.path = [str(script), *arguments], [os.path.abspath(script.parent), *path[1:]]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path = argv, path
