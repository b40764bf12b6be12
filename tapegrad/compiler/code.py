"""What a function's code can refer to: the names in it, read from its instructions."""

from __future__ import annotations

import dis
from types import CodeType
from typing import NamedTuple

from tapegrad.caches import tabulated

_SETTERS = frozenset({"__setattr__", "__delattr__"})
_OWN = _SETTERS | {"__init__", "__post_init__"}
"""Who sets attributes by ``object.__setattr__`` that are known: those that others mention, or that a new object has."""

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")


class Mentions(NamedTuple):
    """What a function mentions, and the functions that are written inside of it.

    Attributes:
        globals: names that are looked up among the globals and the builtins.
        names: all names: of attributes, too.
        modules: what it imports.
    """

    globals: frozenset[str]
    names: frozenset[str]
    modules: frozenset[str]


@tabulated(4096)
def mentions(code: CodeType) -> Mentions:
    """What a function's code mentions.

    >>> sorted(mentions((lambda x: len(x.shape)).__code__).names)
    ['len', 'shape']
    """
    found, names, modules = set(), set(code.co_names), set()
    if code.co_name in _OWN:
        names -= _SETTERS
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBAL:
            found.add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            modules.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = mentions(constant)
            found |= inner.globals
            names |= inner.names
            modules |= inner.modules
    return Mentions(frozenset(found), frozenset(names), frozenset(modules))
