"""Whether it pays to record what a thread computes, or is quicker to compute it as it comes.

Note [What is worth recording]
A program that is recorded costs more than its kernels do one by one: instructions are made, compared and run through,
and results wait in objects of their own. That is paid back when it comes again, by what is compiled of it. Many never
do: loops of random lengths, ``while x.item() > 0``, a shape for each example. So what a thread has recorded *in vain*
is counted, in instructions: of programs that are new, and of those that come again, but of which NumPy computes the few
kernels in less time than it takes to record them (``CachedProgram.pays``). After ``VAIN`` of them the thread
*computes as calls come*: its program waits (``Program.waits``), and runners and appliers call kernels. That is ended at
the end of a backward call, or of what else runs programs, when ``APART`` calls have passed: a program has to begin
where the others do that it may be like. Then it is recorded again, in vain perhaps, a ninth of all.

A program that pays gives credit: the next ``CREDIT`` that are new are recorded, however long they are. Without credit
a program is run when it has ``VAIN`` results, and what follows is computed as it comes: so the first step of a
long loop is not recorded, nor the second; in the third its beginning has come back, and that gives credit.

Nobody can tell but by the clock. None of this is done where kernels wait for XLA, that is on other devices than one
CPU, of several processes, where all is to be deterministic, and in captures (Note [Tiers] in ``tiering.py``).
"""

from __future__ import annotations

from tapegrad.execution.tiering import in_background

VAIN = 512
"""So many instructions are recorded in vain before the thread computes as calls come."""

PROGRAM = 16
"""As many instructions as a program costs besides its own: it is looked up, and results are looked for."""

APART = 8 * VAIN
"""So many calls are computed as they come, at least, before a program is recorded again."""

MOST_APART = 1 << 16
"""So many, if no backward call ends and nothing is run."""

CREDIT = 4
"""How many programs are recorded after one that pays, though they are new."""


class Prospects:
    """What a thread's programs have brought so far. See Note [What is worth recording].

    Attributes:
        vain: how many instructions were recorded in vain since something paid.
        credit: how many programs are recorded yet, whatever they are.
    """

    __slots__ = ("vain", "credit")

    def __init__(self) -> None:
        self.vain = self.credit = 0

    def waits_after(self, count: int, pays: bool) -> int:
        """How many calls are computed as they come after a program of ``count`` instructions, which may have paid."""
        if pays:
            self.vain, self.credit = 0, CREDIT
        elif self.credit:
            self.credit -= 1
        else:
            self.vain += count + PROGRAM
        if self.vain < VAIN or not in_background():
            return 0
        self.vain = 0
        return MOST_APART


def still_waits(waits: int) -> int:
    """How many calls are computed as they come after a place where a program might begin, of which so many were due."""
    return waits if in_background() and MOST_APART - waits < APART else 0
