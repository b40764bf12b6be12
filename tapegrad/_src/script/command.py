"""The command line: which script to run, and how."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType

import tapegrad
from tapegrad._src.script.comparing import compare
from tapegrad._src.script.recording import execute, profiled

DESCRIPTION = """\
Run a script that was written for PyTorch: the name torch, with all its modules, means tapegrad in it. Everything after
SCRIPT is the script's own. Without SCRIPT, a small network is trained on handwritten digits, as a demonstration; its
options are --device, --epochs, --seed and --out."""

WITH_VALUES = ("--execution", "--random")
FLAGS = ("--compare", "--profile", "-m", "-h", "--help")


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
    made.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as of python -m")
    made.add_argument("script", metavar="SCRIPT")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets")
    return made


def is_meant(argv: Sequence[str]) -> bool:
    """Tell whether a command line names a script, after options of ours; otherwise it is the demonstration's.

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
    if not given.module and not os.path.isfile(given.script):
        parser().error(f"there is no file {given.script}")
    if given.compare:
        if given.random == "jax":
            parser().error("--compare runs both libraries with PyTorch's random numbers; --random jax has others")
        return compare(given)
    tapegrad.install()  # until the process ends: threads and what runs at exit import torch, too
    with ExitStack() as stack:
        set_up(given, stack)
        run(given.script, given.arguments, as_module=given.module)
    return 0


def set_up(given: argparse.Namespace, stack: ExitStack) -> None:
    """Choose the execution and the random numbers, and begin the profile."""
    if given.execution:
        tapegrad.set_execution(given.execution)
    if given.random:
        tapegrad.random.use(given.random)
    if given.profile:
        stack.enter_context(profiled(tapegrad))


def run(script: str, arguments: Sequence[str], *, as_module: bool = False) -> None:
    """Run a script as Python itself would, or a module as ``python -m``; what it raises shows its own lines only."""
    try:
        execute(script, arguments, as_module)
    except BaseException:
        sys.excepthook = showing_its_own_lines(sys.excepthook)
        raise


def showing_its_own_lines(hook: Callable) -> Callable:
    """An ``excepthook`` that leaves out what isn't the script's: who called it, and what tapegrad did inside.

    With ``python -X dev`` the latter is shown.
    """

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        while traceback is not None and is_in(traceback, *RUNNERS):
            traceback = traceback.tb_next
        if not sys.flags.dev_mode:
            leave_out_insides(traceback)
            error.__context__ = not_from_inside(error.__context__)
        hook(kind, error.with_traceback(traceback), traceback)

    return show


PACKAGE = os.path.abspath(__file__).rpartition("_src")[0]
RUNNERS = os.path.join(PACKAGE, "_src", "script") + os.sep, os.path.join(PACKAGE, "__main__.py"), "<frozen runpy>"


def is_in(traceback: TracebackType, *places: str) -> bool:
    """Tell whether a line of a traceback is in one of some folders and files."""
    return traceback.tb_frame.f_code.co_filename.startswith(places)


def frames_of(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The lines of a traceback, the outermost first."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def leave_out_insides(traceback: TracebackType | None) -> None:
    """Let a traceback end where the package was called."""
    others = [one for one in frames_of(traceback) if not is_in(one, PACKAGE)]
    if others:
        others[-1].tb_next = None


def not_from_inside(context: BaseException | None) -> BaseException | None:
    """The error that was being handled when one was raised, but for what the package itself caught: that it had no
    plan."""
    while context is not None and context.__traceback__ is not None and is_in(context.__traceback__, PACKAGE):
        context = context.__context__
    return context
