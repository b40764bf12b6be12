"""Softmax and its kin over the last dimension, without a look for the greatest elements of rows.

Note [Steady rows]
``softmax`` is written so that it can't overflow: the greatest element of a row is taken off before exponentials are
taken. To find it takes NumPy longer than all else. So they are taken of the numbers as they are, and where their sums
show that nothing was lost, that is it; if not, what the equations say comes after ``except``, where the lines that only
it reads are moved to::

    try:
        v0 = softmax_of_rows(x0)
    except ArithmeticError:
        v1 = exp(subtract(x0, greatest_of_rows(x0).reshape((32, 1))))
        v0 = divide(v1, v1.dot(c7).reshape((32, 1)))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.elementwise import is_infinite
from tapegrad._src.execution.numpy_backend.expression import Name, is_name
from tapegrad._src.execution.numpy_backend.operands import RULES, Equation, Operand, call
from tapegrad._src.execution.numpy_backend.reductions import LONGEST, ONES, WIDE_FLOATS
from tapegrad._src.tape.mechanisms import STEADY_ROWS

RESHAPED = ("broadcast_in_dim", "reshape", "squeeze", "expand_dims")


def _origin(operand: Operand, primitive: str) -> Equation | None:
    """The equation that an operand comes from, whatever its shape is meanwhile, if it is one of a primitive."""
    made = operand.origin
    while made is not None and made.primitive in RESHAPED:
        made = made.operands[0].origin
    return made if made is not None and made.primitive == primitive else None


def _is_greatest(operand: Operand) -> bool:
    """Tell whether an operand has the greatest element of each row, or zeros in place of infinities."""
    chosen = _origin(operand, "select_n")
    candidates = [operand] if chosen is None else chosen.operands[1:]
    return any(_origin(one, "reduce_max") is not None for one in candidates)


def _shifted(sums: Operand) -> tuple[Equation, Equation] | None:
    """``exp`` and ``sub`` of ``sum(exp(x - greatest), -1)``; or None, if that is not what an operand is."""
    zero = _origin(sums, "select_n")  # a sum of zero may be replaced
    total = _origin(sums if zero is None else zero.operands[1], "reduce_sum")
    if total is None:
        return None
    aval = total.avals[0]
    if aval.dtype not in WIDE_FLOATS or tuple(total.params["axes"]) != (len(aval.shape) - 1,):
        return None
    exponentials = total.operands[0].origin
    if exponentials is None or exponentials.primitive != "exp":
        return None
    shifted = exponentials.operands[0].origin
    if shifted is None or shifted.primitive != "sub" or tuple(shifted.avals[0].shape) != tuple(aval.shape):
        return None
    return (exponentials, shifted) if _is_greatest(shifted.operands[1]) else None


Match = tuple[Callable, Sequence[Operand]]
"""A function, and what it is given."""


def _softmax(writer: Any, equation: Equation) -> Match | None:
    shifted = _shifted(equation.operands[1])
    if shifted is None or equation.operands[0].origin is not shifted[0]:
        return None
    masked = _masked(shifted[1])
    return (softmax_of_rows, [writer.named(shifted[1].full(0))]) if masked is None else (softmax_of_masked_rows, masked)


def _masked(shifted: Equation) -> list[Operand] | None:
    """Of rows some of whose elements a mask has made -inf: the rows without it, and which elements count."""
    chosen = shifted.operands[0].origin
    if chosen is None or chosen.primitive != "select_n" or chosen.avals[0].dtype != bool:
        return None
    counts, least, x = chosen.operands
    if not is_infinite(least) or tuple(x.shape) != tuple(chosen.aval.shape):
        return None
    return [x, counts] if is_name(x.expression) and is_name(counts.expression) else None


def _log_softmax(writer: Any, equation: Equation) -> Match | None:
    log = _origin(equation.operands[1], "log")
    shifted = None if log is None else _shifted(log.operands[0])
    if shifted is None or equation.operands[0].origin is not shifted[1]:
        return None
    return log_softmax_of_rows, [writer.named(shifted[1].full(0))]


def _trying(rule: Callable, match: Callable) -> Callable:
    """A rule that tries a function first, if an equation is the last one of what that computes."""

    @wraps(rule)
    def written(writer: Any, equation: Equation) -> Any:
        matched = None if STEADY_ROWS.off else match(writer, equation)
        if matched is None:
            return rule(writer, equation)
        function, given = matched
        return writer.tried(ArithmeticError, Name(), lambda: call(function, *given), lambda: rule(writer, equation))

    return written


for _primitive, _match in (("div", _softmax), ("sub", _log_softmax)):
    RULES[_primitive] = _trying(RULES[_primitive], _match)


def _by_matrix(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A function of the rows of a matrix for arrays of any number of dimensions, unless they are empty or rows long."""

    @wraps(function)
    def of_rows(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        shape = x.shape
        if not x.size or shape[-1] > LONGEST:
            raise ArithmeticError
        if len(shape) == 2:
            return function(x) if out is None else function(x, out)
        put = () if out is None else (out.reshape(-1, shape[-1]),)
        result = function(x.reshape(-1, shape[-1]), *put)
        return result.reshape(*shape[:-1], result.shape[-1])

    return of_rows


@_by_matrix
def _over_sums(exponentials: np.ndarray) -> np.ndarray:
    sums = exponentials.dot(ONES[exponentials.dtype][: exponentials.shape[1]])
    if not (sums.dot(sums) < math.inf and sums.item(sums.argmin()) > 1e-4):
        raise ArithmeticError
    return np.divide(exponentials, sums[:, None], exponentials)


def softmax_of_rows(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Exponentials over the sums of their rows, which are no greater than 1e19 and no less than 1e-4.

    Raises:
        ArithmeticError: they are, or may be.

    >>> softmax_of_rows(np.array([[0.0, 0.0], [-np.inf, 1.0]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    return _over_sums(np.exp(x, out))


softmax_of_rows.takes_out = True  # type: ignore[attr-defined]


def softmax_of_masked_rows(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The same, where those that don't count are as good as -inf.

    >>> softmax_of_masked_rows(np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([[True, True], [False, True]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    exponentials = np.exp(x)
    return _over_sums(np.multiply(exponentials, counts.astype(x.dtype), exponentials))


def _logarithms(x: np.ndarray) -> np.ndarray:
    """The logarithms of rows' sums of exponentials.

    Raises:
        ArithmeticError: one is no less than ``SMALL``, or no greater than the negative of it, or nan.
    """
    logarithms = np.log(np.exp(x).dot(ONES[x.dtype][: x.shape[1]]))
    size = np.absolute(logarithms)
    if size.item(size.argmax()) < SMALL:
        return logarithms
    raise ArithmeticError


SMALL, NEAR = 16, -1
"""To take less than ``SMALL`` off a float32 moves it by 4.8e-7 at most: too much of a logarithm above ``NEAR``. Sums
over two thousand classes have logarithms of 7 to 9."""


@_by_matrix
def log_softmax_of_rows(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Numbers less the logarithms of their rows' sums of exponentials.

    Raises:
        ArithmeticError: those are not small, or a probability is near 1.

    >>> log_softmax_of_rows(np.array([[0.0, 0.0, -np.inf, 0.0, 0.0]]))
    array([[-1.38629436, -1.38629436,        -inf, -1.38629436, -1.38629436]])
    """
    result = np.subtract(x, _logarithms(x)[:, None], out)
    if result.item(result.argmax()) > NEAR:
        raise ArithmeticError
    return result


log_softmax_of_rows.takes_out = True  # type: ignore[attr-defined]


def losses_of_classes(x: np.ndarray, target: np.ndarray, reduction: str, ignore_index: int) -> np.ndarray:
    """Minus ``log_softmax`` of rows at the class of each, those that are ``ignore_index`` left out.

    >>> losses_of_classes(np.array([[0.0, 0.0], [9.0, 9.0]]), np.array([0, -1]), "sum", -1)
    array(0.69314718)
    """
    count, classes = x.shape
    try:
        if not x.size or classes > LONGEST:
            raise ArithmeticError
        losses = _logarithms(x) - _of_classes(x, target)
        if losses.item(losses.argmin()) < -NEAR:
            raise ArithmeticError
    except ArithmeticError:
        x = x - x.max(-1, keepdims=True, initial=-np.inf)
        losses = np.log(np.exp(x).sum(-1)) - _of_classes(x, target)
    total = count
    if ignore_index >= 0 or not count or target.item(target.argmin()) < 0:
        counts = target != ignore_index
        losses, total = np.where(counts, losses, 0), int(np.count_nonzero(counts))
    if reduction == "none":
        return losses
    loss = losses.dot(ONES[x.dtype][:count]) if count <= LONGEST else np.add.reduce(losses)
    return np.asarray(loss / x.dtype.type(total) if reduction == "mean" else loss)


def _of_classes(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of each row the element at a class; of one of the others, where that is none."""
    rows = np.arange(len(x))
    try:
        return x[rows, target]
    except IndexError:
        return x[rows, target.clip(0, x.shape[1] - 1)]
