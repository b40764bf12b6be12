"""Names of functions and types in the text of graphs: those of PyTorch's modules.

Note [Names in generated code]
A graph is printed, and written as Python, with the names that PyTorch has for a function: ``torch.nn.functional.relu``,
but ``torch._C._nn.linear``, as that is where PyTorch has it. The code is run with ``torch`` as this package, which has
its functions there, too (``_C/``).
"""

from __future__ import annotations

import builtins
import re
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.overriding import resolve_name

PACKAGE = "tapegrad"

IN_C = {
    "torch.nn": "torch._C._nn", "torch.fft": "torch._C._fft", "torch.linalg": "torch._C._linalg",
    "torch.special": "torch._C._special", "torch.sparse": "torch._C._sparse",
}  # fmt: skip
"""The namespaces of PyTorch's functions in C++, by those that messages name."""

INTERNAL = tuple(f"{PACKAGE}.{room}." for room in (
    "_src", "ops", "compiler", "interop", "sparse.products",
    "sparse.coordinates",
))  # fmt: skip
"""Modules that PyTorch has not; what is in them is found where the package has it."""

ELSEWHERE = {
    "torch.functional._assert": "torch._assert", "torch.functional.spmm": "torch.spmm",
    "torch.functional.lobpcg": "torch.lobpcg", "torch.nn.logsigmoid": "torch._C._nn.log_sigmoid",
    "torch.nn.functional.threshold": "torch.nn.functional._threshold",
}  # fmt: skip
"""The names of functions whose messages name another place."""


def facade() -> Any:
    """The package itself, which is what generated code calls ``torch``."""
    return sys.modules[PACKAGE]


def is_method_of_tensor(function: Any) -> bool:
    """Tell whether a function is a method of tensors.

    >>> is_method_of_tensor(torch.Tensor.add), is_method_of_tensor(torch.add)
    (True, False)
    """
    return isinstance(function, types.FunctionType) and NAMESPACES["Tensor"].get(function.__name__) is function


def public_name(module: str, name: str, obj: Any) -> str:
    """The name that PyTorch has for something of this package."""
    if f"{module}.".startswith(INTERNAL) and getattr(facade(), name, None) is obj:
        return f"torch.{name}"
    return f"{module}.{name}".replace(PACKAGE, "torch", 1)


def named_by_place(place: str) -> str:
    """The name where PyTorch has a function, from the place that its messages give.

    >>> named_by_place("torch.nn.linear"), named_by_place("torch.add")
    ('torch._C._nn.linear', 'torch.add')
    """
    module, _, name = place.rpartition(".")
    if module == "torch.nn" and NAMESPACES["torch"].get(name) is NAMESPACES["nn.functional"].get(name):
        return f"torch.{name}"
    return ELSEWHERE.get(place) or f"{IN_C.get(module, module)}.{name}"


def _get_qualified_name(func: Callable) -> str:
    """The name of a function with its module, as graphs have it.

    Raises:
        RuntimeError: it is a lambda, or no module of it is found.

    >>> _get_qualified_name(torch.nn.functional.linear), _get_qualified_name(len)
    ('torch._C._nn.linear', 'len')
    """
    name = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    if is_method_of_tensor(func):
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        raise RuntimeError("Unable to represent lambda")
    place = getattr(func, "torch_name", None)
    if place is not None:
        return named_by_place(place)
    module = func.__module__ or _find_module_of_method(func)
    if module.partition(".")[0] == PACKAGE:
        return (not isinstance(func, type) and resolve_name(func)) or public_name(module, name, func)
    return f"{module.replace('torch._ops', 'torch.ops')}.{name}"


def own_name(function: Callable) -> str:
    """The name that PyTorch has for a function, without its module.

    >>> own_name(torch.nn.functional.logsigmoid), own_name(len)
    ('log_sigmoid', 'len')
    """
    place = getattr(function, "torch_name", None)
    return function.__name__ if place is None else named_by_place(place).rpartition(".")[2]


def _find_module_of_method(orig_method: Callable) -> str:
    for module in (facade(), facade().nn.functional):
        if getattr(module, orig_method.__name__, None) is orig_method:
            return module.__name__
    raise RuntimeError(f"cannot find module for {orig_method}")


def _is_from_torch(obj: Any) -> bool:
    """Tell whether something is of this package, so that generated code finds it under ``torch``."""
    module = getattr(obj, "__module__", None)
    if is_method_of_tensor(obj):
        return False
    if module is not None:
        return isinstance(module, str) and module.partition(".")[0] in ("torch", PACKAGE)
    name = getattr(obj, "__name__", "torch")
    return name != "torch" and any(getattr(home, name, None) is obj for home in (facade(), facade().nn.functional))


def _type_repr(obj: Any) -> str:
    """The text of a type in annotations.

    >>> _type_repr(int), _type_repr(torch.Tensor), _type_repr(list[torch.Tensor])
    ('int', 'torch.Tensor', 'list[torch.Tensor]')
    """
    if isinstance(obj, type) and not typing.get_args(obj):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return public_name(obj.__module__, obj.__qualname__, obj)
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return re.sub(rf"\b{PACKAGE}(?:\.\w+)+", _renamed, repr(obj))


def _renamed(found: re.Match[str]) -> str:
    module, _, name = found[0].rpartition(".")
    return public_name(module, name, getattr(sys.modules.get(module), name, None))


def typename(obj: Any) -> str:
    """The text of ``torch.typename``, with PyTorch's names."""
    return facade().typename(obj).replace(PACKAGE, "torch", 1)
