"""NumPy functions written from jaxprs: what a kernel computes, as straight-line Python for the host.

Note [The NumPy backend]
A kernel is one pure function of ``jax.numpy``, its only definition. XLA needs milliseconds to compile it and seven
microseconds for each call, whatever its size. For small arrays, and for kernels that are not worth compiling, its jaxpr
is written down as a Python function of NumPy calls instead, one for each equation. That of the gradient of ``x * y``
reads::

    def body(x0, x1, x2):
        return multiply(x0, x2), multiply(x0, x1)

How NumPy says an equation is a *rule*, one for each of jax's primitives, in the files beside this one (``rules.py``). A
kernel with a primitive that has no rule is ``Unwritable``: it is XLA's.

Note [Host arrays]
What a written function takes and gives are NumPy arrays: never NumPy's scalars, also where they have no dimensions. A
result may show memory of an argument (a transposed one, a slice), for nobody writes to values. Its strides are its own.

Note [Broadcast late]
jaxprs say ``broadcast_in_dim`` before they multiply arrays of different shapes; NumPy's functions broadcast by
themselves. So such an equation costs nothing: an ``Operand`` knows the shape that its array has, which broadcasts to
that of the variable, and elementwise rules take it as it is. Others get it in full (``Writer.full``).

Note [Temporaries]
Memory that is new to a process costs several times as much as computing what is put into it. So what an elementwise
equation makes of a large array that nobody else will read is written where that lies: ``x - y * 2`` of large arrays
is ``subtract(x0, (v0 := multiply(x1, k)), v0)``, and the last thing that is computed may be put in place of a variable.
An operand that is no name is read once, by the equation that it is written into.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from tapegrad._src.execution.numpy_backend.rules import RULES, Equation, Operand, Unwritable
from tapegrad._src.execution.state.threads import helpers
from tapegrad._src.tape.sources import defined

LONGEST = 200
"""An expression of more characters gets a name, for Python's parser and for readers."""

LARGEST = 1 << 14
"""Constants of more elements than this are computed at each call, and not kept."""

TEMPORARY = 1 << 10
"""From how many bytes on memory is used again. See Note [Temporaries]."""

SMALL = 1 << 12
"""An array of up to so many elements is written out in full rather than shown with strides of 0: that is quicker."""


