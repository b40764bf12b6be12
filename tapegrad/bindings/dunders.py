"""How the operators of Python are declared: ``+ == <<`` and their relatives, of a tensor and what stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.bindings.registry import NAMESPACES, wrapped
from tapegrad.bindings.scalars import EXACT, is_number
from tapegrad.execution.dtypes import FLOATING
from tapegrad.ops.operator import Operator
from tapegrad.tape.modes import thread
from tapegrad.tensor.tensor import Tensor


def accepts(value: Any) -> bool:
    """Whether an operator of Python takes a value beside a tensor.

    For others it answers NotImplemented. Of an array on the right NumPy then computes the result, with its promotion,
    and without a history: ``Tensor.__array__`` and ``__array_wrap__``.
    """
    return isinstance(value, Tensor) or is_number(value) or hasattr(type(value), "__torch_function__")


AUGMENTED: dict[str, str] = {}
"""Augmented assignments as they were declared, and the methods that they call, or are in-place variants of."""


def _overridable(name: str, function: Callable[[Tensor, Any], Any], own: bool) -> Callable[[Tensor, Any], Any]:
    """What an operator calls, as classes and modes get it."""
    return wrapped(getattr(function, "__wrapped__", function), name, kind="method") if own else function


def dunder(
    name: str, function: Callable[[Tensor, Any], Any], own: bool = False, augmented: tuple[str, ...] = ()
) -> None:
    """Declare a method such as ``__mod__`` of Tensor.

    Args:
        name, function: the method, and what it calls.
        own: whether classes and modes get it under its own name; else it is the function: ``mul`` for ``__mul__``.
        augmented: the augmented assignments that call the in-place variant of the function.
    """
    AUGMENTED.update(dict.fromkeys(augmented, f"{function.__name__}_"))
    function = _overridable(name, function, own)

    def method(self: Tensor, other: Any) -> Any:
        return function(self, other) if accepts(other) else NotImplemented

    _attach(name, method, function)


def _attach(name: str, method: Callable, function: Callable) -> None:
    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__
    NAMESPACES.setdefault("Tensor", {})[name] = method


def refused(self: Tensor, other: Any) -> Any:
    """What an operator answers to an operand that it does not take: the other side may know what to do."""
    return NotImplemented


def hot_dunder(
    name: str, op: Operator, function: Callable[[Tensor, Any], Any], own: bool = False,
    augmented: tuple[str, ...] = (), foreign: Callable[[Tensor, Any], Any] = refused,
) -> None:  # fmt: skip
    """Declare a method such as ``__mul__``: an operator of the table, reached without a detour once a plan exists.

    Plans are made by the slow way only, so that checks and overrides have been done for whatever has one. ``op`` must
    be what ``function`` comes down to, for two tensors or for a tensor and a float. ``foreign`` gets operands that no
    operator of Python takes; for the others see ``dunder``.
    """
    AUGMENTED.update(dict.fromkeys(augmented, f"{function.__name__}_"))
    plans, function = op.plans, _overridable(name, function, own)

    def method(self: Tensor, other: Any) -> Any:
        try:
            run = plans[thread.modes, self._spec, other._spec]
        except (KeyError, AttributeError):
            return slow(self, other)
        return run(self, other)

    def slow(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind is int and self._spec.dtype.category >= FLOATING and -EXACT < other < EXACT:
            other, kind = float(other), float
        if kind is float:
            run = plans.get((thread.modes, self._spec, float))
            if run is not None:
                return run(self, other)
        return function(self, other) if accepts(other) else foreign(self, other)

    _attach(name, method, function)


def reverse(function: Callable[[Any, Any], Tensor]) -> Callable[[Tensor, Any], Tensor]:
    """A function with its two operands exchanged, for ``__rmod__`` and its like."""

    def reversed_(self: Tensor, other: Any) -> Tensor:
        return function(other, self)

    reversed_.__doc__ = function.__doc__
    return reversed_
