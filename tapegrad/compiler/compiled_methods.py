"""Compiled functions as methods, of which each instance has its own: see Note [What is compiled for an object]."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from types import MethodType
from typing import Any

from tapegrad.compiler.attachments import attachments_of


def method_of(compiled: Any, instance: Any, compile: Callable[[Callable], Any]) -> Any:
    """The method of an instance: compiled for it, where it can keep that; if not, the instance is an argument.

    Args:
        compiled: the compiled function, which an attribute of a class is.
        instance: the instance; of a class method, the class.
        compile: compiles the bound method.
    """
    methods = attachments_of(instance)
    if methods is None:  # there are only slots, or it is a class
        return MethodType(compiled, instance)
    method = methods.get(compiled)
    if method is None:
        method = methods[compiled] = compile(compiled.function.__get__(instance, type(instance)))
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
