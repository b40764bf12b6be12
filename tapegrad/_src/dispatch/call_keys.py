"""Keys of calls, in memory and on disk: what of a call decides what it does. See Note [Call caches], ``call_cache.py``.

Note [Keys of calls]
A call is a *signature* and *numbers*: the lengths of its arguments, and integers and floats among the settings. An
operator's call is found again by its *key*, which has both, as they are: the modes of the thread, for each argument its
spec, the type of a number or None, and the settings, in the order in which they were given. What runs each call builds
that tuple itself (``Operator.__call__``, ``call``, ``dunders.py``); all others ask ``key_of``. A call that is new is
taken apart by ``signature_of``, once: its signature, in which specs have flags and no lengths, leads to all that is
known of calls with other numbers. Their kernels depend on less: calls that differ in flags share them
(``kernel_signature``). Which dimension is meant (``AXES``) is no number: kernels ask. A public function's key has the
values of other arguments, too (``part_of``).

What becomes of a result besides is a policy, by whose name the keys of such calls begin. Without one the result is a
new tensor. ``VIEW``: it is put on the memory of the first argument (``bindings/viewing.py``); ``GEOMETRY``: where it
lies there. ``WRITE``: it is written into the first argument (``bindings/writes/``). ``REPLAY``: it is recorded, of a
value that is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

from tapegrad._src.caches import memory
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.execution.tiers.host_trace import HostFunction
from tapegrad._src.execution.tiers.keeping import KeptEntry, Unkept, circumstances, outlined, said
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.tape import kept
from tapegrad._src.tape.mechanisms import DISK_CACHE, SHIPPED_CLASSES
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.spec import Size, Spec
from tapegrad._src.tensor.tensor import Tensor

Argument = Any
"""An argument of an operator in the place of an array: a Tensor, a Python scalar, or None for an absent optional."""

VIEW, GEOMETRY, WRITE, REPLAY = "view", "geometry", "write", "replay"

NUMBER = object()
"""Stands for a number in a signature."""


def spec_of(argument: Argument) -> Any:
    """The part of an argument that a plan depends on: the spec of a tensor, the type of a scalar, None."""
    if isinstance(argument, Tensor):
        return argument._spec
    return None if argument is None else type(argument)


def key_of(parts: Sequence[Any], settings: dict) -> tuple:
    """The key of an operator's call: all that decides what it does. See Note [Keys of calls].

    Args:
        parts: the modes, and what specs and types say of each argument.
        settings: the settings, as they were given.
    """
    return (*parts, *settings.items())


def signature_of(specs: tuple, settings: dict) -> tuple[tuple, int, list[Any]]:
    """An operator's call taken apart: its signature, how much of that is not of settings, and its numbers."""
    signature: list[Any] = [thread.modes]
    numbers: list[Any] = []
    for spec in specs:
        if isinstance(spec, Spec):
            signature += spec.flags, spec.ndim
            numbers.extend(spec.shape)
        else:
            signature.append(spec)
    head = len(signature)
    for name, value in settings.items():
        cls = type(value)
        if cls is float or (cls is int and name not in AXES):
            numbers.append(value)
            signature += name, cls
        else:
            nested = isinstance(value, tuple) and name not in AXES
            signature += name, _without_numbers(value, numbers) if nested else value
    return tuple(signature), head, numbers


def kernel_signature(specs: tuple, signature: tuple, head: int) -> tuple:
    """The part of a call's signature that its kernel depends on; mechanisms that are off are a part (Note
    [Mechanisms])."""
    parts: list[Any] = [thread.modes.without]
    for spec in specs:
        parts += (spec.ndim, spec.dtype, spec.device) if isinstance(spec, Spec) else (spec,)
    return (*parts, *signature[head:])


def _without_numbers(value: Any, numbers: list[Any]) -> Any:
    """A nested tuple without its numbers, which are appended to a list."""
    cls = type(value)
    if cls is int or cls is float:
        numbers.append(value)
        return NUMBER, cls
    if cls is Spec:
        numbers.extend(value.shape)
        return Spec, value.ndim, value.dtype, value.device
    return (cls, *[_without_numbers(item, numbers) for item in value]) if isinstance(value, tuple) else value


