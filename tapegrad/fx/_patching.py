"""Functions and methods that are others while a program is traced, and what they are then.

Note [What a tracer puts in other functions' places]
A call of a module comes to the tracer, and so does a call of a function that was wrapped, if it has a proxy among its
arguments. Both are put in their places when tracing begins and taken out when it ends: ``Module.__call__`` and
``__getattr__`` of all modules, names in the globals of the module in which ``wrap`` was called, and names of functions
of ``math`` in the globals of what is traced.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from tapegrad.fx.proxy import proxies_in

_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
"""The names that ``wrap`` was given, with the globals where they are."""

_wrapped_methods_to_patch: list[tuple[type, str]] = []
"""Methods of classes whose calls are noted."""


class _Patcher:
    """A context with functions in other functions' places, which are put back, the last first, when it is left."""

    def __init__(self) -> None:
        self.done: list[Callable[[], None]] = []
        self.visited: set[int] = set()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.revert()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable, deduplicate: bool = True) -> None:
        """Put a function into a dictionary of globals."""
        known = name in frame_dict
        old = frame_dict.get(name)
        frame_dict[name] = new_fn
        self.done.append(lambda: frame_dict.__setitem__(name, old) if known else frame_dict.__delitem__(name))

    def patch_method(self, cls: type, name: str, new_fn: Callable, deduplicate: bool = True) -> None:
        """Put a function into a class."""
        known, old = name in vars(cls), getattr(cls, name)
        setattr(cls, name, new_fn)
        self.done.append(lambda: setattr(cls, name, old) if known else delattr(cls, name))

    def visit_once(self, thing: Any) -> bool:
        """Tell whether this is the first time that something is looked at."""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def revert(self) -> None:
        """Put all back, what came last first."""
        while self.done:
            self.done.pop()()


def create_wrapped_func(orig_fn: Callable) -> Callable:
    """The function, but a node where it is called with a proxy."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = next(proxies_in((args, kwargs)), None)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def create_wrapped_method(cls: type, name: str) -> Callable:
    """The method of a class, but a node where it is called with a proxy."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = next(proxies_in((args, kwargs)), None)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Put what ``wrap`` named into its places."""
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        found = frame_dict[name] if name in frame_dict else getattr(builtins, name)
        patcher.patch(frame_dict, name, create_wrapped_func(found))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Put functions with these ids into a dictionary of globals, wherever they are in it."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, create_wrapped_func(value))
