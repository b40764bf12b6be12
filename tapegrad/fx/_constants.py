"""Tensors and modules that a traced program uses, as paths of attributes of the root."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import Module, Parameter


def named(pairs: Iterable[tuple[str, Any]], wanted: Any) -> str | None:
    """The name of something among names with things."""
    return next((name for name, found in pairs if found is wanted), None)


def constants_of(root: Module, prefix: str = "") -> dict[Any, str]:
    """The paths of tensors that modules have as plain attributes, by the tensors."""
    found = {value: prefix + name for name, value in vars(root).items() if isinstance(value, Tensor)}
    for name, child in root.named_children():
        found.update(constants_of(child, f"{prefix}{name}."))
    return found


def attribute_path_of(tracer: Any, value: Any) -> str:
    """The path of a tensor, parameter or module; a tensor that has none gets one.

    Raises:
        NameError: it is a parameter of another module, or another module.
    """
    root = tracer.root
    if isinstance(value, Parameter):
        found = named(root.named_parameters(), value)
        if found is None:
            raise NameError("parameter is not a member of this module")
        return found
    if isinstance(value, Module):
        found = named(root.named_modules(), value)
        if found is None:
            raise NameError("module is not installed as a submodule")
        return found
    found = named(root.named_buffers(), value) or tracer.tensor_attrs.get(value)
    if found is None:
        found = tracer.tensor_attrs[value] = tracer.get_fresh_qualname("_tensor_constant")
        setattr(root, found, value)
    return found
