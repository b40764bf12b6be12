"""What is known of libraries: which of their functions may be left out when a call is replayed, and which may not.

Note [Who is trusted]
A replayed call does without Python, so a function must be one that gives the same for the same. The functions of
tapegrad, jax and numpy are taken for such, and those of a few modules of the standard library; but not those that
have to do with the state of generators, files, clocks and the like. All other code is searched like the user's own.

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

_TRUSTED = ("tapegrad.", "jax.", "jaxlib.", "numpy.", "ml_dtypes.", "optax.")
_SEARCHED = ("tapegrad.nn.", "tapegrad.optim.", "tapegrad.amp.grad_scaler.")

_MACHINERY = (
    "tapegrad.nn.modules.module.", "tapegrad.nn.modules.hooks.", "tapegrad.nn.modules.states.",
    "tapegrad.nn.modules.conversion.", "tapegrad.nn.modules.container.", "tapegrad.nn.parameter.", "tapegrad.nn.init.",
    "tapegrad.nn.utils.", "tapegrad.optim.", "tapegrad.amp.grad_scaler.",
)  # fmt: skip

_PURE = frozenset({
    "builtins", "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections",
    "_collections", "collections.abc", "_collections_abc", "contextlib", "typing", "types", "abc", "_abc", "enum",
    "numbers", "copy", "dataclasses", "bisect", "_bisect", "heapq", "_heapq", "string", "weakref", "_weakref", "re",
    "reprlib",
})  # fmt: skip
"""The modules of the standard library whose functions have no state and ask nobody."""

_IMPURE_BUILTINS = frozenset({
    "print", "input", "open", "exec", "eval", "compile", "globals", "locals", "breakpoint", "__import__", "id",
})  # fmt: skip

DYNAMIC = frozenset({
    "getattr", "setattr", "hasattr", "delattr", "vars", "dir", "__dict__", "__getattribute__", "__setattr__",
    "__delattr__", "attrgetter", "methodcaller", "deepcopy", "copy", "asdict", "astuple", "replace", "fields",
})  # fmt: skip
"""Who mentions one of these may use attributes that it does not mention."""

_STATEFUL = {
    "tapegrad": frozenset({
        "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "fork_rng", "get_state", "set_state",
        "clone_state", "get_offset", "set_offset", "use", "save", "load", "set_execution", "reset_stats", "stats",
    }),
    "numpy": frozenset({
        "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "save", "savetxt", "savez", "tofile", "seterr",
    }),
}  # fmt: skip
"""What in the libraries has to do with state that is not compared."""

TELLING = frozenset({"type", "__class__", "id"})
"""By which code could tell a stand-in from the number in whose place it is."""

OF_TENSORS = frozenset({"_version", "grad_fn", "data_ptr", "untyped_storage", "storage_offset", "_is_view", "_base"})
"""What a tensor knows of itself that is not compared."""

_NUMPY_RANDOM = frozenset({
    "rand", "randn", "randint", "random_sample", "choice", "permutation", "shuffle", "normal", "uniform",
    "standard_normal", "seed", "default_rng", "RandomState", "Generator",
})  # fmt: skip


def is_trusted(module: Any) -> bool:
    """Whether what a module has is not searched."""
    name = f"{module or ''}."
    return name.startswith(_TRUSTED) and not name.startswith(_SEARCHED)


def is_machinery(module: Any) -> bool:
    """Whether the functions of a module are trusted, but what they name of modules is searched for."""
    return f"{module or ''}.".startswith(_MACHINERY)


def is_ours(module: Any) -> bool:
    """Whether a module is one of tapegrad's, of which it is known that what it warns of depends on its arguments."""
    return f"{module or ''}.".startswith("tapegrad.")


def is_namespace(kind: type) -> bool:
    """Whether instances have nothing but attributes: what ``argparse`` gives is of such a class."""
    return kind is types.SimpleNamespace or (kind.__module__, kind.__qualname__) == ("argparse", "Namespace")


def names_of_machinery(names: frozenset[str]) -> frozenset[str]:
    """What machinery names that may be an attribute of a module, or of an optimizer."""
    return names - DYNAMIC - OF_TENSORS - TELLING - _STATEFUL["tapegrad"]


def is_standard(module: Any) -> bool:
    """Whether a module belongs to the standard library."""
    root = str(module or "").partition(".")[0]
    return root in sys.stdlib_module_names and root != "__main__"


def suspect_function(function: Any, module: Any) -> bool:
    """Whether a function or a class that is defined in a library's module may give something else the next time."""
    owner = getattr(function, "__self__", None)
    if isinstance(function, types.BuiltinFunctionType) and not isinstance(owner, (types.ModuleType, types.NoneType)):
        return False  # a method of an object: that one is judged itself
    module = str(module or "")
    if module == "builtins":
        return function.__name__ in _IMPURE_BUILTINS
    return module not in _PURE and (not is_trusted(module) or module.startswith("numpy.random"))


def stateful_names(module: str, names: set[str]) -> set[str]:
    """Which of some names mean functions of a library that have to do with hidden state."""
    root = module.partition(".")[0]
    found = names & _STATEFUL.get(root, frozenset())
    if root == "numpy" and "random" in names:
        found |= names & _NUMPY_RANDOM
    return found
