"""Compiled functions as methods: what is compiled for each instance, which keeps it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from types import MethodType
from typing import Any

KEPT = "_compiled_methods"
"""The name under which an instance keeps its compiled methods."""


class CompiledMethods:
    """The compiled methods of an instance, by the compiled functions of its classes.

    A method and one that it overrides may have the same name. Copies and pickles are empty, for what was compiled reads
    the instance.
    """

    def __init__(self, instance: Any = None) -> None:
        self.instance = instance
        self.methods: dict[Any, Any] = {}

    def __reduce__(self) -> tuple:
        return CompiledMethods, ()


def method_of(compiled: Any, instance: Any, compile: Callable[[Callable], Any]) -> Any:
    """The method of an instance: compiled for it, where it can keep that; if not, the instance is an argument.

    Args:
        compiled: the compiled function, which an attribute of a class is.
        instance: the instance; of a class method, the class.
        compile: compiles the bound method.
    """
    inside = getattr(instance, "__dict__", None)
    if type(inside) is not dict:  # there are only slots, or it is a class
        return MethodType(compiled, instance)
    kept = inside.get(KEPT)
    if kept is None or kept.instance is not instance:  # that of which the instance is a copy
        kept = inside[KEPT] = CompiledMethods(instance)
    method = kept.methods.get(compiled)
    if method is None:
        method = kept.methods[compiled] = compile(compiled.function.__get__(instance, type(instance)))
    return method


def global_name(compiled: Any) -> str | None:
    """The name by which what was compiled is found in its module, as a decorated function is, or None."""
    name = getattr(compiled, "__qualname__", "")
    module = sys.modules.get(getattr(compiled, "__module__", None) or "")
    named = reduce(lambda thing, part: getattr(thing, part, None), name.split("."), module)
    return name if named is compiled else None


def compiled_again(made: Callable, function: Callable, *settings: Any) -> Any:
    """Compile an unpickled function; a method is found compiled in its instance."""
    return function if isinstance(function, made) else made(function, *settings)  # type: ignore[arg-type]
