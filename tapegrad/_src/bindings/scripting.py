"""``torch.jit``: there is no TorchScript here. Python is what runs; what programs decorate for it passes through."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")


class _Lists(type):
    """The class of annotations that are taken as lists: ``BroadcastingList2[int]`` is ``list[int]``."""

    def __getitem__(cls, item: Any) -> Any:
        return list[item]


class BroadcastingList1(metaclass=_Lists):
    """An annotation: a list, or a number that stands for one of a single item."""


class BroadcastingList2(metaclass=_Lists):
    """An annotation: a list, or a number that stands for one of two items."""


class BroadcastingList3(metaclass=_Lists):
    """An annotation: a list, or a number that stands for one of three items."""


class ScriptFunction:
    """The class of functions made by ``torch.jit.script`` in PyTorch; here nothing is one."""

    __module__ = "tapegrad.jit"


class TracerWarning(Warning):
    """The warning of PyTorch's tracer; never given here."""

    __module__ = "tapegrad.jit"


class JITException(RuntimeError):
    """The error of programs of TorchScript in PyTorch; never raised here."""


Error = JITException


class ScriptWarning(Warning):
    """The warning of PyTorch's compiler of scripts; never given here."""

    __module__ = "tapegrad.jit"


class Attribute(NamedTuple):
    """A value of a module, with the type that TorchScript should know it by."""

    value: Any
    type: Any


Attribute.__module__ = "tapegrad.jit"  # where PyTorch has it


def export(fn: T) -> T:
    """The method itself."""
    return fn


def unused(fn: T) -> T:
    """The function itself; it is run when it is called."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself, as ``@ignore`` and as ``@ignore(drop=...)``."""
    return drop if callable(drop) else lambda function: function


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


_script_if_tracing = script_if_tracing


def _overload(func: T) -> T:
    """The function itself: a signature, whose implementation follows under the same name."""
    return func


_overload_method = _overload


def _copy_to_script_wrapper(fn: T) -> T:
    """The method itself: there is nothing that it could be copied to."""
    return fn


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable, if_false: Callable, module_name: str | None,
    func_name: str | None,
) -> Callable:  # fmt: skip
    """A function that is one of two, by an argument which is a boolean.

    Args:
        arg_name, arg_index, default: what the argument is called, its place, and what it is if it is not given.
        if_true, if_false: the two.
        module_name, func_name: the names of the result.

    Raises:
        RuntimeError: both have docstrings.

    >>> f = boolean_dispatch("up", 1, False, lambda x, up: x + 1, lambda x, up=False: x - 1, None, "f")
    >>> f(1), f(1, up=True)
    (0, 2)
    """
    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")

    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    fn.__module__, fn.__name__ = module_name or fn.__module__, func_name or fn.__name__
    return fn


def script_method(fn: T) -> T:
    """The method itself."""
    return fn


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def freeze(mod: T, *args: Any, **options: Any) -> T:
    """The module itself."""
    return mod


def optimize_for_inference(mod: T, *args: Any, **options: Any) -> T:
    """The module itself."""
    return mod


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Tell whether an object is of a type, of which a generic one counts as its origin: ``List[int]`` is ``list``."""
    types = target_type if type(target_type) is tuple else (target_type,)
    classes: list[Any] = [typing.get_origin(each) for each in types]
    return issubclass(type(obj), tuple(cls or each for cls, each in zip(classes, types, strict=True)))


def is_scripting() -> bool:
    """False: Python runs."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced by PyTorch's tracer."""
    return False


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Callable[[], T]:
    """Compute now what ``wait`` gives the result of."""
    result = func(*args, **kwargs)
    return lambda: result


def wait(future: Callable[[], T]) -> T:
    """The result of what ``fork`` was given."""
    return future()


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Refused.

    Raises:
        NotImplementedError: always; it says what to do.
    """
    raise NotImplementedError("torch.jit.save: there are no TorchScript files here; pickle what you want to keep")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Refused.

    Raises:
        NotImplementedError: always; it says what to do.
    """
    raise NotImplementedError(
        "torch.jit.load: there are no TorchScript files here; load it with PyTorch, and take its parameters over as "
        "NumPy arrays"
    )


__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptWarning", "TracerWarning",
    "_overload", "_overload_method", "_script_if_tracing",
    "annotate", "export", "fork", "freeze", "ignore", "interface", "is_scripting",
    "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script_if_tracing",
    "script_method", "unused", "wait",
]  # fmt: skip
