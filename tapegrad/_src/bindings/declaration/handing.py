"""Calls handed over to those who override functions. See Note [Overriding functions] in ``subclass.py``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.tensor import Tensor, sharing_handle

NOT_WRAPPED: set[Any] = set()
"""Functions whose result a subclass gets as it is, by default."""


class Overriding:
    """The classes and modes that may override functions; as long as there are none, nobody looks for one.

    Attributes:
        classes: whether a class with a ``__torch_function__`` of its own exists.
        contexts: how many contexts are on, in all threads, in which something else does: modes, captured calls.
        dispatches: whether a class with a ``__torch_dispatch__`` of its own exists. See Note [Dispatch].
        modes: how many dispatch modes are on, in all threads.
        shows: whether there is such a class or mode.
        active: whether there is any of them.
    """

    def __init__(self) -> None:
        self.classes, self.contexts, self.dispatches, self.modes = False, 0, False, 0
        self.active = self.shows = False
        self._lock = threading.Lock()

    def admit(self, *, classes: bool = False, contexts: int = 0, dispatches: bool = False, modes: int = 0) -> None:
        """Note that there are such classes, or that contexts were entered or left."""
        with self._lock:
            self.classes |= classes
            self.dispatches |= dispatches
            self.contexts += contexts
            self.modes += modes
            self.shows = self.dispatches or self.modes > 0
            self.active = self.classes or self.shows or self.contexts > 0


overriding = Overriding()


def overrides(cls: type) -> bool:
    """Tell whether a class takes part in functions. Those of PyTorch itself don't: they would only call them again."""
    if getattr(cls, "__torch_function__", None) is None or cls is Tensor:
        return False
    if issubclass(cls, Tensor):
        return not getattr(cls, "_torch_function_disabled", False)
    return not any(base.__module__.partition(".")[0] == "torch" for base in cls.__mro__)


