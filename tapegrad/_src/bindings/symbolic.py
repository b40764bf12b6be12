"""``torch.SymInt`` and its like: sizes that PyTorch's compiler doesn't know. Here all are numbers, but in exports.

So the functions that programs call in order to compute with such sizes compute with numbers.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.sizes import SYMBOL

NUMBERS = (np.integer, np.floating, int, float)


class _Symbols(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is SYMBOL or super().__instancecheck__(instance)


class SymInt(metaclass=_Symbols):
    """The class of unknown sizes, as ``torch.export`` has them; programs ask ``isinstance(x, (int, torch.SymInt))``.

    >>> isinstance(torch.ones(3).shape[0], torch.SymInt)
    False
    """

    __module__ = "tapegrad"


class SymFloat:
    """The class of numbers that follow from unknown sizes in PyTorch."""

    __module__ = "tapegrad"


class SymBool:
    """The class of conditions on unknown sizes in PyTorch."""

    __module__ = "tapegrad"


@public("torch", asks="nobody", native=True)
def sym_int(a: Any) -> Any:
    """The integer next to a number on the way to 0; a size as it is.

    >>> torch.sym_int(-2.7)
    -2
    """
    return a if type(a) is SYMBOL else int(a)


@public("torch", asks="nobody", native=True)
def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


@public("torch", asks="nobody", native=True)
def sym_not(a: Any) -> bool:
    """The opposite of a condition."""
    return not a


@public("torch", asks="nobody", native=True)
def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t`` if a condition holds, otherwise ``f``, which is of the same class.

    Args:
        b: the condition.
        t, f: two values.

    Raises:
        AssertionError: the condition is no bool, or the classes differ.
    """
    if not isinstance(b, (SymBool, builtins.bool)):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


@public("torch", asks="nobody", native=True)
def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers; a float, if one of them is one.

    Args:
        a, b: the numbers.

    Raises:
        AssertionError: they are no numbers.

    >>> torch.sym_max(3, 2.0)
    3.0
    """
    return _chosen(max, a, b)


@public("torch", asks="nobody", native=True)
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float, if one of them is one.

    Args:
        a, b: the numbers.

    Raises:
        AssertionError: they are no numbers.
    """
    return _chosen(min, a, b)


def _chosen(choose: Any, a: Any, b: Any) -> Any:
    if type(a) is SYMBOL or type(b) is SYMBOL:
        return choose(a, b)
    if not isinstance(a, NUMBERS):
        raise AssertionError(f"expected {NUMBERS}, got {type(a)}")
    if not isinstance(b, NUMBERS):
        raise AssertionError(f"expected {NUMBERS}, got {type(b)}")
    if isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating)):
        return float(choose(a, b))
    return choose(a, b)


@public("torch", asks="nobody", native=True)
def sym_sum(*args: Any) -> Any:
    """The sum of numbers, or of those in a list.

    >>> torch.sym_sum(1, 2), torch.sym_sum([1, 2])
    (3, 3)
    """
    numbers = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return builtins.sum(numbers)


@public("torch", aliases=("sym_sqrt",), asks="nobody", native=True)
def _sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)
