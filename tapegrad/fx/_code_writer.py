"""The writer of a graph as a Python function: one statement for each node.

A value is set to None in the statement that is the last to need it, so that its memory is freed where it would be in a
program written by hand.
"""

from __future__ import annotations

import collections.abc
import enum
import re
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx._namespace import _custom_builtins, _Namespace
from tapegrad.fx._naming import _get_qualified_name, _is_from_torch, _type_repr, facade
from tapegrad.fx._operators import inplace_methods, magic_methods
from tapegrad.fx._tensor_text import annotation_of
from tapegrad.ops.overloads import OpOverload

PLACE = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>.+)\n\s*(?P<code>.*)')

TYPING = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}  # noqa: UP006
"""The names that are written for the types of ``typing`` that stand for these."""


def _format_target(base: str, target: str) -> str:
    """The expression for what ``target``, a path of attributes, is in ``base``.

    >>> _format_target("self", "a.0.b")
    'getattr(self.a, "0").b'
    """
    for name in target.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base


class CodeWriter:
    """The body of a function, as it is written.

    Attributes:
        root: the expression for the module that has parameters and modules.
        names: the names that are taken.
        body: what is written.
        arguments: the function's parameters.
        returned: its annotation.
        found: what the code refers to, by name.
        wrapped: names of functions that are calls of their own when the code is traced.
    """

    def __init__(self, root: str, names: _Namespace, verbose: bool, details: tuple[bool, bool]) -> None:
        self.root, self.names, self.verbose, self.details = root, names, verbose, details
        self.body: list[str] = []
        self.arguments: list[str] = []
        self.returned = ""
        self.found: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self._told: str | None = None
        for name, builtin in _custom_builtins.items():
            self.refer(name, builtin.found())

    # Names ------------------------------------------------------------------------------------------------------------

    def refer(self, hint: str, obj: Any) -> str:
        """The name by which the code finds something."""
        if _is_from_torch(obj) and obj is not facade().device:
            return _get_qualified_name(obj)
        name = self.names.create_name(hint, obj)
        self.found[name] = obj
        return name

    def annotation(self, kind: Any) -> str:
        """The text of a type; what it consists of is found by the code."""
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.annotation, kind.__args__))
        if isinstance(kind, list):
            return f"[{','.join(map(self.annotation, kind))}]"
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self.refer(_type_repr(kind), kind)
        parts = _parts(kind, origin)
        if parts and not isinstance(kind, types.GenericAlias):
            origin = TYPING.get(origin, origin)
        head = self.refer(_type_repr(origin), origin)
        return f"{head}[{','.join(map(self.annotation, parts))}]" if parts else head

    def text(self, arg: Any) -> str:
        """The expression for an argument."""
        if isinstance(arg, tuple):
            if hasattr(arg, "_fields"):
                return f"{self.refer(_get_qualified_name(type(arg)), type(arg))}{self.text(tuple(arg))}"
            return f"({', '.join(map(self.text, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.text, arg))}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(item)}" for key, item in arg.items()) + "}"
        if isinstance(arg, OpOverload):
            return self.refer(_get_qualified_name(arg), arg)
        if isinstance(arg, enum.Enum):
            return f"{self.refer(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, Tensor):
            return f"{arg.dtype}{list(arg.shape)}"
        return repr(arg)

    def arguments_of(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """The arguments of a call."""
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(arg)}" for key, arg in kwargs.items())])

    # Statements -------------------------------------------------------------------------------------------------------

    def write(self, node: Any, done: list[Any], output: Callable[[Any], str]) -> None:
        """Write the statement for a node.

        Args:
            node: the node.
            done: the nodes that nothing needs after it.
            output: writes the statement that returns.
        """
        if self.verbose and node.op not in ("placeholder", "output"):
            self._tell_place(node)
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self.annotation(node.type)}"
            self.body.append(output(node.args[0]))
        elif node.op == "placeholder":
            self._take(node)
            return
        else:
            self.body.append(self._statement(node))
        unneeded = [] if node.op == "output" else done + ([] if node.users else [node])
        self.body.append(f";  {' = '.join([*map(repr, unneeded), 'None'])}\n" if unneeded else "\n")

    def _take(self, node: Any) -> None:
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.arguments.append(f"{node.target}{self._typed(node)}{default}")
        name = node.target.replace("*", "")
        if name != repr(node):
            self.body.append(f"{node!r} = {name}\n")

    def _typed(self, node: Any) -> str:
        noted = annotation_of(node, *self.details) if self.verbose else None
        if noted is not None:
            return f': "{noted}"'
        return "" if node.type is None else f" : {self.annotation(node.type)}"

    def _statement(self, node: Any) -> str:
        left = f"{node!r}{self._typed(node)} = "
        if node.op == "get_attr":
            return left + _format_target(self.root, node.target)
        if node.op == "call_module":
            return f"{left}{_format_target(self.root, node.target)}({self.arguments_of(node.args, node.kwargs)})"
        if node.op == "call_method":
            called = _format_target(self.text(node.args[0]), node.target)
            return f"{left}{called}({self.arguments_of(node.args[1:], node.kwargs)})"
        return self._call(node, left)

    def _call(self, node: Any, left: str) -> str:
        function, args = node.target, node.args
        if getattr(function, "__module__", None) == "_operator":
            if function.__name__ in magic_methods:
                return left + magic_methods[function.__name__].format(*map(self.text, args))
            if function.__name__ in inplace_methods:
                written = inplace_methods[function.__name__].format(*map(self.text, args))
                return f"{written};  {left}{self.text(args[0])}"
        name = self.refer(_get_qualified_name(function), function)
        if function is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return left + _format_target(self.text(args[0]), args[1])
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{left}{name}({self.arguments_of(args, node.kwargs)})"

    def _tell_place(self, node: Any) -> None:
        """Write where in the user's program a node comes from, if that is another place than before."""
        trace = node.stack_trace or ""
        if trace == self._told:
            return
        self._told = trace
        places = list(PLACE.finditer(trace))
        if places:
            self.body.append("\n# File: {file}:{line} in {name}, code: {code}\n".format(**places[-1].groupdict()))
        elif not trace:
            self.body.append("\n# No stacktrace found for following nodes\n")


def _parts(kind: Any, origin: Any) -> tuple[Any, ...]:
    """The parts of a generic type, in the form in which it is written."""
    parts: tuple[Any, ...] = getattr(kind, "__args__", ())
    return (list(parts[:-1]), parts[-1]) if origin is collections.abc.Callable and parts[:1] != (...,) else parts


def last_users(nodes: Iterable[Any]) -> dict[Any, list[Any]]:
    """For each node, those that it is the last to take, in the order in which it takes them."""
    last: dict[Any, Any] = {}
    for node in nodes:
        last.update(dict.fromkeys(node._input_nodes, node))
    found: dict[Any, list[Any]] = {}
    for node in nodes:
        found[node] = [taken for taken in node._input_nodes if last[taken] is node]
    return found
