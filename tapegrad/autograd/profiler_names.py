"""What an operator of the table is called in a profile: the name of PyTorch's operator that does the same."""

from __future__ import annotations

import re
from typing import Any

OWN = {
    "attention": "scaled_dot_product_attention",
    "attention_by_parts": "scaled_dot_product_attention",
    "cast": "_to_copy",
    "floored": "clamp_min",
    "linear_1d_without_bias": "mv",
    "linear_nd": "addmm",
    "linear_nd_without_bias": "mm",
    "plane_gather": "max_pool2d_backward",
    "plane_scatter": "max_unpool2d",
    "einsum_unary": "einsum",
    "number_remainder": "remainder",
    "prelu_backward": "_prelu_kernel_backward",
    "vecmat": "mv",
}
"""Operators whose node's name says something else than what they do."""

_names: dict[str, str] = {}


def aten_name(op: Any) -> str:
    """``aten::NAME`` for an operator: its own name where its node bears it too, else that which its node bears.

    >>> from tapegrad.ops.operator import mul
    >>> aten_name(mul)
    'aten::mul'
    """
    name = _names.get(op.name)
    if name is None:
        name = _names[op.name] = f"aten::{OWN.get(op.name) or _from_node(op.name, op.node)}"
    return name


def _from_node(name: str, node: str) -> str:
    """
    >>> _from_node("sum_all", "SumBackward0"), _from_node("vector_norm", "LinalgVectorNormBackward0")
    ('sum', 'linalg_vector_norm')
    """
    base = re.sub(r"Backward\d+$", "", node)
    ending = name.replace("_", "")
    if base.lower().endswith(ending):
        rest = base[: len(base) - len(ending)]
        return f"{snake_case(rest)}_{name}" if rest else name
    return snake_case(base)


def snake_case(name: str) -> str:
    """
    >>> snake_case("LinalgVectorNorm")
    'linalg_vector_norm'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
