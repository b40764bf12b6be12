"""Whether it pays to record what a thread computes, or is quicker to compute it as it comes.

Note [What is worth recording]
A program that is recorded costs more than its kernels do one by one: instructions are made, compared and run through,
and results wait in objects of their own. That is paid back when it comes again, by what is compiled of it. Many never
do: loops of random lengths, ``while x.item() > 0``, a shape for each example. So what a thread has recorded *in vain*
is counted, in instructions: of programs that are new, and of those that come again, but of which NumPy computes the few
kernels in less time than it takes to record them (``CachedProgram.pays``). After ``VAIN`` of them the thread
*computes as calls come*: its program waits (``Program.waits``), and runners and appliers call kernels. That is ended at
the end of a backward call, or of what else runs programs, when ``APART`` times as many calls have passed: a program has
to begin where the others do that it may be like. So a ninth of all is recorded in vain.

Calls that are new while a thread computes as calls come are planned as in immediate mode (``waiting_call`` in
``dispatch/codegen/runner.py``), with all that makes new lengths cheap there. A call that is recorded for other lengths
than one before costs more than others, and says that more such will come: it counts ``OTHER_LENGTHS`` times, and has
the program cut that much sooner.

A program that pays gives credit: the next ``CREDIT`` that are new are recorded, however long they are. Without credit
a program is *cut*, and run, when it has ``VAIN`` results, and what follows is computed as it comes: so the first step
of a long loop is not recorded, nor the second; in the third its beginning has come back, and that gives credit.

Nobody can tell but by the clock, or by the last digit where XLA has compiled programs. None of this is done where
kernels wait for XLA, that is on other devices than one CPU, of several processes, where all is to be deterministic, and
in captures (Note [Tiers] in ``tiers/tiered_kernel.py``).
"""

from __future__ import annotations

from tapegrad.execution.tiers.settings import in_background
from tapegrad.tape.mechanisms import RECORDING_POLICY

VAIN = 512
"""So many instructions are recorded in vain before the thread computes as calls come."""

PROGRAM = 16
"""As many instructions as a program costs besides its own: it is looked up, and results are looked for."""

OTHER_LENGTHS = 32
"""As many as a call costs besides that is planned for other lengths than one before."""

APART = 8
"""So many times what was recorded in vain is computed as it comes, at least, before a program is recorded again."""

MOST_APART = 1 << 16
"""So many calls are, if that is not more, where no backward call ends and nothing is run."""

CREDIT = 8
"""The number of programs that are recorded after one that pays, though they are new."""


def may_wait() -> bool:
    """Whether calls may be computed as they come."""
    return in_background() and not RECORDING_POLICY.off


class Prospects:
    """The gains and losses of a thread's programs so far. See Note [What is worth recording].

    Attributes:
        vain: how many instructions were recorded in vain since something paid.
        credit: how many programs are recorded yet, whatever they are.
        due: how many calls are left, at most, when a program is recorded again.
    """

    __slots__ = ("vain", "credit", "due")

    def __init__(self) -> None:
        self.vain = self.credit = self.due = 0

    def waits_after(self, count: int, paid: int, cut: bool) -> int:
        """The number of calls that are computed as they come after a program of ``count`` instructions; if it pays to
        record such programs, it was recorded ``paid`` times.
        """
        if paid > (2 if cut else 1):
            self.credit = CREDIT
            self.vain = self.vain if cut else 0
            return 0
        self.vain += count + PROGRAM
        self.credit = max(self.credit - 1, 0)
        if self.credit or self.vain < VAIN or not may_wait():
            return 0
        least, self.vain = APART * self.vain, 0
        waits = max(MOST_APART, 2 * least)
        self.due = waits - least
        return waits

    def still_wait(self, waits: int) -> int:
        """The same at a place where a program might begin, when calls have been computed as they came."""
        return waits if may_wait() and waits > self.due else 0
