"""``assert_close``: whether two things are the same up to rounding, and where they are not.

Note [Pairs]
What is compared is first taken apart into pairs, each with its place in the containers; what can't be paired is refused
before any number is looked at. Then each pair is compared, and the first that differs is told.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.data.promotion import promote_types
from tapegrad._src.functions.comparison import isclose
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.tensor.tensor import Tensor

TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""For each dtype ``rtol`` and ``atol``; others must be equal."""

Place = tuple[Any, ...]
Pair = tuple[Place, Callable[["Options"], None]]


class Options:
    """Options of comparisons: the arguments of ``assert_close``."""

    def __init__(self, rtol: float | None, atol: float | None, **flags: bool) -> None:
        if (rtol is None) is not (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        self.rtol, self.atol, self.flags = rtol, atol, flags

    def __getattr__(self, name: str) -> bool:
        return self.flags[name]

    def tolerances(self, *kinds: str) -> tuple[float, float]:
        """The tolerances given, or the larger ones of these dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Assert that two tensors, numbers, or containers of them are the same up to rounding.

    Numbers are close where ``abs(actual - expected) <= atol + rtol * abs(expected)``. Sequences and mappings are
    compared item by item; NumPy arrays with arrays.

    Args:
        actual, expected: what was computed, and what should have been.
        allow_subclasses: whether one may be an instance of a subclass of the other's class.
        rtol, atol: the tolerances, both or none; by default those of the dtype: 1.3e-6 and 1e-5 for float32, 1e-7 and
            1e-7 for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 0 for integers.
        equal_nan: whether nan is close to nan.
        check_device, check_dtype, check_layout, check_stride: whether these must be equal, too.
        msg: an error message in place of the one that says what differs, or a function that makes it of that one.

    Raises:
        AssertionError: they are not close; it says how many elements, by how much, and where the worst are.
        TypeError: they can't be compared: a string, or a tensor with a number.
        ValueError: only one of the tolerances is given.

    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.000001]))
    >>> torch.testing.assert_close({"a": [1.0]}, {"a": [2.0]})
    Traceback (most recent call last):
    AssertionError: Scalars are not close!
    <BLANKLINE>
    Expected 2.0 but got 1.0.
    Absolute difference: 1.0 (up to 1e-07 allowed)
    Relative difference: 0.5 (up to 1e-07 allowed)
    <BLANKLINE>
    The failure occurred for item ['a'][0]
    """
    options = Options(
        rtol, atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype, check_layout=check_layout,
        check_stride=check_stride,
    )  # fmt: skip
    for place, compare in list(pairs(actual, expected, allow_subclasses)):
        try:
            compare(options)
        except AssertionError as error:
            text = f"{error}{named(place)}"
        else:
            continue
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def named(place: Place) -> str:
    """The place where a pair was found, as messages say it."""
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in place)}" if place else ""


# Pairs ----------------------------------------------------------------------------------------------------------------


def pairs(actual: Any, expected: Any, subclasses: bool) -> Iterator[Pair]:
    """The pairs that are compared. See Note [Pairs].
    Raises AssertionError: containers of other lengths or keys. TypeError: what can't be compared.
    """
    waiting: list[tuple[Place, Any, Any]] = [((), actual, expected)]
    while waiting:
        place, ours, theirs = waiting.pop()
        if is_sequence(ours) and is_sequence(theirs):
            if len(ours) != len(theirs):
                text = f"The length of the sequences mismatch: {len(ours)} != {len(theirs)}"
                raise AssertionError(text + named(place))
            keys: list[Any] = list(range(len(ours)))
        elif isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            keys = common_keys(ours, theirs, place)
        else:
            yield place, pair(ours, theirs, subclasses, place)
            continue
        waiting.extend(((*place, key), ours[key], theirs[key]) for key in reversed(keys))


def is_sequence(value: Any) -> bool:
    """Tell whether a value is compared item by item."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def common_keys(ours: Mapping, theirs: Mapping, place: Place) -> list[Any]:
    """The keys of two mappings, in order if they have one. Raises AssertionError: they have others."""
    missing, additional = in_order(theirs.keys() - ours.keys()), in_order(ours.keys() - theirs.keys())
    if missing or additional:
        raise AssertionError(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {additional}{named(place)}"
        )
    return in_order(ours)


def in_order(keys: Any) -> list[Any]:
    """Keys sorted, if they can be."""
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def pair(ours: Any, theirs: Any, subclasses: bool, place: Place) -> Callable[[Options], None]:
    """The comparison of two things that are no containers. Raises TypeError: they can't be."""
    if ours is None or theirs is None:
        return lambda options: same(ours, theirs, "None")
    if isinstance(ours, (bool, np.bool_)) and isinstance(theirs, (bool, np.bool_)):
        return lambda options: same(bool(ours), bool(theirs), "Booleans")
    if isinstance(ours, (int, float, complex, np.number)) and isinstance(theirs, (int, float, complex, np.number)):
        return lambda options: compare_numbers(number(ours), number(theirs), options)
    related = type(ours) is type(theirs)
    if subclasses:
        related = isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))
    if not related or not (isinstance(ours, Tensor) or hasattr(ours, "__array__")):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(ours)} and {type(theirs)}.{named(place)}"
        )
    x, y = as_tensor(ours).detach(), as_tensor(theirs).detach()
    return lambda options: compare_tensors(x, y, options)


