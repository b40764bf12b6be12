"""``einsum``: PyTorch's spelling of equations, made explicit for the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.declaration.registry import hands_over, public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.caches import tabulated
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.execution.data.promotion import result_dtype
from tapegrad._src.functions import reductions
from tapegrad._src.functions.shape import permuted
from tapegrad._src.functions.slicing import diagonal
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.einsum import ALPHABET, paths_of
from tapegrad.ops.einsum import einsum as einsum_operator
from tapegrad.ops.kinds import cast

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""The letter of each number in a sublist."""

Shapes = tuple[tuple[int, ...], ...]


def _one_by_one(*args: Any) -> tuple[Any, ...]:
    """The equation and the operands, as PyTorch hands them over."""
    if args and isinstance(args[0], Tensor):
        equation, operands = _from_sublists(args)
        return equation, *operands
    if len(args) == 2 and isinstance(args[1], (tuple, list)):
        return args[0], *args[1]
    return args


@public("torch", "functional")
@hands_over(_one_by_one)
def einsum(*args: Any) -> Tensor:
    """Sums of products, by an equation such as ``"bij,bjk->bik"``, or by operands and lists of numbers in turn.

    A letter repeated in one operand is its diagonal; letters that the output lacks are summed; lengths of 1 broadcast,
    and so do the dimensions under ``...``. Without ``->`` the output has the letters that appear once, sorted.

    Raises:
        RuntimeError: an equation that can't be read, or doesn't fit the operands.
        ValueError: no operand, or a number outside [0, 52) in a sublist.

    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], args[1:]
        if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
            operands = tuple(operands[0])
    for position, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            got = type(operand).__name__
            raise TypeError(f"expected Tensor as element {position} in argument 1, but got {got}")
    shapes = tuple([operand.shape for operand in operands])
    return _computed(explicit(equation, shapes), operands, shapes)


def _from_sublists(args: Sequence) -> tuple[str, tuple]:
    """The equation and the operands of ``einsum(x, [0, 1], y, [1, 2], [0, 2])``."""

    def spelled(subscripts: Sequence) -> str:
        for subscript in subscripts:
            if subscript is not Ellipsis and not 0 <= subscript < len(LETTERS):
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join("..." if subscript is Ellipsis else LETTERS[subscript] for subscript in subscripts)

    pairs = len(args) // 2
    equation = ",".join(spelled(args[2 * pair + 1]) for pair in range(pairs))
    if len(args) % 2:
        equation += "->" + spelled(args[-1])
    return equation, tuple(args[: 2 * pairs : 2])


def _computed(equation: str, operands: Sequence[Tensor], shapes: Shapes) -> Tensor:
    inputs, output = equation.split("->")
    if len(operands) == 1:
        return _of_one(operands[0], inputs, output)
    contracted = set("".join(inputs.split(","))) - set(output)
    if len(operands) == 2:
        operands, contracted = _summed_first(operands, inputs.split(","), contracted)
    dtypes = [operand.dtype for operand in operands]
    if any(dtype is not dtypes[0] for dtype in dtypes):
        if contracted:
            other = next(dtype for dtype in dtypes if dtype is not dtypes[0])
            raise RuntimeError(f"expected scalar type {dtypes[0].scalar_name} but found {other.scalar_name}")
        common = result_dtype([(operand.dtype, operand.ndim) for operand in operands])
        operands = [operand if operand.dtype is common else cast(operand, dtype=common) for operand in operands]
    if len(operands) == 2:
        result, last = einsum_operator(*operands, equation=equation), inputs
    else:
        result = einsum_operator(*operands, equation=equation, paths=paths_of(equation, shapes))
        last = inputs.rpartition(",")[2]  # PyTorch takes one operand after another
    return result if set(last) - {*output, ","} else renamed(result, "MulBackward0")


def _of_one(x: Tensor, term: str, output: str) -> Tensor:
    """The sum of a view of one operand, or the view: diagonals of letters that it repeats, and a permutation."""
    letters: list[str] = []
    for letter in term:
        if letter not in letters:
            letters.append(letter)
            continue
        place = letters.index(letter)
        x = diagonal(x, 0, place, len(letters))
        axes = list(range(x.ndim - 1))
        axes.insert(place, x.ndim - 1)
        x = permuted(x, axes)
    rest = sorted(set(letters) - set(output))
    x = permuted(x, [letters.index(letter) for letter in (*output, *rest)])
    return reductions.sum(x, list(range(len(output), x.ndim))) if rest else x


def _summed_first(operands: Sequence[Tensor], terms: Sequence[str], gone: set[str]) -> tuple[list[Tensor], set[str]]:
    """Two operands, those whose own letters are summed before the product in the type of such a sum; and the letters
    that the product itself sums, which are long in both."""
    long = [
        {letter for letter, length in zip(term, operand.shape, strict=True) if length != 1 and letter in gone}
        for operand, term in zip(operands, terms, strict=True)
    ]
    widened = [
        cast(operand, dtype=int64) if own - (long[0] & long[1]) and operand.dtype.category < 2 else operand
        for operand, own in zip(operands, long, strict=True)
    ]
    return widened, long[0] & long[1]


# -- reading equations -------------------------------------------------------------------------------------------------


@tabulated(4096)
def explicit(equation: str, shapes: Shapes) -> str:
    """An equation without blanks and ellipses, and with an output, that means the same for operands of these shapes.

    >>> explicit("...i, i", ((2, 3), (3,)))
    'ab,b->a'
    """
    left, arrow, right = equation.partition("->")
    terms = _read_terms(left, len(shapes))
    output = _read_output(right, len(left) + 2) if arrow else None
    covered = [
        _covered(term, shape, position) for position, (term, shape) in enumerate(zip(terms, shapes, strict=True))
    ]
    width = max(covered)
    letters = [letter for letter in reversed(ALPHABET) if letter not in equation]
    if width > len(letters):
        letters += [chr(code) for code in range(0x100, 0x100 + width)]
    ellipsis = letters[:width]
    full = [term.replace(".", "".join(ellipsis[width - count :])) for term, count in zip(terms, covered, strict=True)]
    _check_lengths(full, shapes, ellipsis)
    if output is None:
        joined = "".join(terms).replace(".", "")
        once = sorted(letter for letter in set(joined) if joined.count(letter) == 1)
        output = ("." if "." in "".join(terms) else "") + "".join(once)
    _check_output(output, "".join(terms))
    return renamed_letters(",".join(full) + "->" + output.replace(".", "".join(ellipsis)))


@tabulated(4096)
def renamed_letters(equation: str) -> str:
    """An equation with the first letters of the alphabet: those that differ in letters alone mean the same.

    >>> renamed_letters("ki,ij->kj")
    'ab,bc->ac'
    """
    letters = dict.fromkeys(letter for letter in equation if letter not in ",->")
    names = [*ALPHABET, *map(chr, range(0x100, 0x100 + len(letters)))]
    return equation.translate(dict(zip(map(ord, letters), names, strict=False)))


def _read_terms(text: str, count: int) -> list[str]:
    """The subscripts of each operand, blanks left out and ``...`` as one dot.
    Raises RuntimeError: PyTorch's messages.
    """
    terms = [""]
    skip = 0
    for index, character in enumerate(text):
        if skip or character == " ":
            skip -= bool(skip)
        elif character == ".":
            position = len(terms) - 1
            if "." in terms[-1]:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {position} for which an ellipsis was already found"
                )
            if text[index : index + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for operand {position} that is not part of any ellipsis")
            terms[-1] += "."
            skip = 2
        elif character == ",":
            terms.append("")
            if len(terms) > count:
                raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        else:
            terms[-1] += _letter(character, index)
    if len(terms) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return terms


def _read_output(text: str, start: int) -> str:
    output = ""
    skip = 0
    for index, character in enumerate(text):
        if skip or character == " ":
            skip -= bool(skip)
        elif character == ".":
            if "." in output:
                raise RuntimeError("einsum(): found '.' for output but an ellipsis (...) was already found")
            if text[index : index + 3] != "...":
                raise RuntimeError("einsum(): found '.' for output that is not part of any ellipsis (...)")
            output += "."
            skip = 2
        else:
            output += _letter(character, start + index)
    return output


def _letter(character: str, index: int) -> str:
    if character not in ALPHABET:
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {index} in the equation string, subscripts must be in [a-zA-Z]"
        )
    return character


def _covered(term: str, shape: Sequence[int], position: int) -> int:
    """The number of dimensions of an operand that its ellipsis stands for."""
    named = len(term.replace(".", ""))
    if "." in term:
        if named > len(shape):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
                f"({len(shape)}) for operand {position}"
            )
        return len(shape) - named
    if named != len(shape):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({len(shape)}) for operand {position} and no ellipsis was given"
        )
    return 0


def _check_lengths(terms: Sequence[str], shapes: Shapes, ellipsis: Sequence[str]) -> None:
    """Refuse lengths of one letter that neither agree nor broadcast."""
    seen: dict[str, int] = {}
    for position, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        own: dict[str, int] = {}
        for letter, length in zip(term, shape, strict=True):
            if own.setdefault(letter, length) != length:
                raise RuntimeError(
                    f"einsum(): subscript {letter} is repeated for operand {position} but the sizes don't match, "
                    f"{length} != {own[letter]}"
                )
        for letter, length in own.items():
            if seen.get(letter, 1) == 1:
                seen[letter] = length
            elif length not in (1, seen[letter]):
                _refuse_length(letter, length, seen[letter], position, ellipsis)


def _refuse_length(letter: str, length: int, before: int, position: int, ellipsis: Sequence[str]) -> None:
    if letter in ellipsis:
        raise RuntimeError(
            f"einsum(): dimension {ellipsis.index(letter)} covered by ellipsis in operand {position}has size {length} "
            f"which does not broadcast with previously seen ellipsis with size {before} for the respective dimension"
        )
    raise RuntimeError(
        f"einsum(): subscript {letter} has size {length} for operand {position} which does not broadcast with "
        f"previously seen size {before}"
    )


def _check_output(output: str, letters: str) -> None:
    for letter in output.replace(".", ""):
        if letter not in letters:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )
        if output.count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
