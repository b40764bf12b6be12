"""What an operator of the table is called in a profile: the name of PyTorch's operator that does the same."""

from __future__ import annotations

import re
from typing import Any

from tapegrad.functions.registry import NAMESPACES

OWN = {
    "attention": "scaled_dot_product_attention",
    "attention_by_parts": "scaled_dot_product_attention",
    "cast": "_to_copy",
    "copy": "copy_",
    "einsum_unary": "einsum",
    "floored": "clamp_min",
    "linear_1d_without_bias": "mv",
    "linear_nd": "addmm",
    "linear_nd_without_bias": "mm",
    "number_remainder": "remainder",
    "plane_gather": "max_pool2d_backward",
    "plane_scatter": "max_unpool2d",
    "prelu_backward": "_prelu_kernel_backward",
    "sum_to": "sum",
    "unsafe_view": "_unsafe_view",
    "vecmat": "mv",
    "zeros_of": "zeros_like",
}
"""Operators whose node's name says something else than what they do."""

_names: dict[str, str] = {}


def aten_name(op: Any) -> str:
    """``aten::NAME`` for an operator. What is only a step inside one of PyTorch's operators keeps its own name.

    >>> from tapegrad.ops.operator import TABLE
    >>> [aten_name(TABLE[name]) for name in ("mul", "sum_all", "entr", "cast")]
    ['aten::mul', 'aten::sum', 'aten::special_entr', 'aten::_to_copy']
    """
    name = _names.get(op.name)
    if name is None:
        name = _names[op.name] = f"aten::{OWN.get(op.name) or _public(op.name) or _from_node(op.name, op.node)}"
    return name


def _public(name: str) -> str | None:
    """The name, if it is a function's in PyTorch."""
    if any(name in NAMESPACES.get(home, ()) for home in ("torch", "Tensor", "nn.functional")):
        return name
    home = next((home for home in ("special", "linalg") if name in NAMESPACES.get(home, ())), None)
    return None if home is None else f"{home}_{name}"


def _from_node(name: str, node: str) -> str:
    """
    >>> _from_node("vector_norm", "LinalgVectorNormBackward0"), _from_node("recurrence", "torch::autograd::Nothing")
    ('linalg_vector_norm', 'recurrence')
    """
    base = re.sub(r"Backward\d+$", "", node)
    if "::" in base or base == "CopySlices":
        return name
    ending = name.replace("_", "")
    if base.lower().endswith(ending):
        rest = base[: len(base) - len(ending)]
        return f"{_snake_case(rest)}_{name}" if rest else name
    return _snake_case(base)


def _snake_case(name: str) -> str:
    """
    >>> _snake_case("EmbeddingDenseBackward")
    'embedding_dense_backward'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name).lower()
