"""The operators of Python that a program has written where methods are called: ``x * 2`` for ``x.mul(2)``."""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from types import FrameType
from typing import Any

ALIKE = "add sub mul pow matmul neg eq ne lt gt le ge"

FUNCTIONS: dict[str, Callable] = {
    **{name: getattr(operator, name) for name in ALIKE.split()},
    "div": operator.truediv, "true_divide": operator.truediv, "floor_divide": operator.floordiv,
    "remainder": operator.mod, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert, "add_": operator.iadd, "sub_": operator.isub, "mul_": operator.imul,
    "div_": operator.itruediv, "pow_": operator.ipow, "floor_divide_": operator.ifloordiv,
    "remainder_": operator.imod, "bitwise_and_": operator.iand, "bitwise_or_": operator.ior,
    "bitwise_xor_": operator.ixor,
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
