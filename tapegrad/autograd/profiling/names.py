"""Names of operators of the table in a profile: the name of PyTorch's operator that does the same."""

from __future__ import annotations

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.dispatch.operator_like import OperatorLike

_names: dict[str, str] = {}


def aten_name(op: OperatorLike) -> str:
    """``aten::NAME`` for an operator. What is only a step inside one of PyTorch's operators keeps its own name.

    >>> from tapegrad.ops.operator import TABLE
    >>> [aten_name(TABLE[name]) for name in ("mul", "sum_all", "entr", "cast")]
    ['aten::mul', 'aten::sum', 'aten::special_entr', 'aten::_to_copy']
    """
    name = _names.get(op.name)
    if name is None:
        given = op.aten.partition(".")[0] if isinstance(op.aten, str) else op.name
        name = _names[op.name] = f"aten::{op.profile or _public(op.name) or given}"
    return name


def _public(name: str) -> str | None:
    """The name, if it is a function's in PyTorch."""
    if any(name in NAMESPACES.get(home, ()) for home in ("torch", "Tensor", "nn.functional")):
        return name
    home = next((home for home in ("special", "linalg") if name in NAMESPACES.get(home, ())), None)
    return None if home is None else f"{home}_{name}"
