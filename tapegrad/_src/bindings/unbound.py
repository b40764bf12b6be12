"""Functions that are no methods where a class has them as attributes.

PyTorch's functions in C++ are builtins of Python, which don't bind: ``activation = torch.tanh`` in a class's body, and
``self.activation(x)`` calls it on ``x`` alone. Here they are written in Python, and would be given ``self`` first.
Others are written in Python there, too (those of ``torch.functional``, most of ``torch.nn.functional``), and do bind.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES, NATIVE_IN_NN


def is_builtin_there(value: Any) -> bool:
    """Tell whether a value is a function of ours that is a builtin in PyTorch.

    >>> import tapegrad as torch
    >>> is_builtin_there(torch.tanh), is_builtin_there(torch.einsum), is_builtin_there(torch.nn.functional.relu)
    (True, False, False)
    """
    if type(value) is not FunctionType:
        return False
    name = value.__name__
    if NAMESPACES["torch"].get(name) is value:
        return name not in NAMESPACES["functional"]
    if name in NATIVE_IN_NN:
        return NAMESPACES["nn.functional"].get(name) is value
    home, _, short = name.partition("_")
    return home in ("special", "linalg", "fft") and NAMESPACES[home].get(short) is value


def keep_unbound(cls: type) -> None:
    """Keep the functions among a class's own attributes that are builtins in PyTorch from becoming methods."""
    for name, value in [*vars(cls).items()]:
        if is_builtin_there(value):
            setattr(cls, name, staticmethod(value))
