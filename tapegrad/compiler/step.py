"""``compile``: a function whose calls become one XLA program, from the third on without running its Python.

Note [Compiled steps]
A call is compared with what is known of calls like it (``cache_keys.py``, ``cache_entry.py``). The first ones run the
function as it is (``captured_call.py``), and capture what it computes (``capture.py``). Each is compiled as one
program (``programs.py``): its inputs are read from where they came from (``sources.py``), its results are where the
call left them (``side_effects.py``), in new tensors if it gave new ones to its names (``rebinding.py``), and the memory
of what is written anew is given to the program to write into (``reading.py``). When two calls one after the other turn
out the same, inputs and effects and all that Python could have read (``guards.py``), the next ones are *replayed*
(``replay.py``): nothing of the function is run but its program, as long as what it reaches in Python
(``reachable.py``), and what its tensors are (``tensor_guards.py``), stays what it was. Numbers that change become
inputs of the program. Until XLA has compiled it (Note [Compiled in the background],
``execution/programs/step_executable.py``), and where calls can't be replayed, after a few of them the function is
called as it stands; ``report()`` says why.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from threading import RLock
from types import FunctionType
from typing import Any
from weakref import ref

from tapegrad._src.caches import Cache
from tapegrad._src.execution.array_functions.host import is_traced
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.recording.execution_mode import patience
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.showing import shown_in_html
from tapegrad._src.tensor.shared import release_shared, shared_now
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.compiler.attachments import Attached
from tapegrad.compiler.capture.arguments import Newcomers, new_in, taken_apart
from tapegrad.compiler.capture.captured_call import CapturedCall, Met, Shared
from tapegrad.compiler.compiled_methods import compiled_again, global_name, method_of
from tapegrad.compiler.replay.cache_entry import LOOK_AGAIN, PATIENCE, TRIALS, CacheEntry
from tapegrad.compiler.replay.cache_keys import DYNAMIC, Widths, ambient, are_ordinary, cache_key, owner_among, state_of
from tapegrad.compiler.replay.compiled_modules import CompiledModule, CompiledModules, put_in_place, take_away
from tapegrad.compiler.replay.likeness import Likeness
from tapegrad.compiler.replay.programs import Programs
from tapegrad.compiler.settings import REGISTERED, check_settings, graphs_compiled

ENTRY = 32 << 10
"""About how many bytes an entry takes."""

WATCHED = "source lines are recorded, anomaly mode, a profiler or hooks on saved tensors look on, or a transform is on"
"""Why a call is no program: somebody looks at what is computed, or has it computed in another way."""

WASTED_CALLS, MOST_WASTED = 3, 48
"""A call that is captured counts as so many that are replayed; where those are so many more, none is captured."""

MOST_STRANGERS = 3
"""After so many kinds of calls that have come only once a call of a new one is not captured until it comes again. After
twice as many only every third call that isn't recognized is looked at, and fewer the more there are."""

MOST_RECENT = 8
"""So many kinds of calls are recognized without their keys: Note [Calls that are recognized]."""

GAIN_BY_ITSELF = 0.1
"""As how many a replayed call counts of what is compiled by itself: it is not much quicker than at once."""

_OWN = frozenset({
    "function", "fullgraph", "_calls", "_replayed", "_aside", "_entries", "_recent", "_shared", "_wasted",
    "_rested", "_gain", "_strangers", "_passed", "_unseen",
})  # fmt: skip
"""The attributes of what ``compile`` gives, besides those of the function."""

COUNTS = "calls", "replayed", "aside"
"""The numbers that are counted, by names that the function's own attributes may have, too: these go before."""


