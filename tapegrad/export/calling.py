"""Calls of an exported program: what is looked at before, and how its arguments are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec, flatten
from tapegrad.export.dimensions import int_oo

Length = int | tuple[str, int, int]
"""A length that never changes; or a variable's name, a factor and what is added."""


@dataclass(frozen=True)
class ExpectedTensor:
    """A tensor that a program takes.

    Attributes:
        name: its place among the arguments, as messages have it.
        shape: its lengths.
        dtype: its dtype.
    """

    name: str
    shape: tuple[Length, ...]
    dtype: dtype


@dataclass(frozen=True)
class ExpectedValue:
    """An argument that is no tensor, and the same in each call; nothing is expected of what is None in the example."""

    name: str
    value: Any


Expected = ExpectedTensor | ExpectedValue


@dataclass
class ValueRanges:
    """The least and the largest value of a length, as the user has them, and those that the program takes.

    >>> ValueRanges(0, int_oo)
    VR[0, int_oo]
    """

    lower: Any
    upper: Any
    least: int = 1
    most: Any = int_oo

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"


class Symbol(str):
    """The name of a length that may change, as ``range_constraints`` has it.

    >>> {Symbol("batch"): 1}
    {batch: 1}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def check_structure(args: tuple, kwargs: dict[str, Any], expected: TreeSpec) -> list:
    """The arguments, one by one.

    Raises:
        ValueError: they are in other containers than those of the example, or have other names.
    """
    names = expected.child(1).context
    if set(kwargs) != set(names):
        raise ValueError(
            f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {names}"
        )
    flat, spec = flatten((args, {name: kwargs[name] for name in names}))
    if not same_structure(spec, expected):
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{expected}\nbut actually got inputs with "
            f"tree spec of: \n{spec}.\nPlease check that the inputs have the same number and type of args and kwargs "
            "as the ones you used when tracing."
        )
    return flat


def same_structure(one: TreeSpec, other: TreeSpec) -> bool:
    """Tell whether two structures are alike, dicts with their keys in any order."""
    both_dicts = one.kind is dict and other.kind is dict
    same = set(one.context) == set(other.context) if both_dicts else one.context == other.context
    if one.kind is not other.kind or not same or one.num_children != other.num_children:
        return False
    return all(map(same_structure, one.children(), other.children()))


class ArgumentChecks:
    """The checks of the arguments of one call.

    Args:
        ranges: for each variable its least and largest length.

    >>> guards = ArgumentChecks({"batch": ValueRanges(2, 8, 2, 8)})
    >>> guards.check(torch.ones(9, 3), ExpectedTensor("x", (("batch", 1, 0), 3), torch.float32))
    Traceback (most recent call last):
    AssertionError: Guard failed: x.size()[0] <= 8
    """

    def __init__(self, ranges: dict[Any, ValueRanges]) -> None:
        self.ranges = ranges
        self.known: dict[str, tuple[int, str]] = {}

    def check(self, given: Any, expected: Expected) -> None:
        """Refuse an argument. Raises AssertionError, AttributeError: PyTorch's message."""
        if isinstance(expected, ExpectedTensor):
            self.check_tensor(given, expected)
        elif expected.value is not None and (given != expected.value or isinstance(given, Tensor)):
            raise AssertionError(f"Guard failed: {expected.name} == {expected.value!r}")

    def check_tensor(self, given: Any, expected: ExpectedTensor) -> None:
        """Refuse what is no such tensor."""
        if not isinstance(given, Tensor):
            raise AttributeError(f"{type(given).__name__!r} object has no attribute 'size'")
        for axis, (length, wanted) in enumerate(zip(given.shape, expected.shape, strict=False)):
            self.check_length(length, wanted, f"{expected.name}.size()[{axis}]")
        name = expected.name
        if given.ndim != len(expected.shape):
            raise AssertionError(f"Guard failed: len({name}.size()) == {len(expected.shape)}")
        if given.dtype is not expected.dtype:
            raise AssertionError(f"Guard failed: {name}.dtype == {expected.dtype}")

    def check_length(self, length: int, wanted: Length, place: str) -> None:
        """Refuse a length."""
        if isinstance(wanted, int):
            if length != wanted:
                raise AssertionError(f"Guard failed: {place} == {wanted}")
            return
        name, factor, offset = wanted
        bounds = self.ranges[name]
        for bound, sign, outside in ((bounds.least, ">=", length.__lt__), (bounds.most, "<=", length.__gt__)):
            if bound != int_oo and outside(factor * bound + offset):
                raise AssertionError(f"Guard failed: {place} {sign} {factor * bound + offset}")
        value, rest = divmod(length - offset, factor)
        if rest:
            base = place if not offset else f"({place} {'-' if offset > 0 else '+'} {abs(offset)})"
            raise AssertionError(f"Guard failed: {base} % {factor} == 0")
        known, first = self.known.setdefault(name, (value, place))
        if known != value:
            raise AssertionError(f"Guard failed: {place} == {first}")


def checked(flat: Sequence, expected: Sequence[Expected], ranges: dict[Any, ValueRanges] | None) -> list[Tensor]:
    """The tensors among the arguments, which are as they must be; without ``ranges`` nothing is looked at."""
    if ranges is not None:
        guards = ArgumentChecks(ranges)
        for given, wanted in zip(flat, expected, strict=True):
            guards.check(given, wanted)
    return [given for given, wanted in zip(flat, expected, strict=True) if isinstance(wanted, ExpectedTensor)]
