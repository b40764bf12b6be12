"""``torch.utils._contextlib``: contexts that are decorators as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import isgeneratorfunction
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: F) -> F:
    """A function that runs in a context.

    Args:
        ctx: the context, or what makes one for each call.
        func: the function. One that yields runs in the context, but what it yields to doesn't.

    >>> from contextlib import nullcontext
    >>> context_decorator(nullcontext, abs)(-1)
    1
    """
    make = ctx if callable(ctx) else lambda: ctx

    @wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    @wraps(func)
    def generating(*args: Any, **kwargs: Any) -> Any:
        running = func(*args, **kwargs)
        step = partial(next, running)
        while True:
            try:
                with make():
                    item = step()
            except StopIteration as end:
                return end.value
            try:
                sent = yield item
            except GeneratorExit:
                running.close()
                raise
            except BaseException as error:
                step = partial(running.throw, error)
            else:
                step = partial(running.send, sent)

    return generating if isgeneratorfunction(func) else decorated  # type: ignore[return-value]


class _DecoratorContextManager:
    """A base class of contexts that decorate functions, with a new context for each call: ``clone`` makes it."""

    def __call__(self, orig_func: F) -> F:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another context that does the same."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, of contexts without arguments, which decorate without parentheses, too."""

    def __new__(cls, orig_func: Callable | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else cls()(orig_func)
