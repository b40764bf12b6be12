"""``RaggedLength``: the length of a dimension that differs from row to row.

Two are equal if they are of the same offsets: a tensor of offsets has one length, as long as it lives, and so have all
tensors with these offsets.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from tapegrad._src.bindings.symbolic import SymInt
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.utils.weak import WeakIdKeyDictionary

_numbers = count(1)


class RaggedLength(SymInt):
    """The length of a ragged dimension, which has a number for its name, and a factor.

    Attributes:
        number: the same one of equal lengths.
        factor: how many times it is taken.

    >>> RaggedLength(7), 2 * RaggedLength(7), RaggedLength(7) == RaggedLength(7), RaggedLength(7) == 3
    (j7, 2*j7, True, False)
    """

    __slots__ = ("number", "factor")

    def __init__(self, number: int | None = None, factor: int = 1) -> None:
        self.number = next(_numbers) if number is None else number
        self.factor = factor

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    def __mul__(self, other: Any) -> RaggedLength:
        if not isinstance(other, int):
            raise ValueError(f"unsupported: {type(other)}")
        return RaggedLength(self.number, self.factor * other)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedLength) and (self.number, self.factor) == (other.number, other.factor)

    def __hash__(self) -> int:
        return hash(self.number)

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, RaggedLength) and self.number == other.number:
            return self.factor >= other.factor
        if isinstance(other, int) and other <= 2:
            return True
        raise ValueError("ge: relation is indeterminate")

    def __le__(self, other: Any) -> bool:
        if isinstance(other, RaggedLength) and self.number == other.number:
            return self.factor <= other.factor
        if isinstance(other, int) and other < 2:
            return False
        raise ValueError("ge: relation is indeterminate")

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __reduce__(self) -> tuple:
        return RaggedLength, (self.number, self.factor)


known_lengths = WeakIdKeyDictionary()
"""The lengths that tensors of offsets stand for, as long as these live."""


def length_of(source: Tensor) -> RaggedLength:
    """The length that a tensor of offsets, or of lengths, stands for: the same one each time."""
    found = known_lengths.get(source)
    if found is None:
        found = known_lengths[source] = RaggedLength()
    return found


def same_length(source: Tensor, length: RaggedLength) -> None:
    """Let a copy of offsets stand for the length that they stood for."""
    known_lengths[source] = length