class Writer:
    """Writes the function of one jaxpr: lines of Python, and the names that they refer to.

    Attributes:
        lines: what is written so far.
        names: what the lines refer to, besides arguments and variables; shared with the functions inside this one.
    """

    def __init__(self, names: dict[str, Any], converted: Collection[Var] = ()) -> None:
        self.lines: list[str] = []
        self.names = names
        self._converted = converted
        self._operands: dict[Var, Operand] = {}
        self._origins: dict[str, Equation] = {}
        self._assigned: dict[str, str] = {}
        self._same: dict[Var, Var] = {}
        self._new: dict[str, tuple[tuple[Any, ...], np.dtype]] = {}
        self._over: set[str] = set()
        self._variables = 0

    # -- what rules call -----------------------------------------------------------------------------------------------

    def constant(self, value: Any, prefix: str = "c") -> str:
        """The name of something that the lines refer to: an array, a dtype, a function of ours."""
        for name, known in self.names.items():
            if known is value:
                return name
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    def helper(self, function: Callable) -> str:
        """The name of a function, NumPy's or ours, in the lines."""
        name = function.__name__
        if self.names.setdefault(name, function) is not function:
            return self.constant(function, name)
        return name

    def dtype(self, dtype: Any) -> str:
        """The name of a dtype in the lines."""
        dtype = np.dtype(dtype)
        return self.constant(self.names.setdefault(f"dtype_{dtype.name}", dtype))

    def size(self, size: Any) -> str:
        """The length of a dimension, as it is written: a number, or what Note [Shape classes] says."""
        return str(size) if isinstance(size, int) else symbolic(size, self.names)

    def shape(self, shape: Sequence[Any]) -> str:
        """A shape, as it is written."""
        return f"({''.join(f'{self.size(size)}, ' for size in shape)})"

    def assigned(self, source: str) -> str:
        """A variable that holds what an expression gives; the same one for the same expression."""
        name = self._assigned.get(source)
        if name is None:
            name = self._assigned[source] = self.new(source)
        return name

    def new(self, source: str) -> str:
        """A variable of its own for an expression, to be written to."""
        name = self.variable()
        self.lines.append(f"{name} = {source}")
        return name

    @contextmanager
    def block(self, heading: str) -> Iterator[None]:
        """Lines that are written meanwhile belong to a heading; what they assign is not known outside."""
        lines, assigned = self.lines, self._assigned
        self.lines, self._assigned = [], dict(assigned)
        yield
        lines += [heading, *(f"    {line}" for line in self.lines)]
        self.lines, self._assigned = lines, assigned

    def variable(self) -> str:
        """The name of a variable that nothing is assigned to yet."""
        self._variables += 1
        return f"v{self._variables - 1}"

    def known(self, operand: Operand) -> np.ndarray | None:
        """The array that an operand is, if it is a constant."""
        value = self.names.get(operand.source)
        return value if isinstance(value, np.ndarray) else None

    def origin(self, operand: Operand) -> Equation | None:
        """The equation that an operand comes from, for rules that know a shorter way for two equations together."""
        return self._origins.get(operand.source)

    def _folded(self, operand: Operand) -> Operand:
        """Compute now what follows from constants alone, unless it is large."""
        if self.known(operand) is not None or not all(isinstance(size, int) for size in operand.shape):
            return operand
        if prod(operand.shape) > LARGEST:
            return operand
        with np.errstate(all="ignore"):
            try:
                value = eval(operand.source, self.names, {})
            except NameError:  # it depends on a symbol
                return operand
        return operand._replace(source=self.literal(value)) if isinstance(value, np.ndarray) else operand

    def named(self, source: str) -> str:
        """A name for an expression that a rule needs more than once."""
        return source if source.isidentifier() else self.assigned(source)

    def full(self, equation: Equation, index: int) -> str:
        """An input of an equation, an array of the shape that its variable has."""
        return self.broadcast(equation.operands[index], equation.avals[index].shape)

    def broadcast(self, operand: Operand, shape: Sequence[Any]) -> str:
        """An operand as an array of a shape that it broadcasts to."""
        given, shape = tuple(operand.shape), tuple(shape)
        if given == shape:
            return operand.source
        ones = len(shape) - len(given)
        if shape == (1,) * ones + given:
            return f"{operand.source}.reshape({self.shape(shape)})"
        value = self.known(operand)
        if value is not None and not value.tobytes().strip(b"\0"):
            return f"{self.helper(np.zeros)}({self.shape(shape)}, {self.dtype(value.dtype)})"
        return f"{self.helper(spread)}({operand.source}, {self.shape(shape)})"

    def call(self, function: Callable, equation: Equation, *arguments: str, **settings: Any) -> str:
        """A call of a function with an equation's inputs, in full, and whatever comes after them."""
        inputs = [self.full(equation, index) for index in range(len(equation.operands))]
        words = [f"{key}={value}" for key, value in settings.items()]
        return f"{self.helper(function)}({', '.join([*inputs, *arguments, *words])})"

    def elementwise(
        self, function: np.ufunc, equation: Equation | None, operands: Sequence[Operand] | None = None
    ) -> Operand:
        """A call of a ufunc whose result has the shape of the equation's output, or broadcasts to it."""
        operands = equation.operands if operands is None else operands  # type: ignore[union-attr]
        shape = broadcast_shape([operand.shape for operand in operands])
        sources, out = [operand.source for operand in operands], ""
        for index, source in enumerate(sources):
            if not source.isidentifier() and self._holds(function, source, shape):
                name = self.variable()
                sources[index], out = f"({name} := {source})", put_into(function, name)
                break
        shapes = [operand.shape for operand in operands]
        called = along_rows(function) if have_long_rows(shapes, shape) else function
        inputs = f"{self.helper(called)}({', '.join(sources)}{out}"
        found = f"{inputs})" if out else self.array(inputs, shape, ufunc=True)
        if out:
            self._over.add(found)
        dtypes = {aval.dtype for aval in (*equation.avals, *equation.results)} if equation is not None else ()
        if shape and function in IN_PLACE and len(dtypes) == 1:
            self._new.setdefault(found, (shape, np.dtype(*dtypes)))
        return Operand(found, shape)

    def _holds(self, function: np.ufunc, source: str, shape: tuple[Any, ...]) -> bool:
        """Tell whether an array is of no use besides, and large, and can take what a function makes of it."""
        known, dtype = self._new.get(source, ((), None))
        if dtype is None or known != shape or dtype.kind not in IN_PLACE.get(function, ""):
            return False
        return not all(isinstance(size, int) for size in shape) or prod(shape) * dtype.itemsize >= TEMPORARY

    def _note_new(self, operand: Operand, equation: Equation, dtype: np.dtype) -> None:
        """Remember that an expression gives new memory, if it does: a product, or elements that are chosen."""
        chosen = operand.source.startswith(("where(", "chosen("))
        if equation.primitive == "dot_general" or (equation.primitive == "select_n" and chosen):
            self._new.setdefault(operand.source, (tuple(operand.shape), np.dtype(dtype)))

    def _put_last(self, source: str, shape: tuple[Any, ...]) -> str:
        """The last expression of all, put in place of the variable that it begins with."""
        if source not in self._new or source in self._over:  # not the call of a ufunc alone
            return source
        call, _, rest = source.partition("(")
        called, name = self.names.get(call), rest.partition(",")[0]
        function = getattr(called, "ufunc", called)
        if isinstance(function, np.ufunc) and self._holds(function, name, shape):
            return f"{source[:-1]}{put_into(function, name)})"
        return source

    def array(self, source: str, shape: Sequence[Any], ufunc: bool = False) -> str:
        """An expression that gives an array, where NumPy gives a scalar if there are no dimensions.

        ``source`` is a call that is not closed yet, if it is one of a ``ufunc``.
        """
        if not ufunc:
            return source if shape else f"{self.helper(np.asarray)}({source})"
        if shape:
            return f"{source})"
        return f"{source}, out=...)" if GIVES_ARRAYS else f"{self.helper(np.asarray)}({source}))"

    def function(self, jaxpr: ClosedJaxpr) -> str:
        """The name of a function that computes what a jaxpr inside this one does; it gives a tuple of arrays."""
        name = f"f{len(self.names)}"
        self.names[name] = None
        lines, free = Writer(self.names).function_lines(name, jaxpr, [True] * len(jaxpr.jaxpr.outvars))
        if free:
            raise Unwritable(f"a function inside another that reads {free[0]}, which is no length of its arguments")
        self.names[name] = defined(lines, name, self.names)
        return name

    def function_lines(
        self, name: str, closed: ClosedJaxpr, tree: Any, given: Sequence[bool] | None = None
    ) -> tuple[list[str], list[str]]:
        """The lines of a function that computes what a jaxpr does, and the symbols that are its first arguments.

        These are the ones that it needs and that are no lengths of its other arguments. ``tree`` is None for no result,
        anything else for one; or a list or a tuple of such. ``given`` says for each argument whether the jaxpr has it.
        """
        shapes, results = shapes_of(closed.jaxpr.invars), shapes_of(closed.jaxpr.outvars)
        arguments = [f"x{index}" for index in range(len(shapes if given is None else given))]
        sources = [x for x, is_given in zip(arguments, given or [True] * len(arguments), strict=True) if is_given]
        operands = self.jaxpr(closed, list(map(Operand, sources, shapes)))
        broadcast = (self.broadcast(operand, shape) for operand, shape in zip(operands, results, strict=True))
        single = not isinstance(tree, (tuple, list))
        items = ["None" if leaf is None else next(broadcast) for leaf in ([tree] if single else tree)]
        if len(items) == 1 and operands and operands[0].shape == results[0]:
            items = [self._put_last(items[0], results[0])]
        shown = dict(zip(sources, shapes, strict=True))  # a copy of a value is another
        items = [self._copied(item, shown[item]) if item in shown else item for item in items]
        result = items[0] if single else f"({''.join(f'{item}, ' for item in items)})"
        lines = [*needed(self.lines, result), f"return {result}"]
        wanted, places = sorted(set(SYMBOLS.findall("\n".join(lines)))), symbols_of(shapes)
        free = [symbol for symbol in wanted if symbol not in places]
        read = [(symbol, *places[symbol]) for symbol in wanted if symbol in places]
        sizes = [f"{symbol} = {sources[index]}.shape[{axis}]" for symbol, index, axis in read]
        return [f"def {name}({', '.join([*free, *arguments])}):", *(f"    {line}" for line in [*sizes, *lines])], free

    def _copied(self, name: str, shape: tuple[Any, ...]) -> str:
        small = len(shape) < 2 or (all(isinstance(size, int) for size in shape) and prod(shape) < MANY)
        copy = f"{name}.copy()"
        return copy if small else f"({self.helper(copied)}({name}) if {name}.size >= {MANY} else {copy})"

    # -- a jaxpr -------------------------------------------------------------------------------------------------------

    def jaxpr(
        self, closed: ClosedJaxpr, arguments: Sequence[Operand], wanted: Sequence[bool] | None = None
    ) -> list[Operand]:
        """Write a jaxpr's equations; gives its results as operands, those that are ``wanted``: all, by default."""
        jaxpr = closed.jaxpr
        asked = list(zip(jaxpr.outvars, wanted or [True] * len(jaxpr.outvars), strict=True))
        results = [atom for atom, is_wanted in asked if is_wanted]
        self._operands.update(zip(jaxpr.invars, arguments, strict=True))
        for variable, constant in zip(jaxpr.constvars, closed.consts, strict=True):
            array = np.asarray(constant)
            self._operands[variable] = Operand(self.constant(array), array.shape)
        equations, same = distinct(live_equations(jaxpr, results))
        self._same.update(same)
        read = [atom for equation in equations for atom in equation.invars]
        uses = Counter([same.get(atom, atom) for atom in [*read, *results] if isinstance(atom, Var)])
        for variable, operand in zip(jaxpr.invars, arguments, strict=True):
            if uses[variable] > 1:
                self._operands[variable] = operand._replace(source=self.named(operand.source))
        for equation in equations:
            self._equation(equation, uses)
        return [self.operand(atom) if is_wanted else NOTHING for atom, is_wanted in asked]

    def operand(self, atom: Any) -> Operand:
        """A variable or a constant of a jaxpr, as it is written."""
        if isinstance(atom, Literal):
            array = np.asarray(atom.val, atom.aval.dtype)  # type: ignore[attr-defined]
            return Operand(self.literal(array), array.shape)
        return self._operands[self._same.get(atom, atom)]

    def literal(self, array: np.ndarray) -> str:
        """The name of a constant; single numbers are told apart by what they are."""
        key = f"k{array.dtype.name}_{array.tobytes().hex()}"
        if array.ndim or len(key) > 60:
            return self.constant(array)
        self.names.setdefault(key, array)
        return key

    def _equation(self, equation: JaxprEqn, uses: Counter) -> None:
        rule = RULES.get(equation.primitive.name)
        if rule is None:
            raise Unwritable(equation.primitive.name)
        wanted = [uses[variable] > 0 for variable in equation.outvars]
        seen = Equation(equation, [self.operand(atom) for atom in equation.invars], wanted)
        lines = len(self.lines)
        is_done = equation.primitive.name == "convert_element_type" and any(
            variable is equation.invars[0] for variable in self._converted
        )
        written = seen.operands[0] if is_done else rule(self, seen)
        results = [written] if isinstance(written, (str, Operand)) else list(written)
        for variable, result, aval in zip(equation.outvars, results, seen.results, strict=True):
            operand = result if isinstance(result, Operand) else Operand(result, tuple(getattr(aval, "shape", ())))
            if (
                len(self.lines) == lines
                and not equation.effects
                and all([self.known(given) is not None for given in seen.operands])
            ):
                operand = self._folded(operand)
            self._note_new(operand, seen, aval.dtype)
            source = operand.source
            if (uses[variable] > 1 or len(source) > LONGEST) and not source.isidentifier():
                operand = operand._replace(source=self.assigned(source))
            operand = operand._replace(source=self._assigned.get(operand.source, operand.source))
            if source in self._new:
                self._new.setdefault(operand.source, self._new[source])
            if operand.source not in [given.source for given in seen.operands]:
                self._origins.setdefault(operand.source, self._origins.get(source, seen))
            self._operands[variable] = operand


