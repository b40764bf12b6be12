"""Expressions and statements: what a written function says, as trees.

Note [Expressions]
Rules give expressions, of which ``printing.py`` makes text when all is known: which variables are read, and by whom.
The parts of an expression are other ones, and values of Python's: numbers, strings, None, tuples, functions, dtypes,
and lengths that are symbols. A variable is a ``Name`` without a text; which number it has, and what constants and
functions are called, is the printer's business. Nobody changes an expression, and two that say the same are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def part(index: int) -> Any:
    """The property that is one of a node's parts."""
    return property(lambda node: node.parts[index])


class Node:
    """An expression or a statement: what it is, and its parts.

    Attributes:
        size: how many nodes it is made of.
    """

    __slots__ = ("parts", "size", "_hash")
    size: int
    _hash: int | None
    defaults: tuple = ()
    """Parts at the end that need not be said."""

    def __init__(self, *parts: Any) -> None:
        if self.defaults:
            parts += self.defaults[len(parts) :]
        size = 1
        for part in parts:
            for item in part if type(part) is tuple else (part,):
                if isinstance(item, Node):
                    size += item.size
        self.parts, self.size, self._hash = parts, size, None

    def __hash__(self) -> int:
        if self._hash is None:  # of most expressions nobody asks it
            self._hash = hash(self.parts)
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and hash(self) == hash(other) and alike(self, other))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"


def alike(one: Any, other: Any) -> bool:
    """Tell whether two parts say the same; ``1`` and ``True`` do not, nor do ``0.0`` and ``-0.0``."""
    if type(one) is not type(other):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Node) and not isinstance(one, Name):
        return one is other or alike(one.parts, other.parts)
    return repr(one) == repr(other) if type(one) is float else bool(one == other)


# -- expressions -------------------------------------------------------------------------------------------------------


class Expression(Node):
    """Something that a line computes. See Note [Expressions]."""

    __slots__ = ()

    def value(self) -> Any:
        """The value, which follows from constants alone.

        Raises:
            NameError: it doesn't.
        """
        raise NameError


class Name(Expression):
    """An argument, which has a text; or a variable, which has none. No two are equal."""

    __slots__ = ("text",)

    def __init__(self, text: str = "") -> None:
        self.text, self.parts, self.size = text, (), 1

    __hash__, __eq__ = object.__hash__, object.__eq__

    def __repr__(self) -> str:
        return f"Name({self.text!r})"


class Constant(Expression):
    """A value that is known; two of them are equal if they are one thing, or the same number."""

    __slots__ = ("known",)

    def __init__(self, known: Any) -> None:
        self.known = known
        is_number = isinstance(known, np.ndarray) and not known.ndim
        super().__init__(*(known.dtype, known.tobytes()) if is_number else (id(known),))

    def value(self) -> Any:
        return self.known


class Invocation(Expression):
    """``function(*arguments, **keywords)``.

    Attributes:
        over: the place of an argument whose memory the result may be put into: that of an expression, which nobody else
            reads, or that of a variable, if nothing is read after this call. See Note [Temporaries].
    """

    __slots__ = ()
    function, arguments, keywords, over = map(part, range(4))
    defaults = (None, (), (), None)

    def value(self) -> Any:
        words = {key: value_of(one) for key, one in self.keywords}
        return value_of(self.function)(*value_of(self.arguments), **words)


class Attribute(Expression):
    """``of.name``."""

    __slots__ = ()
    of, name = map(part, range(2))

    def value(self) -> Any:
        return getattr(value_of(self.of), self.name)


class Index(Expression):
    """``of[places]``, where each place is an expression or a ``Slice``."""

    __slots__ = ()
    of, indices = map(part, range(2))

    def value(self) -> Any:
        indices = value_of(self.indices)
        return value_of(self.of)[indices if len(indices) > 1 else indices[0]]


class Slice(Expression):
    """``start:stop:step``, each of which may be None."""

    __slots__ = ()
    start, stop, step = map(part, range(3))
    defaults = (None, None, None)

    def value(self) -> slice:
        return slice(*value_of(self.parts))


