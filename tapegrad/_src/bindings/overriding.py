"""``torch.overrides``: who overrides functions, which can be, and how to write one that can. See Note [Overriding
functions] in ``subclass.py``."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.declaration.handing import NOT_WRAPPED, asked, overridden
from tapegrad._src.bindings.declaration.registry import BY_CLASSES, NAMESPACES, PROPERTIES
from tapegrad._src.tensor.tensor import Tensor


def _function(function: Callable) -> Callable:
    """Put a function into ``torch.overrides`` as it is."""
    NAMESPACES.setdefault("overrides", {})[function.__name__] = function
    return function


@_function
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Tell whether a mode, or the class of any of these arguments, overrides functions.

    >>> has_torch_function([1, "a"])
    False
    """
    args = tuple(relevant_args)
    return bool(args) and asked(args, {})


@_function
def has_torch_function_unary(arg: Any) -> bool:
    """``has_torch_function`` for one argument."""
    return has_torch_function((arg,))


@_function
def has_torch_function_variadic(*args: Any) -> bool:
    """``has_torch_function`` for the arguments given."""
    return has_torch_function(args)


@_function
def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Give a call of ``public_api`` to the mode that is on, and to the classes that override it.

    Raises:
        TypeError: all of them return NotImplemented.
    """
    return overridden(public_api, args, kwargs, tuple(relevant_args))


@_function
def is_tensor_like(inp: Any) -> bool:
    """Tell whether an object is a tensor or overrides functions."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


@_function
def is_tensor_method_or_property(func: Callable) -> bool:
    """Tell whether a function is a method of Tensor, or the getter or setter of one of its properties."""
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in NAMESPACES["Tensor"].values()


@_function
def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The functions that classes can override: for each module, and for ``Tensor``, a list of them.

    Of an attribute of tensors it is the getter, ``Tensor.shape.__get__``.

    >>> torch.add in get_overridable_functions()[torch]
    True
    """
    getters = [prop.__get__ for prop in PROPERTIES.values() if type(prop) is property]
    listing: dict[Any, list[Callable]] = {Tensor: getters}
    for home, functions in NAMESPACES.items():
        module = sys.modules.get("tapegrad" if home == "torch" else f"tapegrad.{home}")
        owner = Tensor if home == "Tensor" else module
        if owner is not None:
            listed = [function for function in functions.values() if function in BY_CLASSES]
            listing[owner] = [*listing.get(owner, []), *listed]
    return {owner: functions for owner, functions in listing.items() if functions}


@_function
@functools.cache
def get_testing_overrides() -> dict[Callable, Callable]:
    """For each function that classes can override, one with the same parameters that gives -1.

    >>> get_testing_overrides()[torch.add](torch.ones(1), 2)
    -1
    """
    return {function: _dummy(function) for functions in get_overridable_functions().values() for function in functions}


def _dummy(function: Callable) -> Callable[..., int]:
    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    if not isinstance(getattr(function, "__self__", None), property):
        dummy.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return dummy


@_function
@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which functions can be called from within a dispatch: they always can."""
    yield


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable], Callable]:
    """A decorator that lets classes and modes override a function.

    Args:
        dispatcher: takes the function's arguments and gives those whose classes are asked.

    >>> @wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x * 2
    >>> class Log:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> twice(Log()), twice(3)
    ('twice', 6)
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapper, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapper

    return decorate


@_function
def get_ignored_functions() -> set[Callable]:
    """The functions that classes can't override, such as those that make tensors."""
    return {f for functions in NAMESPACES.values() for f in functions.values() if callable(f) and f not in BY_CLASSES}


@_function
def get_default_nowrap_functions() -> set[Callable]:
    """The functions whose result a subclass gets as it is, if it does not say otherwise."""
    return set(NOT_WRAPPED)


@_function
def resolve_name(f: Callable) -> str | None:
    """The public name of a function of the vocabulary, such as ``torch.Tensor.add``; None for another."""
    for home, functions in NAMESPACES.items():
        for name, function in functions.items():
            if function is f:
                return f"torch.{name}" if home == "torch" else f"torch.{home}.{name}"
    owner = getattr(f, "__self__", None)
    prop = next((key for key, item in PROPERTIES.items() if item is owner), None)
    return None if prop is None else f"torch.Tensor.{prop}.{f.__name__}"
