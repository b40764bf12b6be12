"""Declarations of Python's operators: ``+ == <<`` and their relatives, of a tensor and what stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from tapegrad._src.bindings.declaration.handing import ASK_NOBODY, asked, overridden, overriding
from tapegrad._src.bindings.declaration.registry import BY_CLASSES, NAMESPACES, shown_as
from tapegrad._src.bindings.declaration.scalars import EXACT, is_number, length_tensor
from tapegrad._src.bindings.function_calls import cacheable
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.operator import Operator


def accepts(value: Any) -> bool:
    """Tell whether an operator of Python takes a value beside a tensor.

    For others it answers NotImplemented. Of an array on the right NumPy then computes the result, with its promotion,
    and without a history: ``Tensor.__array__`` and ``__array_wrap__``.
    """
    return isinstance(value, Tensor) or is_number(value) or hasattr(type(value), "__torch_function__")


AUGMENTED: dict[str, str] = {}
"""Augmented assignments as they were declared, and the methods that they call, or are in-place variants of."""


Asks = Literal["function", "method", "python", "self"]
"""The calls of an operator that classes and modes are given.

``"function"``: the method that it calls, ``mul`` of ``__mul__``; ``"method"``: the operator itself; ``"python"``: that
too, whatever the operand is, as PyTorch has it in Python; ``"self"``: so it is where the tensor's own class or a mode
overrides, and it is the function where the operand's does.
"""


def refused(self: Tensor, other: Any) -> Any:
    """The answer of an operator to an operand that it does not take: the other side may know what to do."""
    return NotImplemented


def dunder(
    name: str, function: Callable[[Tensor, Any], Any], asks: Asks = "function", augmented: tuple[str, ...] = (),
    foreign: Callable[[Tensor, Any], Any] = refused,
) -> Callable:  # fmt: skip
    """Declare a method such as ``__mod__`` of Tensor.

    Args:
        name, function: the method, and what it calls.
        asks: what classes and modes get.
        augmented: the augmented assignments that call the in-place variant of the function.
        foreign: what gets operands that no operator of Python takes.
    """
    method, settles = _declared(name, function, asks, augmented, foreign), getattr(function, "settles", None)
    made = method
    if settles is not None:
        made = shown_as(method, named(name, cacheable(settles, method), function))
        made.__wrapped__ = method  # type: ignore[attr-defined]
    NAMESPACES["Tensor"][name] = made
    return made


def _declared(name: str, function: Callable, asks: Asks, augmented: tuple[str, ...], foreign: Callable) -> Callable:
    AUGMENTED.update(dict.fromkeys(augmented, f"{function.__name__}_"))
    called = NAMESPACES["Tensor"][function.__name__] if asks in ("function", "self") else function
    return named(name, operator(called, asks, foreign), function)


def named(name: str, method: Callable, function: Callable) -> Callable:
    """A method with its name, and the text of the function that it calls."""
    method.__name__, method.__qualname__, method.__doc__ = name, name, function.__doc__
    BY_CLASSES.add(method)
    return method


def operator(
    function: Callable[[Tensor, Any], Any], asks: Asks, foreign: Callable[[Tensor, Any], Any] = refused
) -> Callable[[Tensor, Any], Any]:
    """A function that calls another one for an operator of Python; it leaves to the other side what it does not
    take."""

    def plain(self: Tensor, other: Any) -> Any:
        try:
            if type(other) is SYMBOL:
                return function(self, length_tensor(other))
            return function(self, other) if isinstance(other, Tensor) or accepts(other) else foreign(self, other)
        except TypeError:
            return NotImplemented

    if asks == "function":
        return plain
    in_python, alone, strict = asks == "python", asks == "self", asks == "method"

    def method(self: Tensor, other: Any) -> Any:
        relevant = (self,) if alone else (self, other)
        if not (overriding.active or type(other) not in ASK_NOBODY) or not asked(relevant, {}):
            return plain(self, other)
        if strict and not accepts(other):
            return NotImplemented
        shown = method.__dict__.get("shown_by", method)
        try:
            if in_python:
                return overridden(shown, (self, other), {}, relevant, "python")
            return overridden(shown, (self, other), None, relevant, "native")
        except TypeError:
            return NotImplemented

    return method


def hot_dunder(
    name: str, op: Operator, function: Callable[[Tensor, Any], Any], asks: Asks = "function",
    augmented: tuple[str, ...] = (), foreign: Callable[[Tensor, Any], Any] = refused,
) -> None:  # fmt: skip
    """Declare a method such as ``__mul__``: an operator of the table, reached without a detour once a plan exists.

    Plans are made by the slow way only, so that checks and overrides have been done for whatever has one. ``op`` must
    be what ``function`` comes down to, for two tensors or for a tensor and a float. For the others see ``dunder``.
    """
    plans, called = op.plans, _declared(name, function, asks, augmented, foreign)

    def method(self: Tensor, other: Any) -> Any:
        try:
            run = plans[thread.modes, self._spec, other._spec]
        except (KeyError, AttributeError):
            return slow(self, other)
        return run(self, other)

    def slow(self: Tensor, other: Any) -> Any:
        number_type, number = type(other), other
        if number_type is int and self._spec.dtype.category >= FLOATING and -EXACT < other < EXACT:
            number, number_type = float(other), float
        if number_type is float:
            run = plans.get((thread.modes, self._spec, float))
            if run is not None:
                return run(self, number)
        return called(self, other)

    NAMESPACES["Tensor"][name] = shown_as(called, named(name, method, function))


def reverse(function: Callable[[Any, Any], Tensor]) -> Callable[[Tensor, Any], Tensor]:
    """A function with its two operands exchanged, for ``__rmod__`` and its like."""

    def reversed_(self: Tensor, other: Any) -> Tensor:
        return function(other, self)

    reversed_.__doc__ = function.__doc__
    return reversed_
