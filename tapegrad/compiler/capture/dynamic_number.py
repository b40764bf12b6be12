"""Python numbers that are others in each call: what is computed from them is written down, and computed again.

Note [Dynamic numbers]
`self.t += 1`, `lr = schedule(step)`, `1 - beta ** t`: Python computes with numbers that each call finds in other places
than the tensors, and that differ from call to call. Once that has been seen, the next captured call finds *proxies*
there (``proxies.py``), for the time of the call. They compute like the numbers, and write down what is computed
(``numbers.py``): a few operators of Python, which a replayed call computes again before its program is run. What goes
into a kernel as a float becomes an input of the program. What Python chooses by (`if t % 10 == 0`) is a *condition*:
where it does not hold, the call takes another *course*, for which there is another program (``cache_entry.py``).

It must be known what becomes of every number, and the class says so: it is no float, it only claims to be one
(``__class__``), so that no C code can read its number without asking. Whoever asks (``float()``, an index, a shape, a
key, text) gets it, but the call depends on that number from there on, and is replayed only for the same one. So it is
with functions of ours, but for the arithmetic of `BY_NUMBERS`; and there, too, unless a kernel has got it as it was.
A number that a tensor has (`loss.item()`) may have a proxy, too: Note [Late reads], ``numbers.py``.
Functions of ``math`` are known by their names: proxies take the place of the module in the user's globals, too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from tapegrad._src.execution.data.dtypes import (
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
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten, unflatten

NUMBERS = (int, float)

BY_NUMBERS = frozenset("""
    add sub rsub mul div true_divide addcmul addcdiv lerp add_ sub_ mul_ div_ true_divide_ addcmul_ addcdiv_ lerp_
    __add__ __sub__ __mul__ __truediv__ __radd__ __rsub__ __rmul__ __rdiv__ __rtruediv__
    __iadd__ __isub__ __imul__ __itruediv__
    pow pow_ float_power __pow__ __ipow__ __rpow__ clamp clip clamp_min clamp_max clamp_ clip_ clamp_min_ clamp_max_
    eq ne lt le gt ge not_equal less less_equal greater greater_equal __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    fmod remainder __mod__ __rmod__ xlogy copysign where masked_fill masked_fill_ fill fill_ full full_like new_full
    gumbel_softmax
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


class DynamicNumber:
    """The proxy of a dynamic number. See Note [Dynamic numbers]."""

    __slots__ = ("_numbers", "_register", "_type")

    def __init__(self, numbers: Any, register: int, number_type: type) -> None:
        self._numbers, self._register, self._type = numbers, register, number_type

    @property
    def _value(self) -> Any:
        """The number; it is waited for."""
        return self._numbers.value(self._register)

    @property
    def _late(self) -> bool:
        """True if it is not known yet."""
        return self._numbers.is_late(self._register)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._type

    @classmethod
    def __torch_function__(cls, function: Callable, types: Any, args: tuple, kwargs: Any = None) -> Any:
        """A function of tensors gets the number."""
        kwargs = kwargs or {}
        if function.__name__ not in BY_NUMBERS or not _all_fit(function.__name__, (args, kwargs)):
            return function(*asked(args), **asked(kwargs))
        leaves, tree = flatten((args, kwargs))
        proxies = [leaf for leaf in leaves if type(leaf) is DynamicNumber]
        if any(not one._numbers.open or get_ident() != one._numbers._thread for one in proxies):
            return function(*asked(args), **asked(kwargs))
        numbers = proxies[0]._numbers
        if function.__name__ in CHECKED:
            for holds in _holding(leaves):
                for one in proxies:
                    numbers.compute(holds, one)
        handed = [numbers.argument(leaf) if type(leaf) is DynamicNumber else leaf for leaf in leaves]
        outer, numbers.used = numbers.used, set()
        args, kwargs = unflatten(handed, tree)
        try:
            return function(*args, **kwargs)
        finally:
            for number, leaf in zip(handed, leaves, strict=True):
                if type(leaf) is DynamicNumber and numbers._floats[id(number)][0] not in numbers.used:
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
        return self._type, (self._ask(),)

    def __getattr__(self, name: str) -> Any:
        number_type = self._type
        if not hasattr(number_type, name):
            raise AttributeError(f"{number_type.__name__!r} object has no attribute {name!r}")
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
    if type(value) is not DynamicNumber:
        return value
    return value._ask() if ask else value._value


def asked(tree: Any) -> Any:
    """A tree with numbers as they are, on which the call depends."""
    leaves, structure = flatten(tree)
    return unflatten([plain(leaf, ask=True) for leaf in leaves], structure) if leaves else tree


def _all_fit(function: str, tree: Any) -> bool:
    """Tell whether tensors are floating, or masks, and dynamic numbers are known, and can be given to kernels as
    floats."""
    leaves = flatten(tree)[0]
    masked = function in ("where", "masked_fill", "masked_fill_")
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and not (masked and leaf.dtype.category == BOOL)]
    if any(type(leaf) is DynamicNumber and leaf._late for leaf in leaves):
        return False
    if function == "full":
        return not any(map(_is_int, leaves))  # of which the dtype would be another one
    large = any(_is_int(leaf) and not AS_INTEGER[0] <= leaf._value < AS_INTEGER[1] for leaf in leaves)
    return bool(tensors) and not large and all(tensor.dtype.category >= FLOATING for tensor in tensors)


def _holding(leaves: Sequence[Any]) -> set[Callable[[float], bool]]:
    """A function that tells whether a number fits the dtypes of tensors among the arguments, or the one given, or the
    default."""
    dtypes = [leaf.dtype if isinstance(leaf, Tensor) else leaf for leaf in leaves if isinstance(leaf, (Tensor, dtype))]
    return {HOLDS[name] for name in {d.to_real().name for d in dtypes or [get_default_dtype()]} if name in HOLDS}


def _is_int(leaf: Any) -> bool:
    return type(leaf) is DynamicNumber and leaf._type is int


AS_INTEGER = -(2**63), 2**64
"""Integers between these are taken beside tensors."""


def _binary(function: Callable, swapped: bool) -> Callable:
    def method(self: DynamicNumber, other: Any) -> Any:
        if type(other) not in (int, float, bool, DynamicNumber):
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
    setattr(DynamicNumber, f"__{_name_of}__", _binary(getattr(operator, _name_of), False))
    setattr(DynamicNumber, f"__r{_name_of}__", _binary(getattr(operator, _name_of), True))
for _name_of in ("and_", "or_", "xor", "lshift", "rshift"):
    setattr(DynamicNumber, f"__{_name_of.rstrip('_')}__", _binary(getattr(operator, _name_of), False))
    setattr(DynamicNumber, f"__r{_name_of.rstrip('_')}__", _binary(getattr(operator, _name_of), True))
for _name_of in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(DynamicNumber, f"__{_name_of}__", _binary(getattr(operator, _name_of), False))
for _name_of in ("neg", "pos", "abs", "invert"):
    setattr(DynamicNumber, f"__{_name_of}__", _unary(getattr(operator, _name_of)))
for _function in (math.floor, math.ceil, math.trunc):
    setattr(DynamicNumber, f"__{_function.__name__}__", _unary(_function))
for _asking in (hash, repr, str, format, float, int, complex):
    setattr(DynamicNumber, f"__{_asking.__name__}__", _told(_asking))
