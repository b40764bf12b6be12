"""Rules of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.execution.host_tier.rules import rule

reduce_add = np.add.reduce


@rule("reduce_sum")
def reduce_sum(writer: Any, equation: Any) -> str:
    """``numpy.add.reduce``."""
    writer.names.setdefault("reduce_add", reduce_add)
    axes = tuple(map(int, equation.params["axes"]))
    return writer.array(f"reduce_add({writer.full(equation, 0)}, {axes})", equation.aval.shape)
