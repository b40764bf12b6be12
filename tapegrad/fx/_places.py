"""Lines of a user's program that make a node."""

from __future__ import annotations

import traceback
from pathlib import Path

ROOM = str(Path(__file__).parent)
PACKAGE = str(Path(ROOM).parent)
LAYERS = str(Path(PACKAGE, "nn", "modules"))
CALLING = str(Path(LAYERS, "module.py"))
TRACING = str(Path(PACKAGE, "export", "tracing.py"))


def stack_of_forward(name: str) -> str | None:
    """The lines of the program from the first function called ``name`` on, without those of tracers; None without it.

    >>> def forward():
    ...     return stack_of_forward("forward")
    >>> print(stack_of_forward("nobody"))
    None
    """
    found = traceback.extract_stack()
    start = next((number for number, frame in enumerate(found) if frame.name == name), None)
    if start is None:
        return None
    own = [frame for frame in found[start:] if not frame.filename.startswith(ROOM)]
    return "".join(traceback.format_list(own)).strip()


def stack_in_modules() -> str:
    """The lines of a module's ``forward`` that is exported, and of those below; empty if there are none."""
    found = traceback.extract_stack()
    start = next((number for number, frame in enumerate(found) if frame.filename == TRACING), -1)
    own = [frame for frame in found[start + 1 :] if is_of_user(frame.filename)] if start >= 0 else []
    lines = [f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n' for frame in own]
    return "".join(lines).strip()


def is_of_user(filename: str) -> bool:
    """Tell whether a file is the user's, or has layers in it."""
    return not filename.startswith((PACKAGE, "<")) or (filename.startswith(LAYERS) and filename != CALLING)
