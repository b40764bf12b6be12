"""Rules of conversions between dtypes, and of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.execution.host_tier.rules import Operand, rule


@rule("convert_element_type")
def convert_element_type(writer: Any, equation: Any) -> Operand:
    """``numpy.ndarray.astype``; nothing at all, where the dtype is the same."""
    old, new = equation.avals[0].dtype, np.dtype(equation.params["new_dtype"])
    source, shape = equation.operands[0]
    return equation.operands[0] if old == new else Operand(f"{source}.astype({writer.dtype(new)})", shape)
