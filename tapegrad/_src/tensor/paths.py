"""The path of a parameter or a module: by which names it is reached from the outermost module that has it.

Note [Paths of parameters]
A parameter doesn't know its modules: it may be had by several, and is given away. But every module notes that it is
there, as long as it is, and who wants the name of a parameter (an error, a picture, a profile) looks for it among
them. So it is with modules, which an error that leaves ``forward`` names in a note below its message.
"""

from __future__ import annotations

import weakref
from typing import Any

owners: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""All modules, by identity."""

RAISED_IN = "raised in the module "


def path_of(tensor: Any) -> tuple[str, str] | None:
    """The path of a parameter, and the name of the outermost module's class; None if no module has it.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    >>> path_of(net[0].bias)
    ('0.bias', 'Sequential')
    >>> path_of(torch.ones(2))
    """
    name, owner = found_in("_parameters", tensor)
    if owner is None:
        return None
    path, root = path_of_module(owner)
    return (f"{path}.{name}" if path else name), root


def path_of_module(module: Any) -> tuple[str, str]:
    """The path of a module, and the name of the outermost module's class; that one's own path is empty.

    >>> net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 1)))
    >>> path_of_module(net[0][0]), path_of_module(net)
    (('0.0', 'Sequential'), ('', 'Sequential'))
    """
    names: list[str] = []
    passed: set[int] = set()
    owner = root = module
    while owner is not None and id(owner) not in passed:
        passed.add(id(owner))
        root = owner
        name, owner = found_in("_modules", root)
        names += [] if owner is None else [name]
    return ".".join(reversed(names)), type(root).__name__


def called(module: Any) -> str:
    """The name of a module in profiles and errors: its path and, in brackets, its class.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 1))
    >>> called(net[0]), called(net)
    ('Sequential.0 (Linear)', 'Sequential')
    """
    path, root = path_of_module(module)
    return f"{root}.{path} ({type(module).__name__})" if path else root


def note_module(error: BaseException, module: Any) -> None:
    """Say below an error's message in which module it was raised; of modules around others the innermost is named."""
    if not any(note.startswith(RAISED_IN) for note in getattr(error, "__notes__", ())):
        error.add_note(f"{RAISED_IN}{called(module)}")


def found_in(table: str, wanted: Any) -> tuple[str, Any]:
    """Under which name a module has something in one of its tables, and which module."""
    for owner in list(owners.values()):
        for name, one in vars(owner).get(table, {}).items():
            if one is wanted:
                return name, owner
    return "", None


def fact_of(tensor: Any) -> str | None:
    """The fact about a parameter that errors state: see Note [Where]."""
    known = path_of(tensor)
    return None if known is None else f"it is the parameter {known[0]} of {known[1]}"
