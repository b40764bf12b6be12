"""Processes that have done nothing yet but import a library: they are forked by one that waits, a *nursery*.

So what is measured is cold, and is not charged for the import. Seconds are those of the CPU, of all threads: a nursery
keeps to one core, where they are what a clock shows as long as nobody else is there, and a busy machine prolongs them
less. Who has used up his seconds is ended by the system, wherever he is: in a compiler, too.

Modules whose functions are run here import nothing that is measured; what they need they import when they run.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

IMMEDIATE, DEFERRED, EAGER, JAX = "tapegrad immediate", "tapegrad deferred", "PyTorch eager", "JAX"

LIBRARIES = {IMMEDIATE: "tapegrad", DEFERRED: "tapegrad", EAGER: "torch", JAX: "jax"}
"""Who is measured, and what a program imports for it."""

UNWANTED = ("PYTHONDONTWRITEBYTECODE", "JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS", "TAPEGRAD_EXECUTION")
"""Variables of the environment that would make a process another one than a user starts."""

NOTHING_KEPT = {"TAPEGRAD_CACHE_DIR": ""}
"""What has a process write anew what another one has written."""

PATIENCE = 20
"""How many times its limit a process may take by the clock."""


def environment() -> dict[str, str]:
    """The variables of a process that a user starts."""
    return {name: value for name, value in os.environ.items() if name not in UNWANTED} | NOTHING_KEPT


def one_core() -> set[int]:
    """Keep this thread, and whatever it starts, on one core; returns those that it was on."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if before:
        os.sched_setaffinity(0, {max(before)})
    return before


@contextmanager
def on_one_core() -> Iterator[None]:
    """Processes that are started in the block have one core, if the system can keep them on one."""
    before = one_core()
    try:
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)


def again_on_one_core() -> None:
    """Start this command again on one core, if it has more: libraries count cores when they are imported."""
    if len(one_core()) > 1:
        os.execv(sys.executable, sys.orig_argv)


def found() -> list[str]:
    """Who can be measured here."""
    return [who for who, library in LIBRARIES.items() if importlib.util.find_spec(library)]


class Nursery:
    """A process that has imported what ``who`` needs, and forks for each question.

    Args:
        module: ``python -m module who`` calls ``serve``.
        who: a key of ``LIBRARIES``.
    """

    def __init__(self, module: str, who: str) -> None:
        on_cpu = environment() | {"JAX_PLATFORMS": "cpu"}
        command, pipe = [sys.executable, "-m", module, who], subprocess.PIPE
        with on_one_core():
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=on_cpu)
        self.who = who

    def ask(self, limit: float, *question: Any) -> dict[str, Any] | None:
        """What a fresh process answers, or None if it had not ended after ``limit`` seconds.

        Raises:
            RuntimeError: it failed; it has printed why.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([limit, *question]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.who}: the process failed at {', '.join(map(str, question))}")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


@contextmanager
def nurseries(module: str, everybody: list[str]) -> Iterator[dict[str, Nursery]]:
    """A nursery for each; they end with the block."""
    opened = {who: Nursery(module, who) for who in everybody}
    try:
        yield opened
    finally:
        for one in opened.values():
            one.close()


# -- in the nursery ----------------------------------------------------------------------------------------------------


def serve(answer: Any) -> None:
    """Answer the questions that come in, each by ``answer(who, *question)`` in a fork."""
    who = sys.argv[1]
    import_module("jax.numpy" if who == JAX else LIBRARIES[who])
    gc.collect()
    gc.freeze()  # a fork that collected garbage would copy all that was imported
    for line in sys.stdin:
        limit, *question = json.loads(line)
        child = os.fork()
        if not child:
            limited(limit)
            print(json.dumps(answer(who, *question)), flush=True)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status in (-signal.SIGPROF, -signal.SIGALRM):
            print("null", flush=True)
        elif status:
            sys.exit(1)


def limited(seconds: float) -> None:
    """Have the system end this process when it has used up its seconds."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds)


def started(who: str) -> Any:
    """What ``who`` computes with, a module that speaks PyTorch's language or jax, after it has summed two numbers."""
    if who == JAX:
        jax = import_module("jax")
        float(jax.numpy.ones(2).sum())
        return jax
    torch = import_module(LIBRARIES[who])
    if who == EAGER:
        torch.set_num_threads(1)
    if who == DEFERRED:
        torch.set_execution("deferred")
    torch.ones(2).sum().item()
    return torch


def cpu_seconds() -> float:
    """The seconds of all threads so far; finer than ``time.process_time`` where seconds are limited."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident() -> float:
    """The memory that this process has now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def highest() -> float:
    """The most memory that this process has had so far, in MiB.

    Where the system says it of this program alone: ``getrusage`` counts what was there before it, in the process that
    has started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
