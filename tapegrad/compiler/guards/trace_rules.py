"""Rules for libraries: which of them are searched for what a call depends on, and which are not.

Note [Who is trusted]
A replayed call does without Python. The functions of tapegrad, jax, numpy and of the standard library are not searched:
which of them may be left out is said in ``allowed.py``. All other code is searched like the user's own.

Layers of ``nn`` are such other code. What all modules have in common, and all optimizers, schedules and scalers
(*machinery*: attributes, hooks, state dicts, what is done to parameters), is in between: its code is trusted, but it
works on what modules, groups and states keep, so that what it names is searched for. It reads attributes by computed
names, too: those of modules are all in tables that it names.
"""

from __future__ import annotations

import sys
import types
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""The types whose instances are compared by value."""

_TRUSTED = ("tapegrad.", "jax.", "jaxlib.", "numpy.", "ml_dtypes.", "optax.", "etils.")  # of the last jax keeps files
_SEARCHED = ("tapegrad.nn.", "tapegrad.optim.", "tapegrad.amp.grad_scaler.")

_MACHINERY = (
    "tapegrad.nn.modules.module.", "tapegrad.nn.modules.hooks.", "tapegrad.nn.modules.states.",
    "tapegrad.nn.modules.conversion.", "tapegrad.nn.modules.container.", "tapegrad.nn.parameter.", "tapegrad.nn.init.",
    "tapegrad.nn.utils.", "tapegrad.optim.", "tapegrad.amp.grad_scaler.",
)  # fmt: skip

DYNAMIC = frozenset({
    "getattr", "setattr", "hasattr", "delattr", "vars", "dir", "__dict__", "__getattribute__", "__setattr__",
    "__delattr__", "attrgetter", "methodcaller", "deepcopy", "copy", "asdict", "astuple", "replace", "fields",
})  # fmt: skip
"""Names that let code use attributes which it does not mention."""

REACHING_NAMES = frozenset({"getattr", "setattr", "hasattr", "delattr", "vars", "dir", "__dict__", "__getattribute__",
                            "__setattr__", "__delattr__"})  # fmt: skip
"""Names that count where they are executed; the others are seen when they are called."""

TELLING = frozenset({"type", "__class__", "id"})
"""By which code could tell a proxy from the number in whose place it is."""

OF_TENSORS = frozenset({"_version", "grad_fn", "data_ptr", "untyped_storage", "storage_offset", "_is_view", "_base"})
"""The attributes of a tensor that are not compared."""

HIDDEN = frozenset({
    "__globals__", "__builtins__", "__subclasses__", "f_locals", "f_globals", "f_builtins", "f_back", "gi_frame",
    "cr_frame", "tb_frame", "cell_contents",
})  # fmt: skip
"""By which code takes what no search would find."""


def is_trusted(module: Any) -> bool:
    """Tell whether what a module has is not searched."""
    name = f"{module or ''}."
    return name.startswith(_TRUSTED) and not name.startswith(_SEARCHED)


def is_machinery(module: Any) -> bool:
    """Tell whether the functions of a module are trusted, but what they name of modules is searched for."""
    return f"{module or ''}.".startswith(_MACHINERY)


def is_searched(module: Any) -> bool:
    """Tell whether a module is one of tapegrad's whose functions are searched like the user's, but known."""
    return f"{module or ''}.".startswith(_SEARCHED)


def is_namespace(cls: type) -> bool:
    """Tell whether instances have nothing but attributes: what ``argparse`` gives is of such a class."""
    return cls is types.SimpleNamespace or (cls.__module__, cls.__qualname__) == ("argparse", "Namespace")


def names_of_machinery(names: frozenset[str]) -> frozenset[str]:
    """The names in machinery that may be attributes of a module, or of an optimizer."""
    return names - DYNAMIC - OF_TENSORS - TELLING - HIDDEN


def is_standard(module: Any) -> bool:
    """Tell whether a module belongs to the standard library."""
    root = str(module or "").partition(".")[0]
    return root in sys.stdlib_module_names and root != "__main__"
