"""The import of the package, which declares some thousands of functions that stay."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import cleandoc
from typing import Any, TypeVar

from tapegrad._src.absent import absent

F = TypeVar("F", bound=Callable)

FEW = 50_000
"""As many objects as a program has that has just begun, at most: Python's own, NumPy's and some of its own."""


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No collection of garbage inside; what is there at the end counts as old, so that none is due right after, either.

    A collection during the import, or soon after, would find nothing, and look for it through all of JAX as well: that
    takes as long as the rest of the import. So does each full collection later on. Where the import is among the first
    things that a program does, what is there at its end is frozen, so that none looks through it any more; elsewhere it
    is not, for garbage might be among it.

    >>> with nothing_collected():
    ...     gc.isenabled()
    False
    """
    collects, begins = gc.isenabled(), len(gc.get_objects()) <= FEW
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():  # somebody else's frozen objects stay frozen
                gc.freeze()
                if not begins:
                    gc.unfreeze()  # into the oldest generation
            gc.enable()


def explained(doc: str | None, *paragraphs: str) -> str | None:
    """A docstring with what many of a kind have in theirs, before its example.

    >>> explained("How many.", "Raises:\\n    RuntimeError: none.").splitlines()
    ['How many.', '', 'Raises:', '    RuntimeError: none.']
    """
    if doc is None:  # as in ``python -OO``
        return None
    text, *example = cleandoc(doc).split("\n\n>>>", 1)
    return "\n\n>>>".join(("\n\n".join((text, *paragraphs)), *example))


def sharing(*paragraphs: str) -> Callable[[F], F]:
    """A decorator: the docstring of a function also has these paragraphs, as those of others have."""

    def decorate(function: F) -> F:
        function.__doc__ = explained(function.__doc__, *paragraphs)
        return function

    return decorate


_homes: dict[str, dict[str, str]] = {}
"""By packages, what is imported late, and from where."""


def on_demand(package: str, homes: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, parts of which are imported when they are first asked for.

    Names from rooms above a package's own are declared by a room above both: the same call, with its name.

    Args:
        package: its name.
        homes: what is imported late, by the module that has it: names with blanks between; what the package has are its
            modules. Nothing else may have the name of one of these, whose import would put that in its place.

    >>> __getattr__, __dir__ = on_demand("tapegrad", {"random": "sample"})
    >>> __getattr__("sample").__name__
    'sample'
    """
    known = _homes.setdefault(package, {})
    for home, names in homes.items():
        known.update((name, f"{package}.{name}" if home == package else home) for name in names.split())

    def load(name: str) -> Any:
        if name not in known:
            return absent(package, name)
        module = import_module(known[name])
        found = module if module.__name__ == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted({*vars(sys.modules[package]), *known})