def _disabled_torch_dispatch_impl(func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
    """As a class's ``__torch_dispatch__``: the class takes no part, its tensors count as plain ones."""
    return func(*map(as_plain, args), **{name: as_plain(arg) for name, arg in (kwargs or {}).items()})


def as_plain(arg: Any) -> Any:
    """A tensor of a class with a ``__torch_dispatch__`` as one without; other arguments as they are."""
    if isinstance(arg, (list, tuple)):
        return type(arg)(map(as_plain, arg))
    return sharing_handle(arg, None) if isinstance(arg, Tensor) and arg._spec.overrides == DISPATCH else arg


DISPATCH: Any = "dispatch"
"""The word in specs for tensors whose class has a ``__torch_dispatch__``, in ``overrides``."""


def dispatches(cls: type) -> bool:
    """Tell whether the class of a tensor has a ``__torch_dispatch__`` of its own."""
    own = getattr(cls, "__torch_dispatch__", None)
    return own is not None and getattr(own, "__func__", own) is not _disabled_torch_dispatch_impl


def taking_part(cls: type) -> Any:
    """The word in the spec of an instance of a subclass for its class: ``Spec.overrides``."""
    return DISPATCH if dispatches(cls) else overrides(cls)


def overriders(args: tuple, kwargs: dict, plain: bool = False) -> list[Any]:
    """The arguments whose class overrides functions, subclasses before their bases, each class once.

    Args:
        plain: whether Tensor itself counts, which answers NotImplemented beside others.
    """
    ordered: list[Any] = []
    for arg in flat((*args, *kwargs.values())):
        cls = type(arg)
        if not (overrides(cls) or (plain and cls is Tensor)) or any(type(other) is cls for other in ordered):
            continue
        index = next((i for i, other in enumerate(ordered) if issubclass(cls, type(other))), len(ordered))
        ordered.insert(index, arg)
    return ordered


def flat(args: tuple) -> list[Any]:
    """Arguments, and in the place of sequences their elements."""
    items: list[Any] = []
    for arg in args:
        if isinstance(arg, (tuple, list)):
            items.extend(arg)
        else:
            items.append(arg)
    return items


def asked(args: tuple, kwargs: dict) -> bool:
    """Tell whether a mode, or the class of one of these arguments, gets a call."""
    modes = thread.modes
    if modes.function_modes or not modes.torch_function:
        return modes.function_modes
    others = [arg for arg in (*args, *kwargs.values()) if type(arg) not in ASK_NOBODY]
    return bool(others) and bool(overriders(tuple(others), {}))


ASK_NOBODY = frozenset((Tensor, bool, int, float, str, type(None)))
"""The classes of most arguments, none of which overrides functions."""


@contextmanager
def without_innermost() -> Iterator[Any]:
    """The innermost mode, which is off the stack meanwhile. See Note [Function modes] in ``tape/modes.py``."""
    stack = thread.function_modes
    thread.function_modes = stack[:-1]
    thread.modes = thread.modes.replace(function_modes=len(stack) > 1)
    try:
        yield stack[-1]
    finally:
        thread.function_modes = (*thread.function_modes, stack[-1])
        thread.modes = thread.modes.replace(function_modes=True)


Origin = Literal["native", "alone", "python"]
"""The kinds of functions that are handed over, in PyTorch: in C++; in C++, with no argument but the tensor, whose class
is always named then; in Python, where Tensor itself is asked, too."""


def overridden(
    function: Callable, args: tuple, kwargs: dict | None, relevant: tuple, origin: Origin = "python"
) -> Any:
    """Give a call to the innermost mode, then to the overriding classes, until one doesn't answer NotImplemented.

    Args:
        function, args, kwargs: what they are given.
        relevant: the arguments whose classes are asked.
        origin: how PyTorch has the function.

    Raises:
        TypeError: PyTorch's message, if none answers.
    """
    handlers: list[Any] = []
    if thread.modes.torch_function:
        handlers = list(relevant) if origin == "alone" else overriders(relevant, {}, plain=origin == "python")
    types = tuple([type(arg) for arg in handlers])
    mode = None
    if thread.modes.function_modes:
        with without_innermost() as mode:
            result = mode.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for arg in handlers:
        result = type(arg).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(unanswered(function, types, mode, origin))


def unanswered(function: Callable, types: tuple[type, ...], mode: Any, origin: Origin) -> str:
    """The message if all that a call was given to leave it."""
    if origin == "python":
        name, told = torch_name_of(function), list(types)
        message = f"no implementation found for '{name}' on types that implement __torch_function__: {told}"
        return message + ("" if mode is None else f" nor in mode {mode}")
    names = [f"  - tensor subclass {cls}" for cls in types]
    if mode is not None:
        names.insert(0, f"  - mode object {mode!r}")
    return (
        f"Multiple dispatch failed for '{torch_name_of(function)}'; all __torch_function__ handlers returned "
        "NotImplemented:\n\n" + "\n".join(names) + "\n\nFor more information, try re-running with "
        "TORCH_LOGS=not_implemented"
    )


def torch_name_of(function: Any) -> str:
    """The place of a function that nobody took over, in messages: PyTorch's module, and its name."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, property):
        return f"{owner.fget.torch_name}.{function.__name__}"  # type: ignore[union-attr]
    name = getattr(function, "torch_name", None)
    return name or f"{function.__module__}.{function.__name__}".replace("tapegrad", "torch", 1)


def default_torch_function(
    cls: type, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
) -> Any:
    """The ``__torch_function__`` of a subclass that does not write one: the result, as the subclass."""
    if not all(issubclass(cls, other) for other in types):
        return NotImplemented
    with switched(torch_function=False):
        result = func(*args, **(kwargs or {}))
        return result if func in NOT_WRAPPED else _as_class(result, cls)


def _as_class(result: Any, cls: type) -> Any:
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        converted = [_as_class(item, cls) for item in result]
        return type(result)(*converted) if hasattr(result, "_fields") else type(result)(converted)
    return result
