"""The process of one contestant: it trains a model, says what that took, and measures steps when it is told to.

``python -m benchmarks.whole.process '{"model": ..., "who": ..., "began": ...}'`` is started by ``measuring.py``.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from importlib import import_module
from time import monotonic, perf_counter, process_time
from typing import Any

from benchmarks.fresh import EAGER, highest, resident
from benchmarks.timing import Contestant
from benchmarks.whole.contestants import JAX_JIT, LIBRARIES, TORCH_COMPILE, Running, running
from benchmarks.whole.growth import named

STEPS = 10
"""Steps after which a process says what it has taken so far."""

MEASURED = 0.1
"""Seconds that a measurement takes at least, of as many steps as that needs."""


@dataclass(frozen=True)
class Question:
    """A contestant, and what it is to do.

    Attributes:
        model: its name.
        who: a key of ``LIBRARIES``.
        began: ``time.monotonic()`` when the process was started.
        cpu: whether seconds are those of the CPU.
        quick: whether models are small.
        cache: a directory with what was compiled before, or an empty text.
        stays: whether it measures peaks and steps after the first ones.
    """

    model: str
    who: str
    began: float
    cpu: bool = False
    quick: bool = False
    cache: str = ""
    stays: bool = True

    def text(self) -> str:
        """The question as an argument of a command."""
        return json.dumps(asdict(self))

    def seconds(self) -> float:
        """Seconds since the command was given: of the CPU, of all threads, or of the clock on the wall."""
        return process_time() if self.cpu else monotonic() - self.began


def begun(question: Question) -> float:
    """Import the library and compute a little; the memory of the process then, in MiB."""
    library = import_module(LIBRARIES[question.who])
    if question.cache:
        keep(library, question)
    ones = library.numpy.ones(2) if question.who == JAX_JIT else library.ones(2)
    ones.sum().item()
    return resident()


def keep(library: Any, question: Question) -> None:
    """Have what is compiled kept in the cache, and taken from there."""
    if question.who == JAX_JIT:
        library.config.update("jax_compilation_cache_dir", question.cache)
        library.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        library.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    elif question.who not in (EAGER, TORCH_COMPILE):
        library.execution.persistent_cache(question.cache)


def first_steps(question: Question, contestant: Running) -> dict[str, Any]:
    """Take the first ten steps: seconds since the command until the first loss and until the tenth, and all losses."""
    losses = contestant.steps(1)
    first = question.seconds()
    losses += contestant.steps(STEPS - 1)
    return {"first loss": first, "tenth step": question.seconds(), "losses": losses}


def peaks(contestant: Running, before: float) -> dict[str, float]:
    """Memory in MiB: the most that the process has had, what of it came with the steps, and the most in later ones."""
    for _ in range(3):
        contestant.wait()
        contestant.steps(3)
    process = highest()
    forget_highest()
    contestant.steps(3)
    return {"process": process, "step": process - before, "later": highest()}


def forget_highest() -> None:
    """Have the system count anew, if it can."""
    if sys.platform == "linux":
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")


def measuring(contestant: Running, cpu: bool) -> Contestant:
    """The contestant as one that is timed; a call is as many steps as take a tenth of a second."""
    start = perf_counter()
    contestant.steps(2)
    count = max(1, min(50, math.ceil(2 * MEASURED / (perf_counter() - start))))
    return Contestant("", lambda: (contestant.steps(count), contestant.wait()), count, cpu)


def main() -> None:
    """Live, and answer."""
    question = Question(**json.loads(sys.argv[1]))
    before = begun(question)
    contestant = running(named(question.model, question.quick), question.who)
    told = first_steps(question, contestant)
    if question.stays:
        told |= peaks(contestant, before)
        timed = measuring(contestant, question.cpu)
        tell(told | {"steps": timed.units})
        for _ in sys.stdin:
            tell(timed.seconds())
    else:
        contestant.wait()  # what is compiled in the background is kept, too
        tell(told)


def tell(answer: Any) -> None:
    """Say something to the process that has asked."""
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
