"""Numbers: what a call computes from Python numbers, written down to be computed again.

Note [Late reads]
`return loss.item()`, `meter.sum += loss.item() * n`: a number is read from a tensor, and all that becomes of it is more
numbers, which are returned or kept. So the program need not be split there: ``item()`` gives a proxy (Note [Dynamic
numbers]) of which the number is known *late*, when the program has been run; what Python computes from it, by
functions that can't fail (`LATE`), is computed then. Whoever wants to know it before (a condition, text, a kernel) has
the program split and run as far as it is, as elements do that are read in another way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, NamedTuple

from tapegrad._src.execution.array_functions.host import whole_array
from tapegrad._src.execution.data.values import DeferredValue, materialized
from tapegrad._src.tape.positions import here
from tapegrad.compiler.capture.dynamic_number import AS_INTEGER, NUMBERS, DynamicNumber, plain
from tapegrad.compiler.guards.locations import Binding, Rebound
from tapegrad.compiler.guards.written_guard import alike

MOST_STEPS = 1000
"""So much Python arithmetic is written down at most."""

LATE = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, operator.abs})
"""Operations on numbers that are not known yet; a divisor must be known, and not be zero."""


def number_in(array: Any) -> int | float:
    """The only element of an array, as a Python number."""
    return whole_array(array).item()


class Numbers:
    """The computations of a call from dynamic numbers: registers, of which the first are what it finds in their
    places.

    Attributes:
        origins: where the first ones come from: a ``Binding``, or the number of an argument; and their types.
        steps: how each of the others is computed: a function and its operands, a register or a constant each.
        conditions: registers that must be what they were.
        written: what is put where: places, each with a register or a constant.
        read: where a condition comes from that is no comparison: a place in the user's program.
        made: all proxies.
        reads_late: whether elements may be read late, and ``demand``: what has the program run as far as it is.
        results: by registers that are elements, the results of the program that they are of.
        late: the registers that are known when the program has been run, in order.
    """

    def __init__(self) -> None:
        self.origins: list[tuple[Any, type]] = []
        self.steps: list[tuple[Callable, tuple[NumberOperand, ...]]] = []
        self.conditions: dict[int, Any] = {}
        self.written: list[tuple[Binding, NumberOperand]] = []
        self.read: dict[int, Any] = {}
        self.values: list[Any] = []
        self.inputs: dict[int, int] = {}
        self.used: set[int] = set()
        self._floats: dict[int, tuple[int, float]] = {}
        self._thread = get_ident()
        self.open = True
        self.made: list[DynamicNumber] = []
        self.reads_late = False
        self.demand: Callable[[], None] = lambda: None
        self.results: dict[int, int] = {}
        self.late: list[int] = []
        self._pending: dict[int, DeferredValue | None] = {}

    # -- while the call is captured

    def begin(self, origin: Any, value: Any) -> DynamicNumber:
        """The proxy of a number."""
        self.origins.append((origin, type(value)))
        self.values.append(value)
        return self._made(len(self.values) - 1, value)

    def _made(self, register: int, value: Any) -> DynamicNumber:
        self.made.append(DynamicNumber(self, register, type(value)))
        return self.made[-1]

    def value(self, register: int) -> Any:
        """The number in a register; it is waited for."""
        if register in self._pending:
            self._hurry()
        return self.values[register]

    def compute(self, function: Callable, *operands: Any) -> Any:
        """The result of a function for numbers of which some are dynamic."""
        if self._pending and self._computes_late(function, operands):
            return self._compute_late(function, operands)
        value = function(*map(plain, operands))
        if not self.open:
            return value
        if get_ident() != self._thread or type(value) not in (*NUMBERS, bool) or len(self.steps) >= MOST_STEPS:
            for one in operands:
                plain(one, ask=True)
            return value
        self.steps.append((function, tuple(map(NumberOperand.of_value, operands))))
        self.values.append(value)
        register = len(self.values) - 1
        if type(value) is bool:
            self.conditions[register] = value
            return value
        return self._made(register, value)

    def ask(self, register: int) -> None:
        """Somebody wants to know a number: it must be the same the next time."""
        self.value(register)
        if self.open and register not in self.conditions:
            self.conditions[register] = self.values[register]
            self.read[register] = here()

    def argument(self, number: DynamicNumber) -> float:
        """A number as kernels get it: an object by which ``input_for`` knows it."""
        if number._type is int:
            number = self.compute(_as_float, number)
        register = number._register
        known = next((number for mine, number in self._floats.values() if mine == register), None)
        if known is None:
            known = float(repr(number._value))  # a new object
            self._floats[id(known)] = register, known
        return known

    def input_for(self, number: float) -> int | None:
        """The register that a kernel's argument is, if it is dynamic."""
        known = self._floats.get(id(number))
        if known is None:
            return None
        self.used.add(known[0])
        return known[0]

    def has(self, number: float) -> bool:
        """Tell whether a float is a dynamic number."""
        return id(number) in self._floats

    def depends_on(self, registers: Sequence[int]) -> set[int]:
        """The first registers from which some are computed."""
        reached, waiting, count = set(), list(registers), len(self.origins)
        while waiting:
            register = waiting.pop()
            if register < count:
                reached.add(register)
            elif register not in reached:
                reached.add(register)
                waiting += [one.of for one in self.steps[register - count][1] if one.is_register]
        return {register for register in reached if register < count}

    # -- numbers that are known late

    def read_late(self, value: DeferredValue, number_type: type) -> DynamicNumber:
        """The proxy of the only element of a result. See Note [Late reads]."""
        self.results[len(self.values)] = value.slot
        return self._put_off(number_in, (NumberOperand(False, value.slot),), number_type(1), value)

    def is_late(self, register: int) -> bool:
        """Tell whether a number is not known yet."""
        return register in self._pending

    def _put_off(self, function: Callable, operands: tuple, like: Any, value: DeferredValue | None) -> DynamicNumber:
        self.steps.append((function, operands))
        self.values.append(like)
        register = len(self.values) - 1
        self._pending[register] = value
        self.late.append(register)
        return self._made(register, like)

    def _computes_late(self, function: Callable, operands: tuple) -> bool:
        """Tell whether a function can be computed later: it can't fail then, and gives no condition."""
        late = [type(one) is DynamicNumber and self.is_late(one._register) for one in operands]
        if not any(late) or not self.open or get_ident() != self._thread or len(self.steps) >= MOST_STEPS:
            return False
        if function is operator.truediv:
            return not late[1] and bool(operands[1])  # of a dynamic number that is a condition
        return function in LATE or (function is round and len(operands) == 2)

    def _compute_late(self, function: Callable, operands: tuple) -> DynamicNumber:
        like = function(*[self.values[one._register] if type(one) is DynamicNumber else one for one in operands])
        return self._put_off(function, tuple(map(NumberOperand.of_value, operands)), like, None)

    def _hurry(self) -> None:
        """Have the numbers now that would be known later."""
        if self.open and get_ident() == self._thread:
            self.demand()
            self.reads_late = False
        self.settle()

    def settle(self) -> None:
        """Compute what was put off: the program has been run."""
        self._finish(list(self._pending), self.values, lambda register: materialized(self._pending[register]))
        self._pending.clear()

    def _finish(self, late: Sequence[int], values: list[Any], array_of: Callable[[int], Any]) -> None:
        """Compute registers that are known late; ``array_of`` gives the arrays of those that are elements."""
        for register in late:
            if register in self.results:
                values[register] = number_in(array_of(register))
            else:
                function, operands = self.steps[register - len(self.origins)]
                values[register] = function(*[values[of] if is_register else of for is_register, of in operands])

    def rebound(self) -> list[Rebound]:
        """The places that are accounted for."""
        locations = [origin for origin, _ in self.origins if type(origin) is not int]
        locations += [binding for binding, _ in self.written]
        return [Rebound(binding, None, None) for binding in locations]

    # -- when it is replayed

    def same(self, other: Numbers | None) -> bool:
        """Tell whether two calls compute the same from the same, up to what the dynamic numbers are."""
        return (
            other is not None
            and len(self.origins) == len(other.origins)
            and all(_same_origin(*pair) for pair in zip(self.origins, other.origins, strict=True))
            and len(self.steps) == len(other.steps)
            and all(
                a[0] is b[0] and len(a[1]) == len(b[1]) and all(map(NumberOperand.same, a[1], b[1]))
                for a, b in zip(self.steps, other.steps, strict=True)
            )
            and self.conditions.keys() == other.conditions.keys()
            and all(alike(value, other.conditions[register]) for register, value in self.conditions.items())
            and len(self.written) == len(other.written)
            and all(
                a[0].identity == b[0].identity and a[1].same(b[1])
                for a, b in zip(self.written, other.written, strict=True)
            )
        )

    def computed(self, arguments: Sequence[Any]) -> list[Any] | str:
        """The registers in a call with these arguments; in words, why it takes another course."""
        values: list[Any] = []
        late = frozenset(self.late)
        for origin, number_type in self.origins:
            value = arguments[origin] if type(origin) is int else origin.find()
            if type(value) is not number_type:
                return f"{_name(origin)} was of type {number_type.__name__} and is of type {type(value).__name__}"
            values.append(value)
        try:
            for function, operands in self.steps:
                if len(values) in late:
                    values.append(None)
                    continue
                values.append(function(*[values[of] if is_register else of for is_register, of in operands]))
        except (ArithmeticError, ValueError, TypeError):
            return "what it computes from numbers raises an error"
        for register, expected in self.conditions.items():
            if not alike(values[register], expected):
                return "a number by which Python chooses its way has changed"
        return values

    def write(self, values: list[Any], results: dict[int, Any]) -> None:
        """Put what was computed in its places; ``results``: the results of the program."""
        self._finish(self.late, values, lambda register: results[self.results[register]])
        for binding, (is_register, of) in self.written:
            binding.bind(values[of] if is_register else of)


def _as_float(number: int) -> float:
    if not AS_INTEGER[0] <= number < AS_INTEGER[1]:
        raise OverflowError("no kernel takes such an integer")
    return float(number)


class NumberOperand(NamedTuple):
    """A register, or a constant."""

    is_register: bool
    of: Any

    @classmethod
    def of_value(cls, value: Any) -> NumberOperand:
        """The operand for a value that may be dynamic."""
        return cls(True, value._register) if type(value) is DynamicNumber else cls(False, value)

    def same(self, other: NumberOperand) -> bool:
        """Tell whether it is the same register, or the same constant."""
        if self.is_register or other.is_register:
            return self == other
        return alike(self.of, other.of)


def _name(origin: Any) -> str:
    return f"argument {origin}" if type(origin) is int else str(origin)


def _same_origin(one: tuple[Any, type], other: tuple[Any, type]) -> bool:
    (a, number_type), (b, its) = one, other
    if number_type is not its or type(a) is not type(b):
        return False
    return a == b if type(a) is int else a.identity == b.identity
