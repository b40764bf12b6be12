"""Mechanisms that make calls cheap, by names under which each can be switched off, to see what it buys.

Note [Mechanisms]
Much is remembered of calls, and worked out for many at once. None of it changes what a program computes, but for last
digits where NumPy or XLA takes another way. So that anybody can measure whether it pays, each such mechanism has a
name here, and asks ``off`` where it would make or keep something, never where that is looked up. Which are off is a
field of the modes (``Modes.without``): plans, kernels, programs and compiled steps are kept under other keys then. So a
block under ``without`` finds nothing that was made outside, nor the other way round; and what is on costs nothing more.
``python -m benchmarks --ablate`` measures all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tapegrad._src.tape.modes import thread
from tapegrad.errors import message


class Mechanism:
    """Something that can be switched off, a mode of the thread.

    Args:
        name: what users call it.
        sentence: what it does.
        writes: whether functions that are written for the host are others without it.

    Attributes:
        switch: what switches it off besides, for the whole process: a context manager.
    """

    __slots__ = ("name", "sentence", "writes", "switch")

    def __init__(self, name: str, sentence: str, *, writes: bool = False) -> None:
        self.name, self.sentence, self.writes = name, sentence, writes
        self.switch: Callable | None = None
        _registered[name] = self

    @property
    def off(self) -> bool:
        """True if it is switched off in this thread."""
        return self.name in thread.modes.without


_registered: dict[str, Mechanism] = {}

SHAPE_CLASSES = Mechanism("shape classes", "A kernel is traced once for all lengths: those that change are symbols.")
PLAN_TEMPLATES = Mechanism("plan templates", "The plan of a new length is cast from the plan of another one.")
SYMBOLIC_KERNELS = Mechanism(
    "symbolic kernels", "One function of the host runs small calls of all lengths, without a kernel for each."
)
DYNAMIC_SETTINGS = Mechanism(
    "dynamic settings", "A setting that is another number at each call is an operand of one plan."
)
MANY_OPERANDS = Mechanism(
    "many operands", "Calls with hundreds of tensors, as of stack and unbind, are made by a loop, with no trace."
)
SHIPPED_CLASSES = Mechanism(
    "shipped classes", "What is traced and written for small calls of any lengths comes with the package."
)
DISK_CACHE = Mechanism("disk cache", "What was traced and written for calls is kept on disk for the next process.")
FLAT_TRACES = Mechanism(
    "flat traces", "A kernel is traced without a jaxpr for each jitted function that it calls.", writes=True
)
STEADY_ROWS = Mechanism(
    "steady rows", "Softmax takes exponentials of numbers as they are, where the sums show no loss.", writes=True
)
WINOGRAD = Mechanism(
    "winograd", "NumPy convolves by kernels of three by three with a quarter of the multiplications.", writes=True
)
NUMPY_BACKEND = Mechanism("numpy backend", "On a CPU small calls, and the first large ones, are run by NumPy.")
STRIPS = Mechanism(
    "strips", "NumPy computes large row-wise kernels strip by strip, in a core's cache, and on all cores."
)
BACKGROUND_COMPILING = Mechanism(
    "background compiling", "XLA compiles on a thread of its own, while calls go on by NumPy."
)
RESTING_BLAS = Mechanism("resting BLAS", "Threads of BLAS's sleep between products, and leave the cores to other ones.")
FORESEEN_KEYS = Mechanism(
    "foreseen keys", "Bits for a few random numbers are computed together with those of the draws that follow."
)
CALL_CACHE = Mechanism(
    "call cache", "A call of a public function that comes back runs its operator's plan without looking at arguments."
)
VIEW_CACHE = Mechanism(
    "view cache",
    "A view of a tensor of a spec that had one before is made without working out again where it lies.",
)
WRITE_CACHE = Mechanism(
    "write cache", "A write that comes back, by a method or to a part, is made without more checks."
)
FUSED_UPDATES = Mechanism(
    "fused updates", "Optimizers update small parameters behind one another as one array, large ones in their memory."
)
CACHED_BACKWARD = Mechanism(
    "cached backward", "A backward pass in deferred mode that comes back is appended to the program, and not walked."
)
RECORDING_POLICY = Mechanism(
    "recording policy", "What never comes back is not recorded for long in deferred mode, but computed as it comes."
)
RELEASING = Mechanism("releasing", "A program that runs lets go of what nothing in it reads any more.")
GIVING_BACK = Mechanism(
    "giving back", "Memory that was freed goes back to the system after steps of training, and before a large program."
)
BATCHING = Mechanism("batching", "A program of thousands of tiny results is run as a few wide calls.")
LOOP_CARRY = Mechanism(
    "loop carry", "What goes through a loop is given out by a program, so that XLA computes it once."
)
SCANNED_LOOPS = Mechanism(
    "scanned loops", "Long loops of a compiled step are loops of XLA's, of which one period is compiled."
)
COMPILED_UPDATES = Mechanism(
    "compiled updates", "Where a step can't be replayed, updates of its optimizers are compiled by themselves."
)


def written_without() -> list[str]:
    """The names of mechanisms that are off of which it depends what is written for the host."""
    return sorted(name for name in thread.modes.without if _registered[name].writes)


def mechanisms() -> dict[str, str]:
    """The names of all mechanisms that ``without`` can switch off, with a sentence about each.

    >>> torch.execution.mechanisms()["view cache"]
    'A view of a tensor of a spec that had one before is made without working out again where it lies.'
    """
    return {name: one.sentence for name, one in _registered.items()}


def without(*names: str) -> Any:
    """Switch mechanisms off in a block, or in the calls of a function that is decorated, to see what they buy.

    It holds for this thread, and for what works on its behalf; "numpy backend", "background compiling" and "resting
    BLAS" are switched off for the whole process. What was made before is left aside, and found again when the block
    ends. Blocks nest: an inner one switches off more, and its end restores what was.

    Args:
        names: some of ``mechanisms()``.

    Raises:
        ValueError: there is no mechanism of such a name.

    >>> with torch.execution.without("shape classes", "call cache"):
    ...     torch.ones(3).sum()
    tensor(3.)
    """
    unknown = [name for name in names if name not in _registered]
    if unknown:
        expected = ", ".join(map(repr, _registered))
        got = ", ".join(map(repr, unknown))
        raise ValueError(message("no such mechanism", expected=f"some of {expected}", got=got))
    return _switched_off(names)


@contextmanager
def _switched_off(names: tuple[str, ...]) -> Iterator[None]:
    before = thread.modes.without
    with ExitStack() as stack:
        for switch in [_registered[name].switch for name in names if name not in before]:
            if switch is not None:
                stack.enter_context(switch())
        thread.modes = thread.modes.replace(without=before.union(names))
        try:
            yield
        finally:
            thread.modes = thread.modes.replace(without=before)
