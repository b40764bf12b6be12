"""Rules of lengths that are symbols. See Note [Shape classes] in ``dispatch/shape_class.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.operands import call, rule


@rule("dim_as_value")
def dim_as_value(writer: Any, equation: Any) -> Any:
    """A length, as a number among those that are computed with."""
    return call(np.asarray, equation.params["dim"], equation.aval.dtype)
