"""The path of a parameter: by which names it is reached from the outermost module that has it.

Note [Paths of parameters]
A parameter doesn't know its modules: it may be had by several, and is given away. But every module notes that it is
there, as long as it is, and who wants the name of a parameter (an error, a picture) looks for it among them.
"""

from __future__ import annotations

import weakref
from typing import Any

owners: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""All modules, by identity."""


def path_of(tensor: Any) -> tuple[str, str] | None:
    """The path of a parameter, and the name of the outermost module's class; None if no module has it.

    >>> import tapegrad as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    >>> path_of(net[0].bias)
    ('0.bias', 'Sequential')
    >>> path_of(torch.ones(2))
    """
    path, owner = found_in("_parameters", tensor)
    passed = set()
    root = owner
    while owner is not None and id(owner) not in passed:
        passed.add(id(owner))
        name, owner = found_in("_modules", root := owner)
        path = f"{name}.{path}" if owner is not None else path
    return None if root is None else (path, type(root).__name__)


def found_in(table: str, wanted: Any) -> tuple[str, Any]:
    """Under which name a module has something in one of its tables, and which module."""
    for owner in list(owners.values()):
        for name, one in vars(owner).get(table, {}).items():
            if one is wanted:
                return name, owner
    return "", None


def fact_of(tensor: Any) -> str | None:
    """What is to be said of a parameter: see Note [Where]."""
    known = path_of(tensor)
    return None if known is None else f"it is the parameter {known[0]} of {known[1]}"
