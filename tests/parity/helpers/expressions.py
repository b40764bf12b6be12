"""Programs written as Python expressions of ``torch``, ``F``, ``np`` and the tensors ``x``, ``y``, ``z``.

    same(expression("torch.cat([x, y], 1)"), A, B)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def expression(text: str) -> Callable:
    """The program that evaluates an expression."""
    code = compile(text, text, "eval")

    def program(torch: Any, *tensors: Any) -> Any:
        names = dict(zip("xyz", tensors, strict=False))
        return eval(code, {"torch": torch, "F": torch.nn.functional, "np": np, "L": torch.tensor, **names})

    return program


def statements(text: str) -> Callable:
    """The program that runs statements and gives what ``x`` is then."""
    code = compile(text, text, "exec")

    def program(torch: Any, *tensors: Any) -> Any:
        names = {"torch": torch, "np": np, "L": torch.tensor, **dict(zip("xyz", tensors, strict=False))}
        exec(code, names)
        return names["x"]

    return program
