"""Functions that are written while the program runs: straight-line Python for what a plan has decided."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from tapegrad._src.caches import Cache, remembered
from tapegrad._src.tape import kept
from tapegrad._src.tape.mechanisms import DISK_CACHE, SHIPPED_CLASSES
from tapegrad._src.warn import WRITTEN


def defined(lines: Iterable[str], name: str, names: dict[str, Any]) -> Any:
    """The function ``name`` that some lines define, which refer to ``names``; its code is compiled once.

    It is not among ``names`` itself, so that it is freed when nobody refers to it.

    >>> defined(["def double(x):", "    return factor * x"], "double", {"factor": 2})(3)
    6
    """
    return function_of(code_of("\n".join(lines)), name, names)


def function_of(code: CodeType, name: str, names: dict[str, Any]) -> Any:
    """The function that compiled lines define, for other names than before, say."""
    exec(code, names)
    return names.pop(name)


@remembered("written code", nbytes=8 << 10)
def code_of(source: str) -> CodeType:
    """Compiled lines. See Note [Kept functions] in ``kept.py``."""
    key = kept.digest(source.encode())
    store = None if DISK_CACHE.off else kept.store
    found = None if store is None else store.find(key)
    if found is None and not SHIPPED_CLASSES.off:
        found = kept.shipped.find(key)
    if found is not None:
        return marshal.loads(found)
    code = compile(source, WRITTEN, "exec")
    if store is not None:
        store.keep(key, marshal.dumps(code))
    return code


class WrittenCode:
    """A function that was written for one, to be given to others: its code, and the names that mean the same."""

    __slots__ = ("name", "code", "names")

    def __init__(self, name: str, code: CodeType, names: dict[str, Any]) -> None:
        self.name, self.code, self.names = name, code, names

    def instantiate(self, names: dict[str, Any]) -> Callable:
        """Make the function, with names that mean something else for each."""
        return function_of(self.code, self.name, {**self.names, **names})


def written_once(name: str, key: tuple, source: Callable[[], str], names: dict[str, Any]) -> WrittenCode:
    """Code that is the same for all with this key: it takes longer to write the source again."""
    key = name, *key
    return WrittenCode(name, _codes.get(key) or _codes.keep(key, code_of(source())), names)


_codes = Cache("written code", nbytes=8 << 10)
