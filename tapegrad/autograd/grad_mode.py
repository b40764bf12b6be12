"""Switching gradient recording off and on: context managers, decorators, functions."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar

from tapegrad.tape.modes import thread

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether operators on tensors that require grad are recorded on this thread."""
    return thread.modes.grad


class ModeDecorator:
    """A context manager that is a decorator too, of functions and of generators.

    A decorated generator has the mode only while its body runs; its caller keeps its own at every suspension.
    """

    def clone(self) -> Self:
        """A fresh instance with the same arguments, for one more entry."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            return _decorated(self, function)
        if inspect.isgeneratorfunction(function):
            return _decorated_generator(self, function)
        return _decorated(self, function)


def _decorated(context: ModeDecorator, function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context.clone():
            return function(*args, **kwargs)

    return call


def _decorated_generator(context: ModeDecorator, function: Any) -> Any:
    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        try:
            with context.clone():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with context.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    with context.clone():
                        response = generator.throw(error)
                else:
                    with context.clone():
                        response = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return generate


class _Switch(ModeDecorator):
    """Sets the grad mode on entry and restores the caller's on exit."""

    enabled: bool

    def __new__(cls, orig_func: Any = None) -> Any:
        return object.__new__(cls) if orig_func is None else object.__new__(cls)(orig_func)

    def __enter__(self) -> None:
        self.previous = thread.modes.grad
        thread.modes = thread.modes.replace(grad=self.enabled)

    def __exit__(self, *exception: object) -> None:
        thread.modes = thread.modes.replace(grad=self.previous)


class no_grad(_Switch):
    """Record nothing: results of operators don't require grad.

    >>> import tapegrad as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    enabled = False


class enable_grad(_Switch):
    """Record again, inside ``no_grad``."""

    enabled = True


class set_grad_enabled(ModeDecorator):
    """Set the grad mode at once, as a function; restore it, as a context manager; or decorate.

    Raises:
        TypeError: ``mode`` is no bool.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.previous = thread.modes.grad
        self.mode = mode
        thread.modes = thread.modes.replace(grad=mode)

    def __call__(self, function: F) -> F:
        thread.modes = thread.modes.replace(grad=self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        thread.modes = thread.modes.replace(grad=self.mode)

    def __exit__(self, *exception: object) -> None:
        thread.modes = thread.modes.replace(grad=self.previous)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __str__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__
