"""Interrupts at every instant at which Python may raise one: after calls and jumps back, and where a function begins.

A timer finds such an instant by chance. Here a tracer goes through the instructions of tapegrad's functions, and raises
``KeyboardInterrupt`` where CPython would look for signals. It leaves out ``list.append``, after which CPython does not
look once it has specialised the call, and ``__exit__``, which nobody can protect before it begins.
"""

import dis
import sys
from functools import cache

OURS = ("/tapegrad/", "<written function>")


@cache
def looking(code):
    """The offsets of the instructions after which Python looks for signals."""
    found, method = set(), None
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name.startswith("LOAD_"):
            method = instruction.argval if name in ("LOAD_METHOD", "LOAD_ATTR") else method
        calls = name.startswith("CALL") and method != "append"
        if calls or name == "RESUME" or name.startswith("JUMP_BACKWARD"):
            found.add(instruction.offset)
    return frozenset(found)


@cache
def handler(code, offset):
    """Where an exception goes on that an instruction raises."""
    for entry in dis._parse_exception_table(code):
        if entry.start <= offset < entry.end:
            return entry.target
    return None


class Interrupt:
    """Raises at the ``number``-th instant of functions of tapegrad; ``within``: of those with these names alone."""

    def __init__(self, number, within):
        self.left, self.within, self.place = number, within, None

    def enter(self, frame, event, argument):
        """The tracer of functions."""
        code = frame.f_code
        ours = any(part in code.co_filename for part in OURS) and code.co_name != "__exit__"
        if not ours or (self.within and code.co_name not in self.within):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        last, points = None, looking(code)

        def trace(frame, event, argument):
            nonlocal last
            if event == "exception":
                last = None
            elif event == "opcode":
                if last in points and handler(code, last) == handler(code, frame.f_lasti):
                    self.left -= 1
                    if not self.left:
                        self.place = f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
                        raise KeyboardInterrupt
                last = frame.f_lasti
            return trace

        return trace


def interrupted(work, number, within=(), rehearse=None):
    """Call ``work``, and interrupt it at the ``number``-th instant; where that was, or None if it was over before.

    ``rehearse``: from Python 3.12 on a tracer sees the instructions of functions only that it has seen before; called
    first, if that is so.
    """
    interrupt, before = Interrupt(sys.maxsize, within), sys.gettrace()
    sys.settrace(interrupt.enter)
    try:
        if rehearse is not None and sys.version_info >= (3, 12):
            rehearse()
        interrupt.left = number
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return interrupt.place


def at_each_instant(make, *, within=(), every=1):
    """Let ``make()`` give ``work, check``, interrupt the one and call the other, for instant after instant.

    ``every``: leave out others. What a check raises says where the interrupt came. Returns how many came.
    """
    work, check = make()
    work()
    check()
    count = 0
    while True:
        work, check = make()
        place = interrupted(work, 1 + count * every, within, make()[0])
        if place is None:
            return count
        count += 1
        try:
            check()
        except BaseException as error:
            error.add_note(f"interrupted at {place}")
            raise
