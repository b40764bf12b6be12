"""Operands: arrays as they are written, and calls of NumPy's functions on them; equations, and rules for primitives.

A rule says how NumPy computes one of jax's primitives; the table of them is ``RULES``. It is called ``rule(writer,
equation)``, with a ``Writer`` of ``writer.py`` and an ``Equation``, and gives an ``Operand`` for each output of the
equation, or an expression, of an array that has the output's shape; one, or a tuple of them. It may write statements
before (``writer.named``), and raises ``Unwritable`` for what it does not know.

Note [Host arrays]
What a written function takes and gives are NumPy arrays: never NumPy's scalars, also where they have no dimensions. A
result may show memory of an argument (a transposed one, a slice), for nobody writes to values. Its strides are its own.

Note [Broadcast late]
jaxprs say ``broadcast_in_dim`` before they multiply arrays of different shapes; NumPy's functions broadcast by
themselves. So such an equation costs nothing: an ``Operand`` knows the shape that its array has, which broadcasts to
that of the variable, and elementwise rules take it as it is. Others get it in full (``Equation.full``).

Note [Temporaries]
Memory that is new to a process costs several times as much as computing what is put into it. So what an elementwise
equation makes of a large array that nobody else will read is written where that lies: ``x - y * 2`` of large arrays
is ``subtract(x0, (v0 := multiply(x1, k)), v0)``, and the last thing that is computed may be put in place of a variable.
An operand that is no name is read once, by the equation that it is written into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from jax.extend.core import JaxprEqn, Var

from tapegrad._src.execution.numpy_backend.expression import Attribute, Constant, Invocation, Name, is_name, put_into
from tapegrad._src.execution.numpy_backend.vectorized import LARGE, REPLACED, clipped, vectorized

TEMPORARY = 1 << 10
"""From how many bytes on memory is used again. See Note [Temporaries]."""

SMALL = 1 << 12
"""An array of up to so many elements is written out in full rather than shown with strides of 0: that is quicker."""

ANY, REAL, CONTINUOUS = "iufc", "iuf", "fc"
IN_PLACE: dict[Any, str] = {
    np.add: ANY, np.subtract: ANY, np.multiply: ANY, np.negative: ANY, np.maximum: REAL, np.minimum: REAL,
    clipped: REAL,
    **dict.fromkeys((np.divide, np.exp, np.log, np.sqrt, np.tanh, np.power, np.log1p, np.expm1, np.sin, np.cos),
                    CONTINUOUS),
}  # fmt: skip
"""Functions whose results have the dtype of what they are given, and the kinds of dtypes."""


class Operand(NamedTuple):
    """An array as it is written.

    Attributes:
        expression: what gives it.
        shape: the shape of the array, perhaps not yet broadcast to that of the variable.
        new: the dtype, if the array is in memory that nothing else shows; else None.
        origin: the equation that it is the result of, for rules that know a shorter way for two equations together.
    """

    expression: Any
    shape: tuple[Any, ...] = ()
    new: np.dtype | None = None
    origin: Any = None

    @property
    def known(self) -> np.ndarray | None:
        """The array itself, if it is a constant."""
        value = self.expression.known if type(self.expression) is Constant else None
        return value if isinstance(value, np.ndarray) else None

    def method(self, name: str, *arguments: Any, shape: Sequence[Any] | None = None, **keywords: Any) -> Operand:
        """The result of a method, an array of the same shape if no other one is said."""
        return Operand(method(self, name, *arguments, **keywords), self.shape if shape is None else tuple(shape))


def bare(one: Any) -> Any:
    """A part of an expression; of an operand its expression."""
    if type(one) is Operand:
        return one.expression
    return tuple([bare(item) for item in one]) if type(one) is tuple else one


def call(function: Any, *arguments: Any, **keywords: Any) -> Invocation:
    """A call of a function of NumPy's, or of ours; among what it is given may be operands."""
    words = tuple([(key, bare(one)) for key, one in keywords.items()]) if keywords else ()
    return Invocation(function, bare(arguments) if arguments else (), words)


def method(of: Any, name: str, *arguments: Any, **keywords: Any) -> Invocation:
    """A call of a method."""
    return call(Attribute(bare(of), name), *arguments, **keywords)


