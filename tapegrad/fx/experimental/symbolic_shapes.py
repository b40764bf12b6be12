"""``torch.fx.experimental.symbolic_shapes``: the errors of lengths, which exporting raises, and questions about them.

>>> ConstraintViolationError("Constraints violated (batch)!").__class__.__name__
'ConstraintViolationError'
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.symbolic import SymBool
from tapegrad.export.errors import ConstraintViolationError, GuardOnDataDependentSymNode

__all__ = [
    "ConstraintViolationError", "GuardOnDataDependentSymNode", "free_symbols", "free_unbacked_symbols",
    "guard_or_false", "guard_or_true", "guard_size_oblivious", "statically_known_true",
]  # fmt: skip
__getattr__ = refusing(__name__)


def guard_or_false(a: Any) -> bool:
    """The truth of a comparison of lengths: they are known, or the program is told what is assumed of them.

    Args:
        a: a bool, or a comparison.

    Raises:
        AssertionError: it is neither.

    >>> guard_or_false(2 < 3)
    True
    """
    if not isinstance(a, (bool, SymBool)):
        raise AssertionError(f"Expected bool, got {type(a)}")
    return bool(a)


guard_or_true = guard_size_oblivious = statically_known_true = guard_or_false


def free_symbols(val: Any) -> set:
    """The symbols that lengths depend on: none, for what runs has numbers.

    Args:
        val: a number, a tensor, or several of them.

    >>> free_symbols(torch.ones(2))
    set()
    """
    return set()


def free_unbacked_symbols(x: Any) -> set:
    """Those of them that have no number.

    Args:
        x: a number, a tensor, or several of them.
    """
    return set()
