"""Python numbers that are others in each call: what is computed from them is written down, and computed again.

Note [Numbers that move]
`self.t += 1`, `lr = schedule(step)`, `1 - beta ** t`: Python computes with numbers that each call finds in other places
than the tensors, and that differ from call to call. Once that has been seen, the next captured call finds *stand-ins*
there (``stand_ins.py``), for the time of the call. They compute like the numbers, and write down what is computed
(``Numbers``): a few operators of Python, which a replayed call computes again before its program is run. What goes into
a kernel as a float becomes an input of the program. What Python chooses by (`if t % 10 == 0`) is a *condition*: where
it does not hold, the call takes another *course*, for which there is another program (``cache_entry.py``).

It must be known what becomes of every number, and the class says so: it is no float, it only claims to be one
(``__class__``), so that no C code can read its number without asking. Whoever asks (``float()``, an index, a shape, a
key, text) gets it, but the call depends on that number from there on, and is replayed only for the same one. So it is
with functions of ours, but for the arithmetic of `BY_NUMBERS`; and there, too, unless a kernel has got it as it was.
Functions of ``math`` are known by their names: stand-ins take the place of the module in the user's globals, too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from tapegrad.compiler.places import Binding, Rebound
from tapegrad.compiler.written_guard import alike
from tapegrad.execution.dtypes import (
    BOOL,
    FLOATING,
    bfloat16,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
)
from tapegrad.tape.positions import here
from tapegrad.tensor.tensor import Tensor
from tapegrad.tensor.trees import flatten, unflatten

MOST_STEPS = 1000
"""So much Python arithmetic is written down at most."""

NUMBERS = (int, float)

BY_NUMBERS = frozenset("""
    add sub rsub mul div true_divide addcmul addcdiv lerp add_ sub_ mul_ div_ true_divide_ addcmul_ addcdiv_ lerp_
    __add__ __sub__ __mul__ __truediv__ __radd__ __rsub__ __rmul__ __rdiv__ __rtruediv__
    __iadd__ __isub__ __imul__ __itruediv__
    pow pow_ float_power __pow__ __ipow__ __rpow__ clamp clip clamp_min clamp_max clamp_ clip_ clamp_min_ clamp_max_
    eq ne lt le gt ge not_equal less less_equal greater greater_equal __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    fmod remainder __mod__ __rmod__ xlogy copysign where masked_fill masked_fill_ fill fill_ full full_like new_full
""".split())  # noqa: SIM905 - a table is easier to read without the quotes
"""Functions of tensors that hand a float on to their kernel, and do nothing else with it, but for ``CHECKED``."""

CHECKED = frozenset("""
    clamp clip clamp_min clamp_max clamp_ clip_ clamp_min_ clamp_max_ where masked_fill masked_fill_ fill fill_ full
    full_like new_full
""".split())  # noqa: SIM905
"""Those that refuse floats which their dtype can't hold. That it can is a condition, then."""


def _holds(d: dtype) -> Callable[[float], bool]:
    largest = finfo(d).max
    return lambda number: not math.isfinite(number) or abs(number) <= largest


HOLDS = {d.name: _holds(d) for d in (float16, bfloat16, float32, float64)}
"""By the name of a dtype: whether it can hold a number."""


