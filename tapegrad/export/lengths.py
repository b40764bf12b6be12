"""Lengths that may change, as the tracer has them: a *variable* for each, and what is found out about it.

Note [Lengths of exported programs]
A program is traced with jax's symbolic dimensions in place of lengths that may change. Python that asks for more than
is known of them (``if x.shape[0] > 4``) is answered as it is for the example, and what it was told becomes a
*constraint* of the program: it is traced again with that. A program that can't be traced with a variable is traced
without, or with one that has the same length in the example in its place: so ``Dim.AUTO`` learns which lengths are
equal and which never change. Where the user said that a length may change, what would be lost is PyTorch's error.

jax counts lengths from 1 on, and takes those of two variables, or of one and a number, for different ones where that
isn't known. So a program computes with a length of 1 what it does with others, as PyTorch's does.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.export.dimensions import Dim, _DimHintType, int_oo
from tapegrad.export.errors import ConstraintViolationError, UserError, UserErrorType
from tapegrad.export.naming import Path, shown
from tapegrad.utils._pytree import keystr

log = logging.getLogger(__name__)
NAMED, DYNAMIC, AUTO = "named", "DYNAMIC", "AUTO"


@dataclass(eq=False)
class LengthVariable:
    """A length that may be another one in each call.

    Attributes:
        name: in the program and in messages.
        hint: what it is in the example.
        said: who decided that it changes: the user, by a name or by ``Dim.DYNAMIC``, or it is to be found out.
        source: the first place where it is found, as PyTorch's messages have it: ``L['x'].size()[0]``.
        least, most: its bounds, as the user has them.
    """

    name: str
    hint: int
    said: str
    source: str
    least: Any = 0
    most: Any = int_oo


class Linear(NamedTuple):
    """A length that is ``factor * variable + offset``."""

    variable: LengthVariable
    factor: int = 1
    offset: int = 0

    def at(self, length: Any) -> Any:
        """Its value for a length of the variable."""
        return self.factor * length + self.offset

    def text(self, of: str) -> str:
        """The length as jax reads it, of what stands for the variable."""
        return f"{self.factor}*{of} + {self.offset}" if self[1:] != (1, 0) else of


@dataclass
class Lengths:
    """All variables of a program, and where they are.

    Attributes:
        variables: by name.
        places: for a leaf of the arguments and a dimension of it, the length there.
        equal: pairs of places, as messages have them, that must have one length.
    """

    variables: dict[str, LengthVariable] = field(default_factory=dict)
    places: dict[tuple[int, int], Linear] = field(default_factory=dict)


def read_lengths(said: dict[int, Any], flat: Sequence, paths: Sequence[Path]) -> Lengths:
    """The variables that ``dynamic_shapes`` asks for.

    Raises:
        UserError, ConstraintViolationError: the example is not as is said of it.
    """
    found = Lengths()
    named: list[tuple[int, int, Dim]] = []
    for index, dims in said.items():
        for axis, dim in dims.items():
            if isinstance(dim, Dim):
                named.append((index, axis, dim))
            elif isinstance(dim, int):
                refuse_other(flat[index], axis, dim, source_of(paths[index], axis))
    for index, axis, dim in sorted(named, key=lambda one: one[2].root is not one[2]):  # roots say what others are
        _read_named(found, flat[index], index, axis, dim, source_of(paths[index], axis))
    free = (f"s{number}" for number in itertools.count())
    for index, dims in said.items():
        for axis, dim in dims.items():
            if not (dim is None or isinstance(dim, (int, Dim))):
                _read_hint(found, flat[index], index, axis, dim, paths[index], free)
    return found


WAYS = (
    "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it "
    "with either Dim.STATIC or Dim.AUTO."
)


def specialized(name: str, length: int) -> str:
    """The complaint about a length that never changes."""
    return f"You marked {name} as dynamic but your code specialized it to be a constant ({length}). {WAYS}"


def violation(names: Sequence[str], problems: Sequence[str], fixes: Sequence[str]) -> UserError:
    """The error for lengths that can't change as the user said: PyTorch's message.

    Args:
        names: of the lengths.
        problems: what was found out.
        fixes: what to say instead.
    """
    text = f'Constraints violated ({", ".join(names)})! For more information, run with TORCH_LOGS="+dynamic".'
    text += "".join(f"\n  - {one}" for one in problems)
    text += "\nSuggested fixes:" * bool(fixes) + "".join(f"\n  {one}" for one in fixes)
    return UserError(UserErrorType.CONSTRAINT_VIOLATION, text)


def source_of(path: Path, axis: int) -> str:
    """A length as PyTorch's messages about tracing have it."""
    return f"L{keystr(path)}.size()[{axis}]"


def refuse_other(tensor: Tensor, axis: int, length: int, source: str) -> None:
    """Refuse an example of another length than is said of it."""
    if tensor.shape[axis] != length:
        raise ConstraintViolationError(
            f"Static shape constraint of {length} does not match input size of {tensor.shape[axis]}, for {source}"
        )


def _read_named(found: Lengths, tensor: Tensor, index: int, axis: int, dim: Dim, source: str) -> None:
    """One length that has a name."""
    length, root = tensor.shape[axis], dim.root
    hint, rest = divmod(length - dim.offset, dim.factor)
    if rest:
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION,
            f"Expected shape[{axis}] = {length} of input Tensor to be of the form {dim.__name__}, where "
            f"{root.__name__} is an integer",
        )
    if hint < 2:
        raise violation([root.__name__], [specialized(root.__name__, length)], [f"{root.__name__} = {length}"])
    known = found.variables.setdefault(
        root.__name__, LengthVariable(root.__name__, hint, NAMED, source, root.min, root.max)
    )  # fmt: skip
    if known.hint != hint:
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION, f"{source} = {length} is not equal to {known.source} = {known.hint}"
        )
    if not dim.min <= length <= dim.max:
        raise ConstraintViolationError(f"{length} not in range [{dim.min}, {dim.max}]")
    found.places[index, axis] = Linear(known, dim.factor, dim.offset)


def _read_hint(found: Lengths, tensor: Tensor, index: int, axis: int, dim: Any, path: Path, free: Any) -> None:
    """One length that has none. Raises ValueError: ``Dim.DYNAMIC`` of one that is 0 or 1 in the example."""
    length = tensor.shape[axis]
    if dim.type is _DimHintType.STATIC:
        return
    if length < 2:
        where = f"dimension inputs{keystr(path)}.shape[{axis}]"
        if dim.type is _DimHintType.DYNAMIC:
            raise ValueError(
                "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n"
                f"- Received user-specified dim hint Dim.DYNAMIC(min={dim.min}, max={dim.max}), but export 0/1 "
                f"specialized due to hint of {length} for {where}."
            )
        log.warning("%s 0/1 specialized; Dim.AUTO was specified along with a sample input with hint = %d.", where,
                    length)  # fmt: skip
        return
    name = next(name for name in free if name not in found.variables)
    said = DYNAMIC if dim.type is _DimHintType.DYNAMIC else AUTO
    least, most = 2 if dim.min is None else max(dim.min, 2), int_oo if dim.max is None else dim.max
    found.variables[name] = variable = LengthVariable(name, length, said, source_of(path, axis), least, most)
    found.places[index, axis] = Linear(variable)


def guard_source(path: Path, axis: int) -> str:
    """A length as messages about calls have it."""
    return f"{shown(path)}.size()[{axis}]"
