"""Puts the declared methods and properties on Tensor: the one place where the class gets its vocabulary."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tapegrad._src.bindings.declaration.handing import NOT_WRAPPED, asked, overridden, overriding
from tapegrad._src.bindings.declaration.registry import NAMESPACES, PROPERTIES, refusal, unprefixed
from tapegrad._src.bindings.writes import in_place
from tapegrad._src.tape.kept import defined
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor


def attach() -> None:
    """Set every function declared for ``"Tensor"`` and every property; called once, at the end of import."""
    in_place.declare_variants()
    name_methods()
    for name, method in NAMESPACES["Tensor"].items():
        setattr(Tensor, name, staticmethod(method) if name == "__new__" else method)
    for name, prop in PROPERTIES.items():
        setattr(Tensor, name, prop)
    for name, prop in tuple(vars(Tensor).items()):
        if isinstance(prop, property):
            PROPERTIES[name] = overridable(name, prop)
            setattr(Tensor, name, PROPERTIES[name])
    NOT_WRAPPED.update(PROPERTIES[name].__get__ for name in ("grad", "_base"))


def name_methods() -> None:
    """Let each function that its own module has under no name be found where the vocabulary has it, as pickle does."""
    for home, functions in NAMESPACES.items():
        module = "tapegrad" if home in ("torch", "Tensor") else f"tapegrad.{home}"
        for name, function in functions.items():
            if isinstance(function, FunctionType) and not is_importable(function):
                own = unprefixed(function.__name__)
                shown = own if functions.get(own) is function else name
                function.__module__, function.__qualname__ = module, f"Tensor.{shown}" if home == "Tensor" else shown


def is_importable(function: FunctionType) -> bool:
    """Tell whether a function has the name in its module that it says."""
    return getattr(sys.modules.get(function.__module__), function.__qualname__, None) is function


IN_SPEC = {"shape": "shape", "dtype": "dtype", "device": "device.free", "ndim": "ndim"}
"""The properties that are read most: they cost no call."""

SET_AT_ONCE = frozenset(("real", "imag"))
"""Properties that neither classes nor modes are asked about when they are set."""


def set_at_once(setter: Callable[[Tensor, Any], None]) -> Callable[[Tensor, Any], None]:
    """A setter that asks neither classes nor modes, nor does what it calls."""

    def put(self: Tensor, value: Any) -> None:
        with switched(torch_function=False, function_modes=False):
            setter(self, value)

    return put


def overridable(name: str, prop: property) -> property:
    """A property of Tensor that classes and modes can override: they get ``Tensor.NAME.__get__`` (or ``__set__``)."""
    read = f"self._spec.{IN_SPEC[name]}" if name in IN_SPEC else "getter(self)"
    names: dict[str, Any] = {
        "overriding": overriding, "asked": asked, "overridden": overridden, "getter": prop.fget, "setter": prop.fset,
        "deleter": prop.fdel,
    }  # fmt: skip

    def asking(head: str, call: str, answer: str) -> Any:
        lines = (f"def {head}:", "    if overriding.active and asked((self,), {}):", f"        return {call}", answer)
        return defined(lines, head.partition("(")[0], names)

    def handed(method: str, args: str) -> str:
        return f"overridden(prop.{method}, ({args}), None, (self,), 'alone')"

    get = asking("get(self)", handed("__get__", "self,"), f"    return {read}")
    put, drop = refusal(name), refusal(name)
    if prop.fset is not None:
        put = asking("put(self, value)", handed("__set__", "self, value"), "    setter(self, value)")
        put = set_at_once(prop.fset) if name in SET_AT_ONCE else put
    if prop.fdel is not None:
        drop = asking("drop(self)", handed("__delete__", "self,"), "    deleter(self)")
    get.torch_name = f"torch.Tensor.{name}"
    names["prop"] = made = property(get, put, drop, prop.__doc__)
    return made
