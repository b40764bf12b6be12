"""NumPy functions written from jaxprs: what a kernel computes, as straight-line Python for the host.

Note [The NumPy backend]
A kernel is one pure function of ``jax.numpy``, its only definition. XLA needs milliseconds to compile it and seven
microseconds for each call, whatever its size. For small arrays, and for kernels that are not worth compiling, its jaxpr
is written down as a Python function of NumPy calls instead, one for each equation. That of the gradient of ``x * y``
reads::

    def body(x0, x1, x2):
        return multiply(x0, x2), multiply(x0, x1)

How NumPy says an equation is a *rule*, one for each of jax's primitives, in files beside this one (``operands.py``).
Rules give trees (``expression.py``), which one printer makes text of (``printing.py``). A kernel with a primitive that
has no rule is ``Unwritable``: it is XLA's.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from tapegrad._src.execution.numpy_backend.expression import (
    Assign,
    Constant,
    Expression,
    Index,
    Name,
    Node,
    Return,
    Try,
    is_name,
    value_of,
)
from tapegrad._src.execution.numpy_backend.operands import (
    RULES,
    Equation,
    Operand,
    Unwritable,
    are_known,
    bare,
    broadcast,
    call,
    constant,
    method,
    put_last,
)
from tapegrad._src.execution.numpy_backend.printing import Printer, needed
from tapegrad._src.execution.state.threads import helpers
from tapegrad._src.tape.kept import code_of, function_of

LONGEST = 24
"""An expression of more nodes gets a name, for Python's parser and for readers."""

LARGEST = 1 << 14
"""Constants of more elements than this are computed at each call, and not kept."""


class Writer:
    """Writes the statements of the function of one jaxpr.

    Attributes:
        statements: what is written so far.
    """

    def __init__(self, converted: Collection[Var] = ()) -> None:
        self.statements: list[Node] = []
        self._converted = converted
        self._operands: dict[Var, Operand] = {}
        self._assigned: dict[Expression, Name] = {}
        self._same: dict[Var, Var] = {}

    # -- what rules call -----------------------------------------------------------------------------------------------

    def named(self, operand: Operand) -> Operand:
        """An operand that a rule reads more than once: a variable, or a constant."""
        return operand._replace(expression=self.assigned(operand.expression))

    def assigned(self, expression: Any) -> Any:
        """A name for what an expression gives; the same one for the same expression."""
        if is_name(expression):
            return expression
        name = self._assigned.get(expression)
        if name is None:
            name = self._assigned[expression] = self.new(expression)
        return name

    def new(self, expression: Any) -> Name:
        """A variable of its own for an expression, to be written to."""
        name = Name()
        self.statements.append(Assign(name, bare(expression)))
        return name

    def several(self, expression: Any, count: int) -> tuple[Index, ...]:
        """The results of an expression that gives a tuple of so many."""
        results = self.assigned(expression)
        return tuple([Index(results, (index,)) for index in range(count)])

    @contextmanager
    def block(self) -> Iterator[list[Node]]:
        """Statements that are written meanwhile are those of the list; what they assign is not known outside."""
        before = self.statements, self._assigned
        self.statements, self._assigned = [], dict(self._assigned)
        yield self.statements
        self.statements, self._assigned = before

    def tried(self, error: type, name: Name, first: Callable[[], Any], otherwise: Callable[[], Operand]) -> Operand:
        """A variable that holds what one function writes; what another one does, if that raises an error.

        The first one may give nothing, where the variable is written to.
        """
        with self.block() as body:
            operand = first()
            body += [] if operand is None else [Assign(name, bare(operand))]
        with self.block() as handler:
            exactly = otherwise()
            handler.append(Assign(name, exactly.expression))
        self.statements.append(Try(tuple(body), error, tuple(handler)))
        return Operand(name, exactly.shape)

    def function(self, jaxpr: ClosedJaxpr) -> Callable:
        """A function that computes what a jaxpr inside this one does; it gives a tuple of arrays."""
        code = written_jaxpr(jaxpr, [True] * len(jaxpr.jaxpr.outvars), name="inner")
        if code.free:
            raise Unwritable(
                f"a function inside another that reads {code.free[0]}, which is no length of its arguments"
            )
        return code.body

    # -- a jaxpr -------------------------------------------------------------------------------------------------------

    def jaxpr(
        self, closed: ClosedJaxpr, arguments: Sequence[Operand], wanted: Sequence[bool] | None = None
    ) -> list[Operand]:
        """Write a jaxpr's equations; gives its results as operands, those that are ``wanted``: all, by default."""
        jaxpr = closed.jaxpr
        results = jaxpr.outvars if wanted is None else list(itertools.compress(jaxpr.outvars, wanted))
        self._operands.update(zip(jaxpr.invars, arguments, strict=True))
        for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
            self._operands[variable] = constant(np.asarray(value))
        equations, same = live_equations(jaxpr, results), self._same
        if len(equations) > 1:
            equations, repeated = distinct(equations)
            same.update(repeated)
        uses: dict[Var, int] = defaultdict(int)
        for atoms in (*[equation.invars for equation in equations], results):
            for atom in atoms:
                if isinstance(atom, Var):
                    uses[same.get(atom, atom)] += 1
        for variable, operand in zip(jaxpr.invars, arguments, strict=True):
            if uses[variable] > 1:
                self._operands[variable] = self.named(operand)
        for equation in equations:
            self._equation(equation, uses)
        if wanted is None:
            return [self.operand(atom) for atom in results]
        return [self.operand(atom) if one else NOTHING for atom, one in zip(jaxpr.outvars, wanted, strict=True)]

    def operand(self, atom: Any) -> Operand:
        """A variable or a constant of a jaxpr, as it is written."""
        if isinstance(atom, Literal):
            return constant(np.asarray(atom.val, atom.aval.dtype))  # type: ignore[attr-defined]
        return self._operands[self._same.get(atom, atom)]

    def _equation(self, equation: JaxprEqn, uses: Mapping[Var, int]) -> None:
        rule = RULES.get(equation.primitive.name)
        if rule is None:
            raise Unwritable(equation.primitive.name)
        seen = Equation(equation, [self.operand(atom) for atom in equation.invars], uses)
        given, effects, count = list(seen.operands), equation.effects, len(self.statements)
        is_done = self._converted and seen.primitive == "convert_element_type" and any(
            variable is equation.invars[0] for variable in self._converted
        )
        written = given[0] if is_done else rule(self, seen)
        results = (written,) if isinstance(written, (Operand, Expression)) else written
        follows = not effects and not [one for one in given if type(one.expression) is not Constant]
        for variable, result, aval in zip(equation.outvars, results, seen.results, strict=True):
            operand = result if isinstance(result, Operand) else Operand(result, tuple(getattr(aval, "shape", ())))
            if follows and len(self.statements) == count:
                operand = folded(operand)
            if operand.origin is None:
                operand = with_origin(operand, seen, given)
            self._operands[variable] = self._read(operand, uses[variable])

    def _read(self, operand: Operand, times: int) -> Operand:
        """An operand that is read so many times, as a name if it must have one, or has one already."""
        expression = operand.expression
        if type(expression) is Name or type(expression) is Constant:
            return operand
        is_long = isinstance(expression, Node) and expression.size > LONGEST
        if times > 1 or is_long or (self._assigned and expression in self._assigned):
            return self.named(operand)
        return operand