class Compiled:
    """A function that ``compile`` was given. Call it as the function.

    Attributes:
        function: the function.
        fullgraph: whether reading elements is an error.
        calls, replayed: how often it was called, and how often without running its Python.
        aside: how often besides, where somebody looked on, so that the function ran as it stands.
    """

    def __init__(self, function: Callable, fullgraph: bool, by_itself: bool = False) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.fullgraph = function, fullgraph
        self._calls = self._replayed = self._aside = 0
        self._entries = Cache("kinds of compiled calls", ENTRY)
        self._recent: tuple[ref[CacheEntry], ...] = ()
        self._strangers = self._passed = self._unseen = 0
        self._wasted = 0.0
        self._rested, self._gain = 0, GAIN_BY_ITSELF if by_itself else 1
        modules = CompiledModules(_by_itself)
        self._shared = Shared(
            function, not fullgraph, Programs(), modules, by_itself, Widths(), Newcomers(), Met(), RLock()
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: compiled for each instance, which keeps what was compiled for it."""
        return self if instance is None else method_of(self, instance, lambda method: Compiled(method, self.fullgraph))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "function" not in self.__dict__:
            raise AttributeError(name)
        if name in COUNTS and (type(self.function) is not FunctionType or name not in vars(self.function)):
            return self.__dict__[f"_{name}"]
        return getattr(self.function, name)

    @property
    def __isabstractmethod__(self) -> bool:
        return getattr(self.function, "__isabstractmethod__", False)

    def __setattr__(self, name: str, value: Any) -> None:
        """Attributes of a module that was compiled are the module's."""
        own = name in _OWN or name.startswith("__")
        if own:
            object.__setattr__(self, name, value)
        else:
            setattr(self.function, name, value)

    def __reduce__(self) -> tuple | str:
        return global_name(self) or (compiled_again, (Compiled, self.function, self.fullgraph))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if capturing.by is not None or not are_ordinary(thread.modes):
            self._aside += capturing.by is None
            return self.function(*args, **kwargs)  # part of a larger capture, or looked at from inside
        if shared_now:
            release_shared()
        inside = self.__dict__  # there are ``__getattr__`` and ``__setattr__``: all attributes take long
        inside["_calls"] += 1
        if inside["_unseen"]:
            inside["_unseen"] -= 1
            return inside["function"](*args, **kwargs)
        recent = inside["_recent"]
        if recent:
            modes, state = ambient(), state_of(inside["function"])
            for known in recent:
                entry = known()
                if entry is None:
                    continue
                likeness = entry.likeness
                if modes != likeness.modes or state != likeness.state:
                    continue
                leaves = likeness.leaves(args, kwargs)
                if leaves is None:
                    continue
                if known is not recent[0]:
                    inside["_recent"] = known, *(one for one in recent if one is not known)
                with inside["_shared"].lock:
                    at_once = entry.goes_at_once(inside["_shared"].splits)
                    replay = None if at_once else entry.ready(leaves)
                    if replay is not None:
                        inside["_replayed"] += 1
                        inside["_wasted"] = max(0, inside["_wasted"] - inside["_gain"])
                        return replay.run(leaves)
                if at_once:
                    modules = entry.modules_at_once
                    if modules:
                        return self._at_once(modules, args, kwargs)
                    if entry.runs > LOOK_AGAIN and all([one.replay is None for one in self._latest()]):
                        inside["_unseen"] = entry.passed_over()
                    return inside["function"](*args, **kwargs)
                break
        return self._look_closely(args, kwargs)

    def _look_closely(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Make a call that does not look like the last ones, or after which something may have changed."""
        if self._rests() or self._passes():
            return self._at_once(self._shared.modules.latest, args, kwargs)
        opened = self._shared.newcomers.opened
        leaves, tree = taken_apart((args, kwargs), opened)
        if any(isinstance(leaf, Tensor) and is_traced(value_of(leaf)) for leaf in leaves):
            return self.function(*args, **kwargs)
        with self._shared.lock:
            entry = self._entry(leaves, tree)
            if opened and any([type(leaf) in opened for leaf in leaves]):  # just now
                self._entries.forget(entry.common)
                leaves, tree = taken_apart((args, kwargs), opened)
                entry = self._entry(leaves, tree)
            if self._is_strange(entry):
                at_once, modules = True, self._shared.modules.latest
            else:
                self._recognize(entry, leaves, tree)
                at_once, modules = entry.goes_at_once(self._shared.splits), entry.modules_at_once
            if not at_once:
                obstacle = entry.turn(leaves)
                if obstacle is None:
                    self._replayed, entry.unused = self._replayed + 1, 0
                    self._wasted = max(0, self._wasted - self._gain)
                    return entry.replay.run(leaves)  # type: ignore[union-attr]
                entry.unused += entry.replay is not None
                entry.reason, entry.replay = obstacle, None
                entry.runs += 1
                self._wasted += WASTED_CALLS
        if at_once:
            return self._at_once(modules, args, kwargs)
        patience.begin()
        try:
            return CapturedCall(self._shared, entry, args, kwargs, leaves, tree).run()
        finally:
            patience.end()
            if entry.replay is not None:
                self._wasted = max(0, self._wasted - PATIENCE * WASTED_CALLS)

    def _passes(self) -> bool:
        """Tell whether this call is not looked at, for most kinds come only once: nor is it compared with kinds that
        are made at once, until one of these has come again."""
        inside = self.__dict__
        inside["_passed"] += 1
        often = self._strangers <= 2 * MOST_STRANGERS or not self._shared.splits
        if often or self._passed % (self._strangers // 2) == 0:
            return False
        recent = inside["_recent"]
        if recent and not all([entry.replay for entry in self._latest()]):
            inside["_recent"] = tuple([ref(entry) for entry in self._latest() if entry.replay])
        return True

    def _latest(self) -> list[CacheEntry]:
        """The entries of the last calls, as far as they are still there."""
        return [entry for known in self._recent if (entry := known()) is not None]

    def _is_strange(self, entry: CacheEntry) -> bool:
        """Tell whether a call is of a new kind, where many kinds have come only once: it is made at once."""
        if entry.again or entry.met:
            self._strangers -= not entry.again
            entry.again = True
            return False
        entry.met = True
        self._strangers += 1
        return self._strangers > MOST_STRANGERS and self._shared.splits

    def _recognize(self, entry: CacheEntry, leaves: list, tree: TreeSpec) -> None:
        """Have calls like this one recognized."""
        if entry.likeness is None:
            entry.likeness = Likeness.of(leaves, entry.common, tree)
        if entry.likeness is not None:
            new = ref(entry)
            self._recent = new, *[one for one in self._recent if one is not new][: MOST_RECENT - 1]

    def _rests(self) -> bool:
        """Tell whether so many calls were captured in vain, be it of other kinds, that this one is made at once."""
        if self._wasted < MOST_WASTED or not self._shared.splits:
            return False
        self._rested += 1
        if self._rested in TRIALS[1]:
            self._wasted = MOST_WASTED - TRIALS[0] * WASTED_CALLS
        return True

    @property
    def worthwhile(self) -> bool:
        """True if programs are likely to be quicker than calls at once, of all kinds or of one."""
        latest = self._latest()
        return not latest or latest[0].worthwhile

    def _at_once(self, modules: Sequence[CompiledModule], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Make a call as it stands, with these modules compiled: Note [Compiled modules]."""
        mine = put_in_place(modules) if modules else None
        if not mine:
            return self.__dict__["function"](*args, **kwargs)
        try:
            return self.__dict__["function"](*args, **kwargs)
        finally:
            take_away(mine)

    def report(self) -> str:
        """Report how often Python was run, and why, for each kind of call.

        >>> double = torch.compile(lambda x: x * 2)
        >>> y = double(torch.ones(2)), double(torch.ones(2))
        >>> torch.execution.wait_for_compiler()
        >>> y = double(torch.ones(2)), double(torch.ones(2))
        >>> print(double.report())
        4 calls, 2 of them replayed
        kind 1: replayed
        """
        lines = [f"{self._calls} calls, {self._replayed} of them replayed"]
        for number, entry in enumerate(self.known_entries(), 1):
            lines.append(f"kind {number}: {entry.state}")
            for module, call in entry.compiled_modules if entry.replay is None else ():
                states = dict.fromkeys(one.state for one in call.known_entries())
                lines.append(f"  {type(module).__name__}, by itself: {'; '.join(states)}")
        if self._aside:
            lines.append(f"{self._aside} more ran as they stand: {WATCHED}")
        return "\n".join(lines)

    def known_entries(self) -> list[CacheEntry]:
        """The entries of all kinds of calls, as ``report`` counts them."""
        known = [entry for kept in self._entries.values() if (entry := entry_of(kept)) is not None]
        return [entry for entry in self._latest() if entry not in known] + known

    _repr_html_ = shown_in_html

    def _entry(self, leaves: list, tree: TreeSpec) -> CacheEntry:
        """The entry of calls like this one."""
        key, dropped = self._shared.newcomers.widened(cache_key(self.function, leaves, tree), leaves)
        exact, entry = key, entry_of(self._entries.get(key))
        for one in dropped:
            self._recent = tuple([ref(entry) for entry in self._latest() if entry.common != one])
            self._entries.forget(one)
        if entry is None:
            key = self._shared.widths.widened(key, leaves, tree)
            entry = entry_of(self._entries.get(key))
        if entry is None:
            entry, new = CacheEntry(exact, key), new_in(key)
            if new:
                entry.reason, entry.keeps = new, False
            entry.arguments = [i for i, one in enumerate(key[0]) if one in DYNAMIC.values()]
            owner = owner_among(leaves)
            self._entries.replace(key, entry if owner is None else Attached(owner, entry))
        return entry


def entry_of(kept: CacheEntry | Attached | None) -> CacheEntry | None:
    """The entry of a kind of calls, which an argument of theirs may have; None if it is gone."""
    return kept() if type(kept) is Attached else kept  # type: ignore[return-value]


def _by_itself(function: Callable) -> Compiled:
    return Compiled(function, False, by_itself=True)


def compile(
    model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: str | Callable | None = None, mode: str | None = None, options: dict[str, Any] | None = None,
    name: str | None = None, disable: bool = False, recompile_limit: int | None = None,
    isolate_recompiles: bool = False, shapes_spec: Any = None,
) -> Any:  # fmt: skip
    """A function, or a module, whose calls become one XLA program each, and are replayed without running its Python.

    Training steps can be compiled as they are: gradients, in-place updates, optimizers' state, buffers and random
    numbers are found while the first calls run, and updated by the program; names, items and attributes that are given
    new tensors are given new ones by each call.

    Args:
        model: the function, or the module; without it, ``compile(...)`` is a decorator.
        fullgraph: whether reading elements of a tensor while the function runs is an error; if not, the program is
            split there, and the function's Python is run at each call.
        backend, mode, options: PyTorch's; what it knows is accepted, and XLA compiles in any entry. A backend that is a
            function, or was registered by a name, is given a ``torch.fx.GraphModule`` and example inputs, and what it
            gives is called in the place of the graph; then the function's Python is run in each call, and where it
            reads elements, a graph ends and another one begins (with ``fullgraph`` that is an error).
        dynamic, recompile_limit, isolate_recompiles, shapes_spec, name: accepted, and not needed; each kind of call has
            a program of its own.
        disable: give the function back as it is.

    Calls do what they would without ``compile``: where Python has to be run for that, it is. A function is replayed if
    it does nothing but compute with tensors, and what it reads besides its arguments has not changed: ``report()`` of
    what is returned says how often that was so, and what has prevented it. On a CPU no call waits for the compiler: the
    program takes over after a number of calls that should take as long as to compile it
    (``torch.execution.wait_for_compiler()`` has it do so at once). Tensors that leave a call with a history have one
    node, ``CompiledFunctionBackward``, whose backward pass is a program, too: so a model, or a loss, may be compiled
    alone. An interrupt (ctrl-C) loses nothing: a step that was replayed has then been made, or not; where Python was
    run, all is as far as that had come.

    Raises:
        RuntimeError: a backend or a mode that PyTorch has not; both a mode and options.
        DataDependentError: from calls, with ``fullgraph``: elements are read. Tensors are what they were, then.
        torch._dynamo.exc.Unsupported: the same, where a function is the backend.
        torch._dynamo.exc.BackendCompilerFailed: that raised an error, or gave what can't be called.

    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> @torch.compile
    ... def step(x):
    ...     w.grad = None
    ...     loss = ((w * x - 1) ** 2).sum()
    ...     loss.backward()
    ...     with torch.no_grad():
    ...         w.sub_(w.grad, alpha=0.1)
    ...     return loss
    >>> [round(step(torch.ones(2)).item(), 4) for _ in range(3)]
    [1.0, 0.64, 0.4096]
    >>> torch.execution.wait_for_compiler()
    >>> [round(step(torch.ones(2)).item(), 4) for _ in range(2)]
    [0.2621, 0.1678]
    >>> step.replayed > 0
    True
    """

    def made_of(model: Callable) -> Any:
        if model is None:
            raise RuntimeError("Model can't be None")
        check_settings(model, backend, mode, options, dynamic, disable)
        if disable:
            return model
        adopt = getattr(type(model), "_compiled_as", None)  # a module stays one
        if callable(backend) or backend in REGISTERED:
            made = graphs_compiled(model, fullgraph, backend, mode, options)
        else:
            made = Compiled(model, fullgraph)
        return made if adopt is None else adopt(model, made)

    return made_of if model is None else made_of(model)
