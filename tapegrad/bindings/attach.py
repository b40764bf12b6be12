"""Puts the declared methods and properties on Tensor: the one place where the class gets its vocabulary."""

from __future__ import annotations

from typing import Any

from tapegrad.bindings import inplace
from tapegrad.bindings.registry import NAMESPACES, NOT_WRAPPED, PROPERTIES, asked, overridden, overriding, refusal
from tapegrad.tape.sources import defined
from tapegrad.tensor.tensor import Tensor


def attach() -> None:
    """Set every function declared for ``"Tensor"`` and every property; called once, at the end of import."""
    inplace.declare_variants()
    for name, method in NAMESPACES["Tensor"].items():
        setattr(Tensor, name, staticmethod(method) if name == "__new__" else method)
    for name, prop in PROPERTIES.items():
        setattr(Tensor, name, prop)
    for name, prop in tuple(vars(Tensor).items()):
        if isinstance(prop, property):
            PROPERTIES[name] = overridable(name, prop)
            setattr(Tensor, name, PROPERTIES[name])
    NOT_WRAPPED.update(PROPERTIES[name].__get__ for name in ("grad", "_base"))


IN_SPEC = frozenset(["shape", "dtype", "device", "ndim"])
"""What is read most: it costs no call."""


def overridable(name: str, prop: property) -> property:
    """A property of Tensor that classes and modes can override: they get ``Tensor.NAME.__get__`` (or ``__set__``)."""
    read = f"self._spec.{name}" if name in IN_SPEC else "getter(self)"
    names: dict[str, Any] = {
        "overriding": overriding, "asked": asked, "overridden": overridden, "getter": prop.fget, "setter": prop.fset,
        "deleter": prop.fdel,
    }  # fmt: skip

    def asking(head: str, call: str, answer: str) -> Any:
        lines = (f"def {head}:", "    if overriding.active and asked((self,), {}):", f"        return {call}", answer)
        return defined(lines, head.partition("(")[0], names)

    get = asking("get(self)", "overridden(prop.__get__, (self,), {})", f"    return {read}")
    put, drop = refusal(name), prop.fdel or refusal(name)
    if prop.fset is not None:
        put = asking("put(self, value)", "overridden(prop.__set__, (self, value), {})", "    setter(self, value)")
    names["prop"] = made = property(get, put, drop, prop.__doc__)
    return made
