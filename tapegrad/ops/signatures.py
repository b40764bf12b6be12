"""The parameters of functions, read from their code: thousands are declared, and ``inspect`` takes its time."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

SPOKEN_FOR = frozenset(("__wrapped__", "__signature__"))
"""The attributes of a function that shows other parameters than its code's."""


class Parameters(NamedTuple):
    """The names of a function's parameters, by what may be done with them, and its defaults.

    Attributes:
        positional: those that can be given by position.
        variadic: the one that takes all further arguments.
        keyword: those that can only be given by name, and the one that takes all further names (``**kwargs``).
        defaults: of those that can only be given by name, where they have one.
    """

    positional: tuple[str, ...]
    variadic: str | None
    keyword: tuple[str, ...]
    defaults: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they are declared."""
        return (*self.positional, *([self.variadic] if self.variadic else ()), *self.keyword)


def parameters_of(function: Callable) -> Parameters:
    """The parameters of a function; of anything else that can be called, those that ``inspect`` tells.

    >>> parameters_of(lambda x, *ys, axis, keepdims=False: x)
    Parameters(positional=('x',), variadic='ys', keyword=('axis', 'keepdims'), defaults={'keepdims': False})
    """
    if type(function) is not FunctionType or not SPOKEN_FOR.isdisjoint(function.__dict__):
        return _inspected(function)
    code = function.__code__
    last = code.co_argcount + code.co_kwonlyargcount
    names, variadic = code.co_varnames, None
    positional, keyword = names[: code.co_argcount], names[code.co_argcount : last]
    if code.co_flags & inspect.CO_VARARGS:
        variadic, last = names[last], last + 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        keyword = (*keyword, names[last])
    return Parameters(positional, variadic, keyword, function.__kwdefaults__ or {})


@cache
def signature_of(function: Callable) -> inspect.Signature:
    """The signature of a public function, of which there are as many as are declared: to read one takes its time."""
    return inspect.signature(function)


def _inspected(function: Callable) -> Parameters:
    parameters = inspect.signature(function).parameters.values()
    by_name = [p for p in parameters if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return Parameters(
        tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)),
        next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None),
        tuple(p.name for p in by_name),
        {p.name: p.default for p in by_name if p.default is not p.empty},
    )
