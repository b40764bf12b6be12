"""The policy that says whether a thread records what it computes, or computes it as it comes.

Note [What is worth recording]
A program that is recorded costs more than its kernels do one by one: instructions are made, compared and run through,
and results wait in objects of their own. That is paid back when it comes again, by what is compiled of it. Many never
do: loops of random lengths, ``while x.item() > 0``, a shape for each example. So what a thread has *wasted*
is counted, in instructions: of programs that are new, and of those that come again, but of which NumPy computes the few
kernels in less time than it takes to record them (``CachedProgram.pays``). After ``WASTED`` of them the thread
*computes as calls come*: its program waits (``Program.suspended``), and runners and appliers call kernels. That is
ended at the end of a backward call, or of what else runs programs, when ``APART`` times as many calls have passed: a
program has to begin where the others do that it may be like. So a ninth of all is wasted.

Calls that are new while a thread computes as calls come are planned as in immediate mode (``waiting_call`` in
``dispatch/codegen/runner.py``), with all that makes new lengths cheap there. A call that is recorded for other lengths
than one before costs more than others, and says that more such will come: it counts ``OTHER_LENGTHS`` times, and has
the program cut that much sooner.

A program that pays adds to a budget: the next ``BUDGET`` that are new are recorded, however long they are. Without a
budget a program is *cut*, and run, when it has ``WASTED`` results, and what follows is computed as it comes: so the
first step of a long loop is not recorded, nor the second; in the third its beginning has come back, and that adds to a
budget.

Nobody can tell but by the clock, or by the last digit where XLA has compiled programs. None of this is done where
kernels wait for XLA, that is on other devices than one CPU, of several processes, where all is to be deterministic, and
in captures (Note [Tiers] in ``tiers/tiered_kernel.py``).
"""

from __future__ import annotations

from tapegrad._src.execution.tiers.settings import in_background
from tapegrad._src.tape.mechanisms import RECORDING_POLICY

WASTED = 512
"""So many instructions are wasted before the thread computes as calls come."""

PROGRAM = 16
"""As many instructions as a program costs besides its own: it is looked up, and results are looked for."""

OTHER_LENGTHS = 32
"""As many as a call costs besides that is planned for other lengths than one before."""

APART = 8
"""So many times what was wasted is computed as it comes, at least, before a program is recorded again."""

MOST_APART = 1 << 16
"""So many calls are, if that is not more, where no backward call ends and nothing is run."""

BUDGET = 8
"""The number of programs that are recorded after one that pays, though they are new."""


def may_suspend() -> bool:
    """Tell whether calls may be computed as they come."""
    return in_background() and not RECORDING_POLICY.off


class RecordingPolicy:
    """The gains and losses of a thread's programs so far. See Note [What is worth recording].

    Attributes:
        wasted: how many instructions were wasted since something paid.
        budget: how many programs are recorded yet, whatever they are.
        due: how many calls are left, at most, when a program is recorded again.
    """

    __slots__ = ("wasted", "budget", "due")

    def __init__(self) -> None:
        self.wasted = self.budget = self.due = 0

    def suspended_after(self, count: int, paid: int, cut: bool) -> int:
        """The number of calls that are computed as they come after a program of ``count`` instructions; if it pays to
        record such programs, it was recorded ``paid`` times.
        """
        if paid > (2 if cut else 1):
            self.budget = BUDGET
            self.wasted = self.wasted if cut else 0
            return 0
        self.wasted += count + PROGRAM
        self.budget = max(self.budget - 1, 0)
        if self.budget or self.wasted < WASTED or not may_suspend():
            return 0
        least, self.wasted = APART * self.wasted, 0
        suspended = max(MOST_APART, 2 * least)
        self.due = suspended - least
        return suspended

    def still_suspended(self, suspended: int) -> int:
        """The same at a place where a program might begin, when calls have been computed as they came."""
        return suspended if may_suspend() and suspended > self.due else 0
