"""``Dim`` and what it stands for: lengths that may be others in each call of an exported program."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

__all__ = ["Dim", "dims"]

LINEAR = "(Only increasing linear operations with integer coefficients are supported.)"
MOST = 2**63 - 2
"""The largest length, in PyTorch's count."""


class IntInfinity(float):
    """A number that is more than all integers, which prints as PyTorch's.

    >>> int_oo, int_oo > 2**70
    (int_oo, True)
    """

    def __repr__(self) -> str:
        return "int_oo"


int_oo = IntInfinity("inf")


class _DimHintType(Enum):
    """The kinds of lengths without a name: who decides whether one may be another one."""

    AUTO = auto()
    STATIC = auto()
    DYNAMIC = auto()


@dataclass
class _DimHint:
    """A length without a name: ``Dim.AUTO``, ``Dim.DYNAMIC`` or ``Dim.STATIC``, perhaps with bounds.

    >>> Dim.AUTO(min=2, max=8)
    DimHint(AUTO, min=2, max=8)
    """

    type: _DimHintType
    min: int | None = None
    max: int | None = None
    _factory: bool | None = True

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:
        if not self._factory:
            raise TypeError(f"'{type(self)}' object is not callable")
        for what, bound in (("min", min), ("max", max)):
            if bound is not None and bound < 0:
                raise AssertionError(f"{what} must be non-negative, got {bound}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return _DimHint(self.type, min=min, max=max, _factory=False)

    def __repr__(self) -> str:
        bounds = [f"{what}={bound}" for what, bound in (("min", self.min), ("max", self.max)) if bound is not None]
        return f"DimHint({', '.join([self.type.name, *bounds])})"


_DimHint.__module__ = "tapegrad.export.dynamic_shapes"


class Dim:
    """A length that may be another one in each call, with a name: what has one name has one length.

    ``2 * dim + 1`` stands for a length that follows from it. ``Dim.AUTO`` finds out whether a length may change,
    ``Dim.DYNAMIC`` demands that it may, ``Dim.STATIC`` says that it doesn't.

    Args:
        name: an identifier.
        min, max: bounds of the length.

    Raises:
        AssertionError: no identifier, or ``max`` isn't more than ``min``.
        NotImplementedError: arithmetic other than with integers that makes lengths grow together.

    >>> batch = Dim("batch", min=2, max=64)
    >>> batch, 2 * batch + 1, (2 * batch + 1).max
    (Dim('batch', max=64), 2*batch + 1, 129)
    """

    AUTO: ClassVar[_DimHint] = _DimHint(_DimHintType.AUTO)
    DYNAMIC: ClassVar[_DimHint] = _DimHint(_DimHintType.DYNAMIC)
    STATIC: ClassVar[_DimHint] = _DimHint(_DimHintType.STATIC)

    min: Any
    max: Any

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        least, most = 0 if min is None else min, int_oo if max is None else max
        if not most > least:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, least, most

    root = property(lambda self: self)
    factor, offset = 1, 0

    def _derived(self, factor: int, offset: int) -> Dim:
        return _DerivedDim(self.root, factor, offset)

    def __add__(self, other: Any) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to add {other} to {self.__name__}, where an integer was expected. {LINEAR}"
            )
        return self._derived(self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dim:
        if type(other) is not int:
            raise NotImplementedError(
                f"Attempted to subtract {other} from {self.__name__}, where an integer was expected. {LINEAR}"
            )
        return self._derived(self.factor, self.offset - other)

    def __rsub__(self, other: Any) -> Dim:
        raise NotImplementedError(f"Attempted to negate {self.__name__}. {LINEAR}")

    def __mul__(self, other: Any) -> Dim:
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. {LINEAR}"
            )
        return self._derived(self.factor * other, self.offset * other)

    __rmul__ = __mul__

    @staticmethod
    def _readable(name: str, min_: Any, max_: Any) -> str:
        bounds = [("min", min_)] * (min_ not in (2, None)) + [("max", max_)] * (max_ not in (int_oo, None))
        return f"Dim('{name}'{''.join(f', {what}={bound}' for what, bound in bounds)})"

    def __repr__(self) -> str:
        return self._readable(self.__name__, self.min, self.max)


class _DerivedDim(Dim):
    """A length that follows from another one: ``factor * root + offset``."""

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        self._root, self.factor, self.offset = root, factor, offset
        product = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        self.__name__ = f"{product} {'-' if offset < 0 else '+'} {abs(offset)}" if offset else product

    root = property(lambda self: self._root)

    def fn(self, length: Any) -> Any:
        """The length for one of the other."""
        return self.factor * length + self.offset

    @property
    def min(self) -> Any:
        """The least length. Raises AssertionError: it would be negative."""
        least = self.fn(self.root.min)
        if least < 0:
            raise AssertionError(
                f"Expected derived min value of {self.__name__} to be >= 0. Please specify an appropriate min value "
                f"for {self.root.__name__} (currently {self.root.min})."
            )
        return least

    @property
    def max(self) -> Any:
        """The largest length. Raises AssertionError: it would need more than 63 bits."""
        if self.root.max is int_oo:
            return int_oo
        most = self.fn(self.root.max)
        if most > MOST:
            raise AssertionError(
                f"Expected derived max value of {self.__name__} to be <= {MOST}. Please specify an appropriate max "
                f"value for {self.root.__name__} (currently {self.root.max})."
            )
        return most

    def __repr__(self) -> str:
        return self.__name__


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A ``Dim`` for each name, all with the same bounds.

    Args:
        names: identifiers.
        min, max: the bounds.

    >>> dims("height", "width", max=512)
    (Dim('height', min=0, max=512), Dim('width', min=0, max=512))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)
