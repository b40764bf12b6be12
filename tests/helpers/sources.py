"""Source files, parsed once in a process for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tapegrad"


@cache
def parsed(text: str) -> ast.Module:
    """The tree of a text, which nobody may change: others are given the same one."""
    return ast.parse(text)


@cache
def nodes_in(text: str) -> tuple[ast.AST, ...]:
    """All nodes of the tree of a text, as ``ast.walk`` gives them."""
    return tuple(ast.walk(parsed(text)))


def tree_of(path: Path) -> ast.Module:
    """The tree of a file."""
    return parsed(path.read_text())


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the tree of a file."""
    return nodes_in(path.read_text())
