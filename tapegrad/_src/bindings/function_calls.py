"""The call cache of public functions: those that come down to one operator are reached without a detour.

Note [Calls of functions]
The way through a public function is long: the types of arguments are looked at, what PyTorch refuses is refused, what
the caller said is put into an operator's words. Of most functions that compute one thing, all this is decided by the
modes, the specs of the tensors, and what the other arguments are. They are declared as cacheable. When a call of one
comes back, it is watched (Note [Watchers] in ``tape/modes.py``): if all that it did was to call one operator, on its
tensors in their order, and to return the result as it was, then calls with that key run the operator's plan from then
on. If the result is a view, or several, or a view of a view (``x[0, 0]``), they make it as ``view_of`` does what it has
done before. What is refused, overridden, cast or told to somebody runs no plan of these modes, so it goes the long way
always.

Where keys do not come back, as of lengths that are new each time, it only takes time to look for them. So a function
of which nothing was found for ``MISSED`` calls in a row *backs off*: its next calls go the long way, and nobody looks.
It backs off for longer from time to time, until a call that is looked for is found.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_
from typing import Any

from tapegrad._src.bindings.viewing import view_again, views_again
from tapegrad._src.caches import memory
from tapegrad._src.dispatch.call_keys import Counts, function_key, key_of, spec_of
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.mechanisms import CALL_CACHE
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops.operator import function_calls

WATCHED = 2
"""The number of calls with a key that are made before one is watched: many come once only."""

MISSED = 48
"""After so many calls in a row that are not found a function backs off: a step may make that many, of several keys."""

LONGEST = 32
"""For so many calls it backs off, at most."""

_counts = Counts()


class Backoff:
    """The count of calls of a function in a row that were not found, and of those that are not looked for."""

    __slots__ = ("missed", "left")

    def __init__(self) -> None:
        self.clear()
        memory.others.append(self)

    def clear(self) -> None:
        """Begin anew."""
        self.missed = self.left = 0


def cacheable(function: Callable, whole: Callable) -> Callable:
    """``whole``, what is public of ``function``, with a call cache. See Note [Calls of functions]."""
    recent, older, backoff = function_calls.recent, function_calls.older, Backoff()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if backoff.left > 0:
            backoff.left -= 1
            return whole(*args, **kwargs)
        if len(args) == 1 and not kwargs and isinstance(args[0], Tensor):
            key = function, thread.modes, args[0]._spec
        else:
            key = function_key(function, args, kwargs)
        try:
            run = recent.get(key)
        except TypeError:
            return whole(*args, **kwargs)
        if run is None and older:
            run = function_calls.get(key)
        if run is None:
            return missed(key, args, kwargs)
        backoff.missed = 0
        return run(*args, **kwargs)

    def missed(key: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
        backoff.missed += 1
        backoff.left = min(max(backoff.missed - MISSED, 0), LONGEST)
        if may_be_kept(key[1]) and _counts.came(key) == WATCHED:
            return watched(whole, key, args, kwargs)
        return whole(*args, **kwargs)

    call.settles = function  # type: ignore[attr-defined]
    return call


def may_be_kept(modes: Modes) -> bool:
    """Tell whether calls under such modes may be watched: nobody else does, and they run plans that are kept."""
    told = modes.intercepted or modes.results_watched or modes.function_modes
    return not (told or modes.level or modes.autocast or CALL_CACHE.off) and modes.forward_level < 0


def watched(whole: Callable, key: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Make a call, and remember the plan of the operator that it called if that was all."""
    seen: list[tuple] = []

    def watcher(op: OperatorLike, operands: tuple, settings: dict) -> Any:
        made = op(*operands, **settings)
        seen.append((thread.modes, op, operands, settings, made, type_of_node(made)))
        return made

    modes, interceptors, warned = thread.modes, thread.interceptors, warn_once.calls
    told, watchers = modes.replace(intercepted=True), (*interceptors, watcher)
    try:
        thread.interceptors, thread.modes = watchers, told
        result = whole(*args, **kwargs)
    finally:  # not ``watching``: an interrupt could come when its ``__exit__`` begins
        thread.interceptors, thread.modes = interceptors, modes
    for _, op, operands, settings, _, _ in seen:  # what gives calls to watchers need not be kept
        op.plans.pop(key_of((told, *map(spec_of, operands)), settings), None)
    plain = all([made_in is modes and node is type_of_node(made) for made_in, *_, made, node in seen])
    if seen and seen[-1][-2] is result and plain and warned == warn_once.calls:
        unmoved = function_key(key[0], args, kwargs) == key  # a trace may have changed what a tensor is
        call = _again(seen, args, kwargs, result) if unmoved else None
        if call is not None:
            function_calls.keep(key, call)
            _counts.forget(key)  # should it be evicted, it is watched again
    return result


