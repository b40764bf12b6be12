"""Subclasses of Tensor, and ``__torch_function__``: how a class takes part in every function.

Note [Overriding functions]
A function of the vocabulary asks the classes of its arguments first. A subclass that says nothing gets the function's
result as an instance of itself (an alias, as ``AliasBackward0`` in the graph shows); one with a ``__torch_function__``
gets the call. ``Parameter`` opts out with ``_disabled_torch_function_impl``: operators on it give plain tensors. Nobody
is asked as long as no such class exists (``handing.overriding``). They are handed the very function that PyTorch hands
over, in the same form, so that a table of functions finds it: an operator of Python is a method of Tensor
(``declaration/dunders.py``), and what PyTorch has in Python gives all arguments with defaults by name
(``handed_over``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.handing import (
    _disabled_torch_dispatch_impl,
    default_torch_function,
    dispatches,
    overrides,
    overriding,
)
from tapegrad._src.bindings.declaration.parser import type_name
from tapegrad._src.bindings.declaration.registry import NAMESPACES, PROPERTIES
from tapegrad._src.bindings.state.attributes import as_instance, set_flag, sharing
from tapegrad._src.bindings.viewing import view_of
from tapegrad._src.bindings.wrapper_subclass import make_wrapper_subclass
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.dual import set_tangent
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.shape import alias


def as_subclass(self: Tensor, cls: type) -> Tensor:
    """This tensor as an instance of a subclass of Tensor: a view of all of it.

    Raises:
        TypeError: ``cls`` is no subclass of Tensor.
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    check_subclass(cls)
    shared = view_of(self, alias)
    result = as_instance(cls, shared)
    if shared._spec.dual:
        set_tangent(result, shared._tangent)
    return result


NAMESPACES.setdefault("Tensor", {})["as_subclass"] = as_subclass  # as it is: no class overrides it


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of class ``cls`` that shares the data and the version counter of a tensor.

    Raises:
        TypeError: ``cls`` is no subclass of Tensor, or ``data`` is no tensor.
        RuntimeError: ``require_grad`` for an integral dtype, or for an inference tensor outside inference mode.
    """
    check_subclass(cls)
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    if require_grad and data._spec.dtype.category < 2:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    result = as_instance(cls, sharing(data))
    set_flag(result, bool(require_grad))
    return result


PROPERTIES["_make_subclass"] = staticmethod(make_subclass)
PROPERTIES["_make_wrapper_subclass"] = staticmethod(make_wrapper_subclass)


def check_subclass(cls: Any) -> None:
    """Refuse what is no subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
            "your class inherits from Tensor."
        )


# Classes that override ----------------------------------------------------------------------------------------------


def _disabled_torch_function_impl(func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
    """As a class's ``__torch_function__``: the class takes no part, functions give plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _init_subclass(cls: type, **options: Any) -> None:
    """Note whether a new subclass of Tensor overrides functions."""
    super(Tensor, cls).__init_subclass__(**options)  # type: ignore[misc]
    own = cls.__dict__.get("__torch_function__")
    if own is not None:
        cls._torch_function_disabled = own is _disabled_torch_function_impl  # type: ignore[attr-defined]
    elif dispatches(cls) and getattr(cls.__torch_function__, "__func__", None) is default_torch_function:  # type: ignore[attr-defined]
        cls.__torch_function__ = staticmethod(_disabled_torch_function_impl)  # type: ignore[attr-defined]
        cls._torch_function_disabled = True  # type: ignore[attr-defined]
    if overrides(cls):
        overriding.admit(classes=True)
    if dispatches(cls):
        overriding.admit(dispatches=True)


PROPERTIES["__init_subclass__"] = classmethod(_init_subclass)
PROPERTIES["__torch_function__"] = classmethod(default_torch_function)
PROPERTIES["__torch_dispatch__"] = staticmethod(_disabled_torch_dispatch_impl)


class _Switched:
    """A context in which some modes are off."""

    off: dict[str, bool]

    def __enter__(self) -> None:
        self._previous = thread.modes
        thread.modes = thread.modes.replace(**self.off)

    def __exit__(self, *exception: object) -> None:
        thread.modes = self._previous


class DisableTorchFunctionSubclass(_Switched):
    """A context in which no class is asked to override functions; modes are.

    >>> class Marked(torch.Tensor):
    ...     pass
    >>> with DisableTorchFunctionSubclass():
    ...     type(Marked([1.0]) + 1) is torch.Tensor
    True
    """

    off = {"torch_function": False}


class DisableTorchFunction(_Switched):
    """A context in which neither classes nor modes are asked to override functions."""

    off = {"torch_function": False, "function_modes": False}
