"""Names in code, read from its instructions; all of them, or those that were executed."""

from __future__ import annotations

import builtins
import dis
import sys
import types
from collections.abc import Collection, Iterable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from tapegrad._src.caches import tabulated
from tapegrad.compiler.guards.locations import MISSING

_SETTERS = frozenset({"__setattr__", "__delattr__"})
_OWN = _SETTERS | {"__init__", "__post_init__"}
"""Methods that set attributes by ``object.__setattr__`` and are known: others mention them, or a new object has
them."""

_GLOBAL = frozenset({
    "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME",
    "LOAD_FROM_DICT_OR_GLOBALS",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD",
})  # fmt: skip
_CONTINUING = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"})
SILENT = frozenset({"CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP"})
"""Instructions that do nothing of interest."""


class Use(NamedTuple):
    """An instruction that refers to something.

    Attributes:
        offsets: where it is; an argument that takes more than a byte comes before.
        tag: ``"chain"`` (a global, and names of which each is an attribute of what is before), ``"global"`` (what the
            chain leads to is used), ``"name"`` (an attribute of whatever there is), ``"module"`` (it is imported),
            ``"text"``, or ``"pattern"``.
        what: the names of a chain, the name, or the text.
    """

    offsets: tuple[int, ...]
    tag: str
    what: Any


class Mentions(NamedTuple):
    """The names that code mentions, and the code that is written inside of it.

    Attributes:
        chains: globals, and globals with attributes: ``("np", "random")`` for ``np.random``.
        globals: those of them that are used: what is followed by another attribute is not.
        names: attributes of anything else.
        modules: what it imports.
        texts: strings.
        patterns: not empty, if it takes objects apart by patterns.
    """

    chains: frozenset[tuple[str, ...]]
    globals: frozenset[tuple[str, ...]]
    names: frozenset[str]
    modules: frozenset[str]
    texts: frozenset[str]
    patterns: frozenset[None]

    @classmethod
    def joined(cls, parts: Collection[Mentions]) -> Mentions:
        """The names that one of several mentions."""
        columns: list[Any] = [frozenset().union(*(part[i] for part in parts)) for i in range(len(cls._fields))]
        return cls(*columns)


@tabulated(4096)
def uses_of(code: CodeType) -> tuple[Use, ...]:
    """The names that instructions of code refer to, without the code that is written inside of it."""
    return tuple(uses_from(instructions_of(code)))


Instruction = tuple[int, str, Any, bool]


def uses_from(instructions: Iterable[Instruction]) -> Iterator[Use]:
    """The names that instructions refer to."""
    chain: tuple[str, ...] = ()
    before: list[int] = []
    last: tuple[int, ...] = ()
    level: Any = 0
    for offset, name, what, is_target in instructions:
        if name == "EXTENDED_ARG":
            before.append(offset)
        if name in SILENT:
            continue
        offsets, before = (*before, offset), []
        if chain and (is_target or name not in _CONTINUING):
            yield Use(last, "global", chain)
            chain = ()
        last = offsets
        if name in _GLOBAL:
            chain = (what,)
            yield Use(offsets, "chain", chain)
        elif chain:
            chain = (*chain, what)
            yield Use(offsets, "chain", chain)
        elif name in _ATTRIBUTES:
            yield Use(offsets, "name", what)
        elif name == "IMPORT_NAME":
            yield Use(offsets, "module", "." * level + what if isinstance(level, int) else what)
        elif name in ("MATCH_CLASS", "MATCH_MAPPING"):
            yield Use(offsets, "pattern", None)
        elif isinstance(what, str) and name.endswith("CONST"):
            yield Use(offsets, "text", what)
        elif isinstance(what, int):
            level = what


def instructions_by_dis(code: CodeType) -> Iterator[Instruction]:
    """The offsets of instructions, their names, what they refer to, and whether others jump there."""
    return ((one.offset, one.opname, one.argval, bool(one.is_jump_target)) for one in dis.get_instructions(code))


def instructions_by_table(code: CodeType) -> Iterator[Instruction]:
    """The same, read from the bytes, which is quicker. Only names and constants are told of what they refer to."""
    raw, names, constants, more = code.co_code, code.co_names, code.co_consts, 0
    targets = frozenset(dis.findlabels(raw))  # type: ignore[arg-type]
    for offset in range(0, len(raw), 2):
        operation = _OPERATIONS[raw[offset]]
        if operation is None:
            continue
        name, shift = operation
        argument = raw[offset + 1] | more
        more = argument << 8 if name == "EXTENDED_ARG" else 0
        what: Any = None
        if shift >= 0:
            what = names[argument >> shift]
        elif shift == _CONSTANT:
            what = constants[argument]
        elif shift == _NUMBER:
            what = argument
        yield offset, name, what, offset in targets


