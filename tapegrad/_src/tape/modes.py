"""Thread-local modes: what the thread has switched on, as one interned object.

Note [One mode object]
A thread's modes (grad, inference, anomaly, ...) are one immutable, interned ``Modes`` object. Plans are keyed by it,
so a mode that changes how an operator runs costs nothing per call: another object, another plan. Code that asks
for a single mode reads an attribute of it.

Note [Modes of all threads]
Anomaly detection is the program's, not a thread's: ``everywhere.anomaly``. Each thread's modes say it, too, as plans
need it there; whoever changes it does so in every living thread (``all_states``) and for those that will begin. A
thread that restores modes of before would bring back what was, so that backward calls look whether theirs are
``up_to_date``.

Note [Watchers]
What wants to see what happens registers a function with the thread. ``interceptors`` get the calls of operators, the
innermost first (``dispatch/call_cache.py``). ``result_watchers`` are told ``(plan, args, results)`` of every
operator that has run, which is cheaper. ``function_watchers`` get the forward of custom functions, to run it:
``watcher(name, inputs, node, run)``. ``node_watchers`` get every node that is made. ``backward_watchers`` wrap the
gradient type of a backward call. ``failure_watchers`` are told ``(node, error)`` when a node or a hook raises in a
backward call. Whether there are any is a mode, so that a program without them runs by other plans, which know nothing
of them.

Note [Function modes]
A ``TorchFunctionMode`` gets the calls of public functions, above all operators. ``function_modes`` says whether there
is one: under such modes no plan is ever kept, so that what looks for a plan before it asks anybody (``x * y``) finds
none and asks. While a mode has a call, it is off the stack, and the next one, or nobody, gets the calls that it makes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Modes:
    """An immutable set of modes; equal sets are the same object.

    ``grad`` says whether operators are recorded: never in inference mode, whatever the grad mode that the user has set,
    which is ``grad_enabled``. ``deferred`` says whether kernels are (Note [Deferred programs] in
    ``execution/recording/program.py``): never while anomalies are looked for, whatever was set, which is
    ``deferred_enabled``; and always in a process that was ``forked`` (Note [Forks] in ``execution/data/devices.py``).
    ``without`` names what is switched off by ``without`` (Note [Mechanisms] in ``tape/mechanisms.py``).
    ``autocast`` has the types of devices for which arguments are cast, each with the dtype (Note [Autocast] in
    ``amp/casting.py``).
    Derived are also ``detecting`` (anomaly detection is on) and ``recording`` (places in the user's program are kept:
    Note [Positions] in ``positions.py``).

    >>> Modes.of(grad=False) is Modes.of(grad=False)
    True
    >>> Modes.of(grad=False).replace(grad=True) is Modes.of()
    True
    """

    __slots__ = (
        "grad", "inference", "anomaly", "forward_level", "multithreading", "torch_function", "saved_hooks",
        "function_modes", "intercepted", "watched", "forward_grad", "source_lines", "results_watched", "surviving",
        "subgradient", "grad_enabled", "level", "deferred", "deferred_enabled", "forked",
        "detecting", "recording", "autocast", "without", "_graded",
    )  # fmt: skip
    _defaults: dict[str, Any] = {
        "grad": True,
        "inference": False,
        "anomaly": None,
        "forward_level": -1,
        "multithreading": True,
        "torch_function": True,
        "function_modes": False,
        "saved_hooks": False,
        "intercepted": False,
        "watched": False,
        "forward_grad": True,
        "source_lines": False,
        "results_watched": False,
        "surviving": False,
        "subgradient": "torch",
        "level": 0,
        "deferred": False,
        "forked": False,
        "autocast": (),
        "without": frozenset(),
    }
    _interned: dict[tuple, Modes] = {}
    _replaced: dict[tuple, Modes] = {}

    grad: bool
    inference: bool
    anomaly: Any
    forward_level: int
    multithreading: bool
    torch_function: bool
    function_modes: bool
    saved_hooks: bool
    intercepted: bool
    watched: bool
    forward_grad: bool
    source_lines: bool
    results_watched: bool
    surviving: bool
    subgradient: str
    grad_enabled: bool
    level: int
    deferred: bool
    deferred_enabled: bool
    forked: bool
    autocast: tuple[tuple[str, Any], ...]
    without: frozenset[str]
    detecting: bool
    recording: bool
    _graded: dict[bool, Modes]

    @classmethod
    def of(cls, **changes: Any) -> Modes:
        """The modes that differ from the defaults by ``changes``."""
        values = {**cls._defaults, **changes}
        key = tuple(values.values())
        modes = cls._interned.get(key)
        if modes is None:
            modes = object.__new__(cls)
            for name, value in (values | cls._derived(values)).items():
                object.__setattr__(modes, name, value)
            object.__setattr__(modes, "_graded", {})
            modes = cls._interned.setdefault(key, modes)  # complete before another thread can see it
        return modes

    @staticmethod
    def _derived(values: dict[str, Any]) -> dict[str, Any]:
        """The values that follow from the modes that are set."""
        detecting = getattr(values["anomaly"], "enabled", False)
        return {
            "grad": False if values["inference"] else values["grad"],
            "grad_enabled": values["grad"],
            "deferred": values["forked"] or (False if detecting else values["deferred"]),
            "deferred_enabled": values["deferred"],
            "detecting": detecting,
            "recording": values["source_lines"] or detecting,
        }

    def replace(self, **changes: Any) -> Modes:
        """These modes, with ``changes``; remembered, so that it is one look-up the next time."""
        key = (self, *changes.items())
        modes = self._replaced.get(key)
        if modes is None:
            values = {name: getattr(self, name) for name in self._defaults}
            values |= {"grad": self.grad_enabled, "deferred": self.deferred_enabled}
            modes = self._replaced[key] = self.of(**values | changes)
        return modes

    def with_grad(self, grad: bool) -> Modes:
        """``replace(grad=grad)``, which every backward call and every ``no_grad`` needs, in less time."""
        modes = self._graded.get(grad)
        if modes is None:
            modes = self._graded[grad] = self.replace(grad=grad)
        return modes

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Modes are immutable; use replace()")

    def __repr__(self) -> str:
        return f"Modes({', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__ if name[0] != '_')})"


_users: tuple[weakref.ref[threading.Thread], ...] = ()
"""The threads that have used tapegrad on their own behalf, and those that do so now on another's. It is replaced, never
changed: threads begin and end while others read it."""
_users_lock = threading.RLock()


def _living() -> list[threading.Thread]:
    return [user for ref in _users if (user := ref()) is not None and user.is_alive()]


def _change_users(*, joins: threading.Thread | None = None, leaves: threading.Thread | None = None) -> None:
    """Count one thread more, once however often it joins, or less; the threads that have ended are forgotten."""
    global _users
    with _users_lock:
        others = [user for user in _living() if user is not joins and user is not leaves]
        _users = tuple(map(weakref.ref, others if joins is None else [*others, joins]))


def alone() -> bool:
    """Tell whether no other thread that has used tapegrad is alive, so that none can be using it now.

    >>> alone()
    True
    """
    return len(_users) == 1 or len(_living()) == 1


def help_only() -> None:
    """Let the calling thread count as none that uses tapegrad: it traces kernels, and holds no tensors."""
    vars(thread)  # it has joined, if it has not before
    _change_users(leaves=threading.current_thread())


class Everywhere:
    """The modes that are switched on in all threads. See Note [Modes of all threads].

    Attributes:
        anomaly: what anomaly detection does, as in ``modes.anomaly``.
        interceptor: what gets the calls of operators in all threads, after all others: it comes and goes with the
            kernels that programs register (Note [Kernels for aten]), not with blocks.
    """

    __slots__ = ("anomaly", "interceptor")

    def __init__(self) -> None:
        self.anomaly: Any = None
        self.interceptor: Callable | None = None


everywhere = Everywhere()
_states: list[tuple[weakref.ref[threading.Thread], dict[str, Any]]] = []
"""Each thread that has used tapegrad, with what belongs to it."""


class _Thread(threading.local):
    """The state that belongs to one thread.

    Attributes:
        modes: what is switched on.
        saved_hooks: pairs (pack, unpack) for tensors that are saved, the innermost last; ``modes.saved_hooks`` says
            whether the last one is in force.
        saved_hooks_disabled: why such hooks may not be used now, or None.
        writing: what is done when results are packed for a function that writes; see ``dispatch/nodes/packing.py``.
        duals: weak references to the tensors that have a tangent; see Note [Duals] in ``tensor/dual.py``.
        interceptors, result_watchers, function_watchers, node_watchers, backward_watchers, failure_watchers: see Note
            [Watchers].
        backward_call: where the backward call that runs now was made. See Note [Positions] in ``tape/positions.py``.
        function_modes: the modes that override functions, the innermost last. See Note [Function modes].
        grad_off: where grad mode was switched off, if that is recorded.
        levels: the function transforms that are running, the innermost last; ``modes.level`` says how many there are.
            See Note [Levels] in ``tensor/lifted.py``.
        view_replay: what was set of ``_force_original_view_tracking``.
        autocast: what is set of autocast besides the mode, once somebody asks (``amp/casting.py``).
    """

    modes = Modes.of()
    saved_hooks: tuple = ()
    saved_hooks_disabled: str | None = None
    writing: Any = None
    interceptors: tuple[Callable, ...] = ()
    function_watchers: tuple[Callable, ...] = ()
    node_watchers: tuple[Callable, ...] = ()
    backward_watchers: tuple[Callable, ...] = ()
    failure_watchers: tuple[Callable, ...] = ()
    result_watchers: tuple[Callable, ...] = ()
    function_modes: tuple = ()
    backward_call: Any = None
    grad_off: Any = None
    levels: tuple = ()
    autocast: Any = None
    view_replay: bool = False

    def __init__(self) -> None:
        self.duals: list = []
        current = threading.current_thread()
        _change_users(joins=current)
        with _users_lock:
            _states[:] = [pair for pair in _states if (user := pair[0]()) is not None and user.is_alive()]
            _states.append((weakref.ref(current), vars(self)))


thread = _Thread()
"""The calling thread's state; ``thread.modes`` is its ``Modes`` object."""


