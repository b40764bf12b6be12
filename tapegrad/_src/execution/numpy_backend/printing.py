"""The printer: trees of expressions and statements as lines of Python. See Note [Expressions]."""

from __future__ import annotations

import builtins
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.expression import (
    ALL,
    PLAIN,
    Assign,
    Attribute,
    Constant,
    Do,
    For,
    Index,
    Infix,
    Invocation,
    Lambda,
    Name,
    Node,
    Return,
    Slice,
    Star,
    Try,
    Walrus,
    While,
    names_in,
    put_into,
)


class Printer:
    """Says nodes as text, and gives names to what they refer to.

    Attributes:
        names: what the text refers to, besides arguments and variables.
        symbols: the symbols that are read.

    >>> printer, x = Printer(), Name("x0")
    >>> printer.lines([Assign(v := Name(), Invocation(np.exp, (x,))), Return((Attribute(v, "T"), None, (3,)))])
    ['v0 = exp(x0)', 'return (v0.T, None, (3,))']
    >>> printer.names
    {'exp': <ufunc 'exp'>}
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.symbols: set[str] = set()
        self._texts: dict[Any, str] = {}
        self._variables = 0

    def lines(self, statements: Sequence[Node]) -> list[str]:
        """The lines of some statements."""
        return [line for statement in statements for line in STATEMENTS[type(statement)](self, statement)]

    def text(self, one: Any) -> str:
        """The text of an expression, or of what may be a part of one."""
        said = EXPRESSIONS.get(type(one))
        if said is not None:
            return said(self, one)
        if isinstance(one, np.dtype):
            return self._known_as(one, f"dtype_{one.name}", one)
        if callable(one):
            return self._function(one)
        if isinstance(one, float):
            return repr(float(one)) if math.isfinite(one) else f"float('{one}')"
        if isinstance(one, PLAIN):
            return "..." if one is ... else repr(one)
        self.symbols.update(SYMBOL.findall(str(one)))
        return symbolic(one, self.names)

    def texts(self, parts: Sequence[Any]) -> list[str]:
        """The texts of some parts."""
        return [self.text(part) for part in parts]

    def _known_as(self, one: Any, name: str, value: Any) -> str:
        """The name of something that is not written itself."""
        text = self._texts.get(one)
        if text is None:
            text = self._texts[one] = name if name not in self.names else f"{name}{len(self.names)}"
            self.names[text] = value
        return text

    def _function(self, function: Callable) -> str:
        name, of = function.__name__, getattr(function, "__self__", None)
        if getattr(builtins, name, None) is function:
            return name
        return self._known_as(function, f"{name}_{of.__name__}" if isinstance(of, np.ufunc) else name, function)

    def _name(self, name: Name) -> str:
        text = name.text or self._texts.get(name)
        if text is None:
            text = self._texts[name] = self._variable()
        return text

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables - 1}"

    def _constant(self, constant: Constant) -> str:
        """Single numbers are told apart by what they are."""
        known = constant.known
        if constant in self._texts:
            return self._texts[constant]
        if isinstance(known, np.ndarray) and not known.ndim and known.itemsize <= 16:
            return self._known_as(constant, f"k{known.dtype.name}_{known.tobytes().hex()}", known)
        return self._known_as(constant, f"c{len(self.names)}", known)

    def _tuple(self, items: tuple) -> str:
        return f"({self.text(items[0])},)" if len(items) == 1 else f"({', '.join(self.texts(items))})"

    def _call(self, call: Invocation) -> str:
        """A call; where the memory of an expression is taken for the result, that has a name meanwhile."""
        if call.over is not None and not isinstance(call.arguments[call.over], Name):
            name, arguments = Name(), list(call.arguments)
            arguments[call.over] = Walrus(name, arguments[call.over])
            call = put_into(Invocation(call.function, tuple(arguments)), name)
        texts = [*self.texts(call.arguments), *[f"{key}={self.text(value)}" for key, value in call.keywords]]
        return f"{self._tight(call.function)}({', '.join(texts)})"

    def _tight(self, one: Any) -> str:
        """The text of what an attribute, an index or a call is of: in brackets, unless it holds together as it is."""
        is_whole = isinstance(one, (Name, Constant, Invocation, Attribute, Index, tuple, Walrus)) or callable(one)
        return self.text(one) if is_whole else f"({self.text(one)})"

    def _attribute(self, one: Attribute) -> str:
        return f"{self._tight(one.of)}.{one.name}"

    def _index(self, one: Index) -> str:
        indices = [self._slice(index) if type(index) is Slice else self.text(index) for index in one.indices]
        return f"{self._tight(one.of)}[{', '.join(indices)}]"

    def _slice(self, one: Slice) -> str:
        start, stop, step = ["" if end is None else self.text(end) for end in one.parts]
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def _slice_as_object(self, one: Slice) -> str:
        if one == ALL:
            return self._known_as(ALL, "all", slice(None))
        ends = (one.stop,) if one.start is one.step is None else one.parts
        return f"slice({', '.join(self.texts(ends))})"

    def _assign(self, one: Assign) -> list[str]:
        value = self.text(one.of)
        return [f"{self._targets(one.target)} = {value}"]

    def _targets(self, target: Any) -> str:
        if type(target) is not tuple:
            return self.text(target)
        return f"{self.text(target[0])}," if len(target) == 1 else ", ".join(self.texts(target))

    def _block(self, heading: str, statements: Sequence[Node]) -> list[str]:
        return [heading, *[f"    {line}" for line in self.lines(statements)]]

    def _try(self, one: Try) -> list[str]:
        body = self._block("try:", one.body)
        return body + self._block(f"except {self.text(one.error)}:", one.handler)

    def _for(self, one: For) -> list[str]:
        items = self.text(one.items)
        return self._block(f"for {self._targets(one.target)} in {items}:", one.body)


EXPRESSIONS: dict[type, Callable[[Printer, Any], str]] = {
    Name: Printer._name,
    Constant: Printer._constant,
    Invocation: Printer._call,
    Attribute: Printer._attribute,
    Index: Printer._index,
    Slice: Printer._slice_as_object,
    Infix: lambda printer, one: f"{printer.text(one.left)} {one.operator} {printer.text(one.right)}",
    Star: lambda printer, one: f"*{printer._tight(one.of)}",
    Walrus: lambda printer, one: f"({printer.text(one.name)} := {printer.text(one.of)})",
    Lambda: lambda printer, one: f"lambda {', '.join(printer.texts(one.names))}: {printer.text(one.of)}",
    tuple: Printer._tuple,
    int: lambda printer, one: repr(one),
}
"""The functions that say each type of expression."""

STATEMENTS: dict[type, Callable[[Printer, Any], list[str]]] = {
    Assign: Printer._assign,
    Do: lambda printer, one: [printer.text(one.of)],
    Try: Printer._try,
    For: Printer._for,
    While: lambda printer, one: printer._block(f"while {printer.text(one.test)}:", one.body),
    Return: lambda printer, one: [f"return {printer.text(one.of)}"],
}
"""The functions that say each type of statement."""


def needed(statements: Sequence[Node], result: Any) -> list[Node]:
    """Statements where they are needed: not at all, if nothing reads what they assign; in a handler, if only it does.

    >>> x, v = Name("x0"), [Name() for _ in range(2)]
    >>> one, other = (Assign(name, Invocation(np.exp, (x,))) for name in v)
    >>> needed([one, other], v[1]) == [other]
    True
    >>> needed([one, Try((other,), IndexError, (Assign(v[1], v[0]),))], v[1])[0].handler[0] == one
    True
    """
    everywhere: Any = None
    readers: dict[Name, set[Any]] = {name: {everywhere} for name in names_in(result)}
    moved: dict[Try, list[Node]] = {}
    kept: list[Node] = []
    for statement in reversed(statements):
        parts: dict[Any, Any] = {everywhere: statement.parts}
        if type(statement) is Assign and type(statement.target) is Name:
            blocks = readers.get(statement.target)
            if not blocks:
                continue
            (block,) = blocks if len(blocks) == 1 else (everywhere,)
            (kept if block is everywhere else moved.setdefault(block, [])).append(statement)
            parts = {block: statement.of}
        else:
            kept.append(statement)
            if type(statement) is Try:
                parts = {everywhere: statement.body, statement: statement.handler}
        for block, read in parts.items():
            for name in names_in(read):
                readers.setdefault(name, set()).add(block)
    return [
        Try(one.body, one.error, (*reversed(moved[one]), *one.handler)) if type(one) is Try and one in moved else one
        for one in reversed(kept)
    ]


SYMBOL = re.compile(r"\b[mn]\d*\b")
"""A symbol in the text of a length. See Note [Names of a pattern] in ``dispatch/patterns.py``."""


def symbolic(size: Any, names: dict[str, Any]) -> str:
    """A length that depends on symbols, as Python says it.

    >>> from jax import export
    >>> n, m = export.symbolic_shape("n, m")
    >>> symbolic(m // 2, {}), symbolic(2 * n * n, {})
    ('floordiv(m, 2)', '2*n**2')
    """
    names.setdefault("floordiv", operator.floordiv)
    names.setdefault("mod", operator.mod)
    return str(size).replace("^", "**")


def evaluated(size: Any, lengths: dict[str, int]) -> int:
    """The number for a length that depends on symbols.

    >>> from jax import export
    >>> n, m = export.symbolic_shape("n, m")
    >>> evaluated(2 * n * n + m // 2, {"n": 3, "m": 5})
    20
    """
    scope: dict[str, Any] = dict(lengths)
    return eval(symbolic(size, scope), scope)