_CONSTANT, _NUMBER, _NOTHING = -1, -2, -3


def _shift(name: str, opcode: int) -> int:
    """By how many bits the argument of an operation is an index of a name; or what else it stands for."""
    if opcode in dis.hasname:
        flags = {"LOAD_GLOBAL": 1, "LOAD_SUPER_ATTR": 2, "LOAD_ATTR": int(sys.version_info >= (3, 12))}
        return flags.get(name, 0)
    if opcode in dis.hasconst:
        return _CONSTANT
    return _NUMBER if name == "LOAD_SMALL_INT" else _NOTHING


_OPERATIONS = [
    None if name in SILENT - {"EXTENDED_ARG"} else (name, _shift(name, opcode))
    for opcode, name in enumerate(dis.opname[:256])
]
instructions_of = instructions_by_table if sys.version_info < (3, 14) else instructions_by_dis
"""The instructions of code. How the bytes of later versions of Python are to be read is not known yet."""


@tabulated(4096)
def offsets_of(code: CodeType) -> dict[int, tuple[int, ...]]:
    """The offsets of instructions by lines; those of no line belong to each."""
    offsets_by_line: dict[Any, list[int]] = {}
    for start, end, line in code.co_lines():
        offsets_by_line.setdefault(line, []).extend(range(start, end, 2))
    everywhere = offsets_by_line.pop(None, [])
    return {line: (*offsets, *everywhere) for line, offsets in offsets_by_line.items()}


@tabulated(4096)
def mentions(code: CodeType) -> Mentions:
    """The names that code mentions, whether or not it is executed.

    >>> sorted(mentions((lambda x: len(x.shape)).__code__).names)
    ['shape']
    """
    inner = [mentions(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return Mentions.joined([_gathered(code, uses_of(code)), *inner])


def executed(code: CodeType, offsets: Collection[int]) -> Mentions:
    """The names in those instructions of code that were executed."""
    return _gathered(code, [one for one in uses_of(code) if not offsets.isdisjoint(one.offsets)])  # type: ignore[attr-defined]


def _gathered(code: CodeType, uses: Collection[Use]) -> Mentions:
    mentioned: dict[str, set] = {tag: set() for tag in ("chain", "global", "name", "module", "text", "pattern")}
    for one in uses:
        mentioned[one.tag].add(one.what)
    if code.co_name in _OWN:
        mentioned["name"] -= _SETTERS
        mentioned["chain"] -= _OBJECTS
        mentioned["global"] -= _OBJECTS
    return Mentions(*map(frozenset, mentioned.values()))


_OBJECTS = {("object", name) for name in _SETTERS} | {("super", name) for name in _SETTERS}


class Resolved(NamedTuple):
    """The end of a chain of names.

    Attributes:
        steps: dictionaries (globals or builtins, and those of modules), each with a name, and what it has there.
        value: what the last of these has; ``MISSING`` if that is nothing.
        rest: the names that follow, of what is no module.
    """

    steps: tuple[tuple[dict, str, Any], ...]
    value: Any
    rest: tuple[str, ...]


def resolved(chain: tuple[str, ...], names: dict) -> Resolved:
    """The places in which the names of a chain are found.

    >>> import math
    >>> resolved(("math", "pi", "real"), {"math": math})[1:]
    (3.141592653589793, ('real',))
    """
    first, *rest = chain
    value = names.get(first, MISSING)
    steps = [(names, first, value)]
    if value is MISSING:
        value = builtins_of(names).get(first, MISSING)
        steps.append((builtins_of(names), first, value))
    while rest and type(value) is types.ModuleType:
        inside, name = vars(value), rest.pop(0)
        value = inside.get(name, MISSING)
        steps.append((inside, name, value))
    return Resolved(tuple(steps), value, tuple(rest))


def builtins_of(names: dict) -> dict:
    """The builtins of a function with these globals."""
    names_built_in = names.get("__builtins__", builtins)
    return names_built_in if isinstance(names_built_in, dict) else vars(names_built_in)


def absolute(name: str, names: dict) -> str:
    """The name of a module that is imported by a name which may begin with dots."""
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    package = str(names.get("__package__") or names.get("__name__", "").rpartition(".")[0])
    return ".".join(filter(None, (package.rsplit(".", level - 1)[0], name[level:])))


def imported(name: str, names: dict) -> list[str]:
    """The entries that ``sys.modules`` must have for an import: the module, and the packages that it is in."""
    parts = absolute(name, names).split(".")
    return [one for one in (".".join(parts[: i + 1]) for i in range(len(parts))) if one in sys.modules]