class _StateOf:
    """The state that belongs to another thread, by the same names."""

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "values", values)

    def __getattr__(self, name: str) -> Any:
        return self.values[name] if name in self.values else getattr(_Thread, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.values[name] = value


def all_states() -> list[Any]:
    """The states of each thread that has used tapegrad, as ``thread`` has one, and what new ones begin with."""
    with _users_lock:
        return [_Thread, *[_StateOf(values) for _, values in _states]]


def up_to_date(modes: Modes) -> Modes:
    """Modes of this thread, with what is switched on in all. See Note [Modes of all threads]."""
    if modes.anomaly is everywhere.anomaly:
        return modes
    watched, results_watched = bool(thread.node_watchers), bool(thread.result_watchers)
    return modes.replace(anomaly=everywhere.anomaly, watched=watched, results_watched=results_watched)


def set_default_modes(**changes: Any) -> None:
    """Change the modes that new threads begin with."""
    _Thread.modes = _Thread.modes.replace(**changes)


inherited_state: list[threading.local] = [thread]
"""State that a thread takes over from another. A room above may add its own; attributes are replaced, not changed."""


def thread_state() -> list[dict[str, Any]]:
    """All that is switched on in this thread, for another one that works on its behalf (``adopt``)."""
    return [dict(vars(local)) for local in inherited_state]


@contextmanager
def adopt(state: list[dict[str, Any]]) -> Iterator[None]:
    """Run a block with another thread's state. Between such blocks, a thread that only helps does not use tapegrad."""
    current = threading.current_thread()
    helps = all(ref() is not current for ref in _users)
    own = thread_state()
    _change_users(joins=current)
    _restore(state)
    try:
        yield
    finally:
        _restore(own)
        if helps:
            _change_users(leaves=current)


def _restore(state: list[dict[str, Any]]) -> None:
    for local, values in zip(inherited_state, state, strict=True):
        vars(local).clear()
        vars(local).update(values)


@contextmanager
def watching(
    *, interceptor: Callable | None = None, function_watcher: Callable | None = None,
    node_watcher: Callable | None = None, backward_watcher: Callable | None = None,
) -> Iterator[None]:  # fmt: skip
    """Register watchers for a block. See Note [Watchers]."""
    given = {
        "interceptors": interceptor, "function_watchers": function_watcher, "node_watchers": node_watcher,
        "backward_watchers": backward_watcher,
    }  # fmt: skip
    before = thread.modes, {name: getattr(thread, name) for name in given}
    for name, watcher in given.items():
        if watcher is not None:
            setattr(thread, name, (*getattr(thread, name), watcher))
    thread.modes = thread.modes.replace(intercepted=bool(thread.interceptors), watched=bool(thread.node_watchers))
    try:
        yield
    finally:
        modes, watchers = before
        watchers["interceptors"] = _lasting(watchers["interceptors"])
        for name, ones in watchers.items():
            setattr(thread, name, ones)
        thread.modes = thread.modes.replace(intercepted=bool(thread.interceptors), watched=modes.watched)


def _lasting(interceptors: tuple[Callable, ...]) -> tuple[Callable, ...]:
    """Interceptors of before a block, with the one of all threads, if there is one now."""
    others = tuple([one for one in interceptors if not getattr(one, "lasts", False)])
    return others if everywhere.interceptor is None else (everywhere.interceptor, *others)


class switched:
    """Run a block under changed modes and restore the caller's afterwards, whatever happens inside.

    Hooks on saved tensors that the block pushes or pops are restored too, since ``modes`` says whether there are any.

    >>> with switched(grad=False):
    ...     thread.modes.grad
    False
    >>> thread.modes.grad
    True
    """

    __slots__ = ("changes", "previous", "hooks")

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def __enter__(self) -> None:
        self.previous, self.hooks = thread.modes, thread.saved_hooks
        thread.modes = self.previous.replace(**self.changes)

    def __exit__(self, *exception: object) -> None:
        thread.modes, thread.saved_hooks = self.previous, self.hooks