ALL, BACKWARDS = Slice(), Slice(None, None, -1)


class Infix(Expression):
    """``left operator right``, of an operator for which it doesn't matter how several are put together."""

    __slots__ = ()
    left, operator, right = map(part, range(3))


class Star(Expression):
    """``*of``, among arguments, or the items of a tuple."""

    __slots__ = ()
    of = part(0)


class Walrus(Expression):
    """``(name := of)``."""

    __slots__ = ()
    name, of = map(part, range(2))


class Lambda(Expression):
    """``lambda names: of``."""

    __slots__ = ()
    names, of = map(part, range(2))


# -- statements --------------------------------------------------------------------------------------------------------


class Assign(Node):
    """``target = of``, where the target is a name, an index, or a tuple of names."""

    __slots__ = ()
    target, of = map(part, range(2))


class Do(Node):
    """An expression that is computed for what it does."""

    __slots__ = ()
    of = part(0)


class Try(Node):
    """Statements, and others for an error that they raise."""

    __slots__ = ()
    body, error, handler = map(part, range(3))


class For(Node):
    """A loop over the items of an expression."""

    __slots__ = ()
    target, items, body = map(part, range(3))


class While(Node):
    """A loop as long as a test holds."""

    __slots__ = ()
    test, body = map(part, range(2))


class Return(Node):
    """The result of a function."""

    __slots__ = ()
    of = part(0)


# -- what is asked of them ---------------------------------------------------------------------------------------------

PLAIN = (int, float, complex, str, type(None), type(...))
"""Types of values that a line says as they are."""


def is_length(one: Any) -> bool:
    """Tell whether a part is a length that is a symbol, or is computed from some."""
    return not isinstance(one, (*PLAIN, Node, tuple, np.generic, np.dtype)) and not callable(one)


def value_of(one: Any) -> Any:
    """The value of a part.

    Raises:
        NameError: it does not follow from constants alone.

    >>> value_of(Index(Constant(np.arange(3)), (2,)))
    np.int64(2)
    """
    if isinstance(one, Expression):
        return one.value()
    if type(one) is tuple:
        return tuple([value_of(item) for item in one])
    if is_length(one):
        raise NameError
    return one


def walk(*parts: Any) -> Iterator[Node]:
    """All nodes among some parts, and inside.

    >>> x = Name("x0")
    >>> list(walk(3, (Attribute(x, "T"),)))
    [Attribute(Name('x0'), 'T'), Name('x0')]
    """
    left = list(parts)
    while left:
        one = left.pop()
        if isinstance(one, Node):
            yield one
            left += one.parts
        elif type(one) is tuple:
            left += one


def names_in(*parts: Any) -> set[Name]:
    """The arguments and variables among some parts, and inside."""
    names, left = set(), list(parts)
    while left:
        one = left.pop()
        if type(one) is Name:
            names.add(one)
        elif type(one) is tuple:
            left += one
        elif isinstance(one, Node):
            left += one.parts
    return names


def is_name(one: Any) -> bool:
    """Tell whether an expression is a name, or a constant, which has one: it may be read more than once."""
    return isinstance(one, (Name, Constant))


def attribute(name: str) -> Callable[[Any], bool]:
    """The test whether an expression is an attribute of a name.

    >>> attribute("T")(Attribute(Name("x0"), "T"))
    True
    """
    return lambda one: type(one) is Attribute and one.name == name


def put_into(call: Invocation, name: Name) -> Invocation:
    """A call of a ufunc whose result is put where a variable lies.

    >>> put_into(Invocation(np.add, (1, 2)), Name("v")).arguments
    (1, 2, Name('v'))
    """
    named = getattr(call.function, "takes_out", False)
    if named or getattr(call.function, "ufunc", call.function) in (np.maximum, np.minimum):
        return Invocation(call.function, call.arguments, (("out", name),))
    return Invocation(call.function, (*call.arguments, name))
