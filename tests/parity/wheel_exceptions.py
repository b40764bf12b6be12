"""What of PyTorch's wheel is known to be otherwise on tapegrad, and why, for ``test_wheel.py``."""

from __future__ import annotations

import fnmatch

ABSENT = ("hop_db", "two_tensor", "logging_tensor", "custom_tensor", "common_subclass", "subclasses")
"""Files whose operators of control flow, and tensors that wrap others, are not there (yet)."""

UNSAFE = ("tril", "triu", "hash_tensor")
"""Entries whose ``out=`` isn't run: PyTorch writes behind the end of a target's memory."""

KNOWN: dict[str, dict[str, str]] = {}


def known(part: str, name: str, complaint: str) -> bool:
    """Whether a difference is one of those that are known."""
    return any(
        fnmatch.fnmatch(name, pattern)
        for where in (part, "anywhere")
        for names in KNOWN.get(where, {}).values()
        for pattern in names.split()
    )
