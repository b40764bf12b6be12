"""The operators of Python that a program has written where methods are called: ``x * 2`` for ``x.mul(2)``."""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from types import FrameType
from typing import Any

from tapegrad.fx._operators import inplace_methods, magic_methods

METHODS = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and_": "bitwise_and", "or_": "bitwise_or",
    "xor": "bitwise_xor", "invert": "bitwise_not",
}  # fmt: skip
"""The methods of tensors behind functions of ``operator`` that have other names."""

FUNCTIONS: dict[str, Callable] = {
    METHODS.get(name, name): getattr(operator, name) for name in magic_methods if hasattr(operator, name)
}
FUNCTIONS |= {
    f"{METHODS.get(name[1:], METHODS.get(f'{name[1:]}_', name[1:]))}_": getattr(operator, name)
    for name in inplace_methods if name[0] == "i"
}  # fmt: skip
"""The functions of ``operator`` by the methods that compute them."""

REFLECTED: dict[str, Callable] = {
    "rsub": operator.sub, "rdiv": operator.truediv, "rtruediv": operator.truediv, "rpow": operator.pow,
    "rfloordiv": operator.floordiv, "rmod": operator.mod, "rmatmul": operator.matmul,
}  # fmt: skip
"""Those whose operands are the other way round."""

ALWAYS: dict[str, Callable] = {"getitem": operator.getitem, "setitem": operator.setitem}
"""Those that nothing but an operator calls."""


def as_operator(function: Any, args: tuple, frame: FrameType | None) -> tuple[Callable, tuple] | None:
    """The function of ``operator`` and its arguments for a call of a method, if a frame has written an operator.

    Args:
        function: the method.
        args: its arguments.
        frame: the program's frame that makes the call.

    >>> as_operator(torch.Tensor.__getitem__, (1, 2), None)[0].__name__
    'getitem'
    """
    name = function.__name__.strip("_") if function.__name__.startswith("__") else function.__name__
    if name in ALWAYS:
        return ALWAYS[name], args
    found, turned = FUNCTIONS.get(name), REFLECTED.get(name)
    if (found or turned) is None or not _is_operator(frame):
        return None
    return (turned, args[::-1]) if turned is not None else (found, args)  # type: ignore[return-value]


def _is_operator(frame: FrameType | None) -> bool:
    """Tell whether the instruction that a frame is at is an operator."""
    if frame is None or frame.f_lasti < 0:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith(("BINARY_", "COMPARE_", "UNARY_", "INPLACE_"))
