"""``torch.nn``: modules, parameters, and the functions that modules are made of.

Modules are imported when one is asked for: a program that has none does without them.
"""

from typing import Any

from tapegrad.declaring import on_demand
from tapegrad.nn import functional, parameter
from tapegrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

PACKAGES = "attention", "grad", "init", "modules", "utils"
_load, _ = on_demand(
    __name__, attention="tapegrad.nn.attention", grad="tapegrad.nn.grad", init="tapegrad.nn.init",
    modules="tapegrad.nn.modules", utils="tapegrad.nn.utils",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in PACKAGES or (name.startswith("__") and name != "__all__"):
        return _load(name)
    modules = _load("modules")
    if name == "__all__":
        own = "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "parameter"
        return sorted({*modules.__all__, *own, *PACKAGES})
    found = getattr(modules, name) if name in modules.__all__ else _load(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
