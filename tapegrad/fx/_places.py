"""Lines of a user's program that make a node."""

from __future__ import annotations

import traceback
from pathlib import Path

ROOM = str(Path(__file__).parent)


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