def number(value: Any, dtype: Any) -> Operand:
    """A number, or a length that is a symbol, as an array without dimensions where it is known.

    NumPy's functions take those quicker than Python's numbers.
    """
    is_known = isinstance(value, (int, float, complex, np.generic))
    return Operand(Constant(np.asarray(value, dtype)) if is_known else value)


def constant(array: np.ndarray) -> Operand:
    """An array that is known."""
    return Operand(Constant(array), array.shape)


# -- shapes ------------------------------------------------------------------------------------------------------------


def are_known(*sizes: Any) -> bool:
    """Tell whether lengths are numbers, and none is a symbol."""
    return all([isinstance(size, int) for size in sizes])


def broadcast_shape(shapes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The shape that shapes broadcast to, where lengths may be symbols.

    >>> broadcast_shape([(2, 1), (3,), ()])
    (2, 3)
    """
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return tuple(shapes[0])
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


def reshaped(operand: Operand, shape: Sequence[Any]) -> Operand:
    """An operand in another shape of as many elements."""
    shape = tuple(shape)
    return operand if shape == tuple(operand.shape) else operand.method("reshape", shape, shape=shape)


def broadcast(operand: Operand, shape: Sequence[Any]) -> Operand:
    """An operand as an array of a shape that it broadcasts to."""
    given, shape = tuple(operand.shape), tuple(shape)
    if given == shape or shape == (1,) * (len(shape) - len(given)) + given:
        return reshaped(operand, shape)
    if operand.known is not None and not operand.known.tobytes().strip(b"\0"):
        return Operand(call(np.zeros, shape, operand.known.dtype), shape)
    return Operand(call(broadcast_array, operand, shape), shape)


def broadcast_array(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """``numpy.broadcast_to``, an order of magnitude quicker for small arrays.

    >>> broadcast_array(np.arange(2), (2, 2))
    array([[0, 1],
           [0, 1]])
    """
    if prod(shape) > SMALL:
        return np.broadcast_to(array, shape)
    full = np.empty(shape, array.dtype)
    full[...] = array
    return full


# -- calls that give arrays --------------------------------------------------------------------------------------------


def as_array(expression: Any, shape: Sequence[Any]) -> Operand:
    """An array of a shape, where NumPy gives a scalar if there are no dimensions. See Note [Host arrays]."""
    return Operand(expression if shape else call(np.asarray, expression), tuple(shape))


def mapped(function: Callable, equation: Any, *settings: Any) -> Operand:
    """A call of an elementwise function of ours, which gives an array or a scalar."""
    shape = broadcast_shape([operand.shape for operand in equation.operands])
    return as_array(call(function, *equation.operands, *settings), shape)


def by_ufunc(
    function: Any, equation: Any, operands: Sequence[Operand] | None = None, dtype: Any = None
) -> Operand:  # fmt: skip
    """A call of a ufunc, with an equation's operands or others, whose result broadcasts to that of the equation.

    Without an equation it is not known that all are of one dtype, but if that is given.
    """
    operands = equation.operands if operands is None else operands
    shapes = [operand.shape for operand in operands]
    shape = broadcast_shape(shapes)
    if dtype is not None or equation is None:
        dtypes = set() if dtype is None else {dtype}
    else:
        dtypes = {aval.dtype for aval in (*equation.avals, *equation.results)}
    new = np.dtype(*dtypes) if shape and function in IN_PLACE and len(dtypes) == 1 else None
    called = function
    if function in REPLACED and (not are_known(*shape) or prod(shape) >= LARGE):
        called = vectorized(function, shapes, new)
    if called is function and shapes.count(shape) < len(shapes) and have_long_rows(shapes, shape):
        called = along_rows(function)
    arguments, over = tuple([operand.expression for operand in operands]), None
    for index, one in enumerate(operands):
        if one.new is not None and _holds(function, one, shape):
            if not is_name(one.expression):
                return Operand(Invocation(called, arguments, (), index), shape, new)
            if index == 0 and new is not None and type(arguments[0]) is Name:
                over = 0
    if shape or GIVES_ARRAYS:
        return Operand(Invocation(called, arguments, () if shape else (("out", ...),), over), shape, new)
    return Operand(call(np.asarray, Invocation(called, arguments)), shape)


def _holds(function: Any, operand: Operand, shape: tuple[Any, ...]) -> bool:
    """Tell whether an array in memory of its own is large, and can take what a function makes of it."""
    if operand.shape != shape or operand.new.kind not in IN_PLACE.get(function, ""):  # type: ignore[union-attr]
        return False
    return not are_known(*shape) or prod(shape) * operand.new.itemsize >= TEMPORARY  # type: ignore[union-attr]


def put_last(last: Any) -> Any:
    """The last expression of all, put in place of the variable that it begins with."""
    able = type(last) is Invocation and last.over is not None and type(last.arguments[last.over]) is Name
    return put_into(last, last.arguments[last.over]) if able else last


def _gives_arrays() -> bool:
    try:
        return type(np.add(np.zeros(()), np.zeros(()), out=...)) is np.ndarray
    except TypeError:
        return False


GIVES_ARRAYS = _gives_arrays()
"""True if this NumPy's ufuncs can be told to give arrays without dimensions, and no scalars: from 2.3 on."""

LONG_ROW, MANY = 256, 1 << 15
"""From so many elements in a row, and in all rows, on NumPy is kept from repeating a number for each row."""


def have_long_rows(shapes: Sequence[Sequence[Any]], whole: Sequence[Any]) -> bool:
    """Tell whether an operand has one number for each long row of many that others have in full.

    >>> have_long_rows([(16, 32, 400), (32, 1)], (16, 32, 400)), have_long_rows([(16, 32, 400), (400,)], (16, 32, 400))
    (True, False)
    """
    if not are_known(*whole) or prod(whole) < MANY:
        return False
    alike = [next((i for i, size in enumerate(shape[::-1]) if size != 1), 0) for shape in shapes if prod(shape) > 1]
    return any(prod(whole[len(whole) - count :]) >= LONG_ROW for count in alike if count)


@cache
def along_rows(function: np.ufunc) -> Callable:
    """A ufunc that computes row by row: what NumPy would do to put short rows together takes as long again.

    >>> along_rows(np.add)(np.ones((2, 2)), np.array([[1], [2]]))
    array([[2., 2.],
           [3., 3.]])
    """

    def by_rows(*operands: Any, **settings: Any) -> Any:
        before = np.setbufsize(LONG_ROW // 2)
        try:
            return function(*operands, **settings)
        finally:
            np.setbufsize(before)

    by_rows.__name__ = f"{function.__name__}_by_rows"
    by_rows.ufunc = function  # type: ignore[attr-defined]
    return by_rows


RULES: dict[str, Callable] = {}
"""The rules by the names of the primitives."""


def rule(*primitives: str) -> Callable[[Callable], Callable]:
    """Make a function the rule of some primitives."""

    def register(function: Callable) -> Callable:
        for primitive in primitives:
            assert primitive not in RULES, primitive
            RULES[primitive] = function
        return function

    return register


class Unwritable(Exception):
    """A kernel has a primitive that has no rule, or is used in a way that its rule does not know; names it."""


class Equation:
    """An equation of a jaxpr, as rules see it.

    Attributes:
        primitive: its name; ``params``: its parameters.
        operands: its inputs as they are written, perhaps not yet broadcast; ``avals``: their shapes and dtypes.
        results: shapes and dtypes of its outputs; ``wanted``: which of them anybody reads.
    """

    def __init__(self, equation: JaxprEqn, operands: list[Operand], uses: Mapping[Var, int]) -> None:
        self.primitive = equation.primitive.name
        self.params = equation.params
        self.operands = operands
        self.avals: list[Any] = [atom.aval for atom in equation.invars]
        self.results: list[Any] = [variable.aval for variable in equation.outvars]
        self.wanted = [uses[variable] > 0 for variable in equation.outvars]

    @property
    def aval(self) -> Any:
        """Shape and dtype of its only output."""
        (aval,) = self.results
        return aval

    def full(self, index: int) -> Operand:
        """An input, an array of the shape that its variable has."""
        return broadcast(self.operands[index], self.avals[index].shape)

    def inputs(self, first: int = 0, end: int | None = None) -> tuple[Operand, ...]:
        """All inputs in full, or some."""
        return tuple([self.full(index) for index in range(len(self.operands))[first:end]])
