"""The names of what a graph takes: where the program has it, as ``L['x']`` for an argument and ``G['w']`` for a global.

>>> name_of("L['self']._modules['l']._parameters['weight']"), name_of("G['w']")
('L_self_modules_l_parameters_weight_', 'G_w_')
"""

from __future__ import annotations

import inspect
import re
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import Module

MOST = 20_000
"""So many objects are looked at, at most."""


def name_of(source: str) -> str:
    """The name of a placeholder for what is there."""
    return re.sub(r"[^a-zA-Z0-9]+", "_", source)


def sources_of(function: Callable, args: tuple, kwargs: dict[str, Any]) -> dict[int, str]:
    """The places where a call of a function finds tensors, by their identities.

    Args:
        function: the function, or a module.
        args, kwargs: those of the call.

    >>> given = {"a": torch.ones(1)}
    >>> sources_of(lambda x: x["a"] + 1, (given,), {})[id(given["a"])]
    "L['x']['a']"
    """
    found: dict[int, str] = {}
    seen: set[int] = set()
    waiting = deque(_roots(function, args, kwargs))
    while waiting and len(seen) < MOST:
        source, value = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            found[id(value)] = source
            waiting.append((f"{source}.grad", value._grad))
        else:
            waiting.extend(_inside(source, value))
    return found


def _roots(function: Any, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments of a call by their names, and what the function's code names besides."""
    if isinstance(function, Module):
        args, function = (function, *args), type(function).forward
    elif inspect.ismethod(function):
        args, function = (function.__self__, *args), function.__func__
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"args_{place}": one for place, one in enumerate(args)} | kwargs
    for name, value in bound.items():
        yield f"L[{name!r}]", value
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"L[{name!r}]", cell.cell_contents
        except ValueError:  # it is empty
            continue
    names = set(_names_in(code))
    for name, value in list(function.__globals__.items()):
        if name in names:
            yield f"G[{name!r}]", value


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _inside(source: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The things in a container, a module, or an object of a program."""
    if isinstance(value, dict):
        yield from ((f"{source}[{key!r}]", one) for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"{source}[{place}]", one) for place, one in enumerate(value))
    elif isinstance(value, Module):
        for table in ("_parameters", "_buffers", "_modules"):
            yield from ((f"{source}.{table}[{name!r}]", one) for name, one in vars(value)[table].items())
        yield from _attributes(source, value, ("_parameters", "_buffers", "_modules"))
    elif type(value).__module__ != "builtins" and not isinstance(value, type) and hasattr(value, "__dict__"):
        yield from _attributes(source, value, ())


def _attributes(source: str, value: Any, but: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield from ((f"{source}.{name}", one) for name, one in list(vars(value).items()) if name not in but)
