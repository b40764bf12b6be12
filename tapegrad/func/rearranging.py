"""``rearrange``: dimensions split, put in another order and joined, as a pattern of their names says."""

from __future__ import annotations

import keyword
import math
import re
from typing import Any, NamedTuple

from tapegrad._src.caches import tabulated
from tapegrad._src.functions.joining import stack
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

REST = "\u2026"
"""The name of the dimensions that ``...`` stands for."""

Name = str | int
"""The name of a dimension; a number for one of length 1 that has none, or one of those that ``...`` stands for."""


class DimensionBindError(Exception):
    """The lengths of dimensions don't fit the tensor, or don't follow from what is known."""


class Side(NamedTuple):
    """One side of a pattern: the names of each dimension of the tensor, a dimension ``[]`` of length 1, or ``REST``."""

    dimensions: list[Any]
    names: set[str]
    numbered: bool


class Recipe(NamedTuple):
    """The rearrangement of tensors of some number of dimensions by a pattern: names of parts, before and after."""

    left: tuple[tuple[Name, ...], ...]
    right: tuple[tuple[Name, ...], ...]
    dropped: tuple[Name, ...]


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """Split, order and join the dimensions of a tensor.

    Args:
        tensor: a tensor, or several of one shape, which are stacked first.
        pattern: names of dimensions before and after, as ``"b (h w) ... -> b ... w h"``: parentheses are around
            dimensions that are one in the tensor, ``...`` stands for any number of them, 1 for one of length 1.
        axes_lengths: lengths of parts of dimensions; of each dimension one may be left open.

    Raises:
        ValueError: the pattern is none, or doesn't fit.
        DimensionBindError: the lengths don't fit, or don't follow.

    >>> torch.func.rearrange(torch.arange(6), "(a b) -> b a", b=3)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    whole = tensor if isinstance(tensor, Tensor) else stack(tensor)
    recipe = recipe_of(whole.ndim, pattern, **axes_lengths)
    lengths = lengths_of(recipe, tuple(whole.shape), axes_lengths)
    parts = whole.reshape([lengths[name] for names in recipe.left for name in names])
    before = [name for names in recipe.left for name in names]
    after = [name for names in recipe.right for name in names]
    if recipe.dropped:  # of length 1, if it is as the pattern says
        parts = parts.sum([before.index(name) for name in recipe.dropped])
        before = [name for name in before if name not in recipe.dropped]
    ordered = parts.permute([before.index(name) for name in after])
    return ordered.reshape([math.prod(lengths[name] for name in names) for names in recipe.right])


def lengths_of(recipe: Recipe, shape: tuple[int, ...], given: dict[Any, int]) -> dict[Name, int]:
    """The length of each part of the dimensions of a tensor."""
    numbers = {name: f"d{index}" for index, name in enumerate(name for names in recipe.left for name in names)}
    lengths: dict[Name, int] = {}
    for names, length in zip(recipe.left, shape, strict=True):
        known = math.prod(given[name] for name in names if name in given)
        unknown = [name for name in names if name not in given]
        if len(unknown) > 1:
            first, second = (numbers[name] for name in unknown[:2])
            raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {first} and {second}")
        if unknown and length % known:
            shown = ", ".join(str(given.get(name, "'?'")) for name in names)
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {length} vs ({shown})"
            )
        if not unknown and known != length:
            pack = ", ".join(numbers[name] for name in names) + ("," if len(names) == 1 else "")
            raise DimensionBindError(
                f"Dimension sizes to do not match ({length} != {known}) when matching dimension pack ({pack})"
            )
        lengths.update({name: given.get(name, length // max(known, 1)) for name in names})
    return lengths


@tabulated(256)
def recipe_of(ndim: int, pattern: str, **given: int) -> Recipe:
    """The recipe of a pattern for tensors of ``ndim`` dimensions.

    Raises:
        ValueError: PyTorch's messages.
    """
    left, right = sides_of(pattern, given)
    check_names(left, right, given)
    rest = tuple(range(rest_of(ndim, left)))
    before = expanded(left, rest)
    before = [names or (ndim + index,) for index, names in enumerate(before)]  # a dimension without a name gets one
    dropped = tuple(name for names in before for name in names if isinstance(name, int) and name >= ndim)
    return Recipe(tuple(before), tuple(expanded(right, rest)), dropped)


def rest_of(ndim: int, left: Side) -> int:
    """The number of dimensions that ``...`` stands for."""
    count = len(left.dimensions) - (REST in left.names)
    if REST in left.names and count > ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({count}) must be less than or equal to the number of dimensions in the "
            f"tensor ({ndim})"
        )
    if REST not in left.names and count != ndim:
        raise ValueError(
            f"Number of dimensions in pattern ({count}) must be equal to the number of dimensions in the tensor "
            f"({ndim})"
        )
    return ndim - count


def expanded(side: Side, rest: tuple[Name, ...]) -> list[tuple[Name, ...]]:
    """The names of each dimension, with those that ``...`` stands for."""
    result: list[tuple[Name, ...]] = []
    for names in side.dimensions:
        if names == REST:
            result += [(number,) for number in rest]
        else:
            result.append(tuple(part for name in names for part in (rest if name == REST else (name,))))
    return result


def sides_of(pattern: str, given: dict[str, int]) -> tuple[Side, Side]:
    """The two sides of a pattern."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    if REST in given:
        raise ValueError(f"'{REST}' is not an allowed axis identifier")
    left, right = map(parsed, sides)
    if REST in right.names and REST not in left.names:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if REST in left.names and REST not in left.dimensions:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    return left, right


