"""Patterns: what the numbers of two calls have in common. See Note [Shape classes] in ``shape_class.py``.

Note [Names of a pattern]
A pattern has for each number of a call either that number or what stands for it: ``n0``, ``n1``, ... for lengths of
arguments, expressions of these for settings that follow from them, ``m0``, ... for lengths that are settings only, and
``p0``, ... for floats.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.kept import defined

Pattern = tuple[Any, ...]


def pattern_of(
    before: Sequence[Any], now: Sequence[Any], count: int, least: int = 2,
    special: Sequence[float] = (),
) -> Pattern | None:  # fmt: skip
    """The pattern of two calls' numbers, of which the first ``count`` are lengths of arguments; None if there is none.

    See Note [Names of a pattern]. Lengths of arguments that are less than ``least`` are no symbols, nor are
    ``special`` floats, for which another formula holds.

    >>> pattern_of((5, 16, 20, 0.1), (7, 16, 28, 0.2), 2)
    ('n0', 16, '4*n0', 'p3')
    >>> pattern_of((12, 4), (18, 6), 1)
    ('3*m0', 'm0')
    """
    lengths: dict[tuple[int, int], str] = {}
    free: dict[tuple[Any, Any], str] = {}
    pattern: list[Any] = []
    for index, pair in enumerate(zip(before, now, strict=True)):
        if repr(pair[0]) == repr(pair[1]):
            pattern.append(pair[0])
        elif type(pair[0]) is float:
            if special and not all(math.isfinite(number) and number not in special for number in pair):
                return None
            pattern.append(f"p{index}")
        elif index < count and min(pair) >= least:
            pattern.append(lengths.setdefault(pair, f"n{len(lengths)}"))
        else:
            size = None if index < count else expression_of(pair, lengths) or free.get(pair) or multiple_of(pair, free)
            if size is None and (pair[1] < 2 or index < count):
                return None
            pattern.append(size or free.setdefault(pair, f"m{len(free)}"))
    pattern = with_parts(pattern, lengths, free)
    return tuple(pattern) if any(isinstance(number, str) for number in pattern) else None


def with_parts(pattern: list[Any], lengths: dict[tuple[int, int], str], free: dict[tuple[Any, Any], str]) -> list[Any]:
    """A pattern in which lengths that are multiples of a setting are said by it, as of windows that fill them."""
    for pair, name in lengths.items():
        said = multiple_of(pair, free)
        if said is not None:
            pattern = [re.sub(rf"\b{name}\b", said, one) if isinstance(one, str) else one for one in pattern]
    return pattern


def aligned(pattern: Pattern, shapes: Sequence[Sequence[int]]) -> Pattern | None:
    """The same for arguments that broadcast, of these shapes: all lengths but 1 are symbols, one for each dimension.

    None if settings follow from lengths, there are arrays without elements, or no length changed.

    >>> aligned(("n0", 6, 6, 6, 0.5), [(4, 6), (6, 6)])
    ('n0', 'n1', 'n0', 'n1', 0.5)
    >>> aligned(("n0", 1, "n0"), [(8, 1), (8,)])
    ('n0', 1, 'n1')
    """
    names: dict[int, str] = {}
    count = sum(map(len, shapes))
    lengths = pattern[:count]
    depends = any(isinstance(number, str) and number[0] != "p" for number in pattern[count:])
    if depends or not any(isinstance(number, str) for number in lengths):
        return None
    leading: list[Any] = []
    for shape in shapes:
        for axis, length in enumerate(shape, -len(shape)):
            if length == 0:
                return None
            leading.append(1 if length == 1 else names.setdefault(axis, f"n{len(names)}"))
    return (*leading, *pattern[count:])


def loosened(numbers: Sequence[Any], count: int) -> Pattern | None:
    """The pattern of calls whose settings are lengths that follow from nothing: all numbers are symbols.

    None if there are arrays without elements.

    >>> loosened((4, 6, 24, 1), 2)
    ('n0', 'n1', 'm2', 'm3')
    """
    return None if 0 in numbers else tuple([f"{'n' if i < count else 'm'}{i}" for i in range(len(numbers))])


def expression_of(pair: tuple[int, int], lengths: dict[tuple[int, int], str]) -> str | None:
    """A setting that changed with the lengths of arguments: one of them, a multiple, one more or less; None for others.

    >>> expression_of((3, 5), {(4, 6): "n0"})
    'n0 - 1'
    >>> expression_of((7, 11), {(4, 6): "n0"})
    '2*n0 - 1'
    """
    if pair in lengths:
        return lengths[pair]
    multiple = multiple_of(pair, lengths)
    if multiple is not None:
        return multiple
    if lengths and pair == tuple(map(math.prod, zip(*lengths, strict=True))):
        return "*".join(lengths.values())
    for (old, new), name in lengths.items():
        if pair[0] - old == pair[1] - new:
            return f"{name} {'+' if pair[0] > old else '-'} {abs(pair[0] - old)}"
    for (old, new), name in lengths.items():  # of transforms whose other half says nothing new
        if pair[0] - 2 * old == pair[1] - 2 * new and abs(pair[0] - 2 * old) <= 2:
            return f"2*{name} {'+' if pair[0] > 2 * old else '-'} {abs(pair[0] - 2 * old)}"
    return None


def multiple_of(pair: tuple[int, int], known: dict[tuple[int, int], str]) -> str | None:
    """A number that changed as one that is known did, so many times as large; None for others.

    >>> multiple_of((12, 18), {(5, 7): "n0", (4, 6): "n1"})
    '3*n1'
    """
    for (old, new), name in known.items():
        if old and pair[0] * new == pair[1] * old and pair[0] % old == 0:
            return f"{pair[0] // old}*{name}"
    return None


def order_of(pattern: Pattern, before: Sequence[Any], now: Sequence[Any]) -> list[str]:
    """The order of symbols, and of symbols and other lengths, as two calls show it.

    >>> order_of(("n0", 8, "m0"), (5, 8, 3), (9, 8, 4))
    ['n0 >= m0', '8 >= m0']
    """
    numbers = zip(pattern, before, now, strict=True)
    examples = {number: (old, new) for number, old, new in numbers if _is_length(number)}
    comparisons = []
    for left, right in combinations(examples, 2):
        if isinstance(left, int) and isinstance(right, int):
            continue
        signs = {a >= b for a, b in zip(examples[left], examples[right], strict=True)}
        if len(signs) == 1:
            comparisons.append(f"{left} >= {right}" if signs == {True} else f"{right} >= {left}")
    return comparisons


def _is_length(number: Any) -> bool:
    """Tell whether a number of a pattern is a length of two or more, or a symbol."""
    if isinstance(number, str):
        return number.isidentifier() and number[0] != "p"
    return type(number) is int and number > 1


def symbols_in(pattern: Pattern) -> list[str]:
    """All that stands for numbers in a pattern, in order."""
    return sorted({name for number in pattern if isinstance(number, str) for name in names_in(number)})


def reader_for(
    op: OperatorLike, pattern: Pattern, names: Sequence[str], order: Sequence[str] = (), also: Sequence[str] = ()
) -> Callable:
    """The function that reads symbols and floats off numbers: None, if they don't fit the pattern.

    What of them counts are facts of the operator; ``also``: what else has to be so, as Python says it.
    """
    uniform, special, loose = op.uniform, op.special, op.loose
    arguments = [f"x{index}" for index in range(len(pattern))]
    firsts = {name: arguments[pattern.index(name)] for name in names}
    lengths = [name for name in names if name[0] != "p"]
    others = {number for number in pattern if type(number) is int and number > 1}
    known = [*lengths, *sorted({one for one in pattern if isinstance(one, str) and not one.isidentifier()})]
    fits = [f"{one} > {0 if loose or (uniform and one[0] == 'n') else 1}" for one in known]
    counted = [name for name in lengths if name[0] == "n" or not loose]
    fits.append(f"{' * '.join([*counted, str(max(others, default=1))])} < {1 << 31}")
    if special:
        fits += [f"{name} not in {tuple(special)} and {name} - {name} == 0" for name in names if name[0] == "p"]
    for argument, number in zip(arguments, pattern, strict=True):
        if argument not in firsts.values():
            exact = type(number) is float  # the signs of zeros count
            fits.append(f"repr({argument}) == {repr(number)!r}" if exact else f"{argument} == {number}")
    differ = f"len({{{', '.join([*known, *map(str, others), '0'])}}}) == {len(known) + len(others) + 1}"
    fitting = "fits" if uniform or op.indifferent else f"fits and {differ}"
    return defined([
        f"def read({', '.join(arguments)}):",
        *(f"    {name} = {first}" for name, first in firsts.items()),
        f"    fits = {' and '.join([*fits, *order, *also])}",
        f"    return ({''.join(f'{name}, ' for name in names)}) if {fitting} else None",
    ], "read", {"floordiv": operator.floordiv, "mod": operator.mod} if also else {})  # fmt: skip


def names_in(expression: str) -> list[str]:
    """The symbols of an expression.

    >>> names_in("4*n0 - 1")
    ['n0']
    """
    return re.findall(r"\b[nmp]\d+\b", expression)
