"""Functions that are written while the program runs: straight-line Python for what a plan has settled."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from types import CodeType
from typing import Any


def defined(lines: Iterable[str], name: str, names: dict[str, Any]) -> Any:
    """The function ``name`` that some lines define, which refer to ``names``; its code is compiled once.

    >>> defined(["def double(x):", "    return factor * x"], "double", {"factor": 2})(3)
    6
    """
    exec(_code("\n".join(lines)), names)
    return names[name]


@lru_cache(4096)
def _code(source: str) -> CodeType:
    return compile(source, "<written function>", "exec")
