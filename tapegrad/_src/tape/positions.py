"""Places in the user's program: cheap to take, put into words only when somebody reads them.

Note [Positions]
To keep a place in the program is to keep a code object and the offset of an instruction: no frame is held, so that no
variable stays alive, and no line number is computed. ``here()`` gives the innermost place that is not tapegrad's own,
``stack()`` all of them. Every backward call notes its place, for the graph that it frees (``freed_by``). The places of
operators, of writes and of results that lost their gradient are kept while source lines are recorded
(``autograd/source_lines.py``), which costs time, and under anomaly detection.

Note [Where]
What tapegrad knows more than PyTorch says stands after PyTorch's own sentence, from a line ``Where:`` on (``explain``).
"""

from __future__ import annotations

import contextlib
import linecache
import sys
import threading
import traceback
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from tapegrad._src.tape.modes import thread

PACKAGE = __file__.rpartition("_src")[0]
"""The folder of the package, whose code is not the user's."""

_passed_over: dict[str, bool] = {}
"""For each file, whether its frames are passed over."""

_BETWEEN = (PACKAGE, "<written function>", contextlib.__file__, threading.__file__)
"""Files whose frames are passed over: our own, and those of the standard library that stand between us and the user."""


RECORD_LINES = "torch.autograd.set_record_source_lines(True), before the forward pass, lets this error name the lines"
"""The hint in errors that would know more if places were kept."""


def line_of(code: CodeType, offset: int) -> int:
    """The line number of an instruction."""
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def cell_of(file: str) -> str | None:
    """The name that IPython gives to the cell of a notebook whose code has this as its file, as in its tracebacks; None
    otherwise.

    >>> cell_of(__file__)
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
    return " ".join(named) if named else None


class Position:
    """A place in the user's program.

    >>> position = Position((lambda: None).__code__, 0)
    >>> position.function
    '<lambda>'
    """

    __slots__ = ("code", "offset")

    def __init__(self, code: CodeType, offset: int) -> None:
        self.code = code
        self.offset = offset

    @property
    def file(self) -> str:
        """The name of the source file."""
        return self.code.co_filename

    @property
    def line(self) -> int:
        """The number of the line."""
        return line_of(self.code, self.offset)

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.code.co_name

    @property
    def place(self) -> str:
        """The file and the line; in a notebook the cell and the line."""
        cell = cell_of(self.file)
        return f"{self.file}:{self.line}" if cell is None else f"{cell}, line {self.line}"

    @property
    def position(self) -> Position:
        """Itself: what has a position may be a whole stack."""
        return self

    def notes(self) -> dict[str, Any]:
        """The ``metadata`` of a node that was made here: nothing."""
        return {}

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.place} in {self.function}" + (f": {source}" if source else "")


class Stack:
    """The frames of the user's program, the innermost first, and the node that was running meanwhile, if any.

    Attributes:
        frames: pairs (code, offset).
        parent: the node whose backward, being recorded, made the node that this belongs to.
    """

    __slots__ = ("frames", "parent")

    def __init__(self, frames: tuple[tuple[CodeType, int], ...], parent: Any = None) -> None:
        self.frames = frames
        self.parent = parent

    @property
    def position(self) -> Position | None:
        """The innermost place."""
        return Position(*self.frames[0]) if self.frames else None

    def lines(self) -> list[str]:
        """The text of each frame, the outermost first, as ``traceback.format_stack`` words it."""
        entries = [
            traceback.FrameSummary(code.co_filename, line_of(code, offset), code.co_name)
            for code, offset in reversed(self.frames)
        ]
        return traceback.StackSummary.from_list(entries).format()

    def notes(self) -> dict[str, Any]:
        """The ``metadata`` of a node that was made here: PyTorch's keys."""
        parent = {} if self.parent is None else {"parent_": self.parent}
        return {"traceback_": self.lines(), **parent}


new_position = object.__new__


def passed_over(file: str) -> bool:
    """Tell whether frames of a file are passed over, from here on in ``_passed_over``."""
    return _passed_over.setdefault(file, file.startswith(_BETWEEN))


def here(depth: int = 1) -> Position | None:
    """The innermost place that is the user's; on a thread of our own, that of the backward call it works for.

    Of as many callers as ``depth`` all but the last are known to be ours: frames that are looked at cost time.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not (_passed_over[file] if file in _passed_over else passed_over(file)):
            position = new_position(Position)
            position.code, position.offset = code, frame.f_lasti
            return position
        frame = frame.f_back
    return thread.backward_call


def stack(parent: Any = None) -> Stack:
    """All places of the user's program that are being run now."""
    frames = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not (_passed_over[file] if file in _passed_over else passed_over(file)):
            frames.append((code, frame.f_lasti))
        frame = frame.f_back
    if not frames and thread.backward_call is not None:
        frames.append((thread.backward_call.code, thread.backward_call.offset))
    return Stack(tuple(frames), parent)


def note_grad_switch(before: bool, after: bool, known: bool = True) -> None:
    """Remember where grad mode is switched off, while places are recorded.

    Args:
        before, after: whether grad mode was on, and will be.
        known: whether this place is where the user switched it; it is not where a block ends.
    """
    if before != after and thread.modes.recording:
        thread.grad_off = here() if known and not after else None


def explain(sentence: str, facts: Iterable[str | None]) -> str:
    """PyTorch's sentence, and after it what else is known, a line for each fact. See Note [Where].

    >>> print(explain("It failed.", ["made at a.py:3", None]))
    It failed.
    Where:
      made at a.py:3
    >>> explain("It failed.", [None])
    'It failed.'
    """
    known = [fact for fact in facts if fact]
    return "\n  ".join([f"{sentence}\nWhere:", *known]) if known else sentence


def at(what: str, place: Position | Stack | None) -> str | None:
    """A fact for ``explain``: ``what`` and where, or None if that is not known."""
    position = None if place is None else place.position
    return None if position is None else f"{what} at {position}"
