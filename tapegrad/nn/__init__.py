"""``torch.nn``: modules, parameters, and the functions that modules are made of.

Modules are imported when one is asked for: a program that has none does without them.
"""

from typing import TYPE_CHECKING, Any

from tapegrad._src.declaring import on_demand
from tapegrad.nn import functional as functional
from tapegrad.nn import parameter as parameter
from tapegrad.nn.parameter import Buffer as Buffer
from tapegrad.nn.parameter import Parameter as Parameter
from tapegrad.nn.parameter import UninitializedBuffer as UninitializedBuffer
from tapegrad.nn.parameter import UninitializedParameter as UninitializedParameter

if TYPE_CHECKING:
    from tapegrad.nn.modules import *

PACKAGES = "attention", "common_types", "grad", "init", "modules", "parallel", "utils"
_load, _ = on_demand(__name__, {
    __name__: "attention common_types grad init modules parallel utils",
    "tapegrad.nn.parallel": "DataParallel",
})


def __getattr__(name: str) -> Any:
    if name in PACKAGES or (name.startswith("__") and name != "__all__"):
        return _load(name)
    modules = _load("modules")
    if name == "__all__":
        parts = "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "parameter"
        return sorted({*modules.__all__, *parts, *PACKAGES, "DataParallel"})
    found = getattr(modules, name) if name in modules.__all__ else _load(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
