"""``TorchFunctionMode``: a context that gets the calls of public functions. See Note [Function modes] in
``tape/modes.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from tapegrad._src.bindings.declaration.handing import overriding, without_innermost
from tapegrad._src.tape.modes import thread
from tapegrad._src.warn import warn


class TorchFunctionMode:
    """A context in which every public function and attribute goes through a method, factory functions among them.

    A subclass says in ``__torch_function__(self, func, types, args, kwargs)`` what is done instead of ``func(*args,
    **kwargs)``; to return NotImplemented is to leave it to the classes of the arguments. Contexts nest: while one has
    a call, the functions that it calls go to the next one outside. Programs without such contexts pay nothing for them.

    >>> class Named(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Named():
    ...     y = torch.ones(2) * 3
    ones
    mul
    """

    __module__ = "tapegrad.overrides"

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        _push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new instance: what PyTorch once used in place of ``with Mode():``."""
        warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the function and does nothing else."""

    __module__ = "tapegrad.overrides"

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchFunctionMode) -> None:
    """Let a mode be the innermost of this thread."""
    disabled = thread.function_modes and not thread.modes.function_modes
    overriding.admit(contexts=1)
    thread.function_modes = (*thread.function_modes, mode)
    thread.modes = thread.modes.replace(function_modes=not disabled)


def _pop_mode() -> Any:
    """Take off the innermost mode of this thread, and give it."""
    *outer, mode = thread.function_modes
    thread.function_modes = tuple(outer)
    thread.modes = thread.modes.replace(function_modes=bool(outer) and thread.modes.function_modes)
    overriding.admit(contexts=-1)
    return mode


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """Run a block without the innermost mode."""
    with without_innermost() as mode:
        yield mode


def _get_current_function_mode() -> Any:
    """The innermost mode of this thread, or None."""
    return thread.function_modes[-1] if thread.function_modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """The modes of this thread, the innermost last."""
    return list(thread.function_modes)


def _len_torch_function_stack() -> int:
    """Count the modes that are on in this thread."""
    return len(thread.function_modes)
