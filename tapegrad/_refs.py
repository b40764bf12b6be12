"""``torch._refs``: PyTorch's functions, written in terms of a few of them. Here each is itself.

Nothing is defined here.
"""

from typing import Any

from tapegrad.absent import no_attribute
from tapegrad.bindings.registry import NAMESPACES


def __getattr__(name: str) -> Any:
    if name in NAMESPACES["torch"]:
        return NAMESPACES["torch"][name]
    raise no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted(NAMESPACES["torch"])