NOTHING = Operand(None)
"""Stands for a result that nobody reads."""


def with_origin(operand: Operand, equation: Equation, given: Sequence[Operand]) -> Operand:
    """A result of an equation, which knows that; or one of the operands given to it, with what is known of that."""
    for one in given:
        if one.expression == operand.expression:
            return operand._replace(origin=one.origin, new=one.new)
    return Operand(operand.expression, operand.shape, operand.new, equation)


def folded(operand: Operand) -> Operand:
    """An operand that follows from constants alone, computed now, unless it is large."""
    if operand.known is not None or not are_known(*operand.shape) or prod(operand.shape) > LARGEST:
        return operand
    with np.errstate(all="ignore"):
        try:
            value = value_of(operand.expression)
        except NameError:  # it depends on a symbol
            return operand
    return operand._replace(expression=Constant(value), new=None) if isinstance(value, np.ndarray) else operand


MANY, STRIP, SETS = 1 << 15, 32, 256
"""The least elements that are copied by strips; the columns of a strip; the bytes of which the strides are
multiples."""


def copied(array: np.ndarray) -> np.ndarray:
    """A copy, row by row. Columns at certain strides drive each other out of the cache: few of them are read at a time.

    >>> np.array_equal(copied((x := np.arange(1 << 16).reshape(256, 256)).T), x.T)
    True
    """
    if array.nbytes >= SHARED and helpers.can_help():
        return _copied_together(array, has_far_columns(array))
    if array.size < MANY or not has_far_columns(array):
        return array.copy()
    copy = np.empty(array.shape, array.dtype)
    _copy_columns(array, copy)
    return copy


def has_far_columns(array: np.ndarray) -> bool:
    """Tell whether the columns of an array are at strides at which they drive each other out of the cache."""
    return array.ndim > 1 and array.strides[-1] >= SETS and not array.strides[-1] % SETS


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


def copy_of(argument: Operand) -> Expression:
    """A copy of an argument: as a value it is another one."""
    shape = argument.shape
    small = len(shape) < 2 or (are_known(*shape) and prod(shape) < MANY)
    return method(argument, "copy") if small else call(copied, argument)


