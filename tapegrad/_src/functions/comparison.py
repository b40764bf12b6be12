"""Comparison, classification, logic and bits, and the operators ``== != < <= > >= & | ^ ~ << >>``. Nothing here has a
gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.declarations import ARITHMETIC, OTHER_DTYPE, InPlace, Out
from tapegrad._src.bindings.declaration.dunders import AUGMENTED, dunder, hot_dunder, refused, reverse
from tapegrad._src.bindings.declaration.registry import IN_PLACE, NAMESPACES, public
from tapegrad._src.bindings.declaration.scalars import is_number, no_overload, operand, operands, refuse
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.writes.in_place import become, before_write, refuse_in_place
from tapegrad._src.bindings.writes.overlaps import refuse_shared_parts
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.functions.unary import check, declare, unary
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.level_messages import NO_RULE
from tapegrad._src.tensor.refusals import refuse_examples, refuse_meta, refuse_number
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops import assignment, comparison
from tapegrad.ops.operator import Operator

_TWO = ("Tensor input, Tensor other, *, Tensor out = None", "Tensor input, Number other, *, Tensor out = None")


def _compare(op: Operator, ordered: bool) -> Callable[[Tensor, Any], Tensor]:
    def function(input: Tensor, other: Any) -> Tensor:
        if not isinstance(other, Tensor):
            if not is_number(other):
                raise no_overload(op.name, (input, other), _TWO)
            other = operand(other, input.dtype)
        if ordered:
            refuse(f"{op.name}_cpu", (input, other), COMPLEX)
        return op(input, other)

    function.__name__ = function.__qualname__ = op.name
    refused = "\n        NotImplementedError: complex elements." if ordered else ""
    function.__doc__ = f"""{op.__doc__} Broadcast; ``other`` is a tensor or a number; the result is boolean.

    Raises:
        TypeError: ``other`` is neither.
        RuntimeError: shapes that don't broadcast.{refused}
    """
    return function


def _comparison(op: Operator, *aliases: str, ordered: bool = True, foreign: Callable[..., Any] = refused) -> None:
    function = public("torch", "Tensor", aliases=aliases, out=Out(history="none"))(_compare(op, ordered))
    hot_dunder(f"__{op.name}__", op, function, "self" if op is comparison.eq else "function", foreign=foreign)
    for name in (op.name, *aliases):
        public("Tensor")(_in_place(name, NAMESPACES["Tensor"][name], op.name.capitalize()))


def _in_place(name: str, compare: Callable[..., Tensor], node: str) -> Callable[..., Tensor]:
    """The in-place variant of a comparison: its node takes the outcome as it is."""

    of_number, of_tensor = f"{name}_.Scalar", f"{name}_.Tensor"

    def method(self: Tensor, other: Any) -> Tensor:
        refuse_in_place(self)
        if self._storage is not None:
            refuse_shared_parts(self, (other,))
        outcome, before = compare(self, other), before_write(self)
        recorded = thread.modes.grad and (before.requires_grad or (isinstance(other, Tensor) and other.requires_grad))
        if not recorded:
            return become(self, outcome, of_tensor if isinstance(other, Tensor) else of_number)
        if isinstance(other, Tensor):
            return become(self, renamed(assignment.compared(before, other, outcome), f"{node}Backward1"), of_tensor)
        return become(self, renamed(assignment.compared(before, None, outcome), f"{node}Backward0"), of_number)

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"In-place version of ``{name}``: zeros and ones of this dtype. The gradient is zero."
    return method


def _equal_to_array(self: Tensor, other: Any) -> Any:
    """``self == other`` of a NumPy array, which alone of PyTorch's comparisons is one of tensors."""
    if not isinstance(other, np.ndarray):
        return NotImplemented
    try:
        return self == from_numpy(other if other.flags.writeable else other.copy())
    except TypeError:  # tensors don't have this dtype
        return NotImplemented


_comparison(comparison.eq, ordered=False, foreign=_equal_to_array)
_comparison(comparison.ne, "not_equal", ordered=False)
_comparison(comparison.lt, "less")
_comparison(comparison.le, "less_equal")
_comparison(comparison.gt, "greater")
_comparison(comparison.ge, "greater_equal")


# -- classification ----------------------------------------------------------------------------------------------------


def _booleans(name: str) -> Out:
    return Out(f"{name} does not support non-boolean outputs.", history="none")


for _op in (comparison.isnan, comparison.isinf, comparison.isfinite):
    declare(unary(_op))
_NO_SIGN = (NotImplementedError, "signbit is not implemented for complex tensors.")
declare(unary(comparison.signbit, {COMPLEX: _NO_SIGN}), out=_booleans("signbit"))


@public("torch", "Tensor", out=_booleans("isposinf"))
def isposinf(input: Tensor) -> Tensor:
    """Tell whether inf.

    Raises:
        RuntimeError: the tensor is complex.
    """
    check(input, {COMPLEX: (RuntimeError, "isposinf does not support complex inputs.")})
    return comparison.eq(input, float("inf"))