class Counts:
    """Counts of calls, by their keys: many come once only, and are not worth to be kept.

    >>> counts = Counts()
    >>> counts.came("a"), counts.came("a")
    (0, 1)
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[Any, int] = {}
        memory.others.append(self)

    def came(self, key: tuple) -> int:
        """Note a call; the number of calls with this key before it."""
        count = self._counts.get(key, 0)
        if len(self._counts) >= COUNTED:
            self._counts.clear()
        self._counts[key] = count + 1
        return count

    def forget(self, key: tuple) -> None:
        """Count the calls with this key anew."""
        self._counts.pop(key, None)

    def clear(self) -> None:
        """Begin anew."""
        self._counts.clear()


COUNTED = 256
"""The number of keys that are counted at a time."""


# -- public functions --------------------------------------------------------------------------------------------------

PLAIN = frozenset((int, float, bool, str, dtype, type(None), EllipsisType))
"""Types of arguments whose values are a part of the key, where equal ones are the same."""

COUNTING = frozenset((int, type(None)))
"""Those of what counts or names dimensions, and elements of slices."""

OTHER: list = []
"""In place of any other argument: it can't be looked up, nor is it asked whether it is equal to something."""


def function_key(function: Any, args: tuple, kwargs: dict[str, Any]) -> tuple:
    """The key of a public function's call: all that decides what it does."""
    given = [x._spec if isinstance(x, Tensor) else (type(x), x) if type(x) in COUNTING else part_of(x) for x in args]
    named = [(name, part_of(x)) for name, x in kwargs.items()] if kwargs else ()
    return (function, thread.modes, *given, *named)


def part_of(x: Any) -> Any:
    """The part of the key for an argument of a public function, which is a tensor or may have some in it."""
    cls = type(x)
    if cls in PLAIN:
        return (cls, x) if x or cls is not float else OTHER  # -0.0 is equal to 0.0
    if cls is slice:
        ends = x.start, x.stop, x.step
        return (cls, *ends) if COUNTING.issuperset(map(type, ends)) else OTHER
    if cls is list or cls is tuple or cls is Size:
        return (cls, *[one._spec if isinstance(one, Tensor) else part_of(one) for one in x])
    return OTHER


AXES = frozenset(("axis", "axes", "axis0", "axis1", "axis2"))
"""The names of settings that say which dimensions are meant."""


def kept_entry(what: str, op: OperatorLike, specs: Sequence, settings: dict, *others: Any) -> KeptEntry | None:
    """The entry on disk for what is written for a call; None if that can't be said, or nothing is kept.

    Args:
        what: what is meant of the call.
        others: what decides besides, as settings are.
    """
    name = None if kept.store.directory is None else op.lasting_name
    if name is None or not hosted() or DISK_CACHE.off:
        return None
    try:
        given = [f"{spec.dtype.name}{list(spec.shape)}" if isinstance(spec, Spec) else said(spec) for spec in specs]
        bound = [f"{name}={said(value)}" for name, value in settings.items()]
        return KeptEntry(what, name, *given, *bound, *map(said, others))
    except Unkept:
        return None


def shipped_family(op: OperatorLike, specs: Sequence, settings: dict) -> str | None:
    """The name under which the package has what it brings for calls that differ in numbers alone from this one; or
    None."""
    if not kept.shipped.is_there or op.lasting_name is None or not hosted() or SHIPPED_CLASSES.off:
        return None
    try:
        given = [f"{spec.dtype.name}{spec.ndim}" if isinstance(spec, Spec) else said(spec) for spec in specs]
        bound = [f"{name}={said(one) if name in AXES else outlined(one)}" for name, one in settings.items()]
    except Unkept:
        return None
    return "\n".join([op.lasting_name, *given, *bound, circumstances()])


class Rather:
    """Gives what a function knows, or else what is kept where ``kept_entry`` says, for these arguments of it."""

    __slots__ = ("first", "call")

    def __init__(self, first: Callable, *call: Any) -> None:
        self.first, self.call = first, call

    def __call__(self) -> Any:
        """Gives what is known."""
        written = self.first()
        entry = kept_entry(*self.call) if written is None else None
        return written if entry is None else entry()

    def keep(self, made: Any) -> None:
        """Keep what was made, as nothing was known."""
        entry = kept_entry(*self.call)
        if entry is not None:
            entry.keep(made)


def kept_from(entry: KeptEntry | None, trace: Any) -> HostFunction:
    """The function of the host for a trace; it is kept.

    Raises:
        Unwritable: there is no rule for a primitive.
    """
    written = trace.written()
    if entry is not None:
        entry.keep(written)
    return written