class Numbers:
    """What a call computes from numbers that move: registers, of which the first are what it finds in their places.

    Attributes:
        origins: where the first ones come from: a ``Binding``, or the number of an argument; and their types.
        steps: how each of the others is computed: a function and its operands, a register or a constant each.
        conditions: registers that must be what they were.
        written: what is put where: places, each with a register or a constant.
        read: where a condition comes from that is no comparison: a place in the user's program.
        made: all stand-ins.
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
        self.made: list[Moving] = []

    # -- while the call is captured

    def begin(self, origin: Any, value: Any) -> Moving:
        """The stand-in of a number."""
        self.origins.append((origin, type(value)))
        self.values.append(value)
        return self._made(len(self.values) - 1, value)

    def _made(self, register: int, value: Any) -> Moving:
        self.made.append(Moving(self, register, value))
        return self.made[-1]

    def compute(self, function: Callable, *operands: Any) -> Any:
        """What a function gives for numbers of which some move."""
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
        if self.open and register not in self.conditions:
            self.conditions[register] = self.values[register]
            self.read[register] = here()

    def argument(self, moving: Moving) -> float:
        """A number as kernels get it: an object by which ``input_for`` knows it."""
        if type(moving._value) is int:
            moving = self.compute(_as_float, moving)
        register = moving._register
        known = next((number for mine, number in self._floats.values() if mine == register), None)
        if known is None:
            known = float(repr(moving._value))  # a new object
            self._floats[id(known)] = register, known
        return known

    def input_for(self, number: float) -> int | None:
        """The register that a kernel's argument is, if it moves."""
        found = self._floats.get(id(number))
        if found is None:
            return None
        self.used.add(found[0])
        return found[0]

    def has(self, number: float) -> bool:
        """Whether a float is a number that moves."""
        return id(number) in self._floats

    def depends_on(self, registers: Sequence[int]) -> set[int]:
        """The first registers from which some are computed."""
        found, waiting, count = set(), list(registers), len(self.origins)
        while waiting:
            register = waiting.pop()
            if register < count:
                found.add(register)
            elif register not in found:
                found.add(register)
                waiting += [one.of for one in self.steps[register - count][1] if one.moves]
        return {register for register in found if register < count}

    def rebound(self) -> list[Rebound]:
        """The places that are accounted for."""
        places = [origin for origin, _ in self.origins if type(origin) is not int]
        places += [binding for binding, _ in self.written]
        return [Rebound(binding, None, None) for binding in places]

    # -- when it is replayed

    def same(self, other: Numbers | None) -> bool:
        """Whether two calls compute the same from the same, up to what numbers move."""
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
        for origin, kind in self.origins:
            value = arguments[origin] if type(origin) is int else origin.find()
            if type(value) is not kind:
                return f"{_name(origin)} was of type {kind.__name__} and is of type {type(value).__name__}"
            values.append(value)
        try:
            for function, operands in self.steps:
                values.append(function(*[values[of] if moves else of for moves, of in operands]))
        except (ArithmeticError, ValueError, TypeError):
            return "what it computes from numbers raises an error"
        for register, expected in self.conditions.items():
            if not alike(values[register], expected):
                return "a number by which Python chooses its way has changed"
        return values

    def write(self, values: list[Any]) -> None:
        """Put what was computed in its places."""
        for binding, (moves, of) in self.written:
            binding.bind(values[of] if moves else of)


def _as_float(number: int) -> float:
    if not _AS_INTEGER[0] <= number < _AS_INTEGER[1]:
        raise OverflowError("no kernel takes such an integer")
    return float(number)


class NumberOperand(NamedTuple):
    """A register, or a constant."""

    moves: bool
    of: Any

    @classmethod
    def of_value(cls, value: Any) -> NumberOperand:
        """What a value is that may move."""
        return cls(True, value._register) if type(value) is Moving else cls(False, value)

    def same(self, other: NumberOperand) -> bool:
        """Whether it is the same register, or the same constant."""
        return self.moves == other.moves and (self.of == other.of if self.moves else alike(self.of, other.of))


def _name(origin: Any) -> str:
    return f"argument {origin}" if type(origin) is int else str(origin)


def _same_origin(one: tuple[Any, type], other: tuple[Any, type]) -> bool:
    (a, kind), (b, its) = one, other
    if kind is not its or type(a) is not type(b):
        return False
    return a == b if type(a) is int else a.identity == b.identity


