"""The functions of namespaces that PyTorch has in C++, under the names that generated code calls them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.absent import absent
from tapegrad._src.bindings.declaration.registry import NAMESPACES


def functions_in(home: str, module: str, **others: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that has the functions of a namespace which PyTorch has in C++.

    Args:
        home: the namespace.
        module: the module's name, for errors.
        others: for names that functions have in C++ only, those of the functions.

    >>> functions_in("special", "torch._C._special")[0]("special_erf")(torch.zeros(1))
    tensor([0.])
    """

    def functions() -> dict[str, Any]:
        found = {function.__name__: function for function in NAMESPACES[home].values()}
        return found | {name: found[other] for name, other in others.items()}

    def attribute(name: str) -> Any:
        known = {} if name.startswith("__") else functions()
        if name not in known:
            return absent(module, name)
        return known[name]

    return attribute, lambda: sorted(functions())
