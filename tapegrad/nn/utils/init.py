"""``skip_init``: modules whose parameters get no initial values."""

from __future__ import annotations

import inspect
from typing import Any

from tapegrad.nn.modules.module import Module


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Module:
    """A module of a class with parameters that have any contents.

    Args:
        module_cls: the class, whose ``__init__`` takes a ``device``.
        args, kwargs: what else it takes, and the ``device`` of the result.

    Raises:
        RuntimeError: it is no class of modules, or takes no device.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
