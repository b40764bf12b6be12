"""Modules of which all is refused: they are made of the table of what PyTorch has and this package has not.

Libraries import them at their top, and use them where somebody asks for it. A module that is in the table of
``absent.py``, and in no file, is found here: its functions and classes can be imported, and are refused when they are
called.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from itertools import accumulate
from types import ModuleType
from typing import Any

from tapegrad._src.absent import ABSENT, refusing

PACKAGE = "tapegrad"


def with_packages(names: Sequence[str]) -> frozenset[str]:
    """Names of modules, and of the packages that they are in.

    >>> sorted(with_packages(["a.b.c"]))
    ['a', 'a.b', 'a.b.c']
    """
    return frozenset(full for name in names for full in accumulate(name.split("."), "{}.{}".format))


MODULES = with_packages([name.replace("torch", PACKAGE, 1) for name in ABSENT])


class RefusedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the table that are in no file: it is asked last."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The description of a module of the table; None of any other."""
        return ModuleSpec(fullname, self, is_package=True) if fullname in MODULES else None

    def create_module(self, spec: ModuleSpec) -> None:
        """None: Python makes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Let it refuse what it is asked for."""
        made: Any = module
        made.__doc__ = "Refused: what PyTorch has here can be imported, and says what to do when it is called."
        made.__getattr__ = refusing(module.__name__)


def find_refused_modules() -> None:
    """Let modules of the table be found: called once, when the package is imported."""
    if not any(isinstance(finder, RefusedModules) for finder in sys.meta_path):
        sys.meta_path.append(RefusedModules())