class Moving:
    """The stand-in of a number that moves. See Note [Numbers that move]."""

    __slots__ = ("_numbers", "_register", "_value")

    def __init__(self, numbers: Numbers, register: int, value: Any) -> None:
        self._numbers, self._register, self._value = numbers, register, value

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._value)

    @classmethod
    def __torch_function__(cls, function: Callable, types: Any, args: tuple, kwargs: Any = None) -> Any:
        """A function of tensors gets the number."""
        kwargs = kwargs or {}
        if function.__name__ not in BY_NUMBERS or not _all_fit(function.__name__, (args, kwargs)):
            return function(*asked(args), **asked(kwargs))
        leaves, tree = flatten((args, kwargs))
        moving = [leaf for leaf in leaves if type(leaf) is Moving]
        if any(not one._numbers.open or get_ident() != one._numbers._thread for one in moving):
            return function(*asked(args), **asked(kwargs))
        numbers = moving[0]._numbers
        if function.__name__ in CHECKED:
            for holds in _holding(leaves):
                for one in moving:
                    numbers.compute(holds, one)
        handed = [numbers.argument(leaf) if type(leaf) is Moving else leaf for leaf in leaves]
        outer, numbers.used = numbers.used, set()
        args, kwargs = unflatten(handed, tree)
        try:
            return function(*args, **kwargs)
        finally:
            for number, leaf in zip(handed, leaves, strict=True):
                if type(leaf) is Moving and numbers._floats[id(number)][0] not in numbers.used:
                    leaf._ask()  # it was used, but not as a kernel's argument
            numbers.used |= outer

    def _ask(self) -> Any:
        self._numbers.ask(self._register)
        return self._value

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        return getattr(function, method)(*asked(inputs), **asked(settings))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._ask(), dtype)

    def __jax_array__(self) -> np.ndarray:
        return np.asarray(self._ask())

    def __index__(self) -> int:
        return operator.index(self._ask())

    def __reduce__(self) -> tuple:
        return type(self._value), (self._ask(),)

    def __getattr__(self, name: str) -> Any:
        kind = type(self._value)
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        return getattr(self._ask(), name)

    def __bool__(self) -> bool:
        return self._numbers.compute(bool, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return _POWER(self, other) if modulus is None else pow(self._ask(), *asked([other, modulus]))

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return _POWERED(self, other) if modulus is None else pow(other, self._ask(), *asked([modulus]))

    def __round__(self, digits: Any = None) -> Any:
        return self._numbers.compute(round, self) if digits is None else self._numbers.compute(round, self, digits)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def plain(value: Any, ask: bool = False) -> Any:
    """A number as it is; ``ask``: the call depends on it."""
    if type(value) is not Moving:
        return value
    return value._ask() if ask else value._value


def asked(tree: Any) -> Any:
    """A tree with numbers as they are, on which the call depends."""
    leaves, structure = flatten(tree)
    return unflatten([plain(leaf, ask=True) for leaf in leaves], structure) if leaves else tree


def plain_tree(tree: Any) -> Any:
    """A tree with numbers as they are; itself, if none in it moves."""
    leaves, structure = flatten(tree)
    moves = any(type(leaf) is Moving for leaf in leaves)
    return unflatten([plain(leaf) for leaf in leaves], structure) if moves else tree


def _all_fit(function: str, tree: Any) -> bool:
    """Whether tensors are floating, or masks, and what moves can be given to kernels as floats."""
    leaves = flatten(tree)[0]
    masked = function in ("where", "masked_fill", "masked_fill_")
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and not (masked and leaf.dtype.category == BOOL)]
    if function == "full":
        return not any(map(_is_int, leaves))  # of which the dtype would be another one
    large = any(_is_int(leaf) and not _AS_INTEGER[0] <= leaf._value < _AS_INTEGER[1] for leaf in leaves)
    return bool(tensors) and not large and all(tensor.dtype.category >= FLOATING for tensor in tensors)


def _holding(leaves: Sequence[Any]) -> set[Callable[[float], bool]]:
    """What tells whether a number fits the dtypes of tensors among the arguments, or the one given, or the default."""
    dtypes = [leaf.dtype if isinstance(leaf, Tensor) else leaf for leaf in leaves if isinstance(leaf, (Tensor, dtype))]
    return {HOLDS[name] for name in {d.to_real().name for d in dtypes or [get_default_dtype()]} if name in HOLDS}


def _is_int(leaf: Any) -> bool:
    return type(leaf) is Moving and type(leaf._value) is int


_AS_INTEGER = -(2**63), 2**64
"""Integers between these are taken beside tensors."""


def _binary(function: Callable, swapped: bool) -> Callable:
    def method(self: Moving, other: Any) -> Any:
        if type(other) not in (int, float, bool, Moving):
            if isinstance(other, Tensor):
                return NotImplemented
            return function(other, self._ask()) if swapped else function(self._ask(), other)
        return self._numbers.compute(function, other, self) if swapped else self._numbers.compute(function, self, other)

    return method


def _unary(function: Callable) -> Callable:
    return lambda self: self._numbers.compute(function, self)


def _told(function: Callable) -> Callable:
    return lambda self, *args: function(self._ask(), *args)


_POWER, _POWERED = _binary(operator.pow, False), _binary(operator.pow, True)
for _name_of in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(Moving, f"__{_name_of}__", _binary(getattr(operator, _name_of), False))
    setattr(Moving, f"__r{_name_of}__", _binary(getattr(operator, _name_of), True))
for _name_of in ("and_", "or_", "xor", "lshift", "rshift"):
    setattr(Moving, f"__{_name_of.rstrip('_')}__", _binary(getattr(operator, _name_of), False))
    setattr(Moving, f"__r{_name_of.rstrip('_')}__", _binary(getattr(operator, _name_of), True))
for _name_of in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Moving, f"__{_name_of}__", _binary(getattr(operator, _name_of), False))
for _name_of in ("neg", "pos", "abs", "invert"):
    setattr(Moving, f"__{_name_of}__", _unary(getattr(operator, _name_of)))
for _function in (math.floor, math.ceil, math.trunc):
    setattr(Moving, f"__{_function.__name__}__", _unary(_function))
for _asking in (hash, repr, str, format, float, int, complex):
    setattr(Moving, f"__{_asking.__name__}__", _told(_asking))
