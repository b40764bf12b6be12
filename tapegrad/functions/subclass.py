"""Subclasses of Tensor, and ``__torch_function__``: how a class takes part in every function.

Note [Overriding functions]
A function of the vocabulary asks the classes of its arguments first. A subclass that says nothing gets the function's
result as an instance of itself (an alias, as ``AliasBackward0`` in the graph shows); one with a ``__torch_function__``
gets the call. ``Parameter`` opts out with ``_disabled_torch_function_impl``: operators on it give plain tensors. Nobody
is asked as long as no such class exists (``registry.overriding``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tapegrad.functions.attributes import as_instance, set_flag, sharing
from tapegrad.functions.registry import (
    NAMESPACES,
    NOT_WRAPPED,
    PROPERTIES,
    default_torch_function,
    overridden,
    overriders,
    overrides,
    overriding,
)
from tapegrad.ops.shape import alias
from tapegrad.tape.modes import thread
from tapegrad.tensor.dual import set_tangent
from tapegrad.tensor.tensor import Tensor


def as_subclass(self: Tensor, cls: type) -> Tensor:
    """This tensor as an instance of a subclass of Tensor: an alias, through which gradients flow.

    Raises:
        TypeError: ``cls`` is no subclass of Tensor.
    """
    check_subclass(cls)
    shared = sharing(self)
    if self._spec.requires_grad and thread.modes.grad:
        shared._edge = alias(self)._edge
        shared._spec = shared._spec.replace(requires_grad=True)
    result = as_instance(cls, shared)
    if self._spec.dual and thread.modes.forward_grad:
        set_tangent(result, self._tangent)
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
    if require_grad and data.dtype.category < 2:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    result = as_instance(cls, sharing(data))
    set_flag(result, bool(require_grad))
    return result


PROPERTIES["_make_subclass"] = staticmethod(make_subclass)


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
    if overrides(cls):
        overriding.active = overriding.known = True


PROPERTIES["__init_subclass__"] = classmethod(_init_subclass)
PROPERTIES["__torch_function__"] = classmethod(default_torch_function)


class DisableTorchFunctionSubclass:
    """A context in which no class is asked to override functions.

    >>> import tapegrad as torch
    >>> class Marked(torch.Tensor):
    ...     pass
    >>> with DisableTorchFunctionSubclass():
    ...     type(Marked([1.0]) + 1) is torch.Tensor
    True
    """

    def __enter__(self) -> None:
        self._previous = thread.modes
        thread.modes = thread.modes.replace(torch_function=False)

    def __exit__(self, *exception: object) -> None:
        thread.modes = self._previous


DisableTorchFunction = DisableTorchFunctionSubclass

# Writing functions that can be overridden ---------------------------------------------------------------------------


def _function(function: Callable) -> Callable:
    """Put a function into ``torch.overrides`` as it is."""
    NAMESPACES.setdefault("overrides", {})[function.__name__] = function
    return function


@_function
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of any of these arguments overrides functions.

    >>> has_torch_function([1, "a"])
    False
    """
    return thread.modes.torch_function and bool(overriders(tuple(relevant_args), {}))


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
    """Give a call of ``public_api`` to the classes that override it.

    Raises:
        TypeError: all of them return NotImplemented.
    """
    handlers = overriders(tuple(relevant_args), {})
    types = tuple(type(arg) for arg in handlers)
    for arg in handlers:
        result = type(arg).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return overridden(public_api, (), {})  # raises, in the words of the vocabulary's own functions


@_function
def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor or overrides functions."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


@_function
def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of Tensor, or the getter or setter of one of its properties."""
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in NAMESPACES["Tensor"].values()


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