@public("torch", "Tensor", out=_booleans("isneginf"))
def isneginf(input: Tensor) -> Tensor:
    """Tell whether -inf.

    Raises:
        RuntimeError: the tensor is complex.
    """
    check(input, {COMPLEX: (RuntimeError, "isneginf does not support complex inputs.")})
    return comparison.eq(input, float("-inf"))


@public("torch", "Tensor")
def isreal(input: Tensor) -> Tensor:
    """Tell whether the imaginary part is 0; always, of a real tensor."""
    return comparison.isreal(input)


@public("torch", "Tensor")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Tell whether ``|input - other| <= atol + rtol * |other|``, element by element; infinities must be equal.

    Args:
        equal_nan: whether nan counts as equal to nan.

    Raises:
        RuntimeError: the dtypes differ; a tolerance is negative.

    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.scalar_name} did not match {other.dtype.scalar_name}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    return comparison.isclose(input, other, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan))


@public("torch", "Tensor")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Tell whether ``isclose`` holds everywhere. Waits for the data.

    Args:
        rtol, atol, equal_nan: as for ``isclose``.

    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1])), torch.allclose(torch.ones(2), torch.ones(2))
    (False, True)
    """
    refuse_examples(
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature.",
        input, other,
    )  # fmt: skip
    refuse_number(input)
    return bool(to_host(value_of(isclose(input, other, rtol, atol, equal_nan))).all())


@public("torch", "Tensor")
def equal(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape and equal elements. Waits for the data."""
    refuse_examples(NO_RULE.format("equal"), input, other)
    refuse_meta("equal", input, other)
    if input.shape != other.shape:
        return False
    return bool(to_host(value_of(comparison.eq(input, other))).all())


# -- logic and bits ----------------------------------------------------------------------------------------------------


def _logical(op: Operator) -> None:
    def function(input: Tensor, other: Tensor) -> Tensor:
        return op(input, other)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.__doc__} Broadcast; of any dtypes."
    declare(function, in_place=InPlace(recorded=False, captured=ARITHMETIC), out=Out(history="none"))


for _op in (comparison.logical_and, comparison.logical_or, comparison.logical_xor):
    _logical(_op)
declare(unary(comparison.logical_not), in_place=InPlace(recorded=False), out=Out(history="none"))


def _bitwise(op: Operator, kernel: str, *refused: int) -> Callable[[Any, Any], Tensor]:
    def function(input: Any, other: Any) -> Tensor:
        x, y = operands(op.name, input, other)
        refuse(kernel, (x, y), *refused)
        return op(x, y)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.__doc__} Broadcast; either may be a number."
    return public("torch", "Tensor", in_place=InPlace(captured=""))(function)


def _operator(symbol: str, function: Callable[[Any, Any], Tensor]) -> None:
    dunder(f"__{symbol}__", function, asks="method")
    if symbol.endswith("shift"):
        dunder(f"__r{symbol}__", reverse(function), asks="python")
    else:
        dunder(f"__r{symbol}__", function)
    AUGMENTED[f"__i{symbol}__"] = f"__{symbol}__"
    IN_PLACE[f"__{symbol}__"] = InPlace(
        captured="", overloads=lambda other: "Tensor" if isinstance(other, Tensor) else "Scalar"
    )


_operator("and", _bitwise(comparison.bitwise_and, "bitwise_and_cpu", FLOATING, COMPLEX))
_operator("or", _bitwise(comparison.bitwise_or, "bitwise_or_cpu", FLOATING, COMPLEX))
_operator("xor", _bitwise(comparison.bitwise_xor, "bitwise_xor_cpu", FLOATING, COMPLEX))
_operator("lshift", _bitwise(comparison.bitwise_left_shift, "lshift_cpu", BOOL, FLOATING, COMPLEX))
_operator("rshift", _bitwise(comparison.bitwise_right_shift, "rshift_cpu", BOOL, FLOATING, COMPLEX))
_NOT = unary(comparison.bitwise_not, dict.fromkeys((FLOATING, COMPLEX), "bitwise_not_cpu"))
declare(_NOT, out=Out(OTHER_DTYPE, history="none"))


def _divisors(op: Operator, kernel: str) -> None:
    def function(input: Tensor, other: Tensor) -> Tensor:
        refuse(kernel, (input, other), BOOL, FLOATING, COMPLEX)
        return op(input, other)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"{op.__doc__} Broadcast."
    declare(function, in_place=InPlace(captured=""))


_divisors(comparison.gcd, "gcd_cpu")
_divisors(comparison.lcm, "lcm_cpu")


@public("Tensor", name="__invert__")
def invert(self: Tensor) -> Tensor:
    """All bits flipped; of booleans, "not".

    Raises:
        TypeError: the tensor is floating or complex.
    """
    if self.dtype.category >= FLOATING:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return comparison.bitwise_not(self)
