"""Puts the declared methods and properties on Tensor: the one place where the class gets its vocabulary."""

from __future__ import annotations

from tapegrad.functions import inplace
from tapegrad.functions.registry import NAMESPACES, PROPERTIES, refusal
from tapegrad.tensor.tensor import Tensor


def attach() -> None:
    """Set every function declared for ``"Tensor"`` and every property; called once, at the end of import."""
    inplace.declare_twins()
    for name, method in NAMESPACES["Tensor"].items():
        setattr(Tensor, name, staticmethod(method) if name == "__new__" else method)
    for name, prop in PROPERTIES.items():
        setattr(Tensor, name, prop)
    for name, prop in tuple(vars(Tensor).items()):
        if isinstance(prop, property) and prop.fset is None:
            setattr(Tensor, name, property(prop.fget, refusal(name), refusal(name), prop.__doc__))
