"""Rules of arithmetic, comparisons and bits: NumPy's ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.execution.host_tier.rules import RULES, rule

UFUNCS = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "sqrt": np.sqrt, "tanh": np.tanh,
    "sin": np.sin, "cos": np.cos, "abs": np.absolute, "sign": np.sign, "square": np.square,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "max": np.maximum, "min": np.minimum,
}  # fmt: skip
"""Primitives that a ufunc computes, with the same dtypes and the same special cases."""


def _rule_of(ufunc: np.ufunc) -> Any:
    return lambda writer, equation: writer.elementwise(ufunc, equation)


RULES.update({name: _rule_of(ufunc) for name, ufunc in UFUNCS.items()})


@rule("stop_gradient", "copy", "copy_p", "optimization_barrier")
def identity(writer: Any, equation: Any) -> Any:
    """What is as it was."""
    return tuple(equation.operands)
