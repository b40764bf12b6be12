"""``compile``: a function whose calls become one XLA program, from the third on without running its Python.

Note [Compiled steps]
The first calls run the function as it is, and capture what it computes (``capture.py``). Each is compiled as one
program (``programs.py``): its inputs are read from where they came from (``sources.py``), its results are where the
call left them (``side_effects.py``, ``accounts.py``), in new tensors if it gave new ones to its names
(``rebinding.py``), and the memory of what is written anew is given to the program to write into (``reading.py``). When
two calls one after the other turn out the same, inputs and effects and all that Python could have read (``guards.py``),
the next ones are *replayed* (``replay.py``): nothing of the function is run but its program, as long as what it reaches
in Python (``reachable.py``), and what its tensors are (``states.py``), stays what it was. Where that can't be known,
Python is run at each call, and ``report()`` says why; the program is still one, and compiled once: numbers that change
become inputs of it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tapegrad.caches import Cache
from tapegrad.compiler.accounts import begins, check_accounts, effects_of
from tapegrad.compiler.cache_entry import Case
from tapegrad.compiler.capture import Capture, captured, hooks_of
from tapegrad.compiler.guards import Guards
from tapegrad.compiler.kinds import MOVES, Likeness, Widths, ambient, are_ordinary, has_more, kind_of_call
from tapegrad.compiler.moving import Numbers, can_tell, moved_numbers, plain_tree, standing_in
from tapegrad.compiler.places import Rebound
from tapegrad.compiler.programs import Programs
from tapegrad.compiler.rebinding import rebound_by
from tapegrad.compiler.replay import RecordedCall, Replay, held_results, replaced_by, run_captured
from tapegrad.compiler.settings import check_settings
from tapegrad.compiler.sources import Refs, Unaccounted, sources_of
from tapegrad.compiler.states import States
from tapegrad.compiler.trace_rules import PLAIN
from tapegrad.execution.capturing import capturing
from tapegrad.execution.deferred import recording, run
from tapegrad.execution.host import is_traced
from tapegrad.execution.late import Check, Findings
from tapegrad.tape.modes import thread
from tapegrad.tensor.shared import release_shared, shared_now
from tapegrad.tensor.tensor import Tensor, materialize, value_of
from tapegrad.tensor.trees import TreeSpec, flatten, unflatten

CASE = 32 << 10
"""About how many bytes it takes to know a kind of calls."""

WAY_OUT = " (tensors may be written to or replaced: count, for example, in a 0-dim tensor)"
"""What ``report()`` adds where a call changes what is no tensor."""

_OWN = frozenset({"function", "fullgraph", "calls", "replayed", "_cases", "_last", "_programs", "_lock", "_widths"})
"""The attributes of what ``compile`` gives, besides those of the function."""


class Compiled:
    """A function that ``compile`` was given. Call it as the function.

    Attributes:
        function: the function.
        fullgraph: whether reading elements is an error.
        calls, replayed: how often it was called, and how often without running its Python.
    """

    def __init__(self, function: Callable, fullgraph: bool) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.fullgraph = function, fullgraph
        self.calls = self.replayed = 0
        self._cases = Cache("kinds of compiled calls", CASE)
        self._last: Case | None = None
        self._programs = Programs()
        self._widths = Widths()
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: compiled for each instance, which keeps what was compiled for it."""
        if instance is None:
            return self
        inside, name = getattr(instance, "__dict__", {}), f"_compiled_{self.function.__name__}"
        bound = inside.get(name)
        if bound is None or bound.function.__self__ is not instance:  # that of which the instance is a copy
            bound = inside[name] = Compiled(self.function.__get__(instance, owner), self.fullgraph)
        return bound

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "function" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Attributes of a module that was compiled are the module's."""
        own = name in _OWN or name.startswith("__")
        if own:
            object.__setattr__(self, name, value)
        else:
            setattr(self.function, name, value)

    def __reduce__(self) -> tuple:
        return Compiled, (self.function, self.fullgraph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if capturing.by is not None or not are_ordinary(thread.modes):
            return self.function(*args, **kwargs)  # part of a larger capture, or looked at from inside
        if shared_now:
            release_shared()
        inside = self.__dict__  # there are ``__getattr__`` and ``__setattr__``: all attributes take long
        inside["calls"] += 1
        last = inside["_last"]
        leaves = None if last is None else last.likeness.leaves(args, kwargs)
        if leaves is not None:
            with inside["_lock"]:
                replay = last.ready(leaves)
                if replay is not None:
                    inside["replayed"] += 1
                    return replay.run(leaves)
        return self._look_closely(args, kwargs)

    def _look_closely(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Make a call that does not look like the last one, or after which something may have changed."""
        leaves, tree = flatten((args, kwargs))
        if any(isinstance(leaf, Tensor) and is_traced(value_of(leaf)) for leaf in leaves):
            return self.function(*args, **kwargs)
        with self._lock:
            case = self._case(leaves, tree)
            obstacle = case.turn(leaves)
            if obstacle is None:
                self.replayed += 1
                self._last = None if case.likeness is None else case
                return case.replay.run(leaves)  # type: ignore[union-attr]
            case.reason, case.replay = obstacle, None
            case.runs += 1
        if case.resting and not case.accounted:
            return deferred(partial(self.function, *args, **kwargs))
        return self._record(case, args, kwargs, leaves, tree)

    def report(self) -> str:
        """How often Python was run, and why, for each kind of call.

        >>> import tapegrad as torch
        >>> double = torch.compile(lambda x: x * 2)
        >>> for _ in range(4):
        ...     y = double(torch.ones(2))
        >>> print(double.report())
        4 calls, 2 of them replayed
        kind 1: replayed
        """
        lines = [f"{self.calls} calls, {self.replayed} of them replayed"]
        known = self._cases.values()
        last = [case for case in (self._last,) if case is not None and case not in known]  # forgotten
        for number, case in enumerate(last + known, 1):
            lines.append(f"kind {number}: {'replayed' if case.replay else 'Python is run: ' + case.reason}")
        return "\n".join(lines)

    def _case(self, leaves: list, tree: TreeSpec) -> Case:
        kind = kind_of_call(self.function, leaves, tree)
        exact = kind
        case = self._cases.get(kind)
        if case is None:
            kind = self._widths.widened(kind, leaves, tree)
            case = self._cases.get(kind)
        if case is None:
            case = Case(Likeness.of(leaves, kind, tree), exact)
            case.arguments = [i for i, one in enumerate(kind[0]) if one in MOVES.values()]
            self._cases.keep(kind, case)
        return case

    def _record(self, case: Case, args: tuple, kwargs: dict, leaves: list, tree: TreeSpec) -> Any:
        """Run the function, capture what it does, and run that as one program."""
        reached = self._reached(leaves) if not case.resting or case.guards is None else case.guards
        before, modes = case.reason if case.resting else reached.unsure or "", ambient()
        if case.guards is not None:
            case.moving |= moved_numbers(case.guards) - case.rigid
        stay = reached.unsure or can_tell(reached)
        moving = set() if stay else case.moving - case.rigid
        numbers, moves = Numbers(), () if stay else case.arguments
        given = [numbers.begin(i, leaf) if i in moves else leaf for i, leaf in enumerate(leaves)]
        if moves:
            args, kwargs = unflatten(given, tree)
        capture = Capture(splits=not self.fullgraph)
        capture.numbers = numbers
        capture.withholds = not (reached.unsure or reached.arrays)

        def call() -> Any:
            for tensor in (*(leaf for leaf in leaves if isinstance(leaf, Tensor)), *reached.tensors):
                capture.note(tensor, before=True)
            try:
                with standing_in(reached, moving, numbers, self._roots(leaves)):
                    result = self.function(*args, **kwargs)
                if capture.refused is not None:
                    raise capture.refused
                if capture.split is None:
                    capture.join_checks()
                return result
            except BaseException:
                self._failed(capture, modes)
                raise

        try:
            result = captured(capture, call)
            return self._concluded(case, capture, reached, args, kwargs, leaves, tree, given, result, before, modes)
        finally:
            capture.give_back()

    def _concluded(
        self, case: Case, capture: Capture, reached: Guards, args: tuple, kwargs: dict, leaves: list, tree: TreeSpec,
        given: list, result: Any, before: str, modes: tuple,
    ) -> Any:  # fmt: skip
        """What a captured call gives, when what it has recorded has been run."""
        if capture.split is not None or capture.traced:
            case.accounted = False
            split = f"it is split where elements are read at {capture.split}"
            case.reason = split if capture.split else "jax traces it"
            finish(capture)
            expect_found(*capture.found)
            return plain_tree(result)
        if flatten((args, kwargs))[1] != tree or any(map(_other, flatten((args, kwargs))[0], given)):
            before = "it changes the containers among its arguments"
        if any(isinstance(leaf, Tensor) and has_more(leaf) for leaf in leaves):
            before = "one of its arguments is of a class of its own, or has attributes"
        case.reason = before or case.reason
        self._account(case, capture, reached, leaves, result, before, modes)
        return plain_tree(result)

    def _reached(self, leaves: list) -> Guards:
        """What the function, its arguments and the hooks on its tensors can reach in Python."""
        roots = self._roots(leaves)
        found = Guards(roots)
        hooked = [*found.tensors, *(leaf for leaf in leaves if isinstance(leaf, Tensor))]
        hooks = [(hook, "a hook") for tensor in hooked for hook in hooks_of(tensor)]
        return Guards(roots + hooks) if hooks else found

    def _roots(self, leaves: list) -> list[tuple[Any, str]]:
        """The function and its arguments, with names."""
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        roots: list[tuple[Any, str]] = [(self.function, name)]
        return roots + [
            (leaf, f"argument {i}") for i, leaf in enumerate(leaves) if not isinstance(leaf, (*PLAIN, Tensor))
        ]

    @staticmethod
    def _failed(capture: Capture, modes: tuple) -> None:
        """Leave what eager execution would, after an error; nothing, if it is that elements were read."""
        if capture.refused is None:
            finish(capture)
            return
        capture.undo()
        thread.modes = modes[0].replace(deferred=True, results_watched=True)  # ``captured`` takes these back

    def _account(
        self, case: Case, capture: Capture, reached: Guards, leaves: list, result: Any, why_not: str, modes: tuple
    ) -> None:
        given, tree = flatten(result)
        numbers: Numbers = capture.numbers
        kept = ["it returns a container that was there before"] if reached.holds(containers_of(result)) else []
        capture.forget_handles()
        found, checks = capture.found
        rebound, why = rebound_by(capture, reached, leaves)
        kept += [why] if why else _histories(given, rebound)
        try:
            refs = Refs(capture, leaves, reached.tensors, rebound)
            sources, effects = sources_of(capture, refs), effects_of(capture, refs, given, rebound, found)
            if ambient() != modes:
                raise Unaccounted("it changes the modes of its caller")
            check_accounts(capture, effects, held_results(capture))
        except Unaccounted as error:
            case.accounted, case.reason, case.last = False, why_not or why or str(error), None
            finish(capture)
            expect_found(found, checks)
            return
        replaced = replaced_by(sources, effects, refs, leaves)
        executable = self._programs.of(capture, sources, effects, replaced)
        moving = numbers if numbers.origins else None
        new = RecordedCall(capture.code, sources, effects, tree, executable, checks, moving)
        changes = next((seen.change() for seen in capture.seen.values() if seen.change()), None)
        states = States(seen for seen in capture.seen.values() if seen.before and refs.of(seen.tensor).fixed)
        kept += [f"it changes a tensor: {changes}"] if changes else []
        run_captured(new, capture, refs, leaves)
        capture.give_back()
        reached.release([*rebound, *numbers.rebound()])
        for leaf in given:
            if isinstance(leaf, Tensor):
                materialize(leaf)
        with self._lock:
            self._conclude(case, new, states, reached, leaves, why_not or "".join(kept[:1]))
        expect_found(found, checks)

    def _conclude(
        self, case: Case, new: RecordedCall, states: States, reached: Guards, leaves: list, why_not: str
    ) -> None:
        """See whether the next call can be replayed."""
        if new.numbers is not None and new.numbers.read:
            why_not = why_not or self._stay(case, new.numbers, leaves)
        changed = reached.unsure or reached.changed()
        unlike = case.known(new)
        if changed and not reached.unsure:
            changed = f"the call itself changes what it reads: {changed}{case.read}{WAY_OUT}"
        case.reason = why_not or changed or unlike or ""
        case.last, case.guards, case.states, case.accounted = new, reached, states, True
        if case.reason:
            case.replay = None
        else:
            known = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and reached.holds([leaf])}
            case.replay, case.runs = Replay(new, leaves, states.ids, known), 0

    def _stay(self, case: Case, numbers: Numbers, leaves: list) -> str:
        """Let numbers that Python has read be what they are: each is part of what calls have in common."""
        for number in numbers.depends_on(list(numbers.read)):
            origin = numbers.origins[number][0]
            if type(origin) is int:
                self._widths.stay(case.kind, leaves)
            else:
                case.rigid.add(origin.identity)
        case.read = f"; a number is read at {next(iter(numbers.read.values()))}"
        return f"a number that is another one in each call is read at {next(iter(numbers.read.values()))}"


def deferred(call: Callable[[], Any]) -> Any:
    """What ``call`` returns, with kernels recorded meanwhile; other modes that it changes are left changed."""
    modes = thread.modes
    try:
        thread.modes = modes.replace(deferred=True)
        return call()
    finally:  # an interrupt that comes with ``replace`` finds the caller's
        left, thread.modes = thread.modes, modes
        thread.modes = left.replace(deferred=modes.deferred_enabled)


def _other(one: Any, other: Any) -> bool:
    return one is not other


def containers_of(tree: Any) -> list[Any]:
    """The containers in a tree of results."""
    if isinstance(tree, dict):
        return [tree, *(inner for value in tree.values() for inner in containers_of(value))]
    if isinstance(tree, (list, tuple)):
        return [tree, *(inner for value in tree for inner in containers_of(value))]
    return []


def _histories(given: list, rebound: list[Rebound]) -> list[str]:
    """Why a call can't be replayed that returns the history of a tensor of which another one takes the place."""
    olds = {id(one.old) for one in rebound}
    edges = (leaf._edge for leaf in given if isinstance(leaf, Tensor) and leaf._edge is not None)
    if olds and any(begins(edge, olds) for edge in edges):
        return ["it returns a tensor whose history begins in a place that it rebinds; return detach() of it"]
    return []


def finish(capture: Capture) -> None:
    """Run what was captured, as any other program."""
    if capture.split is not None:
        run(recording.program)  # what came before was run there
    elif capture.code:
        run(capture)
        capture.expect_checks()


def expect_found(found: Any, checks: Sequence[Check]) -> None:
    """Have what the checks of a call have found looked at later."""
    if found is not None:
        Findings(None, checks).expect(found)


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function, or a module, whose calls become one XLA program each, and are replayed without running its Python.

    Training steps can be compiled as they are: gradients, in-place updates, optimizers' state, buffers and random
    numbers are found while the first calls run, and updated by the program; names, items and attributes that are given
    new tensors are given new ones by each call.

    Args:
        model: the function, or the module; without it, ``compile(...)`` is a decorator.
        fullgraph: whether reading elements of a tensor while the function runs is an error; if not, the program is
            split there, and the function's Python is run at each call.
        backend, mode, options: PyTorch's; what it knows is accepted, and XLA compiles in any case.
        dynamic, recompile_limit, isolate_recompiles, shapes_spec, name: accepted, and not needed; each kind of call has
            a program of its own.
        disable: give the function back as it is.

    Calls do what they would without ``compile``: where Python has to be run for that, it is. A function is replayed if
    it does nothing but compute with tensors, and what it reads besides its arguments has not changed: ``report()`` of
    what is returned says how often that was so, and what has prevented it. An interrupt (ctrl-C) loses nothing: a step
    that was replayed has then been made, or not; where Python was run, all is as far as that had come.

    Raises:
        RuntimeError: a backend or a mode that PyTorch has not; both a mode and options.
        DataDependentError: from calls, with ``fullgraph``: elements are read. Tensors are what they were, then.

    >>> import tapegrad as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> @torch.compile
    ... def step(x):
    ...     w.grad = None
    ...     loss = ((w * x - 1) ** 2).sum()
    ...     loss.backward()
    ...     with torch.no_grad():
    ...         w.sub_(w.grad, alpha=0.1)
    ...     return loss
    >>> [round(step(torch.ones(2)).item(), 4) for _ in range(5)]
    [1.0, 0.64, 0.4096, 0.2621, 0.1678]
    >>> step.replayed > 0
    True
    """

    def compiled(model: Callable) -> Any:
        if model is None:
            raise RuntimeError("Model can't be None")
        check_settings(model, backend, mode, options, dynamic, disable)
        if disable:
            return model
        return Compiled(model, fullgraph)

    return compiled if model is None else compiled(model)
