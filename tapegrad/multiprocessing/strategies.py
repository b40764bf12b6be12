"""Strategies of sharing, which programs choose between: tensors are copied, whichever it is."""

from __future__ import annotations

import sys

_all = {"file_system"} if sys.platform in ("darwin", "win32") else {"file_descriptor", "file_system"}
_chosen = ["file_system" if len(_all) == 1 else "file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names of the strategies that PyTorch has on this system."""
    return _all


def get_sharing_strategy() -> str:
    """The one that was chosen."""
    return _chosen[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose one.

    Raises:
        AssertionError: there is none of that name.
    """
    if new_strategy not in _all:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_all}")
    _chosen[0] = new_strategy
