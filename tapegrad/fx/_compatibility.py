"""``torch.fx._compatibility``: the mark of what PyTorch keeps compatible, which says nothing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["compatibility"]

F = TypeVar("F", bound=Callable)


def compatibility(is_backward_compatible: bool) -> Callable[[F], F]:
    """A decorator that gives the function or class back.

    >>> compatibility(is_backward_compatible=True)(len)([1, 2])
    2
    """
    return lambda fn: fn
