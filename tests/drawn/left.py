"""What is known to differ and is left so, with the reason.

Each entry is a pattern that is looked for in the shrunk program, one that is looked for in what differs, and why.
"""

from __future__ import annotations

import re

from .comparing import Difference

LEFT: list[tuple[str, str, str]] = [
    (r"vmap|jac|hessian", "Batching rule not implemented|could not generate a fallback", "PyTorch has no batching rule; every operator has one here"),
    (r"logsigmoid", "log: length", "PyTorch's kernel for the CPU saves a buffer of its own"),
    (r"det|linalg", "not implemented for 'Half'", "PyTorch does not look at the dtype of an empty matrix"),
]


def left_out(program: str, found: Difference) -> str | None:
    """Why a difference is left, if it is a known one."""
    said = f"{found.key} {found.what}"
    return next((why for words, what, why in LEFT if re.search(words, program) and re.search(what, said)), None)