# One pair -------------------------------------------------------------------------------------------------------------


def same(ours: Any, theirs: Any, what: str) -> None:
    """Assert that two things are the same object."""
    if ours is not theirs:
        raise AssertionError(f"{what} mismatch: {ours} is not {theirs}")


def number(value: Any) -> Any:
    """A NumPy number as one of Python."""
    return value.item() if isinstance(value, np.number) else value


def compare_numbers(ours: Any, theirs: Any, options: Options) -> None:
    """Assert that two numbers are close, and of one type if that is asked for."""
    if options.check_dtype and type(ours) is not type(theirs):
        raise AssertionError(f"The (d)types do not match: {type(ours)} != {type(theirs)}.")
    kinds = {int: "int64", float: "float64", complex: "complex128"}
    compare_scalars(ours, theirs, options.tolerances(*[kinds.get(type(x), "") for x in (ours, theirs)]), options)


def compare_scalars(ours: Any, theirs: Any, tolerances: tuple[float, float], options: Options) -> None:
    """Assert that two Python numbers are close."""
    rtol, atol = tolerances
    difference, size = abs(ours - theirs), abs(theirs)
    if ours == theirs or (options.equal_nan and cmath.isnan(ours) and cmath.isnan(theirs)):
        return
    if cmath.isfinite(difference) and difference <= atol + rtol * size:
        return
    relative = difference / size if size else float("inf")
    exact = rtol == 0 == atol
    raise AssertionError(
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {theirs} but got {ours}.\n"
        f"Absolute difference: {difference}{allowed(atol, exact)}\n"
        f"Relative difference: {relative}{allowed(rtol, exact)}"
    )


def allowed(tolerance: float, exact: bool) -> str:
    """The part of a message about a tolerance; nothing, if there is none at all."""
    return "" if exact else f" (up to {tolerance} allowed)"


def compare_tensors(ours: Tensor, theirs: Tensor, options: Options) -> None:
    """Assert that two tensors are alike, and close."""
    compare_attributes(ours, theirs, options)
    if ours.is_meta or theirs.is_meta:  # there are no elements to compare
        return
    if ours.is_nested:
        ours, theirs = ours.values(), theirs.values()
    tolerances = options.tolerances(ours.dtype.name, theirs.dtype.name)
    if ours.device is not theirs.device:
        ours, theirs = ours.cpu(), theirs.cpu()
    common = promote_types(ours.dtype, theirs.dtype)
    common = dtypes.int64 if common.category < FLOATING else common
    ours, theirs = ours.to(common), theirs.to(common)
    rtol, atol = tolerances
    matches = isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if not bool(matches.all()):
        if ours.ndim == 0:
            compare_scalars(ours.item(), theirs.item(), tolerances, options)
        raise AssertionError(mismatch(ours, theirs, matches, tolerances))


def compare_attributes(ours: Tensor, theirs: Tensor, options: Options) -> None:
    """Assert that two tensors have the same shape, and what else is asked for."""
    checks = [
        (True, "shape", ours.shape, theirs.shape),
        (options.check_layout, "layout", ours.layout, theirs.layout),
        (options.check_stride, "stride()", ours.stride(), theirs.stride()),
        (options.check_device, "device", ours.device, theirs.device),
        (options.check_dtype, "dtype", ours.dtype, theirs.dtype),
    ]
    for wanted, name, mine, other in checks:
        if wanted and mine != other:
            raise AssertionError(f"The values for attribute '{name}' do not match: {mine} != {other}.")


def mismatch(ours: Tensor, theirs: Tensor, matches: Tensor, tolerances: tuple[float, float]) -> str:
    """The number of elements of two tensors that differ, the largest difference, and where it is."""
    (rtol, atol), count, total = tolerances, matches.logical_not().sum().item(), matches.numel()
    exact = rtol == 0 == atol
    differences = ours.sub(theirs).abs()
    absolute = differences.masked_fill(matches, 0)
    relative = differences.div(theirs.abs()).masked_fill(matches, 0)
    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {count} / {total} ({count / total:.1%})\n"
        f"Greatest absolute difference: {greatest(absolute)}{allowed(atol, exact)}\n"
        f"Greatest relative difference: {greatest(relative)}{allowed(rtol, exact)}"
    )


def greatest(differences: Tensor) -> str:
    """The greatest element, and its index."""
    value, place = differences.flatten().max(0)
    index = tuple(int(i) for i in np.unravel_index(int(place), tuple(differences.shape)))
    return f"{value.item()} at index {index}"
