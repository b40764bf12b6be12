"""Public functions that come down to one operator, reached without a detour.

Note [Shortcuts]
The way through a public function is long: the types of arguments are looked at, what PyTorch refuses is refused, what
the caller said is put into an operator's words. Of most functions that compute one thing, all this is decided by the
modes, the specs of the tensors, and what the other arguments are. They are declared as ``settled``. When a call of one
comes back, it is watched (Note [Watchers] in ``tape/modes.py``): if all that it did was to call one operator, on its
tensors in their order, and to return the result as it was, then calls of that kind run the operator's plan from then
on. What is refused, overridden, cast or told to somebody runs no plan of these modes, so it goes the long way always.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_
from typing import Any

from tapegrad.dispatch.forward_code import spec_of
from tapegrad.execution.dtypes import dtype
from tapegrad.ops.operator import shortcuts
from tapegrad.tape.modes import Modes, switched, thread
from tapegrad.tensor.tensor import Tensor

WATCHED = 2
"""How many calls of a kind are made before one is watched: many come once only."""

KINDS = 16
"""How many kinds of calls of one function are counted."""

PLAIN = frozenset((int, float, bool, str, dtype, type(None)))
"""Types of arguments whose values are a part of the kind, where equal ones are the same."""

OTHER: list = []
"""In place of any other argument: it can't be looked up, nor is it asked whether it is equal to something."""


def settled(function: Callable, whole: Callable) -> Callable:
    """``whole``, what is public of ``function``, with shortcuts. See Note [Shortcuts]."""
    recent, seen = shortcuts.recent, dict[tuple, int]()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Tensor):
            kind = function, thread.modes, args[0]._spec
        else:
            kind = kind_of_call(function, args, kwargs)
        try:
            run = recent.get(kind)
        except TypeError:
            return whole(*args, **kwargs)
        return slow(kind, args, kwargs) if run is None else run(*args, **kwargs)

    def slow(kind: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
        run, count = shortcuts.get(kind), seen.get(kind, 0)
        if run is not None:
            return run(*args, **kwargs)
        if count <= WATCHED and may_be_kept(kind):
            if len(seen) >= KINDS:
                seen.clear()
            seen[kind] = count + 1
            if count == WATCHED:
                return watched(whole, kind, args, kwargs)
        return whole(*args, **kwargs)

    return call


def kind_of_call(function: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple:
    """What decides what a call does."""
    given = [x._spec if isinstance(x, Tensor) else (type(x), x) if type(x) in PLAIN else OTHER for x in args]
    named = [(name, type(x), x) if type(x) in PLAIN else OTHER for name, x in kwargs.items()] if kwargs else ()
    return (function, thread.modes, *given, *named)


def may_be_kept(kind: tuple) -> bool:
    """Whether calls of a kind are worth to be watched, and nobody else watches them."""
    modes = kind[1]
    quiet = not (modes.intercepted or modes.results_watched or modes.function_modes or modes.level or modes.autocast)
    minus = any(isinstance(given, tuple) and given[-2:] == (float, 0.0) for given in kind)  # -0.0 is equal to 0.0
    return quiet and modes.forward_level < 0 and not minus


def watched(whole: Callable, kind: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Make a call, and remember its operator's plan if that was all."""
    seen: list[tuple] = []
    tensors = [x for x in args if isinstance(x, Tensor)]
    modes, watchers = thread.modes, thread.result_watchers
    try:
        thread.result_watchers = (lambda *ran: seen.append(ran),)
        with switched(results_watched=True):
            result = whole(*args, **kwargs)
    finally:
        thread.result_watchers = watchers
    if len(seen) == 1 and type(result) is Tensor and not vars(result):
        plan, operands, results = seen[0]
        own, others = operands[: len(tensors)], operands[len(tensors) :]
        ours = all(map(is_, tensors, args)) and all(map(is_, tensors, own)) and len(own) == len(tensors)
        same = plan.modes is modes.replace(results_watched=True) and len(results) == 1 and results[0] is result
        if ours and same and not any(isinstance(x, Tensor) for x in others):
            run = _plain_run(plan, modes, operands)
            if run is not None:
                alike = not kwargs and not others and len(args) == len(tensors)
                shortcuts.keep(kind, run if alike else _on_first(run, len(tensors), others))
    return result


def _plain_run(plan: Any, modes: Modes, operands: tuple) -> Callable | None:
    """What runs calls such as a plan's, where nobody watches; None if the plan for that isn't kept."""
    found: Callable | None = plan.op.plan_cache.get((modes, *map(spec_of, operands), *plan.given.items()))
    return found


def _on_first(run: Callable, count: int, others: tuple) -> Callable:
    """What runs a plan on the first arguments of a call, the tensors, and on ``others``, which go with what it is."""
    if count == 1 and not others:

        def call(x: Tensor, *given: Any, **named: Any) -> Tensor:
            return run(x)

    else:

        def call(*args: Any, **named: Any) -> Tensor:
            return run(*args[:count], *others)

    return call
