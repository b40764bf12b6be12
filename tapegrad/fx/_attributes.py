"""Attributes of modules by paths."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import Module, Parameter


def parent_of(module: Any, path: str) -> tuple[Any, str]:
    """The object that has the last name of a path, or None if it is not there; and that name."""
    *way, name = path.split(".")
    for step in way:
        module = getattr(module, step, None)
    return module, name


def _put(module: Any, name: str, value: Any) -> None:
    """Set an attribute; a tensor that is no parameter becomes a buffer."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _way_to(module: Any, path: str) -> tuple[Any, str]:
    """The module that is to have the last name of a path, with empty ones on the way where there are none."""
    *way, name = path.split(".")
    for step in way:
        found = getattr(module, step, None)
        if found is None:
            found = Module()
            setattr(module, step, found)
        module = found
    return module, name


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Let a module have what another one has at a path, with empty modules on the way."""
    source, name = parent_of(from_module, target)
    place, _ = _way_to(to_module, target)
    if from_module is not to_module:
        _put(place, name, getattr(source, name))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Put something at a path of a module, with empty modules on the way."""
    place, name = _way_to(to_module, target)
    _put(place, name, from_obj)


def _get_attr(model: Any, attr_name: str) -> Any:
    """Read an attribute at a path."""
    for step in attr_name.split("."):
        model = getattr(model, step)
    return model


def _has_attr(model: Any, attr_name: str) -> bool:
    """Tell whether a module has something at a path."""
    place, name = parent_of(model, attr_name)
    return place is not None and hasattr(place, name)


def _del_attr(model: Any, attr_name: str) -> None:
    """Take away what a module has at a path."""
    place, name = parent_of(model, attr_name)
    delattr(place, name)
