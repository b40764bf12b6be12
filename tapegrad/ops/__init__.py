"""The table of operators: a kernel and one formula per input each, in families. See ``operator.py``.

To users it is ``torch.ops``, where ``aten`` names operators as PyTorch does; see ``overloads.py``. Those that programs
register are there, too.
"""

from typing import Any

from tapegrad.absent import no_attribute
from tapegrad.ops.overloads import NAMESPACES, aten, prim

__all__ = ["aten", "prim"]


def __getattr__(name: str) -> Any:
    if name not in NAMESPACES:
        raise no_attribute(__name__, name)
    return NAMESPACES[name]
