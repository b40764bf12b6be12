"""Schemas: what an operator takes and gives, as PyTorch's dispatcher says it.

Note [Schemas]
``torch.ops.aten.add.Tensor._schema`` is ``aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.
Those of PyTorch's operators stand in ``schema_table.py``, which is read when somebody asks: dispatch modes and tensors
with a ``__torch_dispatch__`` are shown calls in these words (``Schema.shown``). What writes in place, or into ``out=``,
has the schema of what does not, with marks. Programs that register operators write schemas of their own.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tapegrad.ops.composite_schemas import COMPOSITES
from tapegrad.ops.schema_table import OUTS, SCHEMAS

NO_DEFAULT: Any = object()
"""The default of an argument that has none."""


@dataclass(frozen=True)
class AliasInfo:
    """The mark of an argument whose memory a result shares, or that is written to.

    >>> Argument.of("Tensor(a!) self", False).alias_info
    AliasInfo(before_set=frozenset({'a'}), is_write=True)
    """

    before_set: frozenset[str]
    is_write: bool


@dataclass(frozen=True)
class Argument:
    """An argument, or a result, of an operator: its name, its type as schemas spell it, and its default."""

    name: str
    type: str
    default_value: Any
    kwarg_only: bool
    alias_info: AliasInfo | None
    spelled: str

    def has_default_value(self) -> bool:
        """Tell whether it may be left out."""
        return self.default_value is not NO_DEFAULT

    @property
    def length(self) -> int:
        """The number of elements of a list for which a single one will do; 0 if there is no such."""
        found = re.search(r"\[(\d+)\]", self.type)
        return int(found[1]) if found else 0

    @classmethod
    def of(cls, text: str, kwarg_only: bool) -> Argument:
        """An argument as a schema has it: ``int[2] stride=1``."""
        spelled, _, default = text.partition("=")
        kind, _, name = spelled.rpartition(" ") if " " in spelled else (spelled, "", "")
        marked = re.search(r"\(([^)]*)\)", kind)
        alias = None if marked is None else AliasInfo(frozenset(marked[1].rstrip("!").split("|")), "!" in marked[1])
        value = default_of(default) if "=" in text else NO_DEFAULT
        return cls(name, re.sub(r"\([^)]*\)", "", kind), value, kwarg_only, alias, text)

    def __str__(self) -> str:
        return self.spelled


def default_of(text: str) -> Any:
    """A default as Python has it.

    >>> default_of("None"), default_of("[0, 1]"), default_of("1e-05"), default_of("contiguous_format")
    (None, [0, 1], 1e-05, 'contiguous_format')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class Schema:
    """The schema of one overload.

    >>> schema = Schema.parse("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    >>> schema.name, schema.overload_name, [one.name for one in schema.arguments], schema.is_mutable
    ('aten::add', 'Tensor', ['self', 'other', 'alpha'], False)
    """

    def __init__(self, name: str, overload: str, arguments: Sequence[Argument], returns: str) -> None:
        self.name, self.overload_name = name, overload
        self.arguments = list(arguments)
        self.returned = returns
        inner = returns[1:-1] if returns.startswith("(") else returns
        self.returns = [Argument.of(one if " " in one else f"{one} ", False) for one in split(inner)]

    @classmethod
    def parse(cls, text: str) -> Schema:
        """A schema as it is written, with its name.

        Raises:
            ValueError: it is none.
        """
        found = re.fullmatch(r"\s*([\w:]*)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
        if found is None:
            raise ValueError(f"{text!r} is no schema: expected NAME(TYPE NAME, ...) -> TYPE")
        name, overload, inner, returned = found.groups()
        return cls(name, overload or "", list(arguments_of(inner)), returned)

    @property
    def is_mutable(self) -> bool:
        """True if an argument is written to."""
        return any(one.alias_info is not None and one.alias_info.is_write for one in self.arguments)

    def __str__(self) -> str:
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}{self.signature}"

    __repr__ = __str__

    @property
    def signature(self) -> str:
        """The schema without its name."""
        parts = [one.spelled for one in self.arguments]
        first = next((i for i, one in enumerate(self.arguments) if one.kwarg_only), None)
        if first is not None:
            parts.insert(first, "*")
        return f"({', '.join(parts)}) -> {self.returned}"

    def bind(self, args: Sequence, kwargs: Mapping[str, Any], accepts: Callable[[Argument, Any], bool]) -> dict | None:
        """The argument of each name in a call; None if the call does not fit."""
        positional = [one for one in self.arguments if not one.kwarg_only]
        if len(args) > len(positional):
            if args and positional and positional[0].type.startswith("int[") and len(positional) == 1:
                args = (args,)  # f(2, 3) for f((2, 3))
            else:
                return None
        bound = dict(zip([one.name for one in positional], args, strict=False))
        known = {one.name for one in self.arguments}
        if not kwargs.keys() <= known or not bound.keys().isdisjoint(kwargs):
            return None
        bound |= kwargs
        for one in self.arguments:
            if one.name not in bound:
                if not one.has_default_value():
                    return None
            elif not accepts(one, bound[one.name]):
                return None
        return bound

    def shown(self, bound: Mapping[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Arguments as a dispatcher shows them: by position what may stand so, up to the last that is no default."""
        args, kwargs = [], {}
        for one in self.arguments:
            given = in_type(one, bound[one.name]) if one.name in bound else one.default_value
            if not one.kwarg_only:
                args.append((one, given))
            elif not is_default(one, given):
                kwargs[one.name] = given
        while args and is_default(*args[-1]):
            args.pop()
        return tuple([in_type(one, given) for one, given in args]), kwargs


def is_default(argument: Argument, given: Any) -> bool:
    """Tell whether an argument is what it would be if it was left out."""
    default = argument.default_value
    if default is NO_DEFAULT:
        return False
    given, default = in_type(argument, given), in_type(argument, default)
    return given is default or (type(given) is type(default) and bool(given == default))


def in_type(argument: Argument, given: Any) -> Any:
    """An argument in the type of the schema: lists of lengths, and as many as it says."""
    kind = argument.type
    if kind.startswith(("int[", "bool[", "float[", "Tensor[", "Tensor?[")) and given is not None:
        if isinstance(given, (tuple, list)):
            return list(given)
        return [given] * (argument.length or 1)
    if kind == "float" and type(given) is int:
        return float(given)
    return given


def split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, last = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append(text[last:place].strip())
            last = place + 1
    return [*parts, text[last:].strip()] if text[last:].strip() else parts


def arguments_of(text: str) -> Iterator[Argument]:
    """The arguments of a schema."""
    by_name = False
    for part in split(text):
        if part == "*":
            by_name = True
        else:
            yield Argument.of(part, by_name)


# -- PyTorch's ---------------------------------------------------------------------------------------------------------


def entries(table: str) -> Iterator[tuple[str, str]]:
    """Each name of a table, and what is said of it; an entry goes on in lines that are indented."""
    for line in re.sub(r"\n +", " ", table.strip()).split("\n"):
        names, _, text = line.partition(": ")
        yield names, text


@functools.cache
def texts() -> dict[str, dict[str, str]]:
    """The signatures of the overloads of each name."""
    found: dict[str, dict[str, str]] = {}
    for names, text in entries(SCHEMAS):
        for name in names.split():
            base, _, overload = name.partition(".")
            found.setdefault(base, {})[overload or "default"] = text
    return found


@functools.cache
def outs() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The overloads that write what others give into tensors, by these, and the names of the tensors."""
    return {
        name if "." in name else f"{name}.default": (writer.split()[0], tuple(writer.split()[1:]))
        for writer, names in entries(OUTS) for name in names.split()
    }  # fmt: skip


def out_of(name: str, overload: str) -> tuple[str, tuple[str, ...]]:
    """The overload that writes the results of another into tensors, and the names of its arguments for them.

    >>> out_of("max", "dim"), out_of("sin", "default")
    (('dim_max', ('max', 'max_values')), ('out', ('out',)))
    """
    return outs().get(f"{name}.{overload}", ("out", ("out",)))


@functools.cache
def schemas_of(name: str) -> dict[str, Schema]:
    """The schemas of the overloads of one of PyTorch's operators, those that take tensors for numbers first."""
    own = dict(texts().get(name, {}))
    if name.endswith("_") and not name.startswith("_"):
        for overload, text in texts().get(name[:-1], {}).items():
            takes = "Tensor self" in text or "Tensor(a) self" in text
            if takes and f"{name}.{overload}" not in NOT_IN_PLACE:
                own.setdefault(overload, in_place(text))
    if name.endswith("_copy"):
        for overload, text in texts().get(name.removesuffix("_copy"), {}).items():
            own.setdefault(overload, re.sub(r"Tensor\(a[^)]*\)", "Tensor", text))
    order = sorted(own, key=lambda overload: (overload.startswith("Scalar"), overload != "default"))
    return {overload: made(name, overload, own[overload]) for overload in order}


NOT_IN_PLACE = frozenset((
    "bernoulli_.default", "bernoulli_.p", "floor_divide_.default", "ldexp_.Tensor", "pow_.Tensor_Scalar",
    "pow_.Tensor_Tensor", "transpose_.int",
))  # fmt: skip
"""Overloads of what does not write that have no counterpart in place of that name."""


def in_place(text: str) -> str:
    """The signature of what writes in place what an operator gives.

    >>> in_place("(Tensor self, Tensor other) -> Tensor")
    '(Tensor(a!) self, Tensor other) -> Tensor(a!)'
    """
    taken = text.rpartition(" -> ")[0].replace("Tensor(a) self", "Tensor self")
    return f"{taken.replace('Tensor self', 'Tensor(a!) self', 1)} -> Tensor(a!)"


def made(name: str, overload: str, text: str) -> Schema:
    """The schema of an operator with this signature."""
    suffix = "" if overload == "default" else f".{overload}"
    return Schema.parse(f"aten::{name}{suffix}{text}")


def schema_of(name: str, overload: str) -> Schema | None:
    """The schema of one of PyTorch's operators; None if it is not known here.

    >>> schema_of("mul_", "Tensor")
    aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
    """
    found = schemas_of(name).get(overload) or written_out(name, overload)
    return composites_of(name).get(overload) if found is None else found


@functools.cache
def composites_of(name: str) -> dict[str, Schema]:
    """The schemas of the overloads of one of PyTorch's functions that its dispatcher takes apart into operators.

    >>> composites_of("matmul")
    {'default': aten::matmul(Tensor self, Tensor other) -> Tensor}
    """
    found: dict[str, Schema] = {}
    for names, text in entries(COMPOSITES):
        for one in names.split():
            base, _, overload = one.partition(".")
            if base == name:
                found[overload or "default"] = made(name, overload or "default", text)
    return found


def written_out(name: str, overload: str) -> Schema | None:
    """The schema of an overload that writes into tensors; None if there is none."""
    schemas = {} if name.endswith("_") else schemas_of(name)
    for base, schema in schemas.items():
        writer, names = out_of(name, base)
        if writer == overload and len(names) == len(schema.returns):
            return writing_into(schema, names)
    return None


def writing_into(schema: Schema, names: Sequence[str]) -> Schema:
    """The schema of what writes the results of an operator into tensors of these names."""
    left_out = {"layout", "device", "pin_memory", "dtype"} if "pin_memory" in schema.signature else ()
    marks = [f"Tensor({chr(ord('a') + i)}!)" for i in range(len(names))]
    taken = [one for one in schema.arguments if one.name not in left_out]
    into = [Argument.of(f"{mark} {name}", True) for mark, name in zip(marks, names, strict=True)]
    given = [f"{mark} {one.name}".strip() for mark, one in zip(marks, schema.returns, strict=True)]
    overload = out_of(schema.name.removeprefix("aten::"), schema.overload_name or "default")[0]
    return Schema(schema.name, overload, [*taken, *into], given[0] if len(given) == 1 else f"({', '.join(given)})")