NAMES = re.compile(r"\b[vx]\d+\b")
"""The variables and arguments in a line."""

NOTHING = Operand("None", ())
"""Stands for a result that nobody reads."""

SYMBOLS = re.compile(r"\b[mn]\d*\b")
"""The symbols in a line. See Note [Names of a pattern] in ``dispatch/patterns.py``."""


def spread(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """``numpy.broadcast_to``, an order of magnitude quicker for small arrays.

    >>> spread(np.arange(2), (2, 2))
    array([[0, 1],
           [0, 1]])
    """
    if prod(shape) > SMALL:
        return np.broadcast_to(array, shape)
    full = np.empty(shape, array.dtype)
    full[...] = array
    return full


MANY, STRIP, SETS = 1 << 14, 32, 256
"""The least elements that are copied by strips; the columns of a strip; the bytes of which the strides are
multiples."""


def copied(array: np.ndarray) -> np.ndarray:
    """A copy, row by row. Columns at certain strides drive each other out of the cache: few of them are read at a time.

    >>> np.array_equal(copied((x := np.arange(1 << 16).reshape(256, 256)).T), x.T)
    True
    """
    by_columns = array.ndim > 1 and array.strides[-1] >= SETS and not array.strides[-1] % SETS
    if array.nbytes >= SHARED and helpers.can_help():
        return _copied_together(array, by_columns)
    if not by_columns:
        return array.copy()
    copy = np.empty(array.shape, array.dtype)
    _copy_columns(array, copy)
    return copy


def _copy_columns(array: np.ndarray, copy: np.ndarray) -> None:
    for first in range(0, array.shape[-1], STRIP):
        copy[..., first : first + STRIP] = array[..., first : first + STRIP]


SHARED, PART = 1 << 21, 1 << 19
"""From how many bytes on several threads copy an array, about so many of it at a time."""


def _copied_together(array: np.ndarray, by_columns: bool) -> np.ndarray:
    """A copy that several threads make. See Note [Threads that help] in ``state/threads.py``."""
    copy = np.empty(array.shape, array.dtype)
    source, target = (array.reshape(-1), copy.reshape(-1)) if array.flags.c_contiguous else (array, copy)
    rows = max(1, len(source) * PART // array.nbytes)

    def work(number: int) -> None:
        part = slice(number * rows, (number + 1) * rows)
        if by_columns:
            _copy_columns(source[part], target[part])
        else:
            target[part] = source[part]

    helpers.run(work, -(-len(source) // rows))
    return copy


ANY, REAL, CONTINUOUS = "iufc", "iuf", "fc"
IN_PLACE: dict[np.ufunc, str] = {
    np.add: ANY, np.subtract: ANY, np.multiply: ANY, np.negative: ANY, np.maximum: REAL, np.minimum: REAL,
    **dict.fromkeys((np.divide, np.exp, np.log, np.sqrt, np.tanh, np.power, np.log1p, np.expm1, np.sin, np.cos),
                    CONTINUOUS),
}  # fmt: skip
"""Functions whose results have the dtype of what they are given, and the kinds of dtypes."""


LONG_ROW, MANY = 256, 1 << 15
"""From so many elements in a row, and in all rows, on NumPy is kept from repeating a number for each row."""


def have_long_rows(shapes: Sequence[Sequence[Any]], whole: Sequence[Any]) -> bool:
    """Tell whether an operand has one number for each long row of many that others have in full.

    >>> have_long_rows([(16, 32, 400), (32, 1)], (16, 32, 400)), have_long_rows([(16, 32, 400), (400,)], (16, 32, 400))
    (True, False)
    """
    if not all([isinstance(size, int) for size in whole]) or prod(whole) < MANY:
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


def put_into(function: np.ufunc, name: str) -> str:
    """The argument of a ufunc that says where its result is put."""
    return f", out={name}" if function in (np.maximum, np.minimum) else f", {name}"


def needed(lines: Sequence[str], result: str) -> list[str]:
    """Lines where they are needed: not at all, if nothing reads what they assign; below ``except``, if only that does.

    >>> needed(["v0 = f(x0)", "v1 = g(x0)", "v2 = h(v0)"], "v2")
    ['v0 = f(x0)', 'v2 = h(v0)']
    >>> needed(["v0 = f(x0)", "try:", "    v1 = g(x0)", "except IndexError:", "    v1 = g(v0)"], "v1")
    ['try:', '    v1 = g(x0)', 'except IndexError:', '    v0 = f(x0)', '    v1 = g(v0)']
    """
    readers: dict[str, set[int]] = {name: {0} for name in NAMES.findall(result)}
    moved: dict[int, list[str]] = {}
    kept: list[tuple[str, int]] = []
    for line, handler in reversed(list(zip(lines, handlers_of(lines), strict=True))):
        name, assigned, source = line.partition(" = ")
        read = line
        if assigned and name.isidentifier():
            wanted, read = readers.get(name, set()), source
            if not wanted:
                continue
            if len(wanted) == 1 and 0 not in wanted:
                (handler,) = wanted
                moved.setdefault(handler, []).append(f"    {line}")
            else:
                kept.append((line, 0))
        else:
            kept.append((line, handler if line.startswith("except ") else 0))
        for name in NAMES.findall(read):
            readers.setdefault(name, set()).add(handler)
    return [text for line, handler in reversed(kept) for text in (line, *reversed(moved.get(handler, [])))]


def handlers_of(lines: Sequence[str]) -> list[int]:
    """For each line the number of the ``except`` that it stands below, or of that itself; 0 for others."""
    count, handler, handlers = 0, 0, []
    for line in lines:
        if line.startswith("except "):
            count += 1
            handler = count
        elif not line.startswith(" "):
            handler = 0
        handlers.append(handler)
    return handlers


def shapes_of(atoms: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The shapes of variables."""
    return [tuple(atom.aval.shape) for atom in atoms]


def symbolic(size: Any, names: dict[str, Any]) -> str:
    """A length that depends on symbols, as Python says it.

    >>> from jax import export
    >>> n, m = export.symbolic_shape("n, m")
    >>> symbolic(m // 2, {}), symbolic(2 * n * n, {})
    ('floordiv(m, 2)', '2*n**2')
    """
    names.setdefault("floordiv", operator.floordiv)
    names.setdefault("mod", operator.mod)
    return str(size).replace("^", "**")


def evaluated(size: Any, lengths: dict[str, int]) -> int:
    """The number for a length that depends on symbols.

    >>> from jax import export
    >>> n, m = export.symbolic_shape("n, m")
    >>> evaluated(2 * n * n + m // 2, {"n": 3, "m": 5})
    20
    """
    scope: dict[str, Any] = dict(lengths)
    return eval(symbolic(size, scope), scope)


def symbols_of(shapes: Sequence[Sequence[Any]]) -> dict[str, tuple[int, int]]:
    """For each symbol that is a length among some shapes the shape, and the dimension, where it is found first."""
    places: dict[str, tuple[int, int]] = {}
    for index, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if not isinstance(size, int) and str(size).isidentifier():
                places.setdefault(str(size), (index, axis))
    return places


def distinct(equations: Sequence[JaxprEqn]) -> tuple[list[JaxprEqn], dict[Var, Var]]:
    """Equations without those that compute what one before them does; and whose variables stand for theirs."""
    first: dict[Any, JaxprEqn] = {}
    same: dict[Var, Var] = {}
    kept: list[JaxprEqn] = []
    if len(equations) < 2:
        return list(equations), same
    for equation in equations:
        atoms = tuple(
            same.get(atom, atom) if isinstance(atom, Var) else (np.asarray(atom.val).tobytes(), str(atom.aval))
            for atom in equation.invars
        )
        try:
            before = first.setdefault(
                (equation.primitive.name, tuple(sorted(equation.params.items())), atoms), equation
            )
        except TypeError:
            before = equation
        if before is equation or equation.effects:
            kept.append(equation)
        else:
            same.update(zip(equation.outvars, before.outvars, strict=True))
    return kept, same


def live_equations(jaxpr: Jaxpr, results: Sequence[Any]) -> list[JaxprEqn]:
    """The equations that results depend on, or that have effects, in their order."""
    wanted = {atom for atom in results if isinstance(atom, Var)}
    kept = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or wanted.intersection(equation.outvars):
            wanted.update([atom for atom in equation.invars if isinstance(atom, Var)])
            kept.append(equation)
    return kept[::-1]


def broadcast_shape(shapes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The shape that shapes broadcast to, where lengths may be symbols.

    >>> broadcast_shape([(2, 1), (3,), ()])
    (2, 3)
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


def _gives_arrays() -> bool:
    try:
        return type(np.add(np.zeros(()), np.zeros(()), out=...)) is np.ndarray
    except TypeError:
        return False


GIVES_ARRAYS = _gives_arrays()
"""True if this NumPy's ufuncs can be told to give arrays without dimensions, and no scalars: from 2.3 on."""


# -- whole kernels -----------------------------------------------------------------------------------------------------


class HostCode(NamedTuple):
    """A kernel as it is written for the host.

    Attributes:
        body: the function: arrays in, an array or a tuple of arrays (and Nones) out.
        source: its lines.
        free: the symbols that it takes first, before the arrays.
    """

    body: Callable
    source: str
    free: tuple[str, ...] = ()


def numbers_in(jaxpr: Jaxpr) -> dict[Var, np.dtype]:
    """The arguments that are Python's floats, and are only read as another floating dtype; each with that one.

    >>> closed = jax.make_jaxpr(lambda x, p: x + p)(np.float16(1), 2.0)
    >>> list(numbers_in(closed.jaxpr).values())
    [dtype('float16')]
    """
    avals: list[Any] = [variable.aval for variable in jaxpr.invars]
    found = {}
    for variable, aval in zip(jaxpr.invars, avals, strict=True):
        if not (aval.weak_type and aval.dtype.kind == "f"):
            continue
        uses = [equation for equation in jaxpr.eqns if variable in equation.invars]
        dtypes = {use.params.get("new_dtype") if use.primitive.name == "convert_element_type" else None for use in uses}
        if len(dtypes) == 1 and variable not in jaxpr.outvars:
            (dtype,) = dtypes
            if dtype is not None and np.dtype(dtype).kind == "f":
                found[variable] = np.dtype(dtype)
    return found


def written(function: Callable, arguments: Sequence[Any]) -> HostCode:
    """A pure function of arrays, written for the host.

    Args:
        function: what ``Kernel`` takes.
        arguments: examples or ``jax.ShapeDtypeStruct``s of its arguments; Python numbers stand for numbers, which are
            to be given as arrays without dimensions, of the dtype that jax has for them.

    Raises:
        Unwritable: it has a primitive without a rule.

    >>> print(written(lambda x, y: (x * y).sum(), [jax.ShapeDtypeStruct((3,), "float32")] * 2).source)
    def body(x0, x1):
        v0 = x0.ravel()
        v1 = x1.ravel()
        return asarray(v0.dot(v1))
    """
    closed, tree = jax.make_jaxpr(function, return_shape=True)(*arguments)
    return written_jaxpr(closed, tree, [argument is not None for argument in arguments])


def written_jaxpr(
    closed: ClosedJaxpr, tree: Any, given: Sequence[bool] | None = None, converted: Collection[Var] = ()
) -> HostCode:
    """A jaxpr, written for the host.

    Args:
        tree: one thing, or a tuple of those that it computes and of Nones.
        given: for each argument of the function, whether it is one of the jaxpr's, and not None; all are, by default.
        converted: those of the jaxpr's that are given as what it converts them to: see ``numbers_in``.
    """
    names: dict[str, Any] = {}
    lines, free = Writer(names, converted).function_lines("body", closed, tree, given)
    return HostCode(defined(lines, "body", names), "\n".join(lines), tuple(free))
