"""What hooks return in place of what they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.tensor.spec import core_type_name
from tapegrad.tensor.tensor import Tensor


def checked(given: Any, returned: Any, hook: Callable) -> Tensor:
    """What a hook returned in place of a gradient (or of a leaf), which it must resemble.

    Raises:
        TypeError: it is no tensor.
        RuntimeError: its type or its shape is not that of the gradient.
    """
    if not isinstance(returned, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
    if given is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if returned.dtype is not given.dtype or returned.device is not given.device:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value "
            f"(was {core_type_name(given._spec)} got {core_type_name(returned._spec)})"
        )
    if returned.shape != given.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")
    return returned


def hook_name(hook: Callable) -> str:
    """What messages call a hook."""
    name = getattr(hook, "__name__", None)
    return name if isinstance(name, str) else "<unknown>"