def type_of_node(result: Any) -> type | None:
    """The class of the node that has made a result, or the first of several."""
    first = result[0] if type(result) is tuple and result else result
    edge = first._edge if isinstance(first, Tensor) else None
    return None if edge is None else type(edge[0])


def _again(seen: list[tuple], args: tuple, kwargs: dict[str, Any], result: Any) -> Callable | None:
    """A function that does for the arguments of a call, which gave this result, what operators did that were seen; None
    if that is not all."""
    if type(result) is Tensor and vars(result):
        return _views_in_turn(seen, args, kwargs)
    if len(seen) > 1:
        return None
    [(_, op, operands, settings, _, _)] = seen
    if type(result) is Tensor:
        run = op.calls.exact.get(key_of((thread.modes, *map(spec_of, operands)), settings))
        return None if run is None else _on_arguments(run, args, kwargs, operands)
    rest = (*args[1:], *kwargs.values())
    if not (args and operands) or args[0] is not operands[0] or any(map(has_tensors, (*operands[1:], *rest))):
        return None
    return views_again(operands[0], result, op, settings) if type(result) is tuple and result else None


def _views_in_turn(seen: list[tuple], args: tuple, kwargs: dict[str, Any]) -> Callable | None:
    """A function that makes a view, or views each of the one before, as operators did that were seen; None if they did
    other things."""
    if not args or any(map(has_tensors, (*args[1:], *kwargs.values()))):
        return None
    steps, given = [], args[0]
    for _, op, operands, settings, made, _ in seen:
        if not operands or operands[0] is not given or type(made) is not Tensor or any(map(has_tensors, operands[1:])):
            return None
        step = view_again(given, made, op, operands[1:], settings)
        if step is None:
            return None
        steps.append(step)
        given = made
    if len(steps) == 1:
        return steps[0]

    def again(x: Tensor, *_: Any, **named: Any) -> Tensor:
        for step in steps:
            x = step(x)
        return x

    return again


def _on_arguments(run: Callable, args: tuple, kwargs: dict[str, Any], operands: tuple) -> Callable | None:
    """A function that runs a plan on the arguments of a call: on the first ones, or on what is in the first, which are
    tensors.

    What comes behind them, among the operands, goes with the key of the call. None if there are other tensors.
    """
    if not args:
        return None
    inside = type(args[0]) in (list, tuple)
    given = args[0] if inside else args
    count = next((i for i, x in enumerate(given) if not isinstance(x, Tensor)), len(given))
    others = operands[count:]
    rest = (*given[count:], *(args[1:] if inside else ()), *kwargs.values())
    if not all(map(is_, given[:count], operands)) or any(isinstance(x, (Tensor, list, tuple)) for x in others):
        return None
    if count > len(operands) or any(map(has_tensors, rest)):
        return None
    if inside:
        return lambda tensors, *args, **named: run(*tensors[:count], *others)
    if len(args) == count and not kwargs and not others:
        return run
    if count == 1 and not others:
        return lambda x, *args, **named: run(x)
    return lambda *args, **named: run(*args[:count], *others)


def has_tensors(x: Any) -> bool:
    """Tell whether an argument is a tensor, or has some in it."""
    return isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and any(map(has_tensors, x)))