def shapes_of(atoms: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The shapes of variables."""
    return [tuple(atom.aval.shape) for atom in atoms]


def symbols_of(shapes: Sequence[Sequence[Any]]) -> dict[str, tuple[int, int]]:
    """For each symbol that is a length among some shapes the shape, and the dimension, where it is found first."""
    axes: dict[str, tuple[int, int]] = {}
    for index, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if not isinstance(size, int) and str(size).isidentifier():
                axes.setdefault(str(size), (index, axis))
    return axes


def distinct(equations: Sequence[JaxprEqn]) -> tuple[list[JaxprEqn], dict[Var, Var]]:
    """Equations without those that compute what one before them does; and whose variables stand for theirs."""
    first: dict[Any, JaxprEqn] = {}
    same: dict[Var, Var] = {}
    kept: list[JaxprEqn] = []
    for equation in equations:
        atoms = [
            same.get(atom, atom) if isinstance(atom, Var) else (np.asarray(atom.val).tobytes(), atom.aval)
            for atom in equation.invars
        ]
        try:
            before = first.setdefault((equation.primitive.name, *atoms, *equation.params.items()), equation)
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
    numbers = {}
    for variable, aval in zip(jaxpr.invars, avals, strict=True):
        if not (aval.weak_type and aval.dtype.kind == "f"):
            continue
        uses = [equation for equation in jaxpr.eqns if variable in equation.invars]
        dtypes = {use.params.get("new_dtype") if use.primitive.name == "convert_element_type" else None for use in uses}
        if len(dtypes) == 1 and variable not in jaxpr.outvars:
            (dtype,) = dtypes
            if dtype is not None and np.dtype(dtype).kind == "f":
                numbers[variable] = np.dtype(dtype)
    return numbers


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
    closed: ClosedJaxpr,
    tree: Any,
    given: Sequence[bool] | None = None,
    converted: Collection[Var] = (),
    name: str = "body",
) -> HostCode:
    """A jaxpr, written for the host.

    Args:
        tree: None for no result, anything else for one; or a list or a tuple of such.
        given: for each argument of the function, whether it is one of the jaxpr's, and not None; all are, by default.
        converted: those of the jaxpr's that are given as what it converts them to: see ``numbers_in``.
        name: the function's.
    """
    shapes = shapes_of(closed.jaxpr.invars)
    texts = [f"x{index}" for index in range(len(shapes if given is None else given))]
    named = texts if given is None else itertools.compress(texts, given)
    arguments = [Operand(Name(text), shape) for text, shape in zip(named, shapes, strict=True)]
    writer = Writer(converted)
    result = result_of(writer.jaxpr(closed, arguments), shapes_of(closed.jaxpr.outvars), arguments, tree)
    printer = Printer()
    printer.names[name] = None  # a function inside may have the same name, and is called otherwise then
    lines = printer.lines([*needed(writer.statements, result), Return(result)])
    free: tuple[str, ...] = ()
    if printer.symbols:
        free, sizes = lengths_read(printer.symbols, shapes, arguments)
        lines = [*sizes, *lines]
    source = "\n    ".join([f"def {name}({', '.join([*free, *texts])}):", *lines])
    return HostCode(function_of(code_of(source), name, printer.names), source, free)


def result_of(operands: Sequence[Operand], shapes: Sequence[tuple], arguments: Sequence[Operand], tree: Any) -> Any:
    """The results of a function, of these shapes, as it gives them: an expression, or several, by jax's tree."""
    results = [
        operand if operand.shape == shape else broadcast(operand, shape)
        for operand, shape in zip(operands, shapes, strict=True)
    ]
    single = not isinstance(tree, (tuple, list))
    if len(results) == 1 and results[0] is operands[0] and (single or len(tree) == 1):
        results = [Operand(put_last(results[0].expression), shapes[0])]
    by_name = {argument.expression: argument for argument in arguments}
    wanted = iter([copy_of(one) if one.expression in by_name else one.expression for one in results])
    if single:
        return None if tree is None else next(wanted)
    return tuple([None if leaf is None else next(wanted) for leaf in tree])


def lengths_read(symbols: set[str], shapes: Sequence[tuple], arguments: Sequence[Operand]) -> tuple[tuple, list[str]]:
    """The symbols that a function takes as arguments, and the lines by which it reads the others off its arrays."""
    axes = symbols_of(shapes)
    read = [(symbol, *axes[symbol]) for symbol in sorted(symbols) if symbol in axes]
    sizes = [f"{symbol} = {arguments[index].expression.text}.shape[{axis}]" for symbol, index, axis in read]
    return tuple(sorted(symbols - axes.keys())), sizes