def check_names(left: Side, right: Side, given: dict[str, int]) -> None:
    """Refuse sides that haven't the same names, and lengths of others."""
    for length in given.values():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    if left.numbered or right.numbered:
        raise ValueError("rearrange only supports unnamed axes of size 1")
    difference = left.names ^ right.names
    if difference:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {difference}")
    unmatched = given.keys() - left.names
    if unmatched:
        raise ValueError(f"Identifiers not found in rearrange expression: {unmatched}")


def parsed(expression: str) -> Side:
    """One side of a pattern."""
    dots = "Expression may contain dots only inside ellipsis (...)"
    if "." in expression and "..." not in expression:
        raise ValueError(dots)
    if "." in expression and (expression.count("...") != 1 or expression.count(".") != 3):
        raise ValueError(f"{dots}; only one ellipsis for tensor ")
    expression = expression.replace("...", REST)
    side = Side([], set(), False)
    group: list[str] | None = None
    for token in re.findall(rf"[()]|[\w{REST}]+|[^ ]", expression):
        if token == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            side.dimensions.append(group)
            group = None
        else:
            side = with_name(side, group, token)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")
    return side


def with_name(side: Side, group: list[str] | None, token: str) -> Side:
    """A side with one more name, which is put into the open parentheses, if there are some."""
    if not re.fullmatch(rf"[\w{REST}]+", token):
        raise ValueError(f"Unknown character '{token}'")
    if token in side.names:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
    if token.isdecimal():
        if int(token) < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {int(token)}")
        if group is None:
            side.dimensions.append([])
        return side._replace(numbered=side.numbered or int(token) != 1)
    if token != REST:
        check_name(token)
    side.names.add(token)
    if group is not None:
        group.append(token)
    else:
        side.dimensions.append(REST if token == REST else [token])
    return side


def check_name(name: str) -> None:
    """Refuse what is no name, and warn of some names."""
    if not name.isidentifier():
        raise ValueError(f"Invalid axis identifier: {name}\nnot a valid python identifier")
    if name[0] == "_" or name[-1] == "_":
        raise ValueError(f"Invalid axis identifier: {name}\naxis name should should not start or end with underscore")
    if keyword.iskeyword(name):
        message = f"It is discouraged to use axes names that are keywords: {name}"
        warn(message, RuntimeWarning)
    if name == "axis":
        message = "It is discouraged to use 'axis' as an axis name and will raise an error in future"
        warn(message, FutureWarning)
