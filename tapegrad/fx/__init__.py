"""``torch.fx``: programs are not traced into graphs of Python calls here. What is imported from it says so.

``wrap`` gives the function back: there is no tracer that could look into it. The classes are those to which nothing
belongs, so that ``isinstance(module, torch.fx.GraphModule)`` is answered; who makes one is told what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from tapegrad.absent import EXPORTS, RefusedClass, refusing
from tapegrad.nn import Module

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect",
    "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip

F = TypeVar("F")
__getattr__ = refusing(__name__)


class _Absent(RefusedClass):
    refusal = "torch.fx.", EXPORTS


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"torch.fx.{name} is not in tapegrad (yet): {EXPORTS}")


class CodeGen(_Absent):
    """The writer of a graph as Python, in PyTorch."""


class Graph(_Absent):
    """The graph that a module is traced to, in PyTorch."""


class Interpreter(_Absent):
    """The runner of a graph, node by node, in PyTorch."""


class Transformer(Interpreter):
    """The maker of a graph from another one, in PyTorch."""


class Node(_Absent):
    """A call in a graph, in PyTorch."""


class Proxy(_Absent):
    """The proxy that a function is traced with, in PyTorch."""


class Tracer(_Absent):
    """The tracer of modules, in PyTorch."""


class GraphModule(_Absent, Module):
    """A module that runs a graph, in PyTorch."""


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Refused: programs are not traced into graphs of Python calls.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """
    _refuse("symbolic_trace")


def replace_pattern(gm: Any, pattern: Any, replacement: Any) -> NoReturn:
    """Refused, as ``symbolic_trace``."""
    _refuse("replace_pattern")


def wrap(fn_or_name: str | Callable) -> Any:
    """The function, or its name, itself: it would be traced as one call, if anything were traced.

    >>> @wrap
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    return fn_or_name


def has_side_effect(fn: F) -> F:
    """The function itself."""
    return fn
