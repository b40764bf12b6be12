"""CompiledModules: the outermost modules and optimizers that a call enters, each compiled by itself where it must be.

Note [Compiled modules]
A step that prints, reads a clock or asks for the loss can't be left out. But most of what it computes is in its models,
whose calls can: so the modules that it calls, and that no other module has called, are compiled as ``torch.compile``
does it with a module. While such a step runs at once they have a ``_compiled_call_impl``, which ``Module.__call__``
calls; it is taken away again in the end. What they return has a history (Note [Histories that leave a call]), whose
backward pass is a program, too. So it is with optimizers whose ``step`` is called without a closure: what their class
does in it, hooks apart, is called by way of ``compiled_updates``.

A module whose calls can't be replayed either is asked for those that it calls in turn. One that was not there before
the call is left alone: the next call has another. Where the program is not likely to be quicker than calls at once
(``StepExecutable.worthwhile``, ``worthwhile_as_update``), these are made. An optimizer has a program for each choice of
parameters that have gradients. What updates gain is shown by ``python -m benchmarks.updates``.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, NamedTuple

from tapegrad._src.tape.mechanisms import COMPILED_UPDATES
from tapegrad.compiler.attachments import Attached

CALL = "_compiled_call_impl"
"""The attribute by which a module is called, if it has that."""

compiled_updates: dict[int, Any] = {}
"""By the identity of an optimizer, what is called in place of its ``step`` while a compiled step runs at once."""

MOST = 32
"""So many modules and optimizers of one step are compiled by themselves."""


@dataclass
class Switches:
    """The modules and optimizers that are compiled by themselves.

    Attributes:
        updates: whether optimizers' updates are compiled by themselves.
    """

    updates: bool = True


settings = Switches()


class CompiledModule(NamedTuple):
    """A module or an optimizer, and what calls it: a ``Compiled``."""

    module: Any
    call: Any

    @property
    def location(self) -> tuple[MutableMapping, Any]:
        """The place into which the call is put to take effect: a mapping, and a key."""
        return location_of(self.call.function)


def location_of(method: MethodType) -> tuple[MutableMapping, Any]:
    """The place where what is called instead of a module's or an optimizer's method is looked for."""
    owner = method.__self__
    return (owner.__dict__, CALL) if method.__name__ == "_call_impl" else (compiled_updates, id(owner))


def is_update(function: Callable) -> bool:
    """Tell whether a function is what an optimizer does in its ``step``, which is compiled by itself now."""
    compiled = compiled_updates.get(id(getattr(function, "__self__", None)))
    return compiled is not None and compiled.function == function


class CompiledModules:
    """The modules and optimizers that the calls of one function enter.

    Args:
        compile: makes a ``Compiled`` of a method.

    Attributes:
        latest: those of the last call that was captured.
    """

    def __init__(self, compile: Callable[[MethodType], Any]) -> None:
        self._compile = compile
        self._known: dict[int, Attached] = {}
        self.latest: Sequence[CompiledModule] = ()

    def of(self, methods: Sequence[MethodType]) -> Sequence[CompiledModule]:
        """Those of a call that runs some of their methods; none, if they are others in each call."""
        modules: dict[int, CompiledModule] = {}
        for method in methods:
            owner, (locations, key) = method.__self__, location_of(method)
            kept = self._known.get(id(owner))
            known = None if kept is None else kept()
            if locations is compiled_updates and (COMPILED_UPDATES.off or not settings.updates):
                continue
            if known is None and locations.get(key) is None and self._has_room():
                known = CompiledModule(owner, self._compile(method))
                self._known[id(owner)] = Attached(owner, known)
            if known is not None:
                modules[id(owner)] = known
        self.latest = tuple(modules.values())
        return self.latest

    def _has_room(self) -> bool:
        """Tell whether one more may be compiled; those that are gone don't count."""
        if len(self._known) >= MOST:
            self._known = {key: kept for key, kept in self._known.items() if kept() is not None}
        return len(self._known) < MOST


def put_in_place(modules: Sequence[CompiledModule]) -> list[tuple[MutableMapping, Any, Any]]:
    """Have some modules and optimizers compiled, until they are taken away: gives what has to be."""
    mine = []
    for one in modules:
        if one.call.worthwhile:
            inside, key = one.location
            if inside.get(key) is None:
                inside[key] = one.call
                mine.append((inside, key, one.call))
    return mine


def take_away(mine: list[tuple[MutableMapping, Any, Any]]) -> None:
    """Have them run as they stand."""
    for inside, key, call in mine:
        if inside.get(key) is call:
            del inside[key]
